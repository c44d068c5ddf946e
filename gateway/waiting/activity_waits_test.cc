#include "gateway/waiting/activity_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/threads/mutex.h"
#include "gateway/feed/fake_log.h"
#include "gateway/feed/fake_source.h"
#include "gateway/metrics/registry.h"
#include "gateway/waiting/wait_metrics.h"

namespace stampgate {
namespace {

constexpr std::chrono::minutes kHang(1);
const ActivityName kActivity = {"o", "a"};

std::string ActivityWith(absl::string_view status) {
  return absl::StrCat(R"({"id":"a","organizationId":"o","status":")", status,
                      R"(","type":"ACTIVITY_TYPE_X","result":{"r":{}}})");
}

std::string AnswerWith(absl::string_view status) { return absl::StrCat(R"({"activity":)", ActivityWith(status), "}"); }

// Receives how a wait ended.
class Ending {
 public:
  ActivityWaits::OnEnd Callback() {
    return [this](ActivityWaits::Ended ended) {
      MutexLock lock(mutex_);
      ended_.push_back(std::move(ended));
      changed_.WakeAll();
    };
  }

  size_t count() const {
    MutexLock lock(mutex_);
    return ended_.size();
  }

  ActivityWaits::Ended Wait() const {
    MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (ended_.empty() && !changed_.WaitUntil(mutex_, deadline)) {
    }
    if (ended_.empty()) ADD_FAILURE() << "the wait does not end";
    return ended_.empty() ? ActivityWaits::Ended() : ended_.front();
  }

 private:
  mutable Mutex mutex_;
  mutable Condition changed_;
  std::vector<ActivityWaits::Ended> ended_ ABSL_GUARDED_BY(mutex_);
};

class ActivityWaitsTest : public ::testing::Test {
 protected:
  ~ActivityWaitsTest() override {
    waits_->Drain();
    loop_.Stop();
  }

  // Waits never read, unless a test sets a short interval before the first call.
  std::shared_ptr<ActivityWaits> Make(absl::Duration poll_interval = absl::Hours(1), size_t max_waiting = 10) {
    WaitTable::Options options;
    options.max_waiting = max_waiting;
    options.poll_interval = poll_interval;
    options.max_poll_interval = poll_interval;
    options.polls_per_second = 1000;
    options.is_final = [](absl::string_view status) { return status == "DONE"; };
    waits_ = std::make_shared<ActivityWaits>(std::move(options), loop_, metrics_);
    return waits_;
  }

  static WaitTable::Time In(absl::Duration time) {
    return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(time);
  }

  static ActivityWaits::ReadActivity Unused() {
    return [](ActivityWaits::Time, ActivityWaits::Done) { ADD_FAILURE() << "the activity is read"; };
  }

  // Delivers an event with this body to the watch.
  void Deliver(const std::string& body) {
    auto event = std::make_shared<EncodedEvent>();
    event->field = grpc::Slice(body);
    event->body_size = body.size();
    source_.Give(EventPage{{event}, {1}});
  }

  FakeEventLog log_;
  FakeEventSource source_{log_};
  EventLoop loop_{"loop"};
  MetricRegistry registry_;
  WaitMetrics metrics_{registry_};
  std::shared_ptr<ActivityWaits> waits_;
  Ending ending_;
};

TEST_F(ActivityWaitsTest, AnEventEndsAWait) {
  Make()->Watch(source_);
  EXPECT_EQ(source_.asked(), nullptr);
  const auto wait = waits_->Announce();
  ASSERT_NE(source_.asked(), nullptr) << "events must be read before the submit is sent";
  wait->Begin("a", 1, kActivity, false, In(absl::Hours(1)), Unused(), ending_.Callback());
  Deliver(ActivityWith("PENDING"));
  Deliver("no JSON");
  EXPECT_EQ(ending_.count(), 0u);
  EXPECT_EQ(metrics_.waiting.Value(), 1);
  Deliver(ActivityWith("DONE"));
  EXPECT_EQ(ending_.count(), 1u);
  EXPECT_EQ(ending_.Wait().end, WaitEnd::kEvent);
  EXPECT_EQ(metrics_.waiting.Value(), 0);
  EXPECT_EQ(metrics_.ends[WaitEnd::kEvent].Value(), 1);
  EXPECT_EQ(*ending_.Wait().text, AnswerWith("DONE"));
  EXPECT_EQ(source_.asked(), nullptr) << "nobody waits";
}

TEST_F(ActivityWaitsTest, AnEventBeforeTheWaitEndsTheWait) {
  Make()->Watch(source_);
  const auto wait = waits_->Announce();
  Deliver(ActivityWith("DONE"));
  wait->Begin("a", 1, kActivity, false, In(absl::Hours(1)), Unused(), ending_.Callback());
  EXPECT_EQ(ending_.Wait().end, WaitEnd::kEvent);
}

TEST_F(ActivityWaitsTest, AReadingEndsAWait) {
  Make(absl::Milliseconds(1));
  int reads = 0;
  const auto read = [&](ActivityWaits::Time, ActivityWaits::Done done) {
    switch (++reads) {
      case 1:
        return done(std::nullopt);
      case 2:
        return done("no JSON");
      case 3:
        return done(AnswerWith("PENDING"));
      default:
        return done(AnswerWith("DONE"));
    }
  };
  const auto wait = waits_->Announce();
  wait->Begin("a", 1, kActivity, false, In(absl::Hours(1)), read, ending_.Callback());
  EXPECT_EQ(ending_.Wait().end, WaitEnd::kPoll);
  EXPECT_EQ(*ending_.Wait().text, AnswerWith("DONE"));
  EXPECT_EQ(reads, 4);
}

TEST_F(ActivityWaitsTest, AReadingMayEndAfterItsWait) {
  Make(absl::Milliseconds(1));
  Mutex mutex;
  Condition changed;
  ActivityWaits::Done held;
  const auto read = [&](ActivityWaits::Time, ActivityWaits::Done done) {
    MutexLock lock(mutex);
    held = std::move(done);
    changed.WakeAll();
  };
  const auto wait = waits_->Announce();
  wait->Begin("a", 1, kActivity, false, In(absl::Hours(1)), read, ending_.Callback());
  {
    MutexLock lock(mutex);
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (held == nullptr && !changed.WaitUntil(mutex, deadline)) {
    }
    ASSERT_TRUE(held != nullptr);
  }
  wait->End(WaitEnd::kLeft);
  EXPECT_EQ(ending_.Wait().end, WaitEnd::kLeft);
  held(AnswerWith("DONE"));
  EXPECT_EQ(ending_.count(), 1u);
}

TEST_F(ActivityWaitsTest, AWaitEndsAtItsDeadline) {
  Make();
  const auto wait = waits_->Announce();
  wait->Begin("a", 1, kActivity, false, In(absl::Milliseconds(1)), Unused(), ending_.Callback());
  EXPECT_EQ(ending_.Wait().end, WaitEnd::kDeadline);
}

TEST_F(ActivityWaitsTest, AWaitThatTheCallEndsEndsAtOnceOrWhenItBegins) {
  Make();
  const auto wait = waits_->Announce();
  wait->Begin("a", 1, kActivity, false, In(absl::Hours(1)), Unused(), ending_.Callback());
  wait->End(WaitEnd::kLeft);
  EXPECT_EQ(ending_.count(), 1u);
  wait->End(WaitEnd::kLeft);
  EXPECT_EQ(ending_.count(), 1u);

  for (const WaitEnd end : {WaitEnd::kLeft, WaitEnd::kDismissed}) {
    Ending other;
    const auto early = waits_->Announce();
    early->End(end);
    EXPECT_EQ(other.count(), 0u);
    early->Begin("a", 1, kActivity, false, In(absl::Hours(1)), Unused(), other.Callback());
    EXPECT_EQ(other.Wait().end, end);
  }
}

TEST_F(ActivityWaitsTest, ADrainEndsEveryWait) {
  Make()->Watch(source_);
  const auto wait = waits_->Announce();
  wait->Begin("a", 1, kActivity, false, In(absl::Hours(1)), Unused(), ending_.Callback());
  waits_->Drain();
  EXPECT_EQ(ending_.Wait().end, WaitEnd::kDrain);
  EXPECT_EQ(source_.asked(), nullptr);
  Ending later;
  waits_->Announce()->Begin("a", 1, kActivity, false, In(absl::Hours(1)), Unused(), later.Callback());
  EXPECT_EQ(later.Wait().end, WaitEnd::kDrain);
}

TEST_F(ActivityWaitsTest, TooManyWaitsEndAtOnce) {
  Make(absl::Hours(1), /*max_waiting=*/1);
  const auto wait = waits_->Announce();
  wait->Begin("a", 1, kActivity, false, In(absl::Hours(1)), Unused(), ending_.Callback());
  Ending other;
  waits_->Announce()->Begin("a", 1, {"o", "b"}, false, In(absl::Hours(1)), Unused(), other.Callback());
  EXPECT_EQ(other.Wait().end, WaitEnd::kFull);
  EXPECT_EQ(ending_.count(), 0u);
}

TEST_F(ActivityWaitsTest, AWaitThatNeverBeginsLeavesNothing) {
  Make()->Watch(source_);
  {
    const auto wait = waits_->Announce();
    EXPECT_NE(source_.asked(), nullptr);
  }
  EXPECT_EQ(source_.asked(), nullptr);
}

}  // namespace
}  // namespace stampgate
