#include "gateway/audit/report.h"

#include "absl/strings/str_cat.h"

namespace stampgate {

int AuditReport::ExitStatus() const {
  switch (verdict) {
    case Verdict::kWhole:
      return 0;
    case Verdict::kBroken:
    case Verdict::kRepeated:
      return 1;
    case Verdict::kUnreadable:
      return 2;
    case Verdict::kTorn:
      return 3;
    case Verdict::kIncomplete:
      return 4;
  }
  return 2;
}

absl::string_view AuditReport::VerdictName() const {
  switch (verdict) {
    case Verdict::kWhole:
      return "ok";
    case Verdict::kTorn:
      return "torn";
    case Verdict::kIncomplete:
      return "INCOMPLETE";
    case Verdict::kBroken:
      return "BROKEN";
    case Verdict::kRepeated:
      return "REPEATED";
    case Verdict::kUnreadable:
      return "cannot be checked";
  }
  return "";
}

std::string AuditReport::ToString() const {
  std::string text;
  for (const File& file : files) {
    if (file.first_sequence == 0) {
      absl::StrAppend(&text, file.path, ": no valid record\n");
    } else {
      absl::StrAppend(&text, file.path, ": records ", file.first_sequence, " to ", file.last_sequence, "\n");
    }
  }
  absl::StrAppend(&text, "allowed ", allows, ", denied ", denials + counted_denials, " (", counted_denials,
                  " only counted), outcomes ", outcomes, " (", unknown_outcomes,
                  " unknown, because the process ended), without outcome ", open_allows, "\n");
  if (records > 0) {
    absl::StrAppend(&text, "from ", first_time, " to ", last_time, "\nhead ", head.ToString(), "\n");
  }
  absl::StrAppend(&text, VerdictName());
  if (!reason.empty()) absl::StrAppend(&text, ": ", reason);
  if (verdict == Verdict::kWhole) {
    const absl::string_view start = start_was_given ? " after the given start" : "";
    if (head_was_asked_for) {
      absl::StrAppend(&text, ": nothing is missing", start, " up to the given head");
    } else {
      absl::StrAppend(&text, ": nothing is missing", start,
                      ", but only --head shows whether records are missing at the end");
    }
  }
  return absl::StrCat(text, "\n");
}

std::string AuditReport::Summary() const {
  if (records == 0) return absl::StrCat(VerdictName(), ", no valid record");
  return absl::StrCat(VerdictName(), ", ", records, " records from ", first_time, " to ", last_time, ", head ",
                      head.ToString());
}

}  // namespace stampgate
