// What several files hold, in memory.
#ifndef STAMPGATE_STAMP_SECRET_FILE_CONTENTS_H_
#define STAMPGATE_STAMP_SECRET_FILE_CONTENTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// Secrets are in locked memory, wiped with this object. Not thread-safe.
class FileContents {
 public:
  // Read the file, unless this object has read it already. An error is kept in place of the bytes.
  void ReadPublic(const std::string& path);
  void ReadSecret(const std::string& path);

  // As if the file had been read and held this.
  void PutPublic(const std::string& path, absl::StatusOr<std::string> bytes);
  void PutSecret(const std::string& path, absl::StatusOr<SecretBytes> bytes);

  // What the file held, or the error of ReadPublicFile or ReadSecretFile; kNotFound if the file was not read. Valid as
  // long as this.
  const absl::StatusOr<std::string>& Public(const std::string& path) const;
  const absl::StatusOr<SecretBytes>& Secret(const std::string& path) const;

  // Differs if the files, their bytes or the errors differ. It is no secret: it reveals nothing about a random key.
  std::array<uint8_t, 32> Digest() const;

 private:
  std::map<std::string, absl::StatusOr<std::string>> public_;
  std::map<std::string, absl::StatusOr<SecretBytes>> secret_;
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_SECRET_FILE_CONTENTS_H_
