#include "gateway/audit_verifier.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gateway/audit_record.h"
#include "gateway/audit_scan.h"

namespace stampgate {
namespace {

using Verdict = AuditReport::Verdict;

class Verifier {
 public:
  Verifier(AuditChain chain, const std::optional<AuditHead>& head, AuditReport& report)
      : chain_(std::move(chain)), head_(head), report_(report) {}

  // Whether the next file can be looked at.
  bool CheckFile(const std::string& path, bool last) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return Fail(Verdict::kUnreadable, path, absl::StrCat("cannot be opened: ", std::strerror(errno)));
    absl::Cleanup close_fd = [fd] { close(fd); };
    const auto count = [this](const AuditRecord& record, const AuditMac& mac) { Count(record, mac); };
    AuditScan scan;
    const absl::Status status = ScanAuditFile(fd, chain_, report_.files.empty() ? nullptr : &position_, count, &scan);
    if (scan.records > 0) position_ = scan.last;
    report_.files.push_back({path, scan.first_sequence, scan.records > 0 ? scan.last.sequence : 0});
    if (!status.ok()) {
      return Fail(absl::IsDataLoss(status) ? Verdict::kBroken : Verdict::kUnreadable, path, status.message());
    }
    if (scan.torn_bytes > 0) {
      return Fail(last ? Verdict::kTorn : Verdict::kBroken, path,
                  absl::StrCat("line ", scan.records + 1, " was cut off: ", scan.torn_bytes, " bytes without an end"));
    }
    return scan.records > 0 || Fail(Verdict::kBroken, path, "has no record");
  }

  void End() {
    report_.open_allows = open_.size();
    report_.head = AuditHead{position_.sequence, MacHex(position_.mac)};
    const bool gone_through = report_.verdict == Verdict::kWhole || report_.verdict == Verdict::kTorn;
    if (!head_ || !gone_through) return;
    if (head_mac_) {
      if (*head_mac_ == head_->mac_hex) return;
      Break(absl::StrCat("record ", head_->sequence, " is not the one that the head names"));
    } else if (head_->sequence > position_.sequence) {
      Break(absl::StrCat("the head names record ", head_->sequence, ", but the files end with record ",
                         position_.sequence, ": records were cut off"));
    } else {
      Break(absl::StrCat("the head names record ", head_->sequence, ", which is older than these files"));
    }
  }

 private:
  void Count(const AuditRecord& record, const AuditMac& mac) {
    if (head_ && record.sequence == head_->sequence) head_mac_ = MacHex(mac);
    switch (record.kind) {
      case AuditKind::kAllow:
        ++report_.allows;
        open_.insert(record.sequence);
        break;
      case AuditKind::kDeny:
        ++report_.denials;
        break;
      case AuditKind::kDeniedCount:
        report_.counted_denials += record.count;
        break;
      case AuditKind::kOutcome:
        ++report_.outcomes;
        if (record.process_ended) ++report_.unknown_outcomes;
        open_.erase(record.allow);
        break;
      case AuditKind::kStillOpen:
        open_.insert(record.allows.begin(), record.allows.end());
        break;
      default:
        break;
    }
  }

  bool Fail(Verdict verdict, const std::string& path, absl::string_view why) {
    report_.verdict = verdict;
    report_.reason = absl::StrCat(path, ": ", why);
    return false;
  }

  void Break(std::string why) {
    report_.verdict = Verdict::kBroken;
    report_.reason = std::move(why);
  }

  AuditChain chain_;
  const std::optional<AuditHead>& head_;
  AuditReport& report_;
  AuditPosition position_;
  std::optional<std::string> head_mac_;  // of the record that the head names
  absl::flat_hash_set<uint64_t> open_;
};

absl::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWhole:
      return "ok";
    case Verdict::kTorn:
      return "torn";
    case Verdict::kBroken:
      return "BROKEN";
    case Verdict::kUnreadable:
      return "cannot be checked";
  }
  return "";
}

}  // namespace

AuditReport VerifyAudit(const std::vector<std::string>& files, const SecretBytes& key,
                        const std::optional<AuditHead>& head) {
  AuditReport report;
  report.head_was_asked_for = head.has_value();
  absl::StatusOr<AuditChain> chain = AuditChain::Create(key);
  if (!chain.ok() || files.empty()) {
    report.verdict = Verdict::kUnreadable;
    report.reason = chain.ok() ? "no file is given" : std::string(chain.status().message());
    return report;
  }
  Verifier verifier(*std::move(chain), head, report);
  for (size_t i = 0; i < files.size(); ++i) {
    if (!verifier.CheckFile(files[i], i + 1 == files.size())) break;
  }
  verifier.End();
  return report;
}

int AuditReport::ExitStatus() const {
  switch (verdict) {
    case Verdict::kWhole:
      return 0;
    case Verdict::kTorn:
      return 3;
    default:
      return 1;
  }
}

std::string AuditReport::ToString() const {
  std::string text;
  for (const File& file : files) {
    if (file.first_sequence == 0) {
      absl::StrAppend(&text, file.path, ": no good record\n");
    } else {
      absl::StrAppend(&text, file.path, ": records ", file.first_sequence, " to ", file.last_sequence, "\n");
    }
  }
  absl::StrAppend(&text, "allowed ", allows, ", denied ", denials + counted_denials, " (", counted_denials,
                  " only counted), outcomes ", outcomes, " (", unknown_outcomes,
                  " unknown, as the process had ended), without outcome ", open_allows, "\n");
  if (head.sequence > 0) absl::StrAppend(&text, "head ", head.ToString(), "\n");
  absl::StrAppend(&text, Name(verdict));
  if (!reason.empty()) absl::StrAppend(&text, ": ", reason);
  if (verdict == Verdict::kWhole) {
    absl::StrAppend(&text, head_was_asked_for ? ": nothing is missing up to the given head"
                                              : ": but only --head shows whether records are missing at the end");
  }
  return absl::StrCat(text, "\n");
}

}  // namespace stampgate
