#include "gateway/deliveries/gauges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/deliveries/delivery_metrics.h"
#include "gateway/feed/feed.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/metrics/registry.h"
#include "translate/testing/dynamic_message.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class EventGaugesTest : public ::testing::Test {
 protected:
  EventGaugesTest() {
    std::string folder = absl::StrCat(::testing::TempDir(), "/gauges-XXXXXX");
    folder_ = mkdtemp(folder.data());
    SqliteEventLogOptions options;
    options.path = absl::StrCat(folder_, "/events");
    options.now = [this] { return now_; };
    log_ = *OpenSqliteEventLog(std::move(options));
    encoder_ = *EventEncoder::Create(testing::Pool(), "Service", log_->identity(), feed_metrics_);
    feed_ = *EventFeed::Start(*log_, *encoder_, 1, feed_metrics_);
    gauges_ =
        std::make_unique<EventGauges>(*feed_, subscriptions_, metrics_, [this] { return now_ + absl::Seconds(90); });
  }
  ~EventGaugesTest() override {
    feed_->Close();
    log_ = nullptr;
    feed_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  void Store(int number) {
    EXPECT_EQ(AppendAndWait(*log_, MakeVerifiedEvent(absl::StrCat("e", number), "{}")).value(), AppendOutcome::kStored);
  }

  // Calls Look, waits until a reader has read the log's size and age, and returns the metrics.
  std::string Look() {
    gauges_->Look();
    std::promise<void> ran;
    feed_->Run([&](const absl::StatusOr<EventReader*>&) { ran.set_value(); });
    ran.get_future().wait();
    return registry_.Render();
  }

  const absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::string folder_;
  MetricRegistry registry_;
  DeliveryMetrics metrics_{registry_};
  FeedMetrics feed_metrics_{registry_};
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<const EventEncoder> encoder_;
  std::unique_ptr<EventFeed> feed_;
  StreamSlots subscriptions_{10, 10, "subscriptions"};
  std::unique_ptr<EventGauges> gauges_;
};

TEST_F(EventGaugesTest, TheMetricsHaveTheSizeAndTheAgeOfTheLog) {
  EXPECT_THAT(registry_.Render(), Not(HasSubstr("stampgate_event_log_bytes")));
  EXPECT_THAT(Look(), HasSubstr("\nstampgate_event_log_oldest_age_seconds 0\n"));
  Store(1);
  const std::string text = Look();
  EXPECT_THAT(text, HasSubstr("\nstampgate_event_log_oldest_age_seconds 90\n"));
  EXPECT_THAT(text, HasSubstr("\nstampgate_event_log_bytes "));
  EXPECT_THAT(text, Not(HasSubstr("\nstampgate_event_log_bytes 0\n")));
}

TEST_F(EventGaugesTest, TheMetricsHaveTheLargestLagOfASubscriber) {
  EXPECT_THAT(Look(), HasSubstr("\nstampgate_subscriber_lag_events 0\n"));
  for (int number = 1; number <= 5; ++number) Store(number);
  EXPECT_THAT(Look(), HasSubstr("\nstampgate_subscriber_lag_events 0\n")) << "there is no subscriber";
  const std::unique_ptr<StreamSlot> first = *subscriptions_.Take("a");
  std::unique_ptr<StreamSlot> second = *subscriptions_.Take("a");
  first->SetPosition(2);
  second->SetPosition(4);
  EXPECT_THAT(Look(), HasSubstr("\nstampgate_subscriber_lag_events 3\n"));
  first->SetPosition(5);
  EXPECT_THAT(Look(), HasSubstr("\nstampgate_subscriber_lag_events 1\n"));
  second = nullptr;
  EXPECT_THAT(Look(), HasSubstr("\nstampgate_subscriber_lag_events 0\n"));
}

}  // namespace
}  // namespace stampgate
