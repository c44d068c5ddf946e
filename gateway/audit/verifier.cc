#include "gateway/audit/verifier.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gateway/audit/closed_files.h"
#include "gateway/audit/record.h"
#include "gateway/audit/scan.h"

namespace stampgate {
namespace {

using Verdict = AuditReport::Verdict;

// Returns whether `path` refers to the file that is open as `fd`.
bool IsSameFile(const std::string& path, int fd) {
  struct stat named;
  struct stat opened;
  return stat(path.c_str(), &named) == 0 && fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

class Verifier {
 public:
  Verifier(AuditChain chain, const std::optional<AuditHead>& head, const std::optional<AuditHead>& from,
           AuditReport& report)
      : chain_(std::move(chain)), head_(head), from_(from), report_(report) {}

  void CheckFiles(const std::vector<std::string>& files) {
    if (files.empty()) {
      report_.verdict = Verdict::kUnreadable;
      report_.reason = "no file is given";
    }
    for (size_t i = 0; i < files.size(); ++i) {
      if (!CheckFile({files[i], files[i]}, i + 1 == files.size())) return;
    }
  }

  void CheckLog(const std::string& path) {
    // Opens the current file first, because a rotation may rename it while the closed files are searched and checked.
    // If a rotation renames this file before the search, the search finds the file among the closed files. In this
    // case, the check ends with this file.
    const int fd = Open(path);
    if (fd < 0) return;
    const absl::Cleanup close_fd = [fd] { close(fd); };
    // If a rotation renames a closing file between the two searches, both find it.
    absl::StatusOr<std::vector<AuditFileNames>> files = FindClosingAuditFiles(path);
    if (!files.ok()) return FailToSearch(path, files.status());
    const absl::StatusOr<std::vector<std::string>> closed = FindClosedAuditFiles(path);
    if (!closed.ok()) return FailToSearch(path, closed.status());
    for (const std::string& file : *closed) {
      if (absl::c_none_of(*files, [&](const AuditFileNames& names) { return names.closed == file; })) {
        files->push_back({file, file});
      }
    }
    absl::c_sort(*files, [](const AuditFileNames& a, const AuditFileNames& b) { return a.closed < b.closed; });
    for (const AuditFileNames& names : *files) {
      if (IsSameFile(names.closing, fd) || IsSameFile(names.closed, fd)) break;
      if (!CheckFile(names, /*last=*/false)) return;
    }
    CheckOpenFile(path, fd, /*last=*/true);
  }

  void CheckClosedFiles(const std::string& path) {
    const absl::StatusOr<std::vector<std::string>> files = FindClosedAuditFiles(path);
    if (!files.ok()) return FailToSearch(path, files.status());
    if (files->empty()) Fail(Verdict::kUnreadable, path, "its folder has no closed files of this log");
    for (const std::string& file : *files) {
      if (!CheckFile({file, file}, /*last=*/false)) return;
    }
  }

  void End() {
    report_.open_allows = open_.size();
    report_.head = AuditHead{position_.sequence, MacHex(position_.mac)};
    const bool gone_through = report_.verdict == Verdict::kWhole || report_.verdict == Verdict::kTorn;
    if (!gone_through || !CheckHead()) return;
    CheckStart();
  }

 private:
  // Opens the file. After an error, adds the error to the report and returns a negative number.
  int Open(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) Fail(Verdict::kUnreadable, path, absl::StrCat("cannot be opened: ", std::strerror(errno)));
    return fd;
  }

  // Checks a file, which has one of these names. Returns whether the next file can be checked.
  bool CheckFile(const AuditFileNames& names, bool last) {
    int fd = open(names.closing.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) fd = Open(names.closed);
    if (fd < 0) return false;
    const absl::Cleanup close_fd = [fd] { close(fd); };
    return CheckOpenFile(names.closed, fd, last);
  }

  bool CheckOpenFile(const std::string& path, int fd, bool last) {
    AuditScan scan;
    AuditMac first_mac{};
    const auto count = [&](const AuditRecord& record, const AuditMac& mac) {
      if (record.sequence == scan.first_sequence) first_mac = mac;
      Count(record, mac);
    };
    const absl::Status status = ScanAuditFile(fd, chain_, report_.files.empty() ? nullptr : &position_, count, &scan);
    if (scan.records > 0 && report_.files.empty()) before_ = scan.before;
    if (scan.records > 0) position_ = scan.last;
    report_.files.push_back({path, scan.first_sequence, scan.records > 0 ? scan.last.sequence : 0, first_mac});
    if (!status.ok()) {
      return Fail(absl::IsDataLoss(status) ? Verdict::kBroken : Verdict::kUnreadable, path, status.message());
    }
    if (scan.torn_bytes > 0) {
      return Fail(last ? Verdict::kTorn : Verdict::kBroken, path,
                  absl::StrCat("line ", scan.records + 1, " begins a torn end of ", scan.torn_bytes,
                               " bytes that are not whole records"));
    }
    return scan.records > 0 || Fail(Verdict::kBroken, path, "has no record");
  }

  void Count(const AuditRecord& record, const AuditMac& mac) {
    if (head_ && record.sequence == head_->sequence) head_mac_ = MacHex(mac);
    if (from_ && record.sequence == from_->sequence) from_mac_ = MacHex(mac);
    if (++report_.records == 1) report_.first_time = record.time;
    report_.last_time = record.time;
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

  // Returns true if the files contain the record that the given head names, or if no head is given.
  bool CheckHead() {
    if (!head_) return true;
    if (head_mac_) {
      return *head_mac_ == head_->mac_hex ||
             Break(absl::StrCat("record ", head_->sequence, " does not have the MAC of the given head"));
    }
    if (head_->sequence > position_.sequence) {
      return Break(absl::StrCat("the given head is record ", head_->sequence, ", but the files end with record ",
                                position_.sequence, ": records ", position_.sequence + 1, " to ", head_->sequence,
                                " are missing"));
    }
    return Break(absl::StrCat("the given head is record ", head_->sequence, ", which is older than these files"));
  }

  void CheckStart() {
    const uint64_t archived = from_ ? from_->sequence : 0;
    if (before_.sequence > archived) {
      report_.verdict = Verdict::kIncomplete;
      report_.reason = absl::StrCat("records ", archived + 1, " to ", before_.sequence, " are missing",
                                    report_.reason.empty() ? "" : "; ", report_.reason);
      return;
    }
    if (!from_) return;
    if (position_.sequence < archived) {
      Break(
          absl::StrCat("the given start is record ", archived, ", but the files end with record ", position_.sequence));
      return;
    }
    const std::string mac = before_.sequence == archived ? MacHex(before_.mac) : from_mac_.value_or("");
    if (mac != from_->mac_hex) Break(absl::StrCat("record ", archived, " does not have the MAC of the given start"));
  }

  void FailToSearch(const std::string& path, const absl::Status& status) {
    Fail(Verdict::kUnreadable, path, status.message());
  }

  bool Fail(Verdict verdict, const std::string& path, absl::string_view why) {
    report_.verdict = verdict;
    report_.reason = absl::StrCat(path, ": ", why);
    return false;
  }

  bool Break(std::string why) {
    report_.verdict = Verdict::kBroken;
    report_.reason = std::move(why);
    return false;
  }

  AuditChain chain_;
  const std::optional<AuditHead>& head_;
  const std::optional<AuditHead>& from_;
  AuditReport& report_;
  AuditPosition before_;  // the position that the first file continues
  AuditPosition position_;
  std::optional<std::string> head_mac_;  // the MAC of the record whose number is in the given head
  std::optional<std::string> from_mac_;  // the MAC of the record whose number is in the given `from`
  absl::flat_hash_set<uint64_t> open_;
};

AuditReport Verify(const SecretBytes& key, const std::optional<AuditHead>& head, const std::optional<AuditHead>& from,
                   absl::FunctionRef<void(Verifier& verifier)> check) {
  AuditReport report;
  report.head_was_asked_for = head.has_value();
  report.start_was_given = from.has_value();
  absl::StatusOr<AuditChain> chain = AuditChain::Create(key);
  if (!chain.ok()) {
    report.verdict = Verdict::kUnreadable;
    report.reason = std::string(chain.status().message());
    return report;
  }
  Verifier verifier(*std::move(chain), head, from, report);
  check(verifier);
  verifier.End();
  return report;
}

}  // namespace

AuditReport VerifyAudit(const std::vector<std::string>& files, const SecretBytes& key,
                        const std::optional<AuditHead>& head, const std::optional<AuditHead>& from) {
  return Verify(key, head, from, [&](Verifier& verifier) { verifier.CheckFiles(files); });
}

AuditReport VerifyAuditLog(const std::string& file, const SecretBytes& key, const std::optional<AuditHead>& head,
                           const std::optional<AuditHead>& from, AuditFiles files) {
  return Verify(key, head, from, [&](Verifier& verifier) {
    return files == AuditFiles::kClosed ? verifier.CheckClosedFiles(file) : verifier.CheckLog(file);
  });
}

}  // namespace stampgate
