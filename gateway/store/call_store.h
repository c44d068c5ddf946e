// The durable memory of submits: what belongs to an idempotency key, and how far timestamps have been given out.
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

// A submit that a caller has given a key.
struct KeyedSubmit {
  std::string caller;                           // its name in the config
  std::string key;                              // 1 to 128 bytes
  std::array<uint8_t, 32> request_sha256 = {};  // of the request as the caller sent it, without the key
  std::array<uint8_t, 32> body_sha256 = {};     // of the bytes that go upstream
  uint64_t timestamp_ms = 0;                    // that stands in them
  bool begins = true;                           // else nothing may begin: what the key stands for is asked
};

// How one attempt to carry out a submit ended.
struct AttemptEnd {
  enum class Kind {
    kNotSent,  // for certain no byte of the body reached upstream
    kUnknown,  // upstream may have carried it out
    kRefused,  // upstream answered that it did not carry it out
    kDone,     // upstream answered with an activity
  };

  Kind kind = Kind::kUnknown;
  absl::StatusCode code = absl::StatusCode::kUnknown;  // of a refusal, as the caller was given it
  std::string domain = {};                             // of a refusal: ErrorInfo.domain
  std::string reason = {};                             // of a refusal: ErrorInfo.reason
  std::string activity_id = {};                        // of an activity
  std::string activity_status = {};                    // of an activity: the enum value's name
};

// What the store keeps of a key.
struct KeyRecord {
  std::array<uint8_t, 32> request_sha256 = {};
  std::array<uint8_t, 32> body_sha256 = {};
  uint64_t timestamp_ms = 0;
  // Of all attempts together: kDone once there was an activity; else kUnknown as long as one attempt has not ended in a
  // refusal or unsent; else kRefused, the last one, if there was a refusal; else kNotSent.
  AttemptEnd outcome;
};

// Thread-safe; no call but Close blocks.
class CallStore {
 public:
  using AttemptId = uint64_t;

  // What became of Begin.
  struct Begun {
    // Set if the attempt has begun: this is durable, and End must follow.
    std::optional<AttemptId> attempt;
    // Else set if no attempt may begin: what the key stands for. The store is as it was. That is so
    //   if the key stands for something else, or for the same with another timestamp;
    //   whatever is asked, for a key that was there when the store was put back to an earlier state or lost something,
    //   for as long as keys are kept: its outcome is kDone if that is stored, and else kUnknown, because more may have
    //   been sent than the store knows of;
    //   whatever is asked, if what is stored of the key is damaged: then the outcome is kUnknown, request_sha256 is the
    //   one that was asked, and timestamp_ms and body_sha256 are zero, because nobody knows them.
    // So asking once more with the record's body and timestamp may give a record again.
    std::optional<KeyRecord> record;
    // Neither is set if the store was put back to an earlier state, or has lost something: it does not know the key,
    // but may have known it before. Keys that it does not know are taken again after this time. Zero if the key is new,
    // and was only asked for.
    absl::Duration unknown_until = absl::ZeroDuration();
  };

  virtual ~CallStore() = default;

  // Begins an attempt to carry out `submit`, if its key is new, if it stands for this very submit, or if it stands for
  // the same request of which no attempt has sent anything: then it stands for this body and timestamp from now on.
  //
  // Calls `done` once, on the store's thread or, for what is refused at once, on this one. It must not block. Errors:
  // kResourceExhausted if too many wait, the disk is full, or as many keys are kept as may be; kUnavailable if the
  // store is closed or has failed.
  virtual void Begin(KeyedSubmit submit, absl::AnyInvocable<void(absl::StatusOr<Begun>)> done) = 0;

  // How an attempt ended; once for each. Written soon, and nobody waits for it: an attempt whose end is not on the disk
  // when the process ends counts as kUnknown. Texts are cut to 256 bytes.
  virtual void End(AttemptId attempt, AttemptEnd end) = 0;

  // Every timestamp, in milliseconds since 1970, that was given out before this store was opened is below this. 0 if
  // the store was made by that.
  virtual uint64_t timestamp_floor_ms() const = 0;

  // Timestamps below `ms` may be given out once `done` has been called with OK: from then on every later store's floor
  // is at least `ms`. Errors as for Begin. `done` runs on the store's thread and must not block.
  virtual void RaiseTimestamps(uint64_t ms, absl::AnyInvocable<void(absl::Status)> done) = 0;

  // Writes what waits, and blocks until then. `next_timestamp_ms`: no timestamp at or above it was given out since this
  // store was opened, so the next store's floor is the higher of it and timestamp_floor_ms(), if everything was
  // written. Later calls fail. A store that is destroyed without this closes, and its floor stays.
  virtual void Close(uint64_t next_timestamp_ms) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_STORE_H_
