// Files in the temporary folder of a test.
#ifndef STAMPGATE_BASE_TESTING_TEMPORARY_FILE_H_
#define STAMPGATE_BASE_TESTING_TEMPORARY_FILE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns the path of the file `name` in the test's temporary folder.
std::string TempPath(absl::string_view name);

// Writes `content` to the file `name` in the test's temporary folder, with mode 0600, and returns its path. Replaces an
// existing file.
std::string WriteTemp(absl::string_view name, absl::string_view content);

// Returns the content of a file.
std::string ReadAll(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_TESTING_TEMPORARY_FILE_H_
