// Rules for a submit with an idempotency key: when the gateway may send the submit's bytes again, and which status the
// caller gets if the key is stored.
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
#include "stamp/request_body.h"
#include "translate/activity_summary.h"
#include "translate/message/parsed_message.h"
#include "translate/message/request_memory.h"
#include "translate/operation_table.h"
#include "translate/request_translator.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// The gateway does not send a request again if the request's timestampMs is this old. Upstream refuses a request whose
// timestampMs is an hour old.
inline constexpr absl::Duration kMaxRepeatAge = absl::Minutes(55);

// Returns the digest of a request as its caller sent it, without the idempotency key and without wait_until. Two
// requests have the same digest if they are equal protobuf messages of the same method. The digest does not depend on
// how the gateway renders the request.
std::array<uint8_t, 32> DigestOfRequest(const Operation& operation, const ParsedMessage& request);

// A request that no client has stamped, in each of its forms: the one that upstream would receive now, and those with
// the names that the members of the request had on other days (Operation::name_days).
struct RequestForms {
  const Operation& operation;
  const ParsedMessage& request;
  const RequestMemory& memory;
  RenderedRequest& rendered;  // the form that upstream would receive now; its members are taken
};

// Returns the body of the submit that `record` describes if the gateway may send this body again. Two conditions must
// hold: a form of the request still gives the same bytes with the record's timestamp, and this timestamp is younger
// than kMaxRepeatAge. Otherwise returns nullopt. Holds one body at a time.
std::optional<RequestBody> BodyToRepeat(const KeyRecord& record, const RequestForms& forms, absl::Time now);

// Returns an error if `timestamp_ms` is at least kMaxRepeatAge old. The gateway stores no new key for such a submit,
// because upstream would refuse a repetition of the submit. The error is INVALID_ARGUMENT (INVALID_REQUEST) if the
// caller has set the timestamp. Otherwise it is RESOURCE_EXHAUSTED (TIMESTAMPS_EXHAUSTED): the gateway's clock has
// passed all timestamps that it has reserved in the store, and it will reserve others within seconds.
absl::Status CheckTimestampOfKey(uint64_t timestamp_ms, bool is_of_caller, absl::Time now);

// Returns the result of a call whose idempotency key is stored, and for which the gateway must not send anything.
// `wanted` is the digest of the call's request. The results are:
//
//   the summary         upstream has this activity
//   the stored error    upstream refused the submit
//   UNKNOWN             OUTCOME_NOT_STORED: it is not known whether upstream carried the submit out
//   INVALID_ARGUMENT    IDEMPOTENCY_KEY_REUSED: the key belongs to another request
absl::StatusOr<ActivitySummary> StoredAnswer(const KeyRecord& record, const std::array<uint8_t, 32>& wanted);

// Returns FAILED_PRECONDITION (IDEMPOTENCY_NOT_CONFIGURED): the gateway has no call store.
absl::Status NoStore();

// Returns UNAVAILABLE (IDEMPOTENCY_UNAVAILABLE): the store has returned an error.
absl::Status StoreUnavailable();

// Returns UNKNOWN (IDEMPOTENCY_KEY_UNCERTAIN): the store has lost keys, perhaps the key of this call. The store accepts
// this key again when the time `until` has passed.
absl::Status KeyUncertain(absl::Duration until);

// Returns how an attempt ended. `failure` is the failure of the attempt's exchange, or null if upstream answered.
// `status` and `activity` come from the translated response.
AttemptEnd EndOf(const TransportFailure* failure, const absl::Status& status, const ActivitySummary& activity);

// An attempt that the call store has begun. If End was not called, the destructor ends the attempt with kUnknown.
class SubmitAttempt {
 public:
  SubmitAttempt() = default;
  // `store` must outlive this.
  SubmitAttempt(CallStore& store, CallStore::AttemptId id) : store_(&store), id_(id) {}
  SubmitAttempt(SubmitAttempt&& other) noexcept : store_(std::exchange(other.store_, nullptr)), id_(other.id_) {}
  SubmitAttempt& operator=(SubmitAttempt&& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~SubmitAttempt() { End({}); }

  // Whether the attempt has begun and has not ended.
  bool is_open() const { return store_ != nullptr; }

  // Reports to the store how the attempt ended. Does nothing if this object has no attempt, or if the attempt has
  // ended.
  void End(AttemptEnd end) {
    if (store_ != nullptr) std::exchange(store_, nullptr)->End(id_, std::move(end));
  }

 private:
  CallStore* store_ = nullptr;
  CallStore::AttemptId id_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_KEYED_SUBMIT_H_
