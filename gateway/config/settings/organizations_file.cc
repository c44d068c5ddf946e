#include "gateway/config/settings/organizations_file.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/secret/file.h"

namespace stampgate {
namespace {

constexpr size_t kMaxOrganizationIdBytes = 128;

}  // namespace

bool IsOrganizationId(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxOrganizationIdBytes &&
         absl::c_all_of(text, [](char c) { return absl::ascii_isalnum(c) || absl::StrContains("._:-", c); });
}

absl::StatusOr<std::shared_ptr<const OrganizationIds>> ParseOrganizations(absl::string_view text) {
  std::vector<absl::string_view> ids;
  bool states_none = false;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line);
    if (line == kNoOrganizations) states_none = true;
    if (line.empty() || line[0] == '#') continue;
    if (!OrganizationIds::IsUuid(line) && !IsOrganizationId(line)) {
      return absl::InvalidArgumentError(absl::StrCat("line ", line_number, " is not an exact id"));
    }
    ids.push_back(line);
  }
  if (ids.empty() && !states_none) {
    return absl::InvalidArgumentError(
        absl::StrCat("it lists no organization; if this is meant, it must have the line '", kNoOrganizations, "'"));
  }
  if (!ids.empty() && states_none) {
    return absl::InvalidArgumentError(absl::StrCat("it has the line '", kNoOrganizations, "', but it also lists ids"));
  }
  return std::make_shared<const OrganizationIds>(ids);
}

absl::StatusOr<std::shared_ptr<const OrganizationIds>> ReadOrganizationsFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadPublicFile(path, kMaxOrganizationsFileBytes);
  if (!text.ok()) return absl::UnavailableError(text.status().message());
  return ParseOrganizations(*text);
}

}  // namespace stampgate
