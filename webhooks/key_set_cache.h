// The key set, kept as long as upstream allows and asked for no more often than it must be.
#ifndef STAMPGATE_WEBHOOKS_KEY_SET_CACHE_H_
#define STAMPGATE_WEBHOOKS_KEY_SET_CACHE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "webhooks/key_set.h"

namespace stampgate {

// What the discovery endpoint answered with status 200.
struct KeySetAnswer {
  std::string body;
  std::string cache_control;  // the header's value; empty if there was none
  absl::Duration age;         // the Age header, zero if there was none
};

// Starts a GET of the key set and calls back once, from any thread, possibly before it returns. Bounds its own time.
using FetchKeySet = absl::AnyInvocable<void(absl::AnyInvocable<void(absl::StatusOr<KeySetAnswer>)>)>;

// Thread-safe. At most one fetch at a time, and none sooner than `min_refetch_interval` after the one before began,
// whatever comes in. A set past its time is used on while a new one is fetched or cannot be had, up to a bound (see
// cache_lifetime.h). An answer that is no usable key set counts as a fetch that failed: the set before is kept.
//
// What is called back may call the cache again, but not destroy it.
class KeySetCache {
 public:
  using OnKey = absl::AnyInvocable<void(std::optional<VerificationKey>)>;

  struct Options {
    std::string operator_name = "Service";
    absl::Duration min_refetch_interval = absl::Seconds(10);
    std::function<absl::Time()> now;  // calls nothing here
    // Told about every fetch that ended: OK with what was refused in it, or the error. Called on the fetch's thread.
    std::function<void(const absl::Status& status, const KeySet* keys)> observe;
  };

  KeySetCache(Options options, FetchKeySet fetch);
  // A fetch may end later: nobody hears of it, and whoever waits for it is told now that there is no key. Waits for
  // callbacks that are running.
  ~KeySetCache();

  KeySetCache(const KeySetCache&) = delete;
  KeySetCache& operator=(const KeySetCache&) = delete;

  // Fetches the set if it is not there or past its time and a fetch is allowed now. Call at start.
  void Refresh();

  // Calls `done` with the key of that id. At once if it is known. Else with the outcome of the fetch that is under way
  // or allowed now, or with nothing at once if none is.
  void Find(absl::string_view key_id, OnKey done);

 private:
  class State;

  // Shared with the fetch that is under way, which may end after the cache.
  const std::shared_ptr<State> state_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEY_SET_CACHE_H_
