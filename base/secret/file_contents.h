// The contents of several files, in memory.
#ifndef STAMPGATE_BASE_SECRET_FILE_CONTENTS_H_
#define STAMPGATE_BASE_SECRET_FILE_CONTENTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/secret/bytes.h"
#include "base/secret/file.h"

namespace stampgate {

// The contents of files, by path. Secrets are in locked memory, which the destructor wipes. Not thread-safe.
class FileContents {
 public:
  // Read the file and store its bytes, or the error if it cannot be read. Do nothing if this object already has a
  // result for the file.
  void ReadPublic(const std::string& path);
  void ReadSecret(const std::string& path, const SecretOwners& owners = {});

  // Store `bytes`, which is not null, as the result of reading the file, in place of an earlier result. Several objects
  // can share it.
  using PublicFileBytes = std::shared_ptr<const absl::StatusOr<std::string>>;
  using SecretFileBytes = std::shared_ptr<const absl::StatusOr<SecretBytes>>;
  void PutPublic(const std::string& path, PublicFileBytes bytes);
  void PutSecret(const std::string& path, SecretFileBytes bytes);
  void PutPublic(const std::string& path, absl::StatusOr<std::string> bytes);
  void PutSecret(const std::string& path, absl::StatusOr<SecretBytes> bytes);

  // Return the stored bytes or error of ReadPublicFile or ReadSecretFile, or kNotFound if the file was not read. The
  // reference stays valid until this object is destroyed or a Put replaces the result.
  const absl::StatusOr<std::string>& Public(const std::string& path) const;
  const absl::StatusOr<SecretBytes>& Secret(const std::string& path) const;

  // Returns a digest of all paths, bytes and errors. Two objects have equal digests only if all their paths, bytes and
  // errors are equal. The digest is not secret, since it reveals nothing about a random key.
  std::array<uint8_t, 32> Digest() const;

 private:
  std::map<std::string, PublicFileBytes> public_;
  std::map<std::string, SecretFileBytes> secret_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_SECRET_FILE_CONTENTS_H_
