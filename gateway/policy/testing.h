// What the tests of the policy share: folders that are swapped as Kubernetes does it, and keys that are numbers.
#ifndef STAMPGATE_GATEWAY_POLICY_TESTING_H_
#define STAMPGATE_GATEWAY_POLICY_TESTING_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// A new, empty folder, without a slash at its end.
std::string NewTestFolder();

// Writes a file of mode 0600, replacing what was there.
void PutTestFile(const std::string& path, absl::string_view content);

// Files as they are mounted from a ConfigMap or a Secret: each a link through "..data", which is itself a link.
class MountedFolder {
 public:
  using Files = std::map<std::string, std::string>;  // content by name

  explicit MountedFolder(const Files& files);

  // Puts a new state in the place of the former, which is then gone: all files at one moment.
  void Swap(const Files& files);

  std::string PathOf(absl::string_view name) const;

 private:
  const std::string folder_;
  int states_ = 0;
};

// The text of a key file whose scalar on P-256 is `number`, 1 to 9.
std::string KeyText(int number);
// The points of the scalars 1 and 2, compressed, in hex: the curve's generator and its double.
extern const char kPointOfOne[];
extern const char kPointOfTwo[];

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_TESTING_H_
