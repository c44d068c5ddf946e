#include "stamp/key_generator.h"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stamp/private_key.h"
#include "stamp/secret_bytes.h"

namespace stampgate {
namespace {

// Draws until the scalar is one: a remainder instead would favour small ones.
absl::StatusOr<PublicKey> DrawKey(PrivateKey* key) {
  absl::StatusOr<PublicKey> public_key;
  do {
    randombytes_buf(key->scalar.data(), key->scalar.size());
    public_key = DerivePublicKey(*key);
  } while (absl::IsInvalidArgument(public_key.status()));
  return public_key;
}

absl::StatusOr<SecretBytes> FileText(const PrivateKey& key, const PublicKey& public_key) {
  const std::string end =
      absl::StrCat(key.curve == Curve::kEd25519 ? public_key.Hex() : "", ":", CurveName(key.curve), "\n");
  const size_t hex_bytes = 2 * key.scalar.size();
  absl::StatusOr<SecretBytes> text = SecretBytes::Create(hex_bytes + end.size());
  if (!text.ok()) return text.status();
  // Writes a NUL behind the digits, which the end overwrites.
  sodium_bin2hex(reinterpret_cast<char*>(text->data()), hex_bytes + 1, key.scalar.data(), key.scalar.size());
  std::memcpy(text->data() + hex_bytes, end.data(), end.size());
  return text;
}

// Writes all of `text`, and makes it last.
absl::Status WriteAndSync(int fd, const SecretBytes& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(fd, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return absl::ErrnoToStatus(errno, "cannot write it");
    done += static_cast<size_t>(put);
  }
  return fsync(fd) == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, "cannot write it to disk");
}

// A new file outlives a crash only once its directory is on disk too.
absl::Status SyncDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot open its directory");
  const absl::Status status =
      fsync(fd) == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, "cannot write its directory to disk");
  close(fd);
  return status;
}

absl::Status WriteNewFile(const std::string& path, const SecretBytes& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot create it");
  absl::Status status = WriteAndSync(fd, text);
  if (close(fd) != 0 && status.ok()) status = absl::ErrnoToStatus(errno, "cannot close it");
  if (status.ok()) status = SyncDirectoryOf(path);
  if (!status.ok()) unlink(path.c_str());
  return status;
}

absl::StatusOr<std::string> Generate(Curve curve, const std::string& path) {
  absl::StatusOr<SecretBytes> scalar = SecretBytes::Create(kScalarBytes);
  if (!scalar.ok()) return scalar.status();
  PrivateKey key{curve, *std::move(scalar)};
  absl::StatusOr<PublicKey> public_key = DrawKey(&key);
  if (!public_key.ok()) return public_key.status();
  absl::StatusOr<SecretBytes> text = FileText(key, *public_key);
  if (!text.ok()) return text.status();
  if (absl::Status status = WriteNewFile(path, *text); !status.ok()) return status;
  return public_key->Hex();
}

}  // namespace

absl::StatusOr<std::string> GenerateKeyFile(Curve curve, const std::string& path) {
  absl::StatusOr<std::string> public_key_hex = Generate(curve, path);
  if (public_key_hex.ok()) return public_key_hex;
  return absl::Status(public_key_hex.status().code(),
                      absl::StrCat("key file ", path, ": ", public_key_hex.status().message()));
}

}  // namespace stampgate
