// The records of the audit log, and their text: one JSON object a line.
//
//   {"seq":7,"time":"2026-01-02T03:04:05.678901Z","kind":"allow","caller":"payments",...,"mac":"<64 hex digits>"}
//
// Members stand in a fixed order and are left out when they are empty. "seq" counts from 1 and has no gaps; "time" is
// when the thing happened, so a record that had to wait for room is older than those around it. "mac" comes last and
// chains the records, see chain.h.
//
// Records are written in groups, each once the group before it is on the disk. The first record of a group, unless it
// is the very first, has "previous_mac" before "mac": the MAC of the record before it. It lets a reader check that
// record by itself, see audit_later_group.h. Format 1, which was written before, has it in rotate records only.
//
// The kinds, and the members of their own:
//
//   start         the process begins: "format" of the file, "version" of the program, "closed", the number of allows
//                 of processes before that it gave an outcome
//   stop          the process ends as it should
//   torn          a crash had left bytes that are no records after the record before this one; this start has removed
//                 them: "bytes" is their number
//   allow         a call may be stamped, or, with "prepared_method", its body may be handed out to be stamped:
//                 AuditDecision
//   deny          a call was refused: AuditDecision
//   denied_count  "count" refusals of "caller" that were not written one by one, the first at "since"
//   outcome       what came of record "allow": AuditOutcome, "duration_us" in microseconds
//   rotate        the first record of a file that goes on with another: "format", "version", "open", the number of
//                 allows that have no outcome yet; its "previous_mac" is that of the last record of the file before
//   still_open    behind rotate: some of those "allows"
#ifndef STAMPGATE_GATEWAY_AUDIT_RECORD_H_
#define STAMPGATE_GATEWAY_AUDIT_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {

// What is decided about one call.
struct AuditDecision {
  std::string caller;           // its name in the config; of one who is not known, what it showed
  std::string method;           // "/stampgate.v1.PolicyService/GetPolicy"
  std::string prepared_method;  // that of the call which is prepared, if `method` prepares one
  std::string path;             // of a general operation, which has one method for all: the path's last segment
  std::string activity_type;    // and what it does there
  std::string organization_id;  // empty if the call concerns none
  std::string key;              // name of the key that signs; empty for a denial, and for a client's own stamp
  std::string body_sha256;      // lower-case hex, of the body to be stamped or forwarded; empty if there is none
  std::string policy_version;
  bool client_stamped = false;  // the call brings its own stamp
  std::string reason;           // of a denial, for the operator
  std::string request_id;       // the trace id of the call, which the log and the caller's answer have too
};

// What came of a call that was allowed.
struct AuditOutcome {
  std::string code;         // name of a canonical gRPC code: "OK"
  std::string reason;       // that of ErrorInfo, if there is one
  std::string activity_id;  // if there is one
  std::string activity_status;
  std::string fingerprint;  // of a submit
  absl::Duration duration;
};

// The caller of a denial that the gateway writes about itself. No caller's name has brackets.
inline constexpr char kGatewayCaller[] = "(gateway)";

// The reason of an outcome, code UNKNOWN, that the next start writes for an allow whose process ended before.
inline constexpr char kProcessEnded[] = "PROCESS_ENDED";

// The reason of an outcome, code UNKNOWN, of a call that ended without saying how.
inline constexpr char kAbandoned[] = "ABANDONED";

// The format that the program writes. It also reads format 1, and continues a file of it.
inline constexpr int kAuditFormat = 2;

// A value takes no more than this in a record, before JSON's own escapes: the end of a longer one is "...".
inline constexpr size_t kAuditValueBytes = 256;

// The same in a denial, which anybody can cause: no longer than the longest id of an organization.
inline constexpr size_t kAuditDenialValueBytes = 128;

// No denial is longer, nor a count of denials, line feed included.
inline constexpr size_t kAuditDenialBytes = 4 << 10;

// No record is longer, line feed included.
inline constexpr size_t kAuditRecordBytes = 32 << 10;

// Allows that one still_open record names.
inline constexpr size_t kAuditAllowsPerRecord = 1000;

// `text` as it stands in a record: printable ASCII, so that no terminal and no reader is misled, everything else and
// "%" as %XX; bounded as kAuditValueBytes says.
std::string AuditValue(absl::string_view text, size_t max_bytes = kAuditValueBytes);

// The members of a record behind "seq": `"time":"...","kind":"..."` and so on, to be given to AuditLine.
std::string StartText(absl::Time time, absl::string_view version, uint64_t closed);
std::string StopText(absl::Time time);
std::string TornText(absl::Time time, uint64_t bytes);
std::string AllowText(absl::Time time, const AuditDecision& decision);
std::string DenyText(absl::Time time, const AuditDecision& decision);
std::string DeniedCountText(absl::Time time, absl::string_view caller, uint64_t count, absl::Time since);
std::string OutcomeText(absl::Time time, uint64_t allow, const AuditOutcome& outcome);
std::string RotateText(absl::Time time, absl::string_view version, uint64_t open);
std::string StillOpenText(absl::Time time, const std::vector<uint64_t>& allows);

// One of these texts as the first record of a group has it.
std::string FirstOfGroup(absl::string_view text, absl::string_view previous_mac_hex);

enum class AuditKind { kStart, kStop, kTorn, kAllow, kDeny, kDeniedCount, kOutcome, kRotate, kStillOpen };

// What those who check a file need of a record.
struct AuditRecord {
  uint64_t sequence = 0;
  AuditKind kind = AuditKind::kStart;
  uint64_t allow = 0;            // of an outcome
  uint64_t count = 0;            // of a denied_count
  bool process_ended = false;    // of an outcome: nobody knows it, see kProcessEnded
  uint64_t format = 0;           // of a start and a rotate
  std::string previous_mac;      // of the first record of a group: hex
  std::vector<uint64_t> allows;  // of a still_open
};

// Reads one line without its line feed; the line may be given more capacity. Errors: kDataLoss, with a reason that says
// nothing of what is in it, if it is no record of ours.
absl::StatusOr<AuditRecord> ReadAuditRecord(std::string& line);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_RECORD_H_
