// The call store, the durable memory of submits: what each idempotency key stands for, and how far timestamps have been
// given out.
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
  std::array<uint8_t, 32> request_sha256 = {};  // of the request as the caller sent it, without the idempotency key
  std::array<uint8_t, 32> body_sha256 = {};     // of the bytes that are sent upstream
  uint64_t timestamp_ms = 0;                    // the timestamp in these bytes
  bool begins = true;                           // if false, no attempt begins: only the record of the key is wanted
};

// How one attempt to carry out a submit ended.
struct AttemptEnd {
  enum class Kind {
    kNotSent,  // certainly no byte of the body reached upstream
    kUnknown,  // upstream may have carried out the submit
    kRefused,  // upstream's response states that it did not carry it out
    kDone,     // upstream's response has an activity
  };

  Kind kind = Kind::kUnknown;
  absl::StatusCode code = absl::StatusCode::kUnknown;  // for a refusal: the code that the caller got
  std::string domain = {};                             // for a refusal: ErrorInfo.domain
  std::string reason = {};                             // for a refusal: ErrorInfo.reason
  std::string activity_id = {};                        // for an activity
  std::string activity_status = {};                    // for an activity: the name of the enum value
};

// What the store remembers about an idempotency key.
struct KeyRecord {
  std::array<uint8_t, 32> request_sha256 = {};
  std::array<uint8_t, 32> body_sha256 = {};
  uint64_t timestamp_ms = 0;
  // The outcome of all attempts together: kDone once there was an activity; else kUnknown while one attempt has not
  // ended as refused or unsent; else kRefused, the last one, if there was a refusal; else kNotSent.
  AttemptEnd outcome;
};

// Thread-safe; no call except Close blocks.
class CallStore {
 public:
  using AttemptId = uint64_t;

  // The result of Begin.
  struct Begun {
    // Set if the attempt has begun, durably. End must follow.
    std::optional<AttemptId> attempt;
    // Otherwise set if no attempt may begin: what the key stands for. The store has not changed. There are three cases:
    //   - The key stands for another request, or for the same request with another timestamp or body.
    //   - The key was there when the store was restored or lost something. This lasts as long as keys are kept. The
    //     outcome is kDone if that is stored, and otherwise kUnknown: more may have been sent than the store knows.
    //   - The key's row is damaged. The outcome is then kUnknown and request_sha256 that of the submit; timestamp_ms
    //     and body_sha256 are zero.
    // A second Begin with the record's body and timestamp may therefore return a record again.
    std::optional<KeyRecord> record;
    // Neither is set if the store was restored or has lost something, and does not have the key: it may have had it
    // before. After this time it accepts such keys again. Zero if the key is new and `begins` was false.
    absl::Duration unknown_until = absl::ZeroDuration();
  };

  virtual ~CallStore() = default;

  // Begins an attempt to carry out `submit`, if its key is new, if the key stands for this very submit, or if it stands
  // for the same request and no attempt has sent anything: it then stands for the new body and timestamp.
  //
  // Calls `done` once: on the store's thread, or on this one if the submit is refused at once. `done` must not block.
  // Errors: kResourceExhausted if the queue is full, the disk is full, or the maximum number of keys is stored;
  // kUnavailable if the store is closed or has failed.
  virtual void Begin(KeyedSubmit submit, absl::AnyInvocable<void(absl::StatusOr<Begun>)> done) = 0;

  // Records how an attempt ended; call it once for each. It is written soon, and no call waits for it: an attempt whose
  // end is not on the disk when the process ends counts as kUnknown. Texts are cut to 256 bytes.
  virtual void End(AttemptId attempt, AttemptEnd end) = 0;

  // Every timestamp, in milliseconds since 1970, that was given out before this store was opened is below this. 0 if
  // opening created the store.
  virtual uint64_t timestamp_floor_ms() const = 0;

  // After `done` was called with OK, timestamps below `ms` may be given out: the floor of every later store is at least
  // `ms`. Errors as for Begin. `done` runs on the store's thread and must not block.
  virtual void RaiseTimestamps(uint64_t ms, absl::AnyInvocable<void(absl::Status)> done) = 0;

  // Writes the queued steps, and blocks until that is done. The caller states that it has given out no timestamp at or
  // above `next_timestamp_ms` since this store was opened: if everything was written, the next store's floor is the
  // higher of it and timestamp_floor_ms(). Later calls fail. Destroying a store closes it and keeps its floor.
  virtual void Close(uint64_t next_timestamp_ms) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_STORE_H_
