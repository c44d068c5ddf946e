// A submit with an idempotency key: which bytes may be sent again, and what the call store's record means to a caller.
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

// Upstream refuses a request whose timestampMs is an hour old. From this age on the gateway does not send it again.
inline constexpr absl::Duration kMaxRepeatAge = absl::Minutes(55);

// The digest of a request as its caller sent it, without the key. Two requests have the same digest if they are equal
// protobuf messages of the same method. The digest does not depend on how the gateway renders them.
std::array<uint8_t, 32> DigestOfRequest(const Operation& operation, const google::protobuf::Message& request);

// The body of the submit that `record` stands for, if it may be sent again: `rendered` still gives the same bytes at
// the record's timestamp, and upstream still accepts them.
std::optional<RequestBody> BodyToRepeat(const KeyRecord& record, const RenderedRequest& rendered, absl::Time now);

// INVALID_ARGUMENT (INVALID_REQUEST) if the caller has set a timestamp that is too old for a new key, because upstream
// would refuse a repetition.
absl::Status CheckTimestampOfKey(uint64_t timestamp_ms, absl::Time now);

// The status of a call whose key is known, if nothing may be sent. `wanted` is the digest of the call's own request.
//
//   OK                  upstream has an activity; `response` gets its id and status, and nothing else
//   the stored error    upstream refused the submit
//   UNKNOWN             OUTCOME_NOT_STORED: upstream may have carried the submit out
//   INVALID_ARGUMENT    IDEMPOTENCY_KEY_REUSED: the key belongs to another request
absl::Status StoredAnswer(const KeyRecord& record, const std::array<uint8_t, 32>& wanted, const Operation& operation,
                          google::protobuf::Message& response);

// FAILED_PRECONDITION (IDEMPOTENCY_NOT_CONFIGURED): the gateway has no call store.
absl::Status NoStore();

// UNAVAILABLE (IDEMPOTENCY_UNAVAILABLE): the store has returned an error.
absl::Status StoreUnavailable();

// UNKNOWN (IDEMPOTENCY_KEY_UNCERTAIN): the store has lost keys, perhaps this one, and accepts it again after `until`.
absl::Status KeyUncertain(absl::Duration until);

// How an attempt ended, from the end of its exchange. `failure` is null if upstream answered. `status` and `activity`
// are those of the reply.
AttemptEnd EndOf(const TransportFailure* failure, const absl::Status& status, const ActivitySummary& activity);

// An attempt that has begun. The destructor ends it as kUnknown if nobody has ended it.
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

  // Reports the end to the store. Does nothing if there is no attempt, or if it has ended.
  void End(AttemptEnd end) {
    if (store_ != nullptr) std::exchange(store_, nullptr)->End(id_, std::move(end));
  }

 private:
  CallStore* store_ = nullptr;
  CallStore::AttemptId id_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_KEYED_SUBMIT_H_
