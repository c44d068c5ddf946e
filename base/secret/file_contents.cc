#include "base/secret/file_contents.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/secret/sha256.h"

namespace stampgate {
namespace {

// Appends the SHA-256 of `part` to `text`. All digests have the same size, so different lists of parts never give the
// same text.
void Append(absl::string_view part, std::string& text) {
  const std::array<uint8_t, 32> digest = Sha256(part);
  text.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

absl::string_view TextOf(const std::string& bytes) { return bytes; }
absl::string_view TextOf(const SecretBytes& bytes) { return bytes.text(); }

template <typename Files>
void AppendFiles(const Files& files, std::string& text) {
  Append(absl::StrCat(files.size()), text);
  for (const auto& [path, bytes] : files) {
    Append(path, text);
    Append(bytes->ok() ? "" : bytes->status().ToString(), text);
    Append(bytes->ok() ? TextOf(**bytes) : "", text);
  }
}

}  // namespace

void FileContents::ReadPublic(const std::string& path) {
  if (!public_.contains(path)) PutPublic(path, ReadPublicFile(path));
}

void FileContents::ReadSecret(const std::string& path, const SecretOwners& owners) {
  if (!secret_.contains(path)) PutSecret(path, ReadSecretFile(path, owners));
}

void FileContents::PutPublic(const std::string& path, PublicFileBytes bytes) {
  public_.insert_or_assign(path, std::move(bytes));
}

void FileContents::PutSecret(const std::string& path, SecretFileBytes bytes) {
  secret_.insert_or_assign(path, std::move(bytes));
}

void FileContents::PutPublic(const std::string& path, absl::StatusOr<std::string> bytes) {
  PutPublic(path, std::make_shared<const absl::StatusOr<std::string>>(std::move(bytes)));
}

void FileContents::PutSecret(const std::string& path, absl::StatusOr<SecretBytes> bytes) {
  PutSecret(path, std::make_shared<const absl::StatusOr<SecretBytes>>(std::move(bytes)));
}

const absl::StatusOr<std::string>& FileContents::Public(const std::string& path) const {
  static const auto& unread = *new absl::StatusOr<std::string>(absl::NotFoundError("it was not read"));
  const auto found = public_.find(path);
  return found == public_.end() ? unread : *found->second;
}

const absl::StatusOr<SecretBytes>& FileContents::Secret(const std::string& path) const {
  static const auto& unread = *new absl::StatusOr<SecretBytes>(absl::NotFoundError("it was not read"));
  const auto found = secret_.find(path);
  return found == secret_.end() ? unread : *found->second;
}

std::array<uint8_t, 32> FileContents::Digest() const {
  std::string text;
  AppendFiles(public_, text);
  AppendFiles(secret_, text);
  return Sha256(text);
}

}  // namespace stampgate
