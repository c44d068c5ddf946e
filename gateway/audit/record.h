// The records of the audit log, and their text: one JSON object a line.
//
//   {"seq":7,"time":"2026-01-02T03:04:05.678901Z","kind":"allow","caller":"payments",...,"mac":"<64 hex digits>"}
//
// Members have a fixed order and are omitted when empty. "seq" counts from 1 without gaps. "time" is when the decision
// or outcome happened, so a record that was queued is older than its neighbours. "mac" comes last and chains the
// records, see chain.h.
//
// Records are written in groups; each group is written after the previous one was synced. The first record of a group,
// except the very first, has "previous_mac" before "mac": the MAC of the record before it. With it a reader can check
// that record by itself, see later_group.h. The older format 1 has it in rotate records only.
//
// The kinds, and their own members:
//
//   start         the process begins: "format" of the file, "version" of the program, "closed", the number of allows
//                 of earlier processes to which it gave an outcome
//   stop          the process ends in order
//   torn          this start has removed bytes after the previous record that are not records and that a crash had
//   left:
//                 "bytes" is their number
//   allow         a call may be stamped or, with "prepared_method", its body may be returned to be stamped by a client:
//                 AuditDecision
//   deny          a call was refused: AuditDecision
//   denied_count  "count" refusals of "caller" that were not written one by one, the first at "since"
//   outcome       the outcome of the record "allow": AuditOutcome, "duration_us" in microseconds
//   rotate        the first record of a file that continues another: "format", "version", "open", the number of
//                 allows without an outcome; its "previous_mac" is that of the last record of the previous file
//   still_open    follows rotate: some of those "allows"
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

// The decision about one call.
struct AuditDecision {
  std::string caller;           // its name in the config; for an unknown caller, a description of its certificate
  std::string method;           // "/stampgate.v1.PolicyService/GetPolicy"
  std::string prepared_method;  // the method of the prepared call, if `method` prepares one
  std::string path;  // for a general operation, which has one method for many operations: the path's last segment
  std::string activity_type;    // for a general operation: its activity type
  std::string organization_id;  // empty if the call has none
  std::string key;              // name of the key that signs; empty for a denial and for a client's own stamp
  std::string body_sha256;      // lower-case hex, of the body that is stamped or forwarded; empty if there is none
  std::string policy_version;
  bool client_stamped = false;  // the request has a client's stamp
  std::string reason;           // for a denial: why, for the operator
  std::string request_id;       // the trace id of the call, which is also in the log and in the response
};

// The outcome of an allowed call.
struct AuditOutcome {
  std::string code;         // name of the canonical gRPC code, such as "OK"
  std::string reason;       // ErrorInfo.reason, if there is one
  std::string activity_id;  // if there is one
  std::string activity_status;
  std::string fingerprint;  // for a submit
  absl::Duration duration;
};

// The caller in a denial that the gateway writes about itself. No caller's name has brackets.
inline constexpr char kGatewayCaller[] = "(gateway)";

// The reason of the outcome UNKNOWN that a start writes for an allow of a process that ended without writing one.
inline constexpr char kProcessEnded[] = "PROCESS_ENDED";

// The reason of the outcome UNKNOWN of a call that ended without an outcome.
inline constexpr char kAbandoned[] = "ABANDONED";

// The format that the program writes. It also reads format 1, and continues a file of it.
inline constexpr int kAuditFormat = 2;

// The longest value in a record, before JSON escaping; a longer one is cut and ends in "...".
inline constexpr size_t kAuditValueBytes = 256;

// The longest value in a denial, which anybody can cause: the length of the longest organization id.
inline constexpr size_t kAuditDenialValueBytes = 128;

// The longest denial or count of denials, including the line feed.
inline constexpr size_t kAuditDenialBytes = 4 << 10;

// The longest record, including the line feed.
inline constexpr size_t kAuditRecordBytes = 32 << 10;

// How many allows one still_open record names.
inline constexpr size_t kAuditAllowsPerRecord = 1000;

// `text` as a record stores it: printable ASCII, which cannot mislead a terminal or a reader. Everything else and "%"
// become %XX; cut to `max_bytes`.
std::string AuditValue(absl::string_view text, size_t max_bytes = kAuditValueBytes);

// The members of a record after "seq", `"time":"...","kind":"..."` and so on, for AuditChain::AppendLine.
std::string StartText(absl::Time time, absl::string_view version, uint64_t closed);
std::string StopText(absl::Time time);
std::string TornText(absl::Time time, uint64_t bytes);
std::string AllowText(absl::Time time, const AuditDecision& decision);
std::string DenyText(absl::Time time, const AuditDecision& decision);
std::string DeniedCountText(absl::Time time, absl::string_view caller, uint64_t count, absl::Time since);
std::string OutcomeText(absl::Time time, uint64_t allow, const AuditOutcome& outcome);
std::string RotateText(absl::Time time, absl::string_view version, uint64_t open);
std::string StillOpenText(absl::Time time, const std::vector<uint64_t>& allows);

// Makes one of these texts the first record of a group.
std::string FirstOfGroup(absl::string_view text, absl::string_view previous_mac_hex);

enum class AuditKind { kStart, kStop, kTorn, kAllow, kDeny, kDeniedCount, kOutcome, kRotate, kStillOpen };

// The members of a record that a check of a file needs.
struct AuditRecord {
  uint64_t sequence = 0;
  AuditKind kind = AuditKind::kStart;
  uint64_t allow = 0;            // for an outcome
  uint64_t count = 0;            // for a denied_count
  bool process_ended = false;    // for an outcome: its reason is kProcessEnded
  uint64_t format = 0;           // for a start and a rotate
  std::string previous_mac;      // for the first record of a group: hex
  std::vector<uint64_t> allows;  // for a still_open
};

// Parses one line without its line feed; may increase its capacity. Errors: kDataLoss, with a reason that does not
// quote the line, if it is not a record.
absl::StatusOr<AuditRecord> ReadAuditRecord(std::string& line);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_RECORD_H_
