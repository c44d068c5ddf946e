// What changes the files of the audit log: going on where they end, groups of records, the change to a new file. It
// knows no threads.
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

// One thread at a time. Errors of what changes a file are those of AuditFile: kDataLoss if it can never work again.
class AuditWriter {
 public:
  // What a crash left at the file's end and Open removes.
  struct TornEnd {
    uint64_t after = 0;  // the sequence number of the record before it; 0 if there is none
    int64_t bytes = 0;
  };

  struct Options {
    std::string file;
    std::string version;  // of the program
    int64_t max_file_bytes = 0;
    std::function<absl::Time()> now;
    // Called by Open before it removes a torn end, on its thread. May be empty.
    std::function<void(const TornEnd&)> observe_torn_end;
    FileCalls* calls = nullptr;
  };

  // A record to be.
  struct Entry {
    std::string text;  // its members, by record.h
    AuditKind kind;
    uint64_t allow = 0;     // of an outcome
    uint64_t sequence = 0;  // set by Write; 0 if it was left out
  };

  // Checks the file from its start as the disk holds it, removes a torn end and writes a record of that, gives every
  // allow without an outcome the outcome UNKNOWN, reason PROCESS_ENDED, and writes that it starts; makes the file if it
  // is not there. All of that is durable when this returns. Reads about 150 MB a second.
  //
  // Errors: those of ExclusiveFile; kDataLoss if the chain is broken, naming the line, or if the file is empty though
  // it has old files; kInvalidArgument and others of AuditChain; kUnavailable if a file cannot be read or written.
  static absl::StatusOr<std::unique_ptr<AuditWriter>> Open(Options options, const SecretBytes& key);

  // Writes the records in their order, in one piece that is durable when this returns OK; after an error it is as if
  // they had never been given. An outcome whose allow has one, or is none, is left out.
  absl::Status Write(const std::vector<Entry*>& entries);

  // Goes on in a new file if this one is larger than it may be. Errors: after kUnavailable the file so far goes on; it
  // is tried again when it has grown by another eighth of what it may be, and until then the error stays the same.
  absl::Status StartAnewIfLarge();

  // The last durable record.
  const AuditPosition& head() const { return head_; }

  // Allows that have no durable outcome.
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
  uint64_t first_sequence_ = 1;  // of the file
  int64_t anew_at_ = 0;          // bytes
  absl::Status anew_;            // of the last attempt
  absl::flat_hash_set<uint64_t> open_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_WRITER_H_
