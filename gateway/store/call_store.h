// The call store durably records the submit and outcome of each idempotency key, and an upper bound of the timestamps
// that the gateway has used.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_STORE_H_
#define STAMPGATE_GATEWAY_STORE_CALL_STORE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace stampgate {

// A submit for which a caller has set an idempotency key.
struct KeyedSubmit {
  std::string caller;                           // the caller's name in the config
  std::string key;                              // 1 to 128 bytes
  std::array<uint8_t, 32> request_sha256 = {};  // of the caller's request without the key
  std::array<uint8_t, 32> body_sha256 = {};     // of the request body for upstream
  uint64_t timestamp_ms = 0;                    // the timestamp in the body
  bool begins = true;                           // if false, Begin only looks up the key's record
};

// How one attempt to carry out a submit ended.
struct AttemptEnd {
  enum class Kind {
    kNotSent,  // no byte of the body can have reached upstream
    kUnknown,  // it is possible that upstream has carried out the submit
    kRefused,  // upstream has responded that it did not carry out the submit
    kDone,     // upstream's response has an activity
  };

  Kind kind = Kind::kUnknown;
  absl::StatusCode code = absl::StatusCode::kUnknown;  // for a refusal: the code that the caller received
  std::string domain = {};                             // for a refusal: ErrorInfo.domain
  std::string reason = {};                             // for a refusal: ErrorInfo.reason
  std::string activity_id = {};                        // for an activity
  std::string activity_status = {};                    // for an activity: the name of the enum value
};

// The stored submit of an idempotency key, and its outcome.
struct KeyRecord {
  std::array<uint8_t, 32> request_sha256 = {};
  std::array<uint8_t, 32> body_sha256 = {};
  uint64_t timestamp_ms = 0;
  // The combined outcome of all attempts: kDone if any attempt led to an activity; otherwise kUnknown if any attempt is
  // still open or ended as kUnknown; otherwise the last refusal, if there is one; otherwise kNotSent.
  AttemptEnd outcome;
};

// The timestamps that a process may choose: those whose remainder modulo `count` is `index`.
struct TimestampLease {
  uint64_t index = 0;
  uint64_t count = 1;
};

// The interface of a call store. Thread-safe. Only Close blocks.
class CallStore {
 public:
  using AttemptId = uint64_t;

  // The result of Begin.
  struct Begun {
    // Set if the attempt has begun and is on the disk. In this case, End must be called for the attempt.
    std::optional<AttemptId> attempt;
    // The key's record. If this is set, Begin has changed nothing. Set if the key has a row and `begins` was false.
    // Also set if no attempt may begin, in three cases:
    //   - The key belongs to another request, or to the same request with another timestamp or body, and an attempt may
    //     have sent that body.
    //   - The key's row was already stored when the store was restored or lost data, and the retention time has not
    //     passed since. The outcome is kDone if the row has the outcome kDone, and otherwise kUnknown, because an
    //     attempt is possibly lost.
    //   - The key's row is damaged. The record then has the outcome kUnknown and the request_sha256 of the submit; its
    //     timestamp_ms and body_sha256 are zero.
    // In the last two cases, even a second Begin with the body and timestamp of this record begins no attempt, and
    // returns a record.
    std::optional<KeyRecord> record;
    // Meaningful only if neither `attempt` nor `record` is set. Zero if the key is new and `begins` was false. Positive
    // if the store does not have the key, but may have had the key before the store was restored or lost data. The
    // value is then the time after which the store accepts the key.
    absl::Duration unknown_until = absl::ZeroDuration();
  };

  using OnDecided = absl::AnyInvocable<void()>;
  using OnBegun = absl::AnyInvocable<void(absl::StatusOr<Begun>)>;

  virtual ~CallStore() = default;

  // Begins an attempt to carry out `submit` if the key of `submit` is new, or if the key belongs to a submit with the
  // same request, body and timestamp. If the key belongs to the same request with another body, and no attempt has sent
  // that other body, Begin also begins an attempt. In this case, the key gets the body and timestamp of `submit`.
  //
  // When the store has decided that an attempt may begin, and before it writes the attempt, it calls `on_decided` once,
  // so that the caller can write its own records meanwhile. `done` can still get an error, or a record. `on_decided`
  // can be null. The store does not call it while its last write has failed.
  //
  // Then calls `done` once. Calls both on the store's thread, so they must not block. If the store refuses to queue the
  // submit, Begin itself calls `done`. Errors: kResourceExhausted if the queue is full, the disk is full, or the
  // maximum number of keys is stored and the caller has its share of them; kUnavailable if the store is closed or has
  // failed.
  virtual void Begin(KeyedSubmit submit, OnDecided on_decided, OnBegun done) = 0;

  // Records how an attempt ended. Call End once for each attempt. Queues `end`, and returns before `end` is on the
  // disk. If the process dies before `end` is on the disk, the attempt counts as kUnknown. Truncates each text to 256
  // bytes.
  virtual void End(AttemptId attempt, AttemptEnd end) = 0;

  // Returns the floor, in milliseconds since 1970. All timestamps that were used before this store was opened are below
  // the floor. Returns 0 if the store was created when it was opened. In a shared store, the floor belongs to the
  // lease: all earlier holders of the lease have used only timestamps below the floor.
  virtual uint64_t timestamp_floor_ms() const = 0;

  // Returns the lease of this process if several processes share the store, and otherwise nothing. Also returns nothing
  // if the server of a shared store could not be reached since the store was opened. No other process has the same
  // index, unless all of its values are above those that this process may choose.
  //
  // If this process does not renew its lease for a long time, another process can take it. RaiseTimestamps then takes
  // another lease for this process.
  virtual std::optional<TimestampLease> timestamp_lease() const = 0;

  // Durably raises the floor for the next time that the store is opened: to at least `ms`. Only Close can lower it
  // again. After `done` was called with OK, the process may use timestamps of the lease from the floor to below `ms`;
  // during `done`, the functions above return this lease and its floor. Calls `done` as Begin does, with the errors of
  // Begin.
  virtual void RaiseTimestamps(uint64_t ms, absl::AnyInvocable<void(absl::Status)> done) = 0;

  // Returns how long the store has waited for its disk or server so far; zero if it does not wait. While this is longer
  // than kWriteHangsAfter, Begin and RaiseTimestamps fail at once with kUnavailable.
  virtual absl::Duration WriteUnderWay() const = 0;

  // Writes the queued steps, and blocks until they are written. Requires that no timestamp at or above
  // `next_timestamp_ms` was used since this store was opened. If Close has written all steps, the next
  // store that opens these files has the higher of `next_timestamp_ms` and timestamp_floor_ms() as its floor, but never
  // more than the value that RaiseTimestamps has set last.
  // After Close, Begin and RaiseTimestamps return an error. If Close was not called, the destructor closes the store,
  // and the floor of the next store is the value that RaiseTimestamps has set last.
  virtual void Close(uint64_t next_timestamp_ms) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_STORE_H_
