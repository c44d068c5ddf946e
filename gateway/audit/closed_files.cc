#include "gateway/audit/closed_files.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
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

constexpr absl::string_view kClosed = ".";
constexpr absl::string_view kClosing = ".closing.";

// Returns whether `text` has the form of the number, or of the number and the date.
bool IsNumberAndDate(absl::string_view text) {
  constexpr absl::string_view kForm = "00000000000000000000.0000-00-00";
  static_assert(kForm[kSequenceDigits] == '.');
  if (text.size() != kSequenceDigits && text.size() != kForm.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (kForm[i] == '0' ? !absl::ascii_isdigit(static_cast<unsigned char>(text[i])) : text[i] != kForm[i]) return false;
  }
  return true;
}

// Returns the number and the date of each name in the folder of `file` that is the name of `file`, `between`, and a
// number with or without a date. The order is that of the numbers.
absl::StatusOr<std::vector<std::string>> Find(const std::string& file, absl::string_view between) {
  const size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  const std::string before = absl::StrCat(file.substr(slash == std::string::npos ? 0 : slash + 1), between);
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) {
    return absl::UnavailableError(absl::StrCat("its folder cannot be read: ", std::strerror(errno)));
  }
  const absl::Cleanup close_directory = [directory] { closedir(directory); };
  std::vector<std::string> found;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(directory);
    if (entry == nullptr) break;
    absl::string_view name = entry->d_name;
    if (absl::ConsumePrefix(&name, before) && IsNumberAndDate(name)) found.emplace_back(name);
  }
  if (errno != 0) return absl::UnavailableError(absl::StrCat("its folder cannot be read: ", std::strerror(errno)));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

AuditFileNames NamesOfAuditFile(const std::string& file, uint64_t first_sequence,
                                const std::optional<absl::CivilDay>& day) {
  std::string name = absl::StrFormat("%0*d", kSequenceDigits, first_sequence);
  if (day) absl::StrAppendFormat(&name, ".%04d-%02d-%02d", day->year(), day->month(), day->day());
  return {absl::StrCat(file, kClosing, name), absl::StrCat(file, kClosed, name)};
}

absl::StatusOr<std::vector<std::string>> FindClosedAuditFiles(const std::string& file) {
  absl::StatusOr<std::vector<std::string>> found = Find(file, kClosed);
  if (!found.ok()) return found;
  for (std::string& name : *found) name = absl::StrCat(file, kClosed, name);
  return found;
}

absl::StatusOr<std::vector<AuditFileNames>> FindClosingAuditFiles(const std::string& file) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> found, Find(file, kClosing));
  std::vector<AuditFileNames> files;
  for (const std::string& name : found) {
    files.push_back({absl::StrCat(file, kClosing, name), absl::StrCat(file, kClosed, name)});
  }
  return files;
}

}  // namespace stampgate
