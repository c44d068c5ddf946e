// The result of a verification of an audit log, and its text.
#ifndef STAMPGATE_GATEWAY_AUDIT_REPORT_H_
#define STAMPGATE_GATEWAY_AUDIT_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gateway/audit/chain.h"

namespace stampgate {

struct AuditReport {
  enum class Verdict {
    kWhole,
    kTorn,        // only the end of the last file is invalid: a crash damaged it, or the gateway is writing it
    kIncomplete,  // the beginning is missing; the rest is kWhole or kTorn
    kBroken,      // records were changed, removed, added or moved, or were written with another key
    kRepeated,    // the log is the same as another log of the same call, or a copy of it
    kUnreadable,  // a file could not be read, or the key could not be used
  };

  struct File {
    std::string path;
    uint64_t first_sequence = 0;  // 0 if the file has no record
    uint64_t last_sequence = 0;
    AuditMac first_mac{};  // the MAC of the first record
  };

  Verdict verdict = Verdict::kWhole;
  std::string reason;  // names the file, the line and the fault; empty for kWhole

  // The files that were read: all files, or the files up to the fault.
  std::vector<File> files;
  uint64_t records = 0;
  std::string first_time;  // of the first record, as the record has it; empty if there is no record
  std::string last_time;   // of the last record
  uint64_t allows = 0;
  uint64_t denials = 0;          // denials with a record of their own
  uint64_t counted_denials = 0;  // denials that were only counted
  uint64_t outcomes = 0;
  uint64_t unknown_outcomes = 0;  // outcomes that a later start wrote, because the process of the call had ended
  uint64_t open_allows = 0;       // allows without an outcome, because the call is in progress or the process has died
  AuditHead head;                 // names the last record
  bool head_was_asked_for = false;
  bool start_was_given = false;

  // Returns 0 for kWhole, 1 for kBroken and kRepeated, 2 for kUnreadable, 3 for kTorn, 4 for kIncomplete.
  int ExitStatus() const;

  // Returns "ok", "torn", "INCOMPLETE", "BROKEN", "REPEATED" or "cannot be checked".
  absl::string_view VerdictName() const;

  // Returns the report as lines of text. The last line states the verdict and begins with VerdictName().
  std::string ToString() const;

  // Returns the report without the reason and the files: one line, without a line feed. The line begins with
  // VerdictName().
  std::string Summary() const;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_REPORT_H_
