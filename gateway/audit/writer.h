// Writes the files of the audit log: continues a file at its end, appends groups of records, and starts new files. It
// has no threads.
#ifndef STAMPGATE_GATEWAY_AUDIT_WRITER_H_
#define STAMPGATE_GATEWAY_AUDIT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "base/disk/exclusive_file.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/closed_files.h"
#include "gateway/audit/file.h"
#include "gateway/audit/record.h"

namespace stampgate {

// Writes the files of one audit log. Only one thread may use it at a time. Functions that change a file return the
// errors of AuditFile: kDataLoss if all later calls will fail too.
class AuditWriter {
 public:
  // The bytes at the file's end that a crash left and that Open removes.
  struct TornEnd {
    uint64_t after = 0;  // the sequence number of the record before these bytes; 0 if there is none
    int64_t bytes = 0;
  };

  // A file that the writer has closed: it never changes again.
  struct ClosedFile {
    std::string path;
    AuditHead head;  // its last record
  };

  struct Options {
    std::string file;
    std::string version;  // the program's version
    int64_t max_file_bytes = 0;
    bool daily_files = false;  // if true, each day (UTC) gets a file of its own
    std::function<absl::Time()> now;
    // Receives each closed file, as soon as its name is on the disk. Also called by Open. May be empty.
    std::function<void(const ClosedFile&)> observe_closed;
    // Open calls this function before it removes a torn end. May be empty.
    std::function<void(const TornEnd&)> observe_torn_end;
    FileCalls* calls = nullptr;
  };

  // A record to write.
  struct Entry {
    std::string text;  // the record's members, as the functions of record.h return them
    AuditKind kind;
    uint64_t allow = 0;     // for an outcome: the number of its allow record
    uint64_t sequence = 0;  // the record's number, which Write sets; 0 if Write has left the record out
  };

  // Opens the current file, or creates it if it does not exist. Reads the whole file from the disk, not from the page
  // cache, and checks it. If the file has a torn end, removes the torn end and writes a torn record. Writes the outcome
  // UNKNOWN (reason PROCESS_ENDED) for every allow without an outcome, and a start record. All of these records are
  // durable when Open returns. Open reads about 150 MB a second.
  //
  // Errors: those of ExclusiveFile::Claim; those of AuditChain::Create; kDataLoss, with the number of the line, if the
  // chain is broken; kDataLoss if the file has no records but closed files of this log exist; kUnavailable if a file
  // cannot be read or written.
  static absl::StatusOr<std::unique_ptr<AuditWriter>> Open(Options options, const SecretBytes& key);

  // Writes the records in order, as one group. If Write returns OK, the group is durable. If Write returns an error,
  // none of the records has been written. Leaves out an outcome if its allow already has an outcome or does not exist.
  absl::Status Write(const std::vector<Entry*>& entries);

  // Starts a new file if the current file exceeds its limit or, with `daily_files`, if it is not a file of this day.
  //
  // A file is of the day of its first record. It stays current while the clock is at most one hour before this day, so
  // that small corrections of the clock at midnight make no further files. Names never repeat, because they contain the
  // number of the first record; so a clock that goes back opens no earlier file again.
  //
  // If StartAnewIfDue fails with kUnavailable, later records are written to the current file. StartAnewIfDue tries
  // again after a minute, or when the file has grown by another eighth of its limit. Before that, it returns the same
  // error.
  absl::Status StartAnewIfDue();

  // Returns the position of the last durable record.
  const AuditPosition& head() const { return head_; }

  // Returns the number of allows without a durable outcome.
  size_t open() const { return open_.size(); }

 private:
  AuditWriter(Options options, AuditChain chain, ExclusiveFile claim)
      : options_(std::move(options)), chain_(std::move(chain)), claim_(std::move(claim)) {}

  absl::Status Recover();
  absl::Status CompleteRotation(const AuditPosition& end);
  bool IsDue(absl::Time now) const;
  absl::Status StartAnew(absl::Time now);
  absl::Status EndClosing();

  const Options options_;
  AuditChain chain_;
  const ExclusiveFile claim_;
  std::unique_ptr<AuditFile> file_;
  AuditPosition head_;
  uint64_t first_sequence_ = 1;  // the number of the first record of the current file
  absl::CivilDay day_;           // the day of the first record of the current file
  // The file that the current file has replaced, and its last record, until it has its name as a closed file.
  std::optional<std::pair<AuditFileNames, AuditPosition>> closing_;
  absl::Status anew_;  // the result of the last attempt to start a new file
  // After a failed attempt: its time, and the size of the current file in bytes above which the next attempt is made.
  absl::Time failed_at_;
  int64_t retry_above_ = 0;
  absl::flat_hash_set<uint64_t> open_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_WRITER_H_
