#include "webhooks/key_set_cache.h"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "webhooks/cache_lifetime.h"

namespace stampgate {

class KeySetCache::State : public std::enable_shared_from_this<State> {
 public:
  State(Options options, FetchKeySet fetch) : options_(std::move(options)), fetch_(std::move(fetch)) {}

  void Refresh() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const absl::Time now = options_.now();
      if (IsFresh(now) || !BeginFetch(now)) return;
    }
    Fetch();
  }

  void Find(absl::string_view key_id, OnKey done) {
    std::optional<VerificationKey> key;
    bool fetch = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const absl::Time now = options_.now();
      key = Lookup(key_id, now);
      fetch = (!key.has_value() || !IsFresh(now)) && BeginFetch(now);
      if (!key.has_value() && is_fetching_) waiting_.push_back({std::string(key_id), std::exchange(done, nullptr)});
    }
    // Before the fetch: who has a key does not wait, not even for the fetch to be started.
    if (done != nullptr) done(std::move(key));
    if (fetch) Fetch();
  }

  void Close() {
    std::vector<Waiting> waiting;
    FetchKeySet fetch;  // not to die later, on the thread of the fetch that it started
    {
      std::unique_lock<std::mutex> lock(mutex_);
      is_closed_ = true;
      no_callbacks_.wait(lock, [&] { return callbacks_ == 0; });
      waiting.swap(waiting_);
      fetch = std::exchange(fetch_, nullptr);
    }
    for (Waiting& one : waiting) one.done(std::nullopt);
  }

 private:
  struct Waiting {
    std::string key_id;
    OnKey done;
  };

  // The next three are called under the mutex. A clock that was set back makes a set old and allows a fetch, or both
  // would have to wait until it has caught up.

  bool IsFresh(absl::Time now) const { return keys_ != nullptr && received_ <= now && now < fresh_until_; }

  std::optional<VerificationKey> Lookup(absl::string_view key_id, absl::Time now) const {
    if (keys_ == nullptr || now >= usable_until_) return std::nullopt;
    const VerificationKey* key = keys_->Find(key_id);
    return key == nullptr ? std::nullopt : std::optional<VerificationKey>(*key);
  }

  // Whether the caller is to call Fetch.
  bool BeginFetch(absl::Time now) {
    const bool is_soon = fetch_began_ <= now && now - fetch_began_ < options_.min_refetch_interval;
    if (is_fetching_ || is_in_fetch_call_ || is_soon || is_closed_) return false;
    is_fetching_ = true;
    is_in_fetch_call_ = true;
    fetch_began_ = now;
    return true;
  }

  void Fetch() {
    fetch_([weak = weak_from_this()](absl::StatusOr<KeySetAnswer> answer) {
      if (std::shared_ptr<State> state = weak.lock()) state->End(std::move(answer));
    });
    std::lock_guard<std::mutex> lock(mutex_);
    is_in_fetch_call_ = false;
  }

  void End(absl::StatusOr<KeySetAnswer> answer) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (is_closed_) return;
      ++callbacks_;
    }
    absl::Status status = answer.status();
    std::shared_ptr<const KeySet> fetched;
    CacheLifetime lifetime;
    if (answer.ok()) {
      lifetime = ReadCacheLifetime(answer->cache_control, answer->age);
      absl::StatusOr<KeySet> parsed = KeySet::Parse(std::move(answer->body), options_.operator_name);
      status = parsed.status();
      if (parsed.ok()) fetched = std::make_shared<const KeySet>(*std::move(parsed));
    }
    std::vector<std::pair<OnKey, std::optional<VerificationKey>>> answers;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_fetching_ = false;
      const absl::Time now = options_.now();
      if (fetched != nullptr) {
        keys_ = fetched;
        received_ = now;
        fresh_until_ = now + lifetime.fresh;
        usable_until_ = fresh_until_ + lifetime.stale;
      }
      for (Waiting& one : waiting_) answers.emplace_back(std::move(one.done), Lookup(one.key_id, now));
      waiting_.clear();
    }
    if (options_.observe != nullptr) options_.observe(status, fetched.get());
    for (auto& [done, key] : answers) done(std::move(key));
    std::lock_guard<std::mutex> lock(mutex_);
    if (--callbacks_ == 0) no_callbacks_.notify_all();
  }

  const Options options_;
  FetchKeySet fetch_;  // called by one thread at a time: is_in_fetch_call_

  // Not absl::Mutex: ThreadSanitizer does not see through Debian's build of Abseil. Guards what follows.
  std::mutex mutex_;
  std::condition_variable no_callbacks_;
  int callbacks_ = 0;  // calls of End that are not closed
  bool is_closed_ = false;
  bool is_fetching_ = false;       // until the fetch has ended
  bool is_in_fetch_call_ = false;  // until the call that started it has returned, which may be later
  absl::Time fetch_began_ = absl::InfinitePast();
  std::shared_ptr<const KeySet> keys_;
  absl::Time received_;
  absl::Time fresh_until_;
  absl::Time usable_until_;
  std::vector<Waiting> waiting_;
};

KeySetCache::KeySetCache(Options options, FetchKeySet fetch)
    : state_(std::make_shared<State>(std::move(options), std::move(fetch))) {}

KeySetCache::~KeySetCache() { state_->Close(); }

void KeySetCache::Refresh() { state_->Refresh(); }

void KeySetCache::Find(absl::string_view key_id, OnKey done) { state_->Find(key_id, std::move(done)); }

}  // namespace stampgate
