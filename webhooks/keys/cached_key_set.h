// Fetches a JSON Web Key Set from a server, and caches it as long as the server allows.
#ifndef STAMPGATE_WEBHOOKS_KEYS_CACHED_KEY_SET_H_
#define STAMPGATE_WEBHOOKS_KEYS_CACHED_KEY_SET_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "webhooks/keys/cache_lifetime.h"

namespace stampgate {

// The parts of a response with status 200 from the key set's server.
struct KeySetAnswer {
  std::string body;
  std::string cache_control;  // the value of Cache-Control; empty if the header is missing
  absl::Duration age;         // the value of Age; zero if the header is missing
};

// Starts a GET request for the key set. Must call the callback, which is its argument, once within a limited time, with
// the response or an error. The callback may run on any thread, even before FetchKeySet returns.
using FetchKeySet = absl::AnyInvocable<void(absl::AnyInvocable<void(absl::StatusOr<KeySetAnswer>)>)>;

// The default of Options::min_refetch_interval.
inline constexpr absl::Duration kMinKeySetInterval = absl::Seconds(10);

// For this time after a failed fetch, the server counts as unreachable. See CachedKeySet.
inline constexpr absl::Duration kUnreachableTime = absl::Seconds(30);

// A cached key set. Thread-safe. Runs one fetch at a time.
//
// A set is used while it is fresh (see cache_lifetime.h). Once it is no longer fresh, the next Get begins a fetch and
// waits for it, so that a withdrawn key is not used while the fetch is in progress. If the fetch fails, the set is used
// up to a limit (see cache_lifetime.h), and for kUnreachableTime no Get that finds its key in the set waits for the
// next tries. If a response is not a usable key set, the fetch counts as failed and the previous set remains.
//
// If the set lacks a wanted key, or if the last fetch has failed, begins on average at most one fetch in each
// `min_refetch_interval`. If the set lacks a wanted key, up to `max_fetches_in_a_row` fetches may follow each other
// without a pause.
//
// `Set` is the type of a parsed key set. Callbacks may call this object, but must not close or destroy it.
template <typename Set>
class CachedKeySet {
 public:
  struct Options {
    absl::Duration min_refetch_interval = kMinKeySetInterval;
    int max_fetches_in_a_row = 1;
    std::function<absl::Time()> now;  // must not call this object
    // Parses the body of a response. Called on the thread of the fetch.
    std::function<absl::StatusOr<Set>(std::string json)> parse;
    // Receives the outcome of every fetch that ends before Close: OK and the set, or the error and null. Called on the
    // thread of the fetch. This function is optional.
    std::function<void(const absl::Status& status, const Set* set)> observe;
  };

  // The current set.
  struct View {
    std::shared_ptr<const Set> set;  // null if there is no usable set
    // Whether the last fetch failed. After a failed fetch, the server can have a key that the set lacks.
    bool is_failing = false;
  };

  // Returns whether a set has the wanted key. Must not call this object.
  using IsEnough = absl::AnyInvocable<bool(const Set&)>;
  using OnView = absl::AnyInvocable<void(View)>;

  CachedKeySet(Options options, FetchKeySet fetch)
      : state_(std::make_shared<State>(std::move(options), std::move(fetch))) {}
  ~CachedKeySet() { Close(); }

  CachedKeySet(const CachedKeySet&) = delete;
  CachedKeySet& operator=(const CachedKeySet&) = delete;

  // Prevents further fetches, and waits until running callbacks have returned. If a fetch is in progress, its outcome
  // will be ignored. Calls the `done` of each waiting Get with a View that has no set.
  void Close() { state_->Close(); }

  // Begins a fetch if there is no fresh set and a fetch is allowed now. Call Refresh at the start of the process.
  void Refresh() { state_->Refresh(); }

  // If the current set may be used and is sufficient, or if no fetch is in progress or allowed now, calls `done` with
  // the current set before returning. Otherwise calls `done` after the fetch has ended.
  void Get(IsEnough is_enough, OnView done) { state_->Get(std::move(is_enough), std::move(done)); }

 private:
  class State : public std::enable_shared_from_this<State> {
   public:
    State(Options options, FetchKeySet fetch) : options_(std::move(options)), fetch_(std::move(fetch)) {}

    void Refresh() {
      {
        MutexLock lock(mutex_);
        const absl::Time now = options_.now();
        if (IsFresh(now) || !BeginFetch(now, /*lacks_key=*/false)) return;
      }
      Fetch();
    }

    void Get(IsEnough is_enough, OnView done) {
      View view;
      bool fetch = false;
      {
        MutexLock lock(mutex_);
        const absl::Time now = options_.now();
        view = ViewAt(now);
        const bool has_it = view.set != nullptr && is_enough(*view.set);
        const bool is_usable = IsFresh(now) || IsUnreachable(now);
        fetch = (!has_it || !IsFresh(now)) && BeginFetch(now, /*lacks_key=*/!has_it);
        if ((!has_it || !is_usable) && is_fetching_) waiting_.push_back(std::exchange(done, nullptr));
      }
      // Called before Fetch, so that a Get whose key is present does not wait for the start of a fetch.
      if (done != nullptr) done(std::move(view));
      if (fetch) Fetch();
    }

    void Close() {
      std::vector<OnView> waiting;
      FetchKeySet fetch;  // destroyed here, and not later on the thread of a fetch
      {
        MutexLock lock(mutex_);
        is_closed_ = true;
        while (callbacks_ != 0 || is_in_fetch_call_) quiet_.Wait(mutex_);
        is_fetching_ = false;
        waiting.swap(waiting_);
        fetch = std::exchange(fetch_, nullptr);
      }
      for (OnView& done : waiting) done(View{});
    }

   private:
    // If the clock was set back, the set is not fresh and a fetch is allowed. Without this rule, the old set would
    // remain until the clock has reached its former time again.

    bool IsFresh(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return set_ != nullptr && received_ <= now && now < fresh_until_;
    }

    // Whether a fetch has failed a short time ago.
    bool IsUnreachable(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return is_failing_ && failed_ <= now && now - failed_ < kUnreachableTime;
    }

    View ViewAt(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      const bool is_usable = IsFresh(now) || (is_failing_ && now < usable_until_);
      return {is_usable ? set_ : nullptr, is_failing_};
    }

    // Begins a fetch if one is allowed. If this function returns true, the calling function must call Fetch after it
    // has released the mutex.
    bool BeginFetch(absl::Time now, bool lacks_key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (is_fetching_ || is_closed_) return false;
      if (now < fetch_began_) repaid_at_ = now;
      // A set that has expired is fetched at any time: its lifetime limits how often.
      const bool has_expired = set_ != nullptr && !is_failing_ && !IsFresh(now);
      const absl::Duration interval = options_.min_refetch_interval;
      if (has_expired) {
        repaid_at_ = std::max(repaid_at_, now + interval);
      } else {
        const bool is_soon = fetch_began_ <= now && now - fetch_began_ < interval;
        const bool may_be_soon = lacks_key && repaid_at_ - now <= interval * (options_.max_fetches_in_a_row - 1);
        if (is_soon && !may_be_soon) return false;
        repaid_at_ = std::max(repaid_at_, now) + interval;
      }
      is_fetching_ = true;
      fetch_began_ = now;
      // If the call of fetch_ for the previous fetch has not returned, its thread then calls fetch_ for this one.
      is_fetch_due_ = std::exchange(is_in_fetch_call_, true);
      return !is_fetch_due_;
    }

    void Fetch() {
      bool is_due = true;
      while (is_due) {
        fetch_([weak = this->weak_from_this()](absl::StatusOr<KeySetAnswer> answer) {
          if (std::shared_ptr<State> state = weak.lock()) state->End(std::move(answer));
        });
        MutexLock lock(mutex_);
        is_due = std::exchange(is_fetch_due_, false) && !is_closed_;
        is_in_fetch_call_ = is_due;
        if (!is_due) quiet_.WakeAll();
      }
    }

    void End(absl::StatusOr<KeySetAnswer> answer) {
      absl::Duration fetch_time;
      {
        MutexLock lock(mutex_);
        if (is_closed_) return;
        ++callbacks_;
        fetch_time = std::max(options_.now() - fetch_began_, absl::ZeroDuration());
      }
      absl::Status status = answer.status();
      std::shared_ptr<const Set> fetched;
      CacheLifetime lifetime;
      if (answer.ok()) {
        lifetime = ReadCacheLifetime(answer->cache_control, answer->age + fetch_time);
        absl::StatusOr<Set> parsed = options_.parse(std::move(answer->body));
        status = parsed.status();
        if (parsed.ok()) fetched = std::make_shared<const Set>(*std::move(parsed));
      }
      std::vector<OnView> waiting;
      View view;
      {
        MutexLock lock(mutex_);
        is_fetching_ = false;
        is_failing_ = fetched == nullptr;
        const absl::Time now = options_.now();
        if (is_failing_) failed_ = now;
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
      MutexLock lock(mutex_);
      if (--callbacks_ == 0) quiet_.WakeAll();
    }

    const Options options_;
    FetchKeySet fetch_;  // called by one thread at a time; is_in_fetch_call_ ensures that

    Mutex mutex_;
    Condition quiet_;                            // signals that callbacks_ or is_in_fetch_call_ has changed
    int callbacks_ ABSL_GUARDED_BY(mutex_) = 0;  // number of running calls of End
    bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
    bool is_fetching_ ABSL_GUARDED_BY(mutex_) = false;  // a fetch has begun and not ended
    // fetch_ is being called; it may return after the fetch has ended.
    bool is_in_fetch_call_ ABSL_GUARDED_BY(mutex_) = false;
    // A fetch has begun, and the running call of fetch_ belongs to the previous one.
    bool is_fetch_due_ ABSL_GUARDED_BY(mutex_) = false;
    bool is_failing_ ABSL_GUARDED_BY(mutex_) = false;  // the last fetch has failed, at the time failed_
    absl::Time failed_ ABSL_GUARDED_BY(mutex_);
    absl::Time fetch_began_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
    // Each fetch moves this time forward by one interval; a fetch because the set has expired, at most to one interval
    // after its beginning. From this time on, the full number of fetches in a row is allowed again.
    absl::Time repaid_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
    std::shared_ptr<const Set> set_ ABSL_GUARDED_BY(mutex_);  // null until a fetch has succeeded
    absl::Time received_ ABSL_GUARDED_BY(mutex_);
    absl::Time fresh_until_ ABSL_GUARDED_BY(mutex_);
    absl::Time usable_until_ ABSL_GUARDED_BY(mutex_);
    std::vector<OnView> waiting_ ABSL_GUARDED_BY(mutex_);
  };

  // A fetch in progress also refers to the state, because the fetch can end after this object was destroyed.
  const std::shared_ptr<State> state_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_CACHED_KEY_SET_H_
