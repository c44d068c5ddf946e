// The records of the audit log, and their text: one JSON object per line.
//
//   {"seq":7,"time":"2026-01-02T03:04:05.678901Z","kind":"allow","caller":"payments",...,"mac":"<64 hex digits>"}
//
// Members have a fixed order and are omitted when empty. "seq" counts from 1 without gaps. "time" is the time of the
// decision or outcome. Because records can wait in a queue, "time" can be earlier than the "time" of the record before.
// "mac" is the last member and chains the records, see chain.h.
//
// Records are written in groups; each group is written after the previous group was synced. The first record of a group
// has "previous_mac" before "mac": the MAC of the record before it. Record 1 is the only first record without
// "previous_mac". With "previous_mac", a reader can check the first record of a group without the line before it, see
// later_group.h. In the older format 1, only rotate records have "previous_mac".
//
// The kinds of records, and the members that each kind has:
//
//   start         the process has started: "format" of the file; "version" of the program; "closed", the number of
//                 allows of earlier processes for which this start has written an outcome
//   stop          the process has ended in an orderly way
//   torn          when the process started, it removed a torn end of "bytes" bytes after the previous record
//   allow         a call may be stamped; or, with "prepared_method", the gateway may return a prepared body, which a
//                 client then stamps. The members are those of AuditDecision
//   deny          a call was refused. The members are those of AuditDecision
//   denied_count  "count" calls of "caller" were refused without a deny record, the first of them at "since"
//   outcome       the outcome of the call whose allow record has the number "allow". The members are those of
//                 AuditOutcome; "duration_us" is in microseconds
//   rotate        the first record of a file that continues another file: "format"; "version"; "open", the number of
//                 allows without an outcome. Its "previous_mac" is the MAC of the last record of the previous file
//   still_open    follows a rotate record: "allows" contains the numbers of allows without an outcome
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
  std::string caller;           // the caller's name in the config; for a stranger, a description of its certificate
  std::string method;           // "/stampgate.v1.PolicyService/GetPolicy"
  std::string prepared_method;  // the method of the prepared call, if `method` prepares one
  std::string path;             // for a general operation (one method for many operations): the path's last segment
  std::string activity_type;    // for a general operation: its activity type
  std::string organization_id;  // empty if the call has none
  std::string subscription;     // the name of the shared subscription that the call changes, or that it may not use
  std::string key;              // the name of the key that signs; empty for a denial, and if a client has stamped
  std::string body_sha256;  // of the body that is stamped or forwarded, in lower-case hex; empty if there is no body
  std::string policy_version;
  bool client_stamped = false;  // the request has a client's stamp
  std::string reason;           // for a denial: its reason, for the operator
  std::string request_id;       // the trace id of the call, which is also in the log and in the response
};

// The outcome of an allowed call.
struct AuditOutcome {
  std::string code;         // the name of the gRPC status code, such as "OK"
  std::string reason;       // ErrorInfo.reason, if there is one
  std::string activity_id;  // if there is one
  std::string activity_status;
  std::string fingerprint;  // for a submit
  absl::Duration duration;
  int attempts = 0;  // how often the request was sent to upstream; the record has the number only if it is above 1
};

// The name that a deny record has as its caller if the gateway writes the record about itself. No caller in the config
// has a name with brackets.
inline constexpr char kGatewayCaller[] = "(gateway)";

// The reason in the outcome UNKNOWN that the process writes at its start. It writes this outcome for each allow that an
// earlier process has recorded without an outcome.
inline constexpr char kProcessEnded[] = "PROCESS_ENDED";

// The reason in the outcome UNKNOWN of a call that ended in this process without reporting an outcome.
inline constexpr char kAbandoned[] = "ABANDONED";

// The format that the program writes. The program can also read a file of format 1 and continue it.
inline constexpr int kAuditFormat = 2;

// The length of the longest value in a record, before JSON escaping. A longer value is truncated to this length and
// ends in "...".
inline constexpr size_t kAuditValueBytes = 256;

// The length of the longest value in a deny or denied_count record, except of the reason, which is a text of the
// gateway. This limit is lower than kAuditValueBytes, because anybody can cause denials. The longest organization id
// has this length.
inline constexpr size_t kAuditDenialValueBytes = 128;

// The length of the longest deny or denied_count record, including the line feed.
inline constexpr size_t kAuditDenialBytes = 4 << 10;

// The length of the longest record, including the line feed.
inline constexpr size_t kAuditRecordBytes = 32 << 10;

// The maximum number of allows that one still_open record names.
inline constexpr size_t kAuditAllowsPerRecord = 1000;

// Returns `text` in the form in which a record stores it: printable ASCII, which cannot mislead a terminal or a reader.
// All other bytes, and "%", become %XX. If the result would be longer than `max_bytes`, it is truncated and ends in
// "...".
std::string AuditValue(absl::string_view text, size_t max_bytes = kAuditValueBytes);

// Each of these functions returns the members of a record that follow "seq", for AuditChain::AppendLine. The text
// begins with `"time":"...","kind":"..."`.
std::string StartText(absl::Time time, absl::string_view version, uint64_t closed);
std::string StopText(absl::Time time);
std::string TornText(absl::Time time, uint64_t bytes);
std::string AllowText(absl::Time time, const AuditDecision& decision);
std::string DenyText(absl::Time time, const AuditDecision& decision);
std::string DeniedCountText(absl::Time time, absl::string_view caller, uint64_t count, absl::Time since);
std::string OutcomeText(absl::Time time, uint64_t allow, const AuditOutcome& outcome);
std::string RotateText(absl::Time time, absl::string_view version, uint64_t open);
std::string StillOpenText(absl::Time time, const std::vector<uint64_t>& allows);

// Returns the text of the first record of a group: `text`, which one of these functions has returned, and
// "previous_mac".
std::string FirstOfGroup(absl::string_view text, absl::string_view previous_mac_hex);

enum class AuditKind { kStart, kStop, kTorn, kAllow, kDeny, kDeniedCount, kOutcome, kRotate, kStillOpen };

// The members of a record that are needed to check a file.
struct AuditRecord {
  uint64_t sequence = 0;
  AuditKind kind = AuditKind::kStart;
  std::string time;              // the text of "time"
  uint64_t allow = 0;            // for an outcome
  uint64_t count = 0;            // for a denied_count
  bool process_ended = false;    // for an outcome: its reason is kProcessEnded
  uint64_t format = 0;           // for a start and a rotate
  std::string previous_mac;      // for the first record of a group: hex
  std::vector<uint64_t> allows;  // for a still_open
};

// Parses `line`, which has no line feed. Can increase the capacity of `line`. Errors: kDataLoss if the line is not a
// record. The error does not quote the line.
absl::StatusOr<AuditRecord> ReadAuditRecord(std::string& line);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_RECORD_H_
