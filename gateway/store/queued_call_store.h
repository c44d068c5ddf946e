// A call store whose thread passes queued steps in groups to a backend, which stores them.
#ifndef STAMPGATE_GATEWAY_STORE_QUEUED_CALL_STORE_H_
#define STAMPGATE_GATEWAY_STORE_QUEUED_CALL_STORE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/store/call_step.h"
#include "gateway/store/call_store.h"

namespace stampgate {

// Stores the steps of a call store, in one transaction at a time, on the store's thread. Errors:
//   kResourceExhausted, kAborted  nothing was changed; a retry can succeed
//   kUnknown                      it is unknown whether the steps were applied. The ends among them are not passed
//                                 again, because an end must not be applied twice: their attempts perhaps count as
//                                 kUnknown
//   any other                     the backend cannot continue
class CallBackend {
 public:
  using Answer = absl::StatusOr<CallStore::Begun>;
  using OnDecided = absl::FunctionRef<void(const std::vector<Answer>&)>;

  virtual ~CallBackend() = default;

  // See CallStore. The values change only in the functions below that are not const.
  virtual uint64_t timestamp_floor_ms() const = 0;
  virtual std::optional<TimestampLease> lease() const = 0;

  // The approximate number of stored keys.
  virtual int64_t keys() const = 0;

  // Applies the steps in order, in one transaction. Sets one entry of `answers` for each step; ignore the entries for
  // ends. In the answer to a submit, Begun::attempt is the number by which EndedAttempt names the attempt. After
  // kResourceExhausted or kAborted, the ends are passed again. After any error, `answers` has errors, or the results of
  // submits that need no change.
  //
  // Passes the answers to `on_decided` before each commit. The answers of the commit can differ, if it fails.
  virtual absl::Status Store(const std::vector<const CallStep*>& steps, OnDecided on_decided,
                             std::vector<Answer>* answers) = 0;

  // Deletes a limited number of expired keys. Returns false if no expired key is left that Tidy can delete.
  virtual absl::StatusOr<bool> Tidy() = 0;

  // Runs after each Store or Tidy that changed something.
  virtual absl::Status Settle() = 0;

  // See CallStore::RaiseTimestamps.
  virtual absl::Status RaiseTimestamps(uint64_t ms) = 0;

  // Does the last writes. The process has used no timestamp at or above `next_timestamp_ms`.
  virtual absl::Status Close(uint64_t next_timestamp_ms) = 0;
};

// The state of a store, for metrics.
struct CallStoreState {
  int64_t keys = 0;      // number of stored keys
  absl::Status failure;  // why the last write failed; OK if it succeeded
};

struct CallQueueOptions {
  // The maximum number of queued submits and queued raises of timestamps together. The store refuses further submits
  // and raises.
  size_t max_waiting = 16384;
  // How long the end of an attempt may wait to be written in one commit with the next attempt.
  absl::Duration end_delay = absl::Milliseconds(10);
  // How often expired keys are deleted when no submits arrive.
  absl::Duration tidy_interval = absl::Minutes(1);
  // The store's thread calls this function once, when the store cannot continue because of an I/O error or damage. The
  // process should then end. The store never retries a failed sync, because the system has possibly dropped the pages
  // that it could not write.
  std::function<void(const absl::Status&)> on_fatal;
  // MakeQueuedCallStore calls this function, and the store's thread calls it after each change of the state. The
  // function must not block.
  std::function<void(const CallStoreState&)> observe;
  // The clock of CallStore::WriteUnderWay.
  std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;
};

std::unique_ptr<CallStore> MakeQueuedCallStore(CallQueueOptions options, std::unique_ptr<CallBackend> backend);

// For tests: deletes all expired keys. Returns when all expired keys are deleted, or when the store has failed.
// Requires a `store` from MakeQueuedCallStore.
void TidyNow(CallStore& store);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_QUEUED_CALL_STORE_H_
