#include "gateway/config/rules/member_names.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "translate/operation_set/date.h"

namespace stampgate {

void CheckMemberNames(const config::v1::Config& config, const OperationTable& operations, ConfigReport& report) {
  constexpr char kPath[] = "member_names_as_of";
  const std::string& as_of = config.member_names_as_of();
  if (as_of.empty()) return;
  const std::vector<std::string> days = operations.NameDays();
  if (!IsDate(as_of)) {
    report.Add(kPath, "must be a day, such as 2026-09-22");
  } else if (days.empty()) {
    report.Add(kPath, "must not be given: no member of a request got another name");
  } else if (as_of > days.back()) {
    // A later day would select names that nobody has seen yet.
    report.Add(kPath, absl::StrCat("must not be later than the newest name, which is of ", days.back()));
  }
}

std::string DescribeMemberNames(const OperationTable& operations, absl::string_view names_as_of) {
  const std::vector<std::string> days = operations.NameDays();
  if (days.empty()) return "";
  return absl::StrCat("upstream receives the ",
                      names_as_of.empty() ? "oldest names" : absl::StrCat("names of ", names_as_of),
                      " of members that got another name on ", absl::StrJoin(days, ", "), " (member_names_as_of)\n");
}

}  // namespace stampgate
