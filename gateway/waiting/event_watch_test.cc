#include "gateway/waiting/event_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/feed/fake_log.h"
#include "gateway/feed/fake_source.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::shared_ptr<const EncodedEvent> EventWith(const std::string& body) {
  auto event = std::make_shared<EncodedEvent>();
  event->field = grpc::Slice("before " + body + " after");
  event->body_begin = 7;
  event->body_size = body.size();
  return event;
}

class EventWatchTest : public ::testing::Test {
 protected:
  ~EventWatchTest() override { source_.End(); }

  FakeEventLog log_;
  FakeEventSource source_{log_};
  EventLoop loop_{"loop"};
  std::vector<std::string> seen_;
  const std::shared_ptr<EventWatch> watch_ =
      std::make_shared<EventWatch>(source_, loop_, [this](absl::string_view body) { seen_.emplace_back(body); });
};

TEST_F(EventWatchTest, ReadsOnlyBetweenBeginAndEnd) {
  EXPECT_EQ(source_.asked(), nullptr);
  watch_->Begin();
  watch_->Begin();
  ASSERT_NE(source_.asked(), nullptr);
  EXPECT_THAT(source_.asked()->filter->types, ElementsAre("ACTIVITY_UPDATES"));
  watch_->End();
  EXPECT_EQ(source_.asked(), nullptr);
  watch_->Begin();
  EXPECT_NE(source_.asked(), nullptr);
}

TEST_F(EventWatchTest, PassesTheBodyOfEachEventOnAndReadsOn) {
  watch_->Begin();
  source_.Give(EventPage{{EventWith("one"), EventWith("two")}, {7}});
  EXPECT_THAT(seen_, ElementsAre("one", "two"));
  ASSERT_NE(source_.asked(), nullptr);
  EXPECT_EQ(source_.asked()->after.position, 7);
}

TEST_F(EventWatchTest, LeavesOutAnEventWithoutItsBody) {
  watch_->Begin();
  auto event = std::make_shared<EncodedEvent>();
  event->field = grpc::Slice("an event without a body");
  source_.Give(EventPage{{event, EventWith("one")}, {2}});
  EXPECT_THAT(seen_, ElementsAre("one"));
}

TEST_F(EventWatchTest, APageThatArrivesAfterEndIsDiscarded) {
  watch_->Begin();
  source_.BeginRead();
  watch_->End();
  source_.Give(EventPage{{EventWith("one")}, {1}});
  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_EQ(source_.asked(), nullptr);
}

TEST_F(EventWatchTest, EndsWithTheSource) {
  watch_->Begin();
  source_.Give(absl::AbortedError("the source ends"));
  EXPECT_EQ(source_.asked(), nullptr);
}

}  // namespace
}  // namespace stampgate
