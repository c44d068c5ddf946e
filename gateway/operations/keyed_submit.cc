#include "gateway/operations/keyed_submit.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/secret/sha256.h"
#include "gateway/operations/submit_timestamp.h"
#include "gateway/operations/timestamp_reserve.h"
#include "translate/error.h"
#include "translate/violations.h"

namespace stampgate {
namespace {

using absl::StatusCode;

bool IsYoung(uint64_t timestamp_ms, absl::Time now) {
  // A timestamp after the year 9999 counts as old.
  constexpr uint64_t kMostMs = 253'402'300'799'999;
  return timestamp_ms <= kMostMs && now - absl::FromUnixMillis(static_cast<int64_t>(timestamp_ms)) < kMaxRepeatAge;
}

absl::Status OutcomeNotStored(const KeyRecord& record) {
  Error error =
      GatewayError(StatusCode::kUnknown, v1::ERROR_REASON_OUTCOME_NOT_STORED,
                   "upstream may have carried out an earlier call with this idempotency_key, and the gateway cannot "
                   "repeat that call: look for its fingerprint among the organization's activities");
  // If the store's row for a key is damaged, the record shows only that the key exists.
  if (record.timestamp_ms != 0) {
    error.metadata.emplace_back("fingerprint", FingerprintOf(record.body_sha256));
    error.metadata.emplace_back("timestamp_ms", absl::StrCat(record.timestamp_ms));
  }
  return ToStatus(error);
}

absl::Status StoredRefusal(const AttemptEnd& outcome) {
  Error error;
  error.code = outcome.code;
  error.domain = outcome.domain;
  error.reason = outcome.reason;
  error.message = "upstream refused an earlier call with this idempotency_key, and did not carry it out";
  return ToStatus(error);
}

}  // namespace

std::array<uint8_t, 32> DigestOfRequest(const Operation& operation, const ParsedMessage& request) {
  return Sha256(absl::StrCat(operation.full_name, "\n",
                             SerializeDeterministically(request, {operation.idempotency_key, operation.wait_until})));
}

std::optional<RequestBody> BodyToRepeat(const KeyRecord& record, const RequestForms& forms, absl::Time now) {
  if (!IsYoung(record.timestamp_ms, now)) return std::nullopt;
  const auto body_now = [&]() -> std::optional<RequestBody> {
    RequestBody body(forms.rendered.SubmitBody(record.timestamp_ms));
    if (body.sha256() != record.body_sha256) return std::nullopt;
    return body;
  };
  if (std::optional<RequestBody> body = body_now()) return body;
  for (const std::string& day : forms.operation.name_days) {
    absl::StatusOr<std::string> members = MembersOf(forms.operation, forms.request, day, forms.memory);
    if (!members.ok()) continue;
    forms.rendered.members = *std::move(members);
    if (std::optional<RequestBody> body = body_now()) return body;
  }
  return std::nullopt;
}

absl::Status CheckTimestampOfKey(uint64_t timestamp_ms, bool is_of_caller, absl::Time now) {
  if (IsYoung(timestamp_ms, now)) return absl::OkStatus();
  if (!is_of_caller) return TimestampsExhausted(TimestampReserve::kInterval);
  Violations violations;
  violations.Add([] {
    return Violation{"timestamp_ms", "must be less than 55 minutes ago if the idempotency_key is new"};
  });
  return ViolationError(std::move(violations));
}

absl::StatusOr<ActivitySummary> StoredAnswer(const KeyRecord& record, const std::array<uint8_t, 32>& wanted) {
  if (record.request_sha256 != wanted) {
    return ToStatus(GatewayError(StatusCode::kInvalidArgument, v1::ERROR_REASON_IDEMPOTENCY_KEY_REUSED,
                                 "an earlier call used this idempotency_key for another request"));
  }
  switch (record.outcome.kind) {
    case AttemptEnd::Kind::kDone:
      return ActivitySummary{record.outcome.activity_id, record.outcome.activity_status};
    case AttemptEnd::Kind::kRefused:
      return StoredRefusal(record.outcome);
    case AttemptEnd::Kind::kNotSent:
    case AttemptEnd::Kind::kUnknown:
      break;
  }
  return OutcomeNotStored(record);
}

absl::Status NoStore() {
  return ToStatus(GatewayError(StatusCode::kFailedPrecondition, v1::ERROR_REASON_IDEMPOTENCY_NOT_CONFIGURED,
                               "this gateway has no store for idempotency keys"));
}

absl::Status StoreUnavailable() {
  Error error = GatewayError(StatusCode::kUnavailable, v1::ERROR_REASON_IDEMPOTENCY_UNAVAILABLE,
                             "the store of idempotency keys is not available; this call sent nothing");
  error.retry_delay = absl::Seconds(1);
  return ToStatus(error);
}

absl::Status KeyUncertain(absl::Duration until) {
  Error error = GatewayError(StatusCode::kUnknown, v1::ERROR_REASON_IDEMPOTENCY_KEY_UNCERTAIN,
                             "the store was restored to an earlier state and may have lost this idempotency_key; this "
                             "call sent nothing");
  error.retry_delay = until;
  return ToStatus(error);
}

AttemptEnd EndOf(const TransportFailure* failure, const absl::Status& status, const ActivitySummary& activity) {
  AttemptEnd end;
  if (failure != nullptr) {
    end.kind = failure->body_sent ? AttemptEnd::Kind::kUnknown : AttemptEnd::Kind::kNotSent;
    return end;
  }
  if (status.ok()) {
    if (activity.id.empty()) return end;
    end.kind = AttemptEnd::Kind::kDone;
    end.activity_id = activity.id;
    end.activity_status = activity.status;
    return end;
  }
  if (ErrorReasonOf(status) == "OUTCOME_UNKNOWN") return end;
  end.kind = AttemptEnd::Kind::kRefused;
  end.code = status.code();
  end.domain = std::string(IsGatewayError(status) ? kGatewayDomain : kUpstreamDomain);
  end.reason = ErrorReasonOf(status);
  return end;
}

}  // namespace stampgate
