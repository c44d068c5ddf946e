// Changes the files of the audit log: continues a file at its end, writes groups of records, and starts new files. It
// has no threads.
#ifndef STAMPGATE_GATEWAY_AUDIT_WRITER_H_
#define STAMPGATE_GATEWAY_AUDIT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/file.h"
#include "gateway/audit/record.h"
#include "webhooks/disk/exclusive_file.h"

namespace stampgate {

// One thread at a time. Functions that change a file return the errors of AuditFile: kDataLoss if no later call can
// succeed.
class AuditWriter {
 public:
  // The bytes at the file's end that a crash left and that Open removes.
  struct TornEnd {
    uint64_t after = 0;  // the sequence number of the record before them; 0 if there is none
    int64_t bytes = 0;
  };

  struct Options {
    std::string file;
    std::string version;  // of the program
    int64_t max_file_bytes = 0;
    std::function<absl::Time()> now;
    // Open calls it before it removes a torn end, on its thread. May be empty.
    std::function<void(const TornEnd&)> observe_torn_end;
    FileCalls* calls = nullptr;
  };

  // A record to write.
  struct Entry {
    std::string text;  // its members, made by record.h
    AuditKind kind;
    uint64_t allow = 0;     // for an outcome
    uint64_t sequence = 0;  // set by Write; 0 if the record was left out
  };

  // Checks the file from its start, as the disk holds it; creates it if it does not exist. Removes a torn end and
  // writes a record about it, writes the outcome UNKNOWN (reason PROCESS_ENDED) for every allow without one, and writes
  // a start record. All of that is durable when this returns. Reads about 150 MB a second.
  //
  // Errors: those of ExclusiveFile; kDataLoss if the chain is broken, naming the line, or if the file is empty although
  // it has closed files; kInvalidArgument and others of AuditChain; kUnavailable if a file cannot be read or written.
  static absl::StatusOr<std::unique_ptr<AuditWriter>> Open(Options options, const SecretBytes& key);

  // Writes the records in order, as one group that is durable when this returns OK; after an error nothing has been
  // written. An outcome whose allow already has one, or does not exist, is left out.
  absl::Status Write(const std::vector<Entry*>& entries);

  // Starts a new file if this one exceeds its limit. After kUnavailable the old file continues; when it has grown by
  // another eighth of its limit this tries again, and returns the same error until then.
  absl::Status StartAnewIfLarge();

  // The last durable record.
  const AuditPosition& head() const { return head_; }

  // The number of allows without a durable outcome.
  size_t open() const { return open_.size(); }

 private:
  AuditWriter(Options options, AuditChain chain, ExclusiveFile claim)
      : options_(std::move(options)), chain_(std::move(chain)), claim_(std::move(claim)) {}

  absl::Status Recover();

  const Options options_;
  AuditChain chain_;
  const ExclusiveFile claim_;
  std::unique_ptr<AuditFile> file_;
  AuditPosition head_;
  uint64_t first_sequence_ = 1;  // of the current file
  int64_t anew_at_ = 0;          // file size in bytes at which StartAnewIfLarge acts
  absl::Status anew_;            // result of the last attempt
  absl::flat_hash_set<uint64_t> open_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_WRITER_H_
