#include "webhooks/keys/key_set_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/threads/mutex.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

using OnAnswer = absl::AnyInvocable<void(absl::StatusOr<KeySetAnswer>)>;

constexpr auto kHang = std::chrono::seconds(60);

// Returns a key set with one valid key for each id.
std::string SetOf(const std::vector<std::string>& ids) {
  std::string keys;
  for (const std::string& id : ids) {
    absl::StrAppend(&keys, keys.empty() ? "" : ",", R"({"kid":")", id,
                    R"(","kty":"OKP","crv":"Ed25519","x":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"})");
  }
  return absl::StrCat(R"({"keys":[)", keys, "]}");
}

KeySetAnswer AnswerOf(const std::vector<std::string>& ids, std::string cache_control = "max-age=3600",
                      absl::Duration age = absl::ZeroDuration()) {
  return {SetOf(ids), std::move(cache_control), age};
}

// A fixture with a cache that is used on one thread. Each test advances the clock and ends the fetches itself.
class KeySetCacheTest : public testing::Test {
 protected:
  KeySetCacheTest() { Restart(); }

  void Restart() {
    KeySetCache::Options options;
    options.now = [this] { return now_; };
    options.observe = [this](const absl::Status& status, const KeySet* keys) {
      EXPECT_EQ(status.ok(), keys != nullptr);
      observed_.push_back(keys == nullptr ? std::string(status.message())
                                          : absl::StrCat("OK, refused ", keys->refused().size()));
    };
    cache_ = std::make_unique<KeySetCache>(std::move(options), [this](OnAnswer on_answer) {
      ++fetches_;
      pending_.push_back(std::move(on_answer));
    });
  }

  // Ends the oldest pending fetch with this response.
  void Answer(absl::StatusOr<KeySetAnswer> answer) {
    ASSERT_FALSE(pending_.empty());
    OnAnswer on_answer = std::move(pending_.front());
    pending_.pop_front();
    on_answer(std::move(answer));
  }

  // Returns a text that becomes "found" or "none" when the cache calls back. The text lives as long as the test.
  const std::string& Find(const std::string& key_id) {
    std::string& outcome = outcomes_.emplace_back();
    cache_->Find(key_id, [&outcome](const std::optional<VerificationKey>& key) {
      EXPECT_EQ(outcome, "") << "the cache called back twice";
      outcome = key.has_value() ? "found" : "none";
    });
    return outcome;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  int fetches_ = 0;
  std::deque<OnAnswer> pending_;
  std::vector<std::string> observed_;
  std::deque<std::string> outcomes_;
  std::unique_ptr<KeySetCache> cache_;
};

TEST_F(KeySetCacheTest, ANewCacheFetchesNothing) { EXPECT_EQ(fetches_, 0); }

TEST_F(KeySetCacheTest, FindReturnsACachedKeyWithoutAFetch) {
  cache_->Refresh();
  EXPECT_EQ(fetches_, 1);
  Answer(AnswerOf({"a", "b"}));
  EXPECT_EQ(Find("a"), "found");
  EXPECT_EQ(Find("b"), "found");
  EXPECT_EQ(fetches_, 1);
  EXPECT_THAT(observed_, ElementsAre("OK, refused 0"));
}

TEST_F(KeySetCacheTest, FindWaitsForTheFirstKeySet) {
  const std::string& a = Find("a");
  const std::string& b = Find("b");
  const std::string& other = Find("other");
  EXPECT_EQ(fetches_, 1);
  EXPECT_EQ(absl::StrCat(a, b, other), "");
  Answer(AnswerOf({"a", "b"}));
  EXPECT_EQ(a, "found");
  EXPECT_EQ(b, "found");
  EXPECT_EQ(other, "none");
}

TEST_F(KeySetCacheTest, FindReturnsNothingIfTheFetchFails) {
  for (int i = 0; i < kMaxKeySetFetchesInARow; ++i) {
    const std::string& a = Find("a");
    EXPECT_EQ(a, "");
    Answer(absl::UnavailableError("no route"));
    EXPECT_EQ(a, "none");
  }
  EXPECT_EQ(Find("a"), "none") << "too soon for another fetch";
  EXPECT_EQ(fetches_, kMaxKeySetFetchesInARow);
  EXPECT_THAT(observed_, ElementsAre("no route", "no route", "no route"));
}

TEST_F(KeySetCacheTest, FindsAKeyThatUpstreamPublishedRightAfterAFetch) {
  cache_->Refresh();
  Answer(AnswerOf({"a"}));
  const std::string& b = Find("b");
  EXPECT_EQ(b, "");
  EXPECT_EQ(fetches_, 2);
  Answer(AnswerOf({"a", "b"}));
  EXPECT_EQ(b, "found");
}

TEST_F(KeySetCacheTest, UnknownKeysCauseAFewFetchesInARowAndThenOneInEachInterval) {
  cache_->Refresh();
  now_ += absl::Seconds(3);  // the fetch takes three seconds; the interval begins when the fetch begins
  Answer(AnswerOf({"a"}));
  const auto find_unknown = [this] {
    Find("b");
    while (!pending_.empty()) Answer(AnswerOf({"a"}));
  };
  for (int i = 0; i < 100; ++i) find_unknown();
  EXPECT_EQ(fetches_, kMaxKeySetFetchesInARow);
  now_ += absl::Seconds(7) - absl::Nanoseconds(1);
  find_unknown();
  EXPECT_EQ(fetches_, kMaxKeySetFetchesInARow);
  now_ += absl::Nanoseconds(1);
  find_unknown();
  EXPECT_EQ(fetches_, kMaxKeySetFetchesInARow + 1);
  // If unknown keys keep arriving, one fetch begins in each interval.
  for (int second = 0; second < 1000; ++second) {
    now_ += absl::Seconds(1);
    find_unknown();
  }
  EXPECT_LE(fetches_, kMaxKeySetFetchesInARow + 1 + 100);
  EXPECT_GE(fetches_, kMaxKeySetFetchesInARow + 1 + 90);
  // After a pause, the same number of fetches in a row is allowed again.
  now_ += absl::Hours(1) - absl::Seconds(1);
  const int before = fetches_;
  for (int i = 0; i < 100; ++i) find_unknown();
  EXPECT_EQ(fetches_, before + kMaxKeySetFetchesInARow);
}

TEST_F(KeySetCacheTest, OnlyOneFetchRunsAtATime) {
  cache_->Refresh();
  Answer(AnswerOf({"a"}));
  now_ += absl::Seconds(10);
  for (int i = 0; i < 100; ++i) {
    Find(absl::StrCat("unknown-", i));
    cache_->Refresh();
    now_ += absl::Seconds(1);
  }
  EXPECT_EQ(fetches_, 2);
  EXPECT_THAT(outcomes_, testing::Each(""));
  EXPECT_EQ(Find("a"), "found") << "Find does not wait for a known key";
  Answer(AnswerOf({"a"}));
  EXPECT_EQ(outcomes_.front(), "none");
  EXPECT_EQ(outcomes_[99], "none");
}

TEST_F(KeySetCacheTest, FetchesASetAgainOnlyWhenItIsNoLongerFresh) {
  cache_->Refresh();
  Answer(AnswerOf({"a"}, "max-age=3600", absl::Seconds(600)));
  now_ += absl::Seconds(3000) - absl::Nanoseconds(1);
  cache_->Refresh();
  EXPECT_EQ(Find("a"), "found");
  EXPECT_EQ(fetches_, 1);
  now_ += absl::Nanoseconds(1);
  const std::string& a = Find("a");
  EXPECT_EQ(a, "");
  EXPECT_EQ(fetches_, 2);
  Answer(AnswerOf({"a"}));
  EXPECT_EQ(a, "found");
  cache_->Refresh();
  EXPECT_EQ(fetches_, 2);
}

TEST_F(KeySetCacheTest, AnExpiredSetIsNotUsedWhileAFetchIsInProgress) {
  cache_->Refresh();
  Answer(AnswerOf({"withdrawn", "a"}, "max-age=2"));
  for (int i = 0; i < 20; ++i) {
    // The interval limits no fetch of an expired set.
    now_ += absl::Seconds(2);
    const std::string& withdrawn = Find("withdrawn");
    const std::string& a = Find("a");
    now_ += absl::Seconds(4);  // the fetch takes longer than the set was fresh
    EXPECT_EQ(Find("withdrawn"), "");
    EXPECT_EQ(absl::StrCat(withdrawn, a), "");
    EXPECT_EQ(fetches_, 2 + i);
    Answer(AnswerOf({"a"}, "max-age=2"));
    EXPECT_EQ(withdrawn, "none");
    EXPECT_EQ(outcomes_.back(), "none");
    EXPECT_EQ(a, "found");
  }
}

TEST_F(KeySetCacheTest, FetchesOfExpiredSetsDoNotDelayTheSearchForAnUnknownKey) {
  cache_->Refresh();
  Answer(AnswerOf({"a"}, "max-age=1"));
  for (int i = 0; i < 1000; ++i) {
    now_ += absl::Seconds(1);
    Find("a");
    Answer(AnswerOf({"a"}, i < 999 ? "max-age=1" : "max-age=3600"));
  }
  const std::string& published = Find("b");
  EXPECT_EQ(fetches_, 1002);
  Answer(AnswerOf({"a", "b"}));
  EXPECT_EQ(published, "found");
}

TEST_F(KeySetCacheTest, TheLifetimeOfASetBeginsWhenItsFetchBegins) {
  cache_->Refresh();
  now_ += absl::Seconds(4);
  Answer(AnswerOf({"a"}, "max-age=10"));
  now_ += absl::Seconds(6) - absl::Nanoseconds(1);
  EXPECT_EQ(Find("a"), "found");
  now_ += absl::Nanoseconds(1);
  EXPECT_EQ(Find("a"), "");
}

TEST_F(KeySetCacheTest, UsesAnExpiredSetDuringTheRetriesOfAFailedFetch) {
  cache_->Refresh();
  Answer(AnswerOf({"a"}));
  now_ += absl::Hours(1);
  const std::string& first = Find("a");
  EXPECT_EQ(first, "");
  Answer(absl::UnavailableError("no route"));
  EXPECT_EQ(first, "found");
  now_ += absl::Seconds(10);
  EXPECT_EQ(Find("a"), "found") << "upstream was unreachable a short time ago";
  EXPECT_EQ(fetches_, 3);
  now_ += absl::Seconds(20);
  const std::string& later = Find("a");
  EXPECT_EQ(later, "") << "half a minute after the failed fetch, upstream may be reachable";
  Answer(AnswerOf({"b"}));
  EXPECT_EQ(later, "none");
}

TEST_F(KeySetCacheTest, AFailedFetchBeforeTheSetExpiredDoesNotProlongItsUse) {
  cache_->Refresh();
  Answer(AnswerOf({"a"}));
  Find("unknown");
  Answer(absl::UnavailableError("no route"));
  now_ += absl::Hours(1);
  EXPECT_EQ(Find("a"), "");
  EXPECT_EQ(fetches_, 3);
}

TEST_F(KeySetCacheTest, NeverUsesAnExpiredSetWhoseHeadersForbidIt) {
  for (const char* cache_control : {"max-age=3600, must-revalidate", "no-cache, stale-if-error=604800"}) {
    Restart();
    cache_->Refresh();
    Answer(AnswerOf({"a"}, cache_control));
    EXPECT_EQ(Find("a"), "found") << cache_control;
    now_ += absl::Hours(1);
    for (int i = 0; i < 10; ++i) {
      const std::string& a = Find("a");
      if (!pending_.empty()) Answer(absl::UnavailableError("no route"));
      EXPECT_EQ(a, "none") << cache_control;
    }
    now_ += absl::Seconds(10);
    const std::string& a = Find("a");
    Answer(AnswerOf({"a"}, cache_control));
    EXPECT_EQ(a, "found") << cache_control;
  }
}

TEST_F(KeySetCacheTest, UsesASetForASecondEvenIfItsHeadersForbidCaching) {
  for (const char* cache_control : {"no-store", "max-age=1", "max-age=0, no-cache"}) {
    Restart();
    fetches_ = 0;
    cache_->Refresh();
    Answer(AnswerOf({"a"}, cache_control));
    now_ += absl::Seconds(1) - absl::Nanoseconds(1);
    EXPECT_EQ(Find("a"), "found") << cache_control;
    EXPECT_EQ(fetches_, 1) << cache_control;
    now_ += absl::Nanoseconds(1);
    const std::string& withdrawn = Find("a");
    EXPECT_EQ(withdrawn, "") << cache_control;
    EXPECT_EQ(fetches_, 2) << cache_control;
    Answer(AnswerOf({"b"}, cache_control));
    EXPECT_EQ(withdrawn, "none") << cache_control;
  }
}

TEST_F(KeySetCacheTest, UsesAnOldSetWhileFetchesFailUntilALimit) {
  struct {
    const char* cache_control;
    absl::Duration usable;
  } const cases[] = {
      {"max-age=3600", absl::Hours(1 + 24)},
      {"max-age=3600, stale-if-error=604800", absl::Hours(1 + 24 * 7)},
      {"max-age=31536000, stale-if-error=31536000", absl::Hours(24 + 24 * 7)},
  };
  for (const auto& one : cases) {
    Restart();
    cache_->Refresh();
    Answer(AnswerOf({"a"}, one.cache_control));
    const absl::Time received = now_;
    now_ = received + one.usable - absl::Nanoseconds(1);
    const std::string& in_time = Find("a");
    Answer(absl::UnavailableError("no route"));
    EXPECT_EQ(in_time, "found") << one.cache_control;
    EXPECT_EQ(Find("a"), "found") << one.cache_control;
    now_ = received + one.usable;
    const std::string& too_late = Find("a");
    EXPECT_EQ(too_late, "") << one.cache_control;
    Answer(absl::UnavailableError("no route"));
    EXPECT_EQ(too_late, "none") << one.cache_control;
    now_ += absl::Seconds(10);
    const std::string& a = Find("a");
    EXPECT_EQ(a, "") << one.cache_control;
    Answer(AnswerOf({"a"}));
    EXPECT_EQ(a, "found") << one.cache_control;
  }
}

TEST_F(KeySetCacheTest, RetriesAFailedFetchOnceInEachInterval) {
  cache_->Refresh();
  Answer(AnswerOf({"a"}, "max-age=3600"));
  now_ += absl::Hours(1);
  for (int second = 0; second < 60; ++second) {
    const std::string& a = Find("a");
    if (!pending_.empty()) Answer(absl::UnavailableError("no route"));
    EXPECT_EQ(a, "found");
    now_ += absl::Seconds(1);
  }
  EXPECT_EQ(fetches_, 1 + 6);
}

TEST_F(KeySetCacheTest, KeepsTheOldSetIfAResponseIsNotAKeySet) {
  cache_->Refresh();
  Answer(AnswerOf({"a"}));
  for (const char* body : {"", "{}", "<html></html>", R"({"keys":[]})", R"({"keys":[{"kid":"a"}]})"}) {
    now_ += absl::Hours(2);
    const std::string& a = Find("a");
    Answer(KeySetAnswer{body, "max-age=86400", absl::ZeroDuration()});
    EXPECT_EQ(a, "found") << body;
    EXPECT_EQ(Find("a"), "found") << body;
  }
  EXPECT_EQ(fetches_, 6);
  ASSERT_THAT(observed_, SizeIs(6));
  EXPECT_EQ(observed_[1], "JSON text is empty");
  EXPECT_EQ(observed_[4], "the key set has no key that can be used");
  EXPECT_THAT(observed_[5], StartsWith("the key set has no key that can be used; key 0"));
}

TEST_F(KeySetCacheTest, ReportsHowManyKeysASetRefused) {
  cache_->Refresh();
  KeySetAnswer answer = AnswerOf({"a", " b"});
  Answer(std::move(answer));
  EXPECT_THAT(observed_, ElementsAre("OK, refused 1"));
}

TEST_F(KeySetCacheTest, ForgetsAKeyThatUpstreamWithdrew) {
  cache_->Refresh();
  Answer(AnswerOf({"a"}));
  now_ += absl::Hours(1);
  const std::string& expired = Find("a");
  Answer(AnswerOf({"b"}));
  EXPECT_EQ(expired, "none");
  EXPECT_EQ(Find("b"), "found");
  const std::string& withdrawn = Find("a");
  EXPECT_EQ(withdrawn, "");
  Answer(AnswerOf({"b"}));
  EXPECT_EQ(withdrawn, "none");
}

// The clock was a year ahead when the set arrived. After the clock was corrected, the cache must not use the set for a
// year, and must allow fetches.
TEST_F(KeySetCacheTest, FetchesAgainAfterTheClockIsSetBack) {
  now_ += absl::Hours(24 * 365);
  cache_->Refresh();
  Answer(AnswerOf({"a"}));
  now_ -= absl::Hours(24 * 365);
  const std::string& a = Find("a");
  EXPECT_EQ(fetches_, 2);
  Answer(AnswerOf({"a"}));
  EXPECT_EQ(a, "found");
  for (int i = 0; i < 10; ++i) {
    Find("b");
    while (!pending_.empty()) Answer(AnswerOf({"a"}));
  }
  EXPECT_EQ(fetches_, 1 + kMaxKeySetFetchesInARow) << "the interval limits fetches again";
}

TEST_F(KeySetCacheTest, AcceptsAResponseBeforeTheFetchFunctionReturns) {
  int fetches = 0;
  bool is_in_fetch = false;
  KeySetCache::Options options;
  options.now = [this] { return now_; };
  options.min_refetch_interval = absl::ZeroDuration();
  KeySetCache cache(std::move(options), [&](OnAnswer on_answer) {
    EXPECT_FALSE(std::exchange(is_in_fetch, true)) << "two overlapping calls";
    ++fetches;
    on_answer(AnswerOf({"a"}));
    is_in_fetch = false;
  });
  std::string outcomes;
  auto note = [&](const std::optional<VerificationKey>& key) { outcomes += key.has_value() ? "found " : "none "; };
  cache.Find("a", note);
  EXPECT_EQ(outcomes, "found ");
  cache.Find("b", [&](const std::optional<VerificationKey>& key) {
    note(key);
    cache.Find("c", note);
  });
  EXPECT_EQ(outcomes, "found none none ");
  EXPECT_EQ(fetches, 3) << "the callback begins a fetch, which waits until the function has returned";
  cache.Find("d", note);
  EXPECT_EQ(fetches, 4);
}

TEST_F(KeySetCacheTest, ASetThatExpiresBeforeTheFetchFunctionReturnsIsFetchedAgain) {
  std::vector<std::string> seen;
  KeySetCache* cache = nullptr;
  const auto find = [&](const std::string& when) {
    cache->Find("a", [&seen, when](const std::optional<VerificationKey>& key) {
      seen.push_back(absl::StrCat(when, key.has_value() ? " found" : " none"));
    });
  };
  KeySetCache::Options options;
  options.now = [this] { return now_; };
  std::deque<OnAnswer> pending;
  bool is_in_fetch_call = false;
  KeySetCache owned(std::move(options), [&](OnAnswer on_answer) {
    EXPECT_FALSE(std::exchange(is_in_fetch_call, true)) << "the fetch function was called before it returned";
    if (++fetches_ == 1) {
      on_answer(AnswerOf({"a"}, "max-age=1"));
      now_ += absl::Seconds(1);
      find("expired");
      find("too");
      EXPECT_THAT(seen, ElementsAre("first found")) << "the expired set is not used, and counts as no missing key";
    } else {
      pending.push_back(std::move(on_answer));
    }
    is_in_fetch_call = false;
  });
  cache = &owned;
  find("first");
  EXPECT_EQ(fetches_, 2);
  EXPECT_THAT(seen, ElementsAre("first found"));
  ASSERT_THAT(pending, SizeIs(1));
  pending.front()(AnswerOf({"a"}));
  EXPECT_THAT(seen, ElementsAre("first found", "expired found", "too found"));
}

// If the cache held its lock during a callback, these calls would hang.
TEST_F(KeySetCacheTest, CallbacksMayCallTheCache) {
  KeySetCache* cache = nullptr;
  std::vector<std::string> seen;
  auto find = [&](const std::string& where) {
    cache->Find("a", [&seen, where](const std::optional<VerificationKey>& key) {
      seen.push_back(absl::StrCat(where, key.has_value() ? " found" : " none"));
    });
    cache->Refresh();
  };
  KeySetCache::Options options;
  options.now = [this] { return now_; };
  options.min_refetch_interval = absl::ZeroDuration();
  options.observe = [&](const absl::Status&, const KeySet*) { find("observe"); };
  OnAnswer pending;
  KeySetCache owned(std::move(options), [&](OnAnswer on_answer) {
    find("fetch");
    pending = std::move(on_answer);
  });
  cache = &owned;
  cache->Find("a", [&](const std::optional<VerificationKey>& key) {
    ASSERT_TRUE(key.has_value());
    find("done");
  });
  EXPECT_THAT(seen, IsEmpty());
  std::move(pending)(AnswerOf({"a"}));
  EXPECT_THAT(seen, ElementsAre("observe found", "done found", "fetch found"));
}

TEST_F(KeySetCacheTest, CacheMayBeDestroyedBeforeItsFetchEnds) {
  const std::string& a = Find("a");
  const std::string& b = Find("b");
  cache_.reset();
  EXPECT_EQ(a, "none");
  EXPECT_EQ(b, "none");
  Answer(AnswerOf({"a"}));
  EXPECT_EQ(a, "none");
  EXPECT_THAT(observed_, IsEmpty());
}

// Receives one callback, on any thread.
class Outcome {
 public:
  void Set(bool found) {
    MutexLock lock(mutex_);
    ++calls_;
    found_ = found;
    changed_.WakeAll();
  }
  // Waits for the callback. Returns whether a key was found.
  bool Wait() {
    MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (calls_ == 0 && !changed_.WaitUntil(mutex_, deadline)) {
    }
    EXPECT_EQ(calls_, 1) << "the cache must call back once";
    return found_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  bool found_ ABSL_GUARDED_BY(mutex_) = false;
};

// A simulated discovery endpoint, which responds on its own thread. Every third fetch fails.
class Discovery {
 public:
  explicit Discovery(std::string cache_control)
      : cache_control_(std::move(cache_control)), thread_([this] { Serve(); }) {}
  ~Discovery() {
    {
      MutexLock lock(mutex_);
      is_closed_ = true;
    }
    changed_.WakeAll();
    thread_.join();
  }

  FetchKeySet Fetch() {
    return [this](OnAnswer on_answer) {
      EXPECT_FALSE(is_busy_.exchange(true)) << "two fetches at the same time";
      MutexLock lock(mutex_);
      pending_ = std::move(on_answer);
      changed_.WakeAll();
    };
  }

  int answered() const { return answered_; }

 private:
  void Serve() {
    MutexLock lock(mutex_);
    while (true) {
      while (!is_closed_ && pending_ == nullptr) changed_.Wait(mutex_);
      if (pending_ == nullptr) return;
      OnAnswer on_answer = std::exchange(pending_, nullptr);
      lock.Unlock();
      is_busy_ = false;
      if (++answered_ % 3 == 0) {
        on_answer(absl::UnavailableError("now and then"));
      } else {
        on_answer(AnswerOf({"a"}, cache_control_));
      }
      lock.Relock();
    }
  }

  const std::string cache_control_;
  std::atomic<bool> is_busy_ = false;
  std::atomic<int> answered_ = 0;
  Mutex mutex_;
  Condition changed_;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  OnAnswer pending_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Each Find moves the clock by a second. Returns how many fetches there were.
int FindOnManyThreads(int thread_count, int calls, std::string cache_control) {
  const absl::Time start = absl::FromUnixSeconds(1'700'000'000);
  std::atomic<int64_t> seconds = 0;
  std::atomic<int> observed = 0;
  Discovery discovery(std::move(cache_control));
  KeySetCache::Options options;
  options.now = [&] { return start + absl::Seconds(seconds.load()); };
  options.observe = [&](const absl::Status&, const KeySet*) { ++observed; };
  KeySetCache cache(std::move(options), discovery.Fetch());

  Outcome first;
  cache.Find("a", [&](const std::optional<VerificationKey>& key) { first.Set(key.has_value()); });
  EXPECT_TRUE(first.Wait());

  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < calls; ++i) {
        ++seconds;
        const bool is_known = (i + t) % 2 == 0;
        Outcome outcome;
        cache.Find(is_known ? "a" : "b",
                   [&](const std::optional<VerificationKey>& key) { outcome.Set(key.has_value()); });
        EXPECT_EQ(outcome.Wait(), is_known);
        if (i % 7 == 0) cache.Refresh();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(discovery.answered(), 10);
  EXPECT_GT(observed, 10);
  return discovery.answered();
}

TEST(KeySetCacheThreadsTest, EveryFindGetsOneCallbackOnManyThreads) {
  // One fetch is allowed in each ten seconds, in addition to the fetches in a row.
  EXPECT_LE(FindOnManyThreads(4, 2000, "max-age=86400"), kMaxKeySetFetchesInARow + 4 * 2000 / 10);
}

TEST(KeySetCacheThreadsTest, EveryFindGetsOneCallbackWhileTheSetExpiresOften) {
  // A set can expire while the call of the fetch function that fetched it has not returned yet.
  FindOnManyThreads(4, 2000, "max-age=1");
}

TEST(KeySetCacheThreadsTest, ADestroyedCacheMakesNoCallback) {
  for (int round = 0; round < 200; ++round) {
    std::thread fetch;
    bool is_gone = false;  // not atomic, so that ThreadSanitizer detects a late callback
    Outcome outcome;
    {
      KeySetCache::Options options;
      options.now = [] { return absl::UnixEpoch(); };
      options.observe = [&](const absl::Status&, const KeySet*) { EXPECT_FALSE(is_gone); };
      KeySetCache cache(std::move(options), [&](OnAnswer on_answer) {
        fetch = std::thread([on_answer = std::move(on_answer)]() mutable { on_answer(AnswerOf({"a"})); });
      });
      cache.Find("a", [&](const std::optional<VerificationKey>& key) {
        EXPECT_FALSE(is_gone);
        outcome.Set(key.has_value());
      });
    }
    is_gone = true;
    outcome.Wait();
    fetch.join();
  }
}

}  // namespace
}  // namespace stampgate
