#include "gateway/audit/several_logs.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using Verdict = AuditReport::Verdict;

constexpr char kFileInFolder[] = "audit.log";

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// The most serious verdict has the highest rank.
int Rank(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWhole:
      return 0;
    case Verdict::kTorn:
      return 1;
    case Verdict::kIncomplete:
      return 2;
    case Verdict::kUnreadable:
      return 3;
    case Verdict::kRepeated:
    case Verdict::kBroken:
      return 4;
  }
  return 4;
}

// Finds logs that share records. Operators copy and move whole files, so two logs that share records share the first
// record of a file. The first records of two gateways differ in their times, which count microseconds.
class FirstRecords {
 public:
  // Adds the log with the index `log`. Returns the index of an earlier log that shares records with it.
  std::optional<size_t> Add(size_t log, const AuditReport& report) {
    std::optional<size_t> earlier;
    for (const AuditReport::File& file : report.files) {
      if (file.first_sequence == 0) continue;
      const auto [known, added] = logs_.try_emplace({file.first_sequence, file.first_mac}, log);
      if (!added && known->second != log && !earlier) earlier = known->second;
    }
    return earlier;
  }

 private:
  absl::flat_hash_map<std::pair<uint64_t, AuditMac>, size_t> logs_;
};

}  // namespace

std::vector<std::string> AuditLogsIn(const std::vector<std::string>& paths) {
  const auto name_of = [](const std::string& path) { return std::filesystem::path(path).filename(); };
  const bool several = absl::c_any_of(paths, IsFolder) || absl::c_all_of(paths, [&](const std::string& path) {
                         return name_of(path) == name_of(paths[0]);
                       });
  if (!several) return {};
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    files.push_back(IsFolder(path) ? (std::filesystem::path(path) / kFileInFolder).string() : path);
  }
  return files;
}

AuditLogsReport VerifyAuditLogs(const std::vector<std::string>& files, const SecretBytes& key, AuditFiles which) {
  AuditLogsReport result;
  FirstRecords first_records;
  for (const std::string& file : files) {
    AuditReport report = VerifyAuditLog(file, key, std::nullopt, std::nullopt, which);
    const std::optional<size_t> earlier = first_records.Add(result.logs.size(), report);
    if (earlier && Rank(report.verdict) < Rank(Verdict::kUnreadable)) {
      report.verdict = Verdict::kRepeated;
      report.reason = absl::StrCat("has records of ", result.logs[*earlier].file, ": it is the same log or a copy");
    }
    result.logs.push_back({file, std::move(report)});
  }
  return result;
}

int AuditLogsReport::ExitStatus() const {
  const auto less = [](const Log& a, const Log& b) { return Rank(a.report.verdict) < Rank(b.report.verdict); };
  const auto worst = std::max_element(logs.begin(), logs.end(), less);
  return worst == logs.end() ? 0 : worst->report.ExitStatus();
}

std::string AuditLogsReport::ToString() const {
  std::string text;
  for (const Log& log : logs) absl::StrAppend(&text, log.file, ": ", log.report.Summary(), "\n");
  return text;
}

std::string AuditLogsReport::Failures() const {
  std::string lines;
  size_t failures = 0;
  for (const Log& log : logs) {
    if (log.report.verdict == Verdict::kWhole) continue;
    ++failures;
    absl::StrAppend(&lines, "\n", log.file, ": ", log.report.VerdictName(), ": ", log.report.reason);
  }
  if (failures == 0) return "";
  return absl::StrCat(failures, " of ", logs.size(), " audit logs failed:", lines);
}

}  // namespace stampgate
