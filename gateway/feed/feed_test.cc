#include "gateway/feed/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gateway/feed/fake_log.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/metrics/registry.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kHang = absl::Seconds(60);

// A request for a page. The page can arrive at any later time.
class Asked {
 public:
  Asked(EventFeed& feed, EventFeed::ReaderId id, Position after, absl::Duration patience, EventFilter filter = {}) {
    EventFeed::Request request;
    request.after = {after, {}};
    request.patience = patience;
    request.filter = std::make_shared<const EventFilter>(std::move(filter));
    feed.Next(id, std::move(request),
              [promise = promise_](absl::StatusOr<EventPage> page) { promise->set_value(std::move(page)); });
  }

  bool has_come() const { return future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

  absl::StatusOr<EventPage> Wait() {
    if (future_.wait_for(absl::ToChronoSeconds(kHang)) != std::future_status::ready) return absl::InternalError("hang");
    return future_.get();
  }

 private:
  std::shared_ptr<std::promise<absl::StatusOr<EventPage>>> promise_ =
      std::make_shared<std::promise<absl::StatusOr<EventPage>>>();
  std::future<absl::StatusOr<EventPage>> future_ = promise_->get_future();
};

std::vector<Position> PositionsOf(const absl::StatusOr<EventPage>& page) {
  std::vector<Position> positions;
  EXPECT_TRUE(page.ok()) << page.status();
  if (page.ok()) {
    for (const auto& event : page->events) positions.push_back(event->position);
  }
  return positions;
}

class EventFeedTest : public ::testing::Test {
 protected:
  // Waits until the feed's threads have begun all earlier requests.
  void WaitUntilIdle() {
    for (int i = 0; i < 4; ++i) {
      std::promise<void> ran;
      feed_->Run([&](const absl::StatusOr<EventReader*>&) { ran.set_value(); });
      ran.get_future().wait();
    }
  }

  MetricRegistry registry_;
  FeedMetrics metrics_{registry_};
  FakeEventLog log_;
  std::unique_ptr<const EventEncoder> encoder_ =
      *EventEncoder::Create(testing::Pool(), "Service", log_.identity(), metrics_);
  std::unique_ptr<EventFeed> feed_ = *EventFeed::Start(log_, *encoder_, 1, metrics_);
};

TEST_F(EventFeedTest, APageHasTheEventsOfTheLog) {
  log_.Grow(3);
  const auto page = Asked(*feed_, 1, 0, kHang).Wait();
  EXPECT_THAT(PositionsOf(page), ElementsAre(1, 2, 3));
  EXPECT_EQ(page->through.position, 3);
  EXPECT_EQ(feed_->latest(), 3);
  EXPECT_EQ(metrics_.latest_position.Shown().Value(), 3);
}

TEST_F(EventFeedTest, AReaderWaitsForTheNextEvent) {
  Asked first(*feed_, 1, 0, kHang);
  Asked second(*feed_, 2, 0, kHang);
  WaitUntilIdle();
  EXPECT_FALSE(first.has_come());
  log_.Grow(2);
  EXPECT_THAT(PositionsOf(first.Wait()), ElementsAre(1, 2));
  EXPECT_THAT(PositionsOf(second.Wait()), ElementsAre(1, 2));
}

TEST_F(EventFeedTest, AWaitWithoutEventsEndsWithAnEmptyPage) {
  log_.Grow(2);
  const auto page = Asked(*feed_, 1, 2, absl::Milliseconds(5)).Wait();
  EXPECT_THAT(PositionsOf(page), IsEmpty());
  EXPECT_EQ(page->through.position, 2);
}

TEST_F(EventFeedTest, ARequestWithoutPatienceDoesNotWait) {
  EXPECT_THAT(PositionsOf(Asked(*feed_, 1, 0, absl::ZeroDuration()).Wait()), IsEmpty());
}

TEST_F(EventFeedTest, AnEventThatDoesNotPassTheFilterMovesThePlaceAndEndsTheWait) {
  Asked asked(*feed_, 1, 0, kHang, {.organization_ids = {}, .types = {"even"}});
  WaitUntilIdle();
  log_.Grow(1);
  const auto page = asked.Wait();
  EXPECT_THAT(PositionsOf(page), IsEmpty());
  EXPECT_EQ(page->through.position, 1);
}

TEST_F(EventFeedTest, ReadersNearTheEndShareOneRead) {
  std::vector<std::unique_ptr<Asked>> readers;
  for (int i = 0; i < 100; ++i) readers.push_back(std::make_unique<Asked>(*feed_, i + 1, 0, kHang));
  WaitUntilIdle();
  const int before = log_.reads();
  log_.Grow(5);
  for (const auto& reader : readers) EXPECT_THAT(PositionsOf(reader->Wait()), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(log_.reads(), before + 1);
}

TEST_F(EventFeedTest, EventsThatTheLogHasLostAreNotRead) {
  log_.Grow(5);
  EXPECT_THAT(PositionsOf(Asked(*feed_, 1, 0, kHang).Wait()), ElementsAre(1, 2, 3, 4, 5));
  log_.Grow(3);
  EXPECT_THAT(PositionsOf(Asked(*feed_, 2, 0, kHang).Wait()), ElementsAre(1, 2, 3));
}

TEST_F(EventFeedTest, AReaderFarBehindGetsEveryEvent) {
  log_.Grow(10000);
  EXPECT_THAT(PositionsOf(Asked(*feed_, 1, 9998, kHang).Wait()), ElementsAre(9999, 10000));
  Position after = 0;
  while (after < 10000) {
    const auto page = Asked(*feed_, 2, after, kHang, {.organization_ids = {}, .types = {"odd"}}).Wait();
    ASSERT_TRUE(page.ok());
    ASSERT_GT(page->through.position, after);
    Position expected = after + (after % 2 == 0 ? 1 : 2);
    for (const Position position : PositionsOf(page)) {
      EXPECT_EQ(position, expected);
      expected += 2;
    }
    EXPECT_GT(expected, page->through.position) << "nothing was left out";
    after = page->through.position;
  }
}

// A reader near the log's end must not wait, however many readers search the log from its beginning, and however long
// each read takes.
TEST_F(EventFeedTest, AReaderNearTheEndDoesNotWaitForSearches) {
  feed_ = *EventFeed::Start(log_, *encoder_, 2, metrics_);
  log_.Grow(5000);
  std::promise<void> searching;
  std::promise<void> go_on;
  log_.OnRead([&] {
    searching.set_value();
    go_on.get_future().wait();
  });
  std::vector<std::unique_ptr<Asked>> searchers;
  for (EventFeed::ReaderId id = 100; id < 400; ++id) {
    searchers.push_back(
        std::make_unique<Asked>(*feed_, id, 0, kHang, EventFilter{.organization_ids = {}, .types = {"none"}}));
  }
  searching.get_future().wait();
  EXPECT_THAT(PositionsOf(Asked(*feed_, 1, 4999, kHang).Wait()), ElementsAre(5000));
  for (const auto& searcher : searchers) EXPECT_FALSE(searcher->has_come());
  go_on.set_value();
  for (const auto& searcher : searchers) EXPECT_TRUE(searcher->Wait().ok());
}

TEST_F(EventFeedTest, ACancelledWaitEnds) {
  Asked one(*feed_, 1, 0, kHang);
  Asked other(*feed_, 2, 0, kHang);
  WaitUntilIdle();
  feed_->Cancel(1);
  feed_->Cancel(3);
  EXPECT_EQ(one.Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(other.has_come());
  log_.Grow(1);
  EXPECT_THAT(PositionsOf(other.Wait()), ElementsAre(1));
}

TEST_F(EventFeedTest, ACancelBeforeOrDuringAReadIsNotLost) {
  std::promise<void> blocked;
  std::promise<void> go_on;
  feed_->Run([&](const absl::StatusOr<EventReader*>&) {
    blocked.set_value();
    go_on.get_future().wait();
  });
  blocked.get_future().wait();
  Asked queued(*feed_, 1, 0, kHang);
  feed_->Cancel(1);
  EXPECT_TRUE(queued.has_come()) << "the request ended before a thread began it";
  go_on.set_value();

  std::promise<void> reading;
  std::promise<void> read_on;
  log_.OnRead([&] {
    reading.set_value();
    read_on.get_future().wait();
  });
  log_.Grow(1);
  Asked served(*feed_, 2, 0, kHang, {.organization_ids = {}, .types = {"even"}});
  reading.get_future().wait();
  feed_->Cancel(2);
  read_on.set_value();
  EXPECT_EQ(served.Wait().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(EventFeedTest, ADrainEndsWaitsAndServesOtherRequests) {
  log_.Grow(1);
  Asked waiting(*feed_, 1, 1, kHang);
  WaitUntilIdle();
  feed_->Drain();
  EXPECT_EQ(waiting.Wait().status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Asked(*feed_, 2, 0, kHang).Wait().status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(PositionsOf(Asked(*feed_, 3, 0, absl::ZeroDuration()).Wait()), ElementsAre(1));
}

TEST_F(EventFeedTest, TheDestructorOfTheFeedEndsAWait) {
  Asked waiting(*feed_, 1, 0, kHang);
  WaitUntilIdle();
  feed_.reset();
  EXPECT_EQ(waiting.Wait().status().code(), absl::StatusCode::kAborted);
}

TEST_F(EventFeedTest, ALogMayGrowAfterItsFeedHasClosed) {
  Asked waiting(*feed_, 1, 0, kHang);
  WaitUntilIdle();
  feed_->Close();
  log_.Grow(1);
  EXPECT_FALSE(waiting.has_come());
  feed_.reset();
  EXPECT_EQ(waiting.Wait().status().code(), absl::StatusCode::kAborted);
}

TEST_F(EventFeedTest, TrimmedAndDamagedEventsAreErrorsForCallers) {
  log_.Grow(9);
  log_.Trim(4);
  log_.Damage(6);
  const absl::Status trimmed = Asked(*feed_, 1, 2, kHang).Wait().status();
  EXPECT_EQ(trimmed.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(DetailsOf(trimmed).reason, "EVENTS_TRIMMED");
  EXPECT_TRUE(DetailsOf(trimmed).metadata.contains("earliest_cursor"));
  EXPECT_THAT(PositionsOf(Asked(*feed_, 1, 3, kHang).Wait()), ElementsAre(4, 5));
  const absl::Status damaged = Asked(*feed_, 1, 5, kHang).Wait().status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DetailsOf(damaged).reason, "EVENT_DAMAGED");
  EXPECT_TRUE(DetailsOf(damaged).metadata.contains("next_cursor"));
  EXPECT_THAT(PositionsOf(Asked(*feed_, 1, 6, kHang).Wait()), ElementsAre(7, 8, 9));
}

TEST(EventFeedThreadsTest, ManyReadersSeeEveryEventOnceWhileTheLogGrows) {
  constexpr Position kEvents = 5000;
  MetricRegistry registry;
  FeedMetrics metrics(registry);
  FakeEventLog log;
  auto encoder = *EventEncoder::Create(testing::Pool(), "Service", log.identity(), metrics);
  auto feed = *EventFeed::Start(log, *encoder, 3, metrics);
  std::vector<std::thread> readers;
  for (int i = 1; i <= 8; ++i) {
    readers.emplace_back([&feed, i] {
      Position after = 0;
      while (after < kEvents) {
        const auto page = Asked(*feed, i, after, kHang).Wait();
        ASSERT_TRUE(page.ok()) << page.status();
        for (const Position position : PositionsOf(page)) ASSERT_EQ(position, ++after);
        ASSERT_EQ(after, page->through.position);
      }
    });
  }
  for (Position latest = 1; latest <= kEvents; latest += 1 + latest % 7) log.Grow(latest);
  log.Grow(kEvents);
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace stampgate
