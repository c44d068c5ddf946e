// Helpers for the policy tests: folders whose files are replaced in the way in which Kubernetes replaces them, and keys
// made from small numbers.
#ifndef STAMPGATE_GATEWAY_POLICY_TESTING_H_
#define STAMPGATE_GATEWAY_POLICY_TESTING_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Creates a new, empty folder. Returns its path, which does not end in a slash.
std::string NewTestFolder();

// Writes a file with mode 0600. Replaces the file if it exists.
void PutTestFile(const std::string& path, absl::string_view content);

// A folder like a mounted ConfigMap or Secret: each file is a link through "..data", which is itself a link.
class MountedFolder {
 public:
  using Files = std::map<std::string, std::string>;  // the content of each file, by the file's name

  explicit MountedFolder(const Files& files);

  // Replaces all files at the same moment, then deletes the former files.
  void Swap(const Files& files);

  std::string PathOf(absl::string_view name) const;

 private:
  const std::string folder_;
  int states_ = 0;
};

// Returns the text of a key file that contains the P-256 private key `number`. `number` must be 1 to 9.
std::string KeyText(int number);
// The public keys that belong to the private keys 1 and 2, in compressed form, in hex.
extern const char kPointOfOne[];
extern const char kPointOfTwo[];

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_TESTING_H_
