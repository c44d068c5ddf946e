// What the gateway does with a submit that has an idempotency key: send the same bytes, or answer from the store.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_KEYED_SUBMIT_H_
#define STAMPGATE_GATEWAY_OPERATIONS_KEYED_SUBMIT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/store/call_store.h"
#include "google/protobuf/message.h"
#include "stamp/request_body.h"
#include "translate/activity_summary.h"
#include "translate/operation_table.h"
#include "translate/request_translator.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Upstream refuses a request whose timestampMs is an hour old. From this age on its bytes are not sent again.
inline constexpr absl::Duration kMaxRepeatAge = absl::Minutes(55);

// The request as its caller sent it, less its key: two requests have one digest if they are equal as protobuf messages
// of one method. It does not depend on how the gateway renders them.
std::array<uint8_t, 32> DigestOfRequest(const Operation& operation, const google::protobuf::Message& request);

// The body of the submit that `record` stands for, if it may be sent again: `rendered` still gives the same bytes at
// the record's timestamp, and upstream still accepts them.
std::optional<RequestBody> BodyToRepeat(const KeyRecord& record, const RenderedRequest& rendered, absl::Time now);

// INVALID_ARGUMENT (INVALID_REQUEST) if the caller has set a timestamp that is too old for a new key: a repetition
// could not be sent.
absl::Status CheckTimestampOfKey(uint64_t timestamp_ms, absl::Time now);

// What the store has to say of a key of which nothing may be sent. `wanted` is the digest of the call's own request.
//
//   OK                  upstream had an activity: its id and status are in `response`, and nothing else
//   the stored error    upstream refused it for certain
//   UNKNOWN             OUTCOME_NOT_STORED: it may have been carried out
//   INVALID_ARGUMENT    IDEMPOTENCY_KEY_REUSED: the key stands for another request
absl::Status StoredAnswer(const KeyRecord& record, const std::array<uint8_t, 32>& wanted, const Operation& operation,
                          google::protobuf::Message& response);

// FAILED_PRECONDITION (IDEMPOTENCY_NOT_CONFIGURED): there is no store.
absl::Status NoStore();

// UNAVAILABLE (IDEMPOTENCY_UNAVAILABLE): the store has answered with an error.
absl::Status StoreUnavailable();

// UNKNOWN (IDEMPOTENCY_KEY_UNCERTAIN): the store has lost what it may have known.
absl::Status KeyUncertain(absl::Duration until);

// How an attempt ended whose exchange ended in an answer, or with `failure` if that is not null, of which the caller is
// given `status` and `activity`.
AttemptEnd EndOf(const TransportFailure* failure, const absl::Status& status, const ActivitySummary& activity);

// An attempt that has begun. Ends as kUnknown if nobody says how it ended.
class SubmitAttempt {
 public:
  SubmitAttempt() = default;
  // `store` outlives this.
  SubmitAttempt(CallStore& store, CallStore::AttemptId id) : store_(&store), id_(id) {}
  SubmitAttempt(SubmitAttempt&& other) noexcept : store_(std::exchange(other.store_, nullptr)), id_(other.id_) {}
  SubmitAttempt& operator=(SubmitAttempt&& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~SubmitAttempt() { End({}); }

  // Does nothing if there is no attempt, or if it has ended.
  void End(AttemptEnd end) {
    if (store_ != nullptr) std::exchange(store_, nullptr)->End(id_, std::move(end));
  }

 private:
  CallStore* store_ = nullptr;
  CallStore::AttemptId id_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_KEYED_SUBMIT_H_
