#include "gateway/audit/closed_files.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace stampgate {
namespace {

// The number in the name of every closed file has this many digits, so that the order of the names is the order of the
// files. The largest sequence number has as many digits.
constexpr int kSequenceDigits = 20;

bool IsClosedFile(absl::string_view name, absl::string_view file) {
  return absl::ConsumePrefix(&name, file) && absl::ConsumePrefix(&name, ".") && name.size() == kSequenceDigits &&
         absl::c_all_of(name, absl::ascii_isdigit);
}

}  // namespace

std::string ClosedAuditFile(const std::string& file, uint64_t first_sequence) {
  return absl::StrFormat("%s.%0*d", file, kSequenceDigits, first_sequence);
}

absl::StatusOr<std::vector<std::string>> FindClosedAuditFiles(const std::string& file) {
  const size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : file.substr(0, slash + 1);
  const std::string name = file.substr(folder.size());
  DIR* directory = opendir(folder.empty() ? "." : folder.c_str());
  if (directory == nullptr) {
    return absl::UnavailableError(absl::StrCat("its folder cannot be read: ", std::strerror(errno)));
  }
  const absl::Cleanup close_directory = [directory] { closedir(directory); };
  std::vector<std::string> files;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(directory);
    if (entry == nullptr) break;
    if (IsClosedFile(entry->d_name, name)) files.push_back(folder + entry->d_name);
  }
  if (errno != 0) return absl::UnavailableError(absl::StrCat("its folder cannot be read: ", std::strerror(errno)));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace stampgate
