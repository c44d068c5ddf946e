#include "gateway/audit/scan.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "gateway/audit/later_group.h"
#include "gateway/audit/read_at.h"

namespace stampgate {
namespace {

constexpr size_t kReadBytes = 256 << 10;

// The first format that marks the beginnings of groups.
constexpr uint64_t kFormatWithGroups = 2;

// Reads the lines in the first `file_bytes` bytes of a file. Skips the text of a line that is too long for a record.
class LineReader {
 public:
  LineReader(int fd, int64_t file_bytes) : fd_(fd), file_bytes_(file_bytes) {}

  // Reads the next line into `line`, without its line feed. If the line is too long, `line` is empty. Returns false at
  // the file's end; in that case, rest() is the length of a last line without a line feed.
  absl::StatusOr<bool> Next(std::string* line) {
    rest_ = 0;
    line->clear();
    while (true) {
      if (next_ == size_) {
        ABSL_RETURN_IF_ERROR(Fill());
        if (size_ == 0) return false;
      }
      const char* begin = buffer_.data() + next_;
      const auto* feed = static_cast<const char*>(std::memchr(begin, '\n', size_ - next_));
      const size_t piece = feed == nullptr ? size_ - next_ : static_cast<size_t>(feed - begin);
      rest_ += static_cast<int64_t>(piece);
      if (rest_ < static_cast<int64_t>(kAuditRecordBytes)) {
        line->append(begin, piece);
      } else {
        line->clear();
      }
      next_ += piece;
      if (feed == nullptr) continue;
      ++next_;
      return true;
    }
  }

  // Returns the length of the line that Next has read last.
  int64_t rest() const { return rest_; }

 private:
  absl::Status Fill() {
    buffer_.resize(static_cast<size_t>(std::min<int64_t>(file_bytes_ - offset_, kReadBytes)));
    const absl::StatusOr<size_t> got = ReadAt(fd_, offset_, buffer_.data(), buffer_.size());
    if (!got.ok()) return got.status();
    offset_ += static_cast<int64_t>(*got);
    next_ = 0;
    size_ = *got;
    return absl::OkStatus();
  }

  const int fd_;
  const int64_t file_bytes_;
  int64_t offset_ = 0;
  std::string buffer_;
  size_t next_ = 0;
  size_t size_ = 0;
  int64_t rest_ = 0;
};

// Returns the position before `first`, which is the first record of a file.
absl::StatusOr<AuditPosition> Before(const AuditRecord& first) {
  if (first.sequence == 1) return AuditPosition();
  const std::optional<AuditMac> mac =
      first.kind == AuditKind::kRotate ? ParseMacHex(first.previous_mac) : std::optional<AuditMac>();
  if (!mac) return absl::DataLossError("is not the first record of a file: the records before it are missing");
  return AuditPosition{first.sequence - 1, *mac};
}

// Describes the difference between the end of one file and the position that the next one continues.
std::string Difference(uint64_t end, uint64_t before) {
  if (before == end) return ", which has another MAC";
  if (before < end) return "";
  return absl::StrCat(": records ", end + 1, " to ", before, " are missing");
}

// Checks the lines of one file, in order.
class Checker {
 public:
  Checker(AuditChain& chain, const AuditPosition* continues, AuditScan& scan)
      : chain_(chain), continues_(continues), scan_(scan) {}

  absl::StatusOr<AuditRecord> Check(std::string& line) {
    follows_ = false;
    if (!AuditChain::HasForm(line)) return absl::DataLossError("is not an audit record");
    const bool first = scan_.records == 0;
    std::optional<AuditRecord> record;
    if (first) {
      // The record is not trusted yet: only its "previous_mac" is used, to check its own MAC.
      ABSL_ASSIGN_OR_RETURN(AuditRecord read, ReadAuditRecord(line));
      ABSL_RETURN_IF_ERROR(Begin(read));
      record = std::move(read);
    }
    AuditPosition here{scan_.last.sequence + 1, {}};
    if (!chain_.Follows(line, scan_.last.mac, &here.mac)) {
      return absl::DataLossError(first ? "was changed, or was written with another key"
                                       : "does not follow the line before it: it was changed or inserted, or lines "
                                         "between them were removed");
    }
    follows_ = true;
    if (!record) {
      ABSL_ASSIGN_OR_RETURN(AuditRecord read, ReadAuditRecord(line));
      record = std::move(read);
    }
    if (record->sequence != here.sequence) {
      return absl::DataLossError(
          absl::StrCat("is record ", record->sequence, " where record ", here.sequence, " belongs"));
    }
    if (first) scan_.first_sequence = here.sequence;
    ++scan_.records;
    scan_.whole_bytes += static_cast<int64_t>(line.size() + 1);
    scan_.last = here;
    if (record->kind == AuditKind::kStart || record->kind == AuditKind::kRotate) scan_.format = record->format;
    return *std::move(record);
  }

  // Returns whether the line that Check has checked last has the right MAC. A line with the right MAC was written by
  // the owner of the key, even if the line cannot be parsed.
  bool follows() const { return follows_; }

 private:
  absl::Status Begin(const AuditRecord& first) {
    ABSL_ASSIGN_OR_RETURN(AuditPosition before, Before(first));
    if (continues_ != nullptr && !(*continues_ == before)) {
      return absl::DataLossError(absl::StrCat("continues record ", before.sequence,
                                              ", but the file before it ends with record ", continues_->sequence,
                                              Difference(continues_->sequence, before.sequence)));
    }
    scan_.before = before;
    scan_.last = before;
    return absl::OkStatus();
  }

  AuditChain& chain_;
  const AuditPosition* continues_;
  AuditScan& scan_;
  bool follows_ = false;
};

}  // namespace

absl::Status ScanAuditFile(int fd, AuditChain& chain, const AuditPosition* continues,
                           absl::FunctionRef<void(const AuditRecord& record, const AuditMac& mac)> on_record,
                           AuditScan* scan) {
  *scan = AuditScan();
  struct stat file;
  if (fstat(fd, &file) != 0) return absl::UnavailableError(absl::StrCat("cannot be examined: ", std::strerror(errno)));
  LineReader lines(fd, file.st_size);
  Checker checker(chain, continues, *scan);
  std::string line;
  line.reserve(kAuditRecordBytes + kJsonPadding);
  while (true) {
    ABSL_ASSIGN_OR_RETURN(const bool got, lines.Next(&line));
    if (!got && lines.rest() == 0) return absl::OkStatus();
    const absl::StatusOr<AuditRecord> record =
        got ? checker.Check(line) : absl::StatusOr<AuditRecord>(absl::DataLossError("is not a complete line"));
    if (record.ok()) {
      on_record(*record, scan->last.mac);
      continue;
    }
    const absl::Status damaged(record.status().code(),
                               absl::StrCat("line ", scan->records + 1, " ", record.status().message()));
    if (got && (checker.follows() || scan->format < kFormatWithGroups)) return damaged;
    ABSL_ASSIGN_OR_RETURN(const bool later,
                          HoldsLaterGroup(fd, scan->whole_bytes, file.st_size, scan->last.sequence + 1, chain));
    if (later) return damaged;
    scan->torn_bytes = file.st_size - scan->whole_bytes;
    return absl::OkStatus();
  }
}

}  // namespace stampgate
