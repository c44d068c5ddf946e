#include "gateway/audit/record.h"

#include <optional>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "base/json/writer.h"

namespace stampgate {
namespace {

constexpr std::pair<AuditKind, absl::string_view> kKinds[] = {
    {AuditKind::kStart, "start"},     {AuditKind::kStop, "stop"},     {AuditKind::kTorn, "torn"},
    {AuditKind::kAllow, "allow"},     {AuditKind::kDeny, "deny"},     {AuditKind::kDeniedCount, "denied_count"},
    {AuditKind::kOutcome, "outcome"}, {AuditKind::kRotate, "rotate"}, {AuditKind::kStillOpen, "still_open"},
};

absl::string_view NameOf(AuditKind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "";
}

bool IsPlain(char c) { return c >= 0x20 && c < 0x7f && c != '%'; }

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone()); }

std::string Begin(absl::Time time, AuditKind kind) {
  return absl::StrCat(R"("time":")", TimeText(time), R"(","kind":")", NameOf(kind), "\"");
}

void AppendText(absl::string_view name, absl::string_view value, std::string& out,
                size_t max_bytes = kAuditValueBytes) {
  if (value.empty()) return;
  absl::StrAppend(&out, ",\"", name, "\":");
  AppendJsonString(AuditValue(value, max_bytes), out);
}

void AppendNumber(absl::string_view name, int64_t value, std::string& out) {
  absl::StrAppend(&out, ",\"", name, "\":", value);
}
void AppendNumber(absl::string_view name, uint64_t value, std::string& out) {
  absl::StrAppend(&out, ",\"", name, "\":", value);
}

std::string DecisionText(absl::Time time, AuditKind kind, const AuditDecision& decision) {
  std::string text = Begin(time, kind);
  text.reserve(512);
  const size_t most = kind == AuditKind::kDeny ? kAuditDenialValueBytes : kAuditValueBytes;
  AppendText("caller", decision.caller, text, most);
  AppendText("method", decision.method, text, most);
  AppendText("prepared_method", decision.prepared_method, text, most);
  AppendText("path", decision.path, text, most);
  AppendText("activity_type", decision.activity_type, text, most);
  AppendText("organization_id", decision.organization_id, text, most);
  AppendText("subscription", decision.subscription, text, most);
  AppendText("key", decision.key, text, most);
  AppendText("body_sha256", decision.body_sha256, text, most);
  AppendText("policy_version", decision.policy_version, text, most);
  if (decision.client_stamped) text += R"(,"client_stamped":true)";
  AppendText("reason", decision.reason, text);
  AppendText("request_id", decision.request_id, text, most);
  return text;
}

absl::Status NoRecord(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("is not an audit record: ", why));
}

absl::Status ReadNumber(JsonValue& value, uint64_t* number) {
  if (value.kind() != JsonValue::Kind::kNumber || !absl::SimpleAtoi(value.number(), number)) {
    return NoRecord("a member that must be a number is not a number");
  }
  return absl::OkStatus();
}

absl::Status ReadText(JsonValue& value, std::string* text) {
  if (value.kind() != JsonValue::Kind::kString || !value.string())
    return NoRecord("a member that must be a string is not a string");
  *text = std::string(*value.string());
  return absl::OkStatus();
}

absl::Status ReadKind(JsonValue& value, std::optional<AuditKind>* kind) {
  std::string text;
  ABSL_RETURN_IF_ERROR(ReadText(value, &text));
  for (const auto& [known, name] : kKinds) {
    if (name == text) *kind = known;
  }
  return kind->has_value() ? absl::OkStatus()
                           : NoRecord("its kind is unknown; a newer stampgate has possibly written it");
}

}  // namespace

std::string AuditValue(absl::string_view text, size_t max_bytes) {
  constexpr char kHex[] = "0123456789ABCDEF";
  constexpr absl::string_view kCut = "...";
  std::string value;
  size_t fits = 0;  // the size to which `value` is shortened if it becomes too long
  for (const char c : text) {
    if (value.size() <= max_bytes - kCut.size()) fits = value.size();
    if (IsPlain(c)) {
      value += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      value += '%';
      value += kHex[byte >> 4];
      value += kHex[byte & 0xf];
    }
    if (value.size() > max_bytes) {
      value.resize(fits);
      return absl::StrCat(value, kCut);
    }
  }
  return value;
}

std::string StartText(absl::Time time, absl::string_view version, uint64_t closed) {
  std::string text = Begin(time, AuditKind::kStart);
  AppendNumber("format", int64_t{kAuditFormat}, text);
  AppendText("version", version, text);
  AppendNumber("closed", closed, text);
  return text;
}

std::string StopText(absl::Time time) { return Begin(time, AuditKind::kStop); }

std::string TornText(absl::Time time, uint64_t bytes) {
  std::string text = Begin(time, AuditKind::kTorn);
  AppendNumber("bytes", bytes, text);
  return text;
}

std::string AllowText(absl::Time time, const AuditDecision& decision) {
  return DecisionText(time, AuditKind::kAllow, decision);
}

std::string DenyText(absl::Time time, const AuditDecision& decision) {
  return DecisionText(time, AuditKind::kDeny, decision);
}

std::string DeniedCountText(absl::Time time, absl::string_view caller, uint64_t count, absl::Time since) {
  std::string text = Begin(time, AuditKind::kDeniedCount);
  AppendText("caller", caller, text, kAuditDenialValueBytes);
  AppendNumber("count", count, text);
  AppendText("since", TimeText(since), text);
  return text;
}

std::string OutcomeText(absl::Time time, uint64_t allow, const AuditOutcome& outcome) {
  std::string text = Begin(time, AuditKind::kOutcome);
  text.reserve(384);
  AppendNumber("allow", allow, text);
  AppendText("code", outcome.code, text);
  AppendText("reason", outcome.reason, text);
  AppendText("activity_id", outcome.activity_id, text);
  AppendText("activity_status", outcome.activity_status, text);
  AppendText("fingerprint", outcome.fingerprint, text);
  AppendNumber("duration_us", absl::ToInt64Microseconds(outcome.duration), text);
  if (outcome.attempts > 1) AppendNumber("attempts", int64_t{outcome.attempts}, text);
  return text;
}

std::string RotateText(absl::Time time, absl::string_view version, uint64_t open) {
  std::string text = Begin(time, AuditKind::kRotate);
  AppendNumber("format", int64_t{kAuditFormat}, text);
  AppendText("version", version, text);
  AppendNumber("open", open, text);
  return text;
}

std::string StillOpenText(absl::Time time, const std::vector<uint64_t>& allows) {
  std::string text = Begin(time, AuditKind::kStillOpen);
  text += R"(,"allows":[)";
  for (size_t i = 0; i < allows.size(); ++i) absl::StrAppend(&text, i == 0 ? "" : ",", allows[i]);
  text += ']';
  return text;
}

std::string FirstOfGroup(absl::string_view text, absl::string_view previous_mac_hex) {
  return absl::StrCat(text, R"(,"previous_mac":")", previous_mac_hex, "\"");
}

absl::StatusOr<AuditRecord> ReadAuditRecord(std::string& line) {
  AuditRecord record;
  std::optional<AuditKind> kind;
  std::string reason;
  const absl::Status read = ReadJsonObject(line, [&](JsonValue& root) {
    return root.ForEachMember([&](absl::string_view name, JsonValue& value) -> absl::Status {
      if (name == "seq") return ReadNumber(value, &record.sequence);
      if (name == "time") return ReadText(value, &record.time);
      if (name == "kind") return ReadKind(value, &kind);
      if (name == "allow") return ReadNumber(value, &record.allow);
      if (name == "count") return ReadNumber(value, &record.count);
      if (name == "format") return ReadNumber(value, &record.format);
      if (name == "reason") return ReadText(value, &reason);
      if (name == "previous_mac") return ReadText(value, &record.previous_mac);
      if (name == "allows" && value.kind() == JsonValue::Kind::kArray) {
        return value.ForEachElement([&](size_t, JsonValue& element) {
          record.allows.emplace_back();
          return ReadNumber(element, &record.allows.back());
        });
      }
      return absl::OkStatus();
    });
  });
  if (absl::IsDataLoss(read)) return read;
  if (!read.ok()) return NoRecord(read.message());
  if (!kind || record.sequence == 0) return NoRecord("its number or its kind is missing");
  record.kind = *kind;
  record.process_ended = reason == kProcessEnded;
  return record;
}

}  // namespace stampgate
