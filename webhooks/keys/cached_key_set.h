// A JSON Web Key Set, kept as long as its server allows and asked for no more often than it must be.
#ifndef STAMPGATE_WEBHOOKS_KEYS_CACHED_KEY_SET_H_
#define STAMPGATE_WEBHOOKS_KEYS_CACHED_KEY_SET_H_

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/keys/cache_lifetime.h"

namespace stampgate {

// What the key set's server answered with status 200.
struct KeySetAnswer {
  std::string body;
  std::string cache_control;  // the header's value; empty if there was none
  absl::Duration age;         // the Age header, zero if there was none
};

// Starts a GET of the key set and calls back once, from any thread, possibly before it returns. Bounds its own time.
using FetchKeySet = absl::AnyInvocable<void(absl::AnyInvocable<void(absl::StatusOr<KeySetAnswer>)>)>;

// The default of the shortest interval between fetches.
inline constexpr absl::Duration kMinKeySetInterval = absl::Seconds(10);

// Thread-safe. At most one fetch at a time. Over time no more than one fetch begins in each `min_refetch_interval`; for
// a key that the set lacks, up to `max_fetches_in_a_row` may begin without that pause between them. The interval is
// also the shortest time for which a response is kept, whatever its server states. A set past its time is still used
// while a fetch is in progress or fails, up to a bound (see cache_lifetime.h). A response that is not a usable key set
// counts as a failed fetch: the previous set is kept.
//
// `Set` is what a key set is read into. What is called back may call this again, but neither close nor destroy it.
template <typename Set>
class CachedKeySet {
 public:
  struct Options {
    absl::Duration min_refetch_interval = kMinKeySetInterval;
    int max_fetches_in_a_row = 1;
    std::function<absl::Time()> now;  // calls nothing here
    // Reads an answer's body; called on the fetch's thread.
    std::function<absl::StatusOr<Set>(std::string json)> parse;
    // Gets every fetch that ended: OK with the set, or the error. Called on the fetch's thread. May be empty.
    std::function<void(const absl::Status& status, const Set* set)> observe;
  };

  // What there is to look for a key in.
  struct View {
    std::shared_ptr<const Set> set;  // null if none can be used
    // The last fetch failed: a set that lacks a key says little then.
    bool is_failing = false;
  };

  // Whether a set has what is looked for. Calls nothing here.
  using IsEnough = absl::AnyInvocable<bool(const Set&)>;
  using OnView = absl::AnyInvocable<void(View)>;

  CachedKeySet(Options options, FetchKeySet fetch)
      : state_(std::make_shared<State>(std::move(options), std::move(fetch))) {}
  ~CachedKeySet() { Close(); }

  CachedKeySet(const CachedKeySet&) = delete;
  CachedKeySet& operator=(const CachedKeySet&) = delete;

  // Nothing is fetched any more. A fetch may end later, and its end is not reported. Waiting callers get the error
  // now that there is no set. Waits for callbacks that are running.
  void Close() { state_->Close(); }

  // Fetches the set if it is not there or past its time and a fetch is allowed now. Call at start.
  void Refresh() { state_->Refresh(); }

  // Calls `done` with the set: at once if the set is sufficient, otherwise after the fetch that is in progress or
  // allowed now. If there is no such fetch, calls it at once with the current set.
  void Get(IsEnough is_enough, OnView done) { state_->Get(std::move(is_enough), std::move(done)); }

 private:
  class State : public std::enable_shared_from_this<State> {
   public:
    State(Options options, FetchKeySet fetch) : options_(std::move(options)), fetch_(std::move(fetch)) {}

    void Refresh() {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        const absl::Time now = options_.now();
        if (IsFresh(now) || !BeginFetch(now, /*lacks_key=*/false)) return;
      }
      Fetch();
    }

    void Get(IsEnough is_enough, OnView done) {
      View view;
      bool fetch = false;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        const absl::Time now = options_.now();
        view = ViewAt(now);
        const bool has_it = view.set != nullptr && is_enough(*view.set);
        fetch = (!has_it || !IsFresh(now)) && BeginFetch(now, /*lacks_key=*/!has_it);
        if (!has_it && is_fetching_) waiting_.push_back(std::exchange(done, nullptr));
      }
      // Before the fetch: who has a key does not wait, not even for the fetch to be started.
      if (done != nullptr) done(std::move(view));
      if (fetch) Fetch();
    }

    void Close() {
      std::vector<OnView> waiting;
      FetchKeySet fetch;  // not to die later, on the thread of the fetch that it started
      {
        std::unique_lock<std::mutex> lock(mutex_);
        is_closed_ = true;
        quiet_.wait(lock, [&] { return callbacks_ == 0 && !is_in_fetch_call_; });
        is_fetching_ = false;
        waiting.swap(waiting_);
        fetch = std::exchange(fetch_, nullptr);
      }
      for (OnView& done : waiting) done(View{});
    }

   private:
    // The next three are called under the mutex. A clock that was set back makes a set old and allows a fetch, or both
    // would have to wait until it has caught up.

    bool IsFresh(absl::Time now) const { return set_ != nullptr && received_ <= now && now < fresh_until_; }

    View ViewAt(absl::Time now) const { return {now < usable_until_ ? set_ : nullptr, is_failing_}; }

    // Whether the caller is to call Fetch.
    bool BeginFetch(absl::Time now, bool lacks_key) {
      if (is_fetching_ || is_in_fetch_call_ || is_closed_) return false;
      const absl::Duration interval = options_.min_refetch_interval;
      if (now < fetch_began_) repaid_at_ = now;
      const bool is_soon = fetch_began_ <= now && now - fetch_began_ < interval;
      const bool may_be_soon = lacks_key && repaid_at_ - now <= interval * (options_.max_fetches_in_a_row - 1);
      if (is_soon && !may_be_soon) return false;
      is_fetching_ = true;
      is_in_fetch_call_ = true;
      fetch_began_ = now;
      repaid_at_ = std::max(repaid_at_, now) + interval;
      return true;
    }

    void Fetch() {
      fetch_([weak = this->weak_from_this()](absl::StatusOr<KeySetAnswer> answer) {
        if (std::shared_ptr<State> state = weak.lock()) state->End(std::move(answer));
      });
      std::lock_guard<std::mutex> lock(mutex_);
      is_in_fetch_call_ = false;
      quiet_.notify_all();
    }

    void End(absl::StatusOr<KeySetAnswer> answer) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (is_closed_) return;
        ++callbacks_;
      }
      absl::Status status = answer.status();
      std::shared_ptr<const Set> fetched;
      CacheLifetime lifetime;
      if (answer.ok()) {
        lifetime = ReadCacheLifetime(answer->cache_control, answer->age);
        absl::StatusOr<Set> parsed = options_.parse(std::move(answer->body));
        status = parsed.status();
        if (parsed.ok()) fetched = std::make_shared<const Set>(*std::move(parsed));
      }
      std::vector<OnView> waiting;
      View view;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        is_fetching_ = false;
        is_failing_ = fetched == nullptr;
        const absl::Time now = options_.now();
        if (fetched != nullptr) {
          set_ = fetched;
          received_ = now;
          fresh_until_ = now + lifetime.fresh;
          usable_until_ = fresh_until_ + lifetime.stale;
        }
        view = ViewAt(now);
        waiting.swap(waiting_);
      }
      if (options_.observe != nullptr) options_.observe(status, fetched.get());
      for (OnView& done : waiting) done(view);
      std::lock_guard<std::mutex> lock(mutex_);
      if (--callbacks_ == 0) quiet_.notify_all();
    }

    const Options options_;
    FetchKeySet fetch_;  // called by one thread at a time: is_in_fetch_call_

    // Not absl::Mutex: ThreadSanitizer does not see through Debian's build of Abseil. Guards what follows.
    std::mutex mutex_;
    std::condition_variable quiet_;  // callbacks_ or is_in_fetch_call_ has changed
    int callbacks_ = 0;              // calls of End that are not closed
    bool is_closed_ = false;
    bool is_fetching_ = false;       // until the fetch has ended
    bool is_in_fetch_call_ = false;  // until the call that started it has returned, which may be later
    bool is_failing_ = false;
    absl::Time fetch_began_ = absl::InfinitePast();
    // Each fetch costs an interval; by then the time that has passed makes up for all of them.
    absl::Time repaid_at_ = absl::InfinitePast();
    std::shared_ptr<const Set> set_;  // null until there is one
    absl::Time received_;
    absl::Time fresh_until_;
    absl::Time usable_until_;
    std::vector<OnView> waiting_;
  };

  // Shared with the fetch in progress, which may end after this.
  const std::shared_ptr<State> state_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_CACHED_KEY_SET_H_
