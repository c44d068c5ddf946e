#include "gateway/subscriptions/calls/parked_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gateway/subscriptions/calls/testing.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::ValueAt;
using testing::ValuesAt;
using Code = absl::StatusCode;

class ParkedCallsTest : public SubscriptionCallTest {
 protected:
  void List(const std::string& options = "") {
    request_ = RequestBytes("ListParkedRequest", absl::StrCat("subscription: 'payouts' ", options));
    ListParked(subscription_environment_, Identity(), Trace(), request_, OnResponse());
    step_source_.Serve();
  }
  void Retry(const std::vector<std::string>& cursors) { Change(RetryParked, "RetryParkedRequest", cursors); }
  void Skip(const std::vector<std::string>& cursors) { Change(SkipParked, "SkipParkedRequest", cursors); }

  std::vector<std::string> NotParked(const std::string& type) const {
    const auto response = Response(type);
    std::vector<std::string> cursors;
    const size_t count = std::stoul(ValueAt(*response, "not_parked_cursors"));
    for (size_t i = 0; i < count; ++i) cursors.push_back(ValueAt(*response, absl::StrCat("not_parked_cursors.", i)));
    return cursors;
  }
  std::vector<std::string> Listed() const {
    return ValuesAt(*Response("ListParkedResponse"), "parked_events", "event.event_id");
  }

  grpc::ByteBuffer request_;

 private:
  void Change(decltype(RetryParked)& change, const std::string& type, const std::vector<std::string>& cursors) {
    request_ =
        RequestBytes(type, absl::StrCat("subscription: 'payouts' cursors: ['", absl::StrJoin(cursors, "', '"), "']"));
    change(subscription_environment_, Identity(), Trace(), request_, OnResponse());
    step_source_.Serve();
  }
};

TEST_F(ParkedCallsTest, AParkedEventIsListedWithItsReason) {
  Pass(absl::Milliseconds(7));
  Park(1);
  List();
  const auto response = Response("ListParkedResponse");
  EXPECT_EQ(ValueAt(*response, "parked_events"), "1");
  EXPECT_EQ(ValueAt(*response, "parked_events.0.event.event_id"), "event-1");
  EXPECT_EQ(ValueAt(*response, "parked_events.0.event.body"), "{}");
  EXPECT_EQ(ValueAt(*response, "parked_events.0.event.cursor"), CursorAt(1));
  EXPECT_EQ(ValueAt(*response, "parked_events.0.delivery_count"), "1");
  EXPECT_EQ(ValueAt(*response, "parked_events.0.reason"), "broken");
  EXPECT_EQ(ValueAt(*response, "parked_events.0.park_time.seconds"), "1700000000");
  EXPECT_EQ(ValueAt(*response, "parked_events.0.park_time.nanos"), "7000000");
  EXPECT_EQ(ValueAt(*response, "cursor"), CursorAt(1));
  EXPECT_EQ(ValueAt(*response, "at_end"), "true");
}

TEST_F(ParkedCallsTest, WithoutParkedEventsThePageIsEmptyAndAtTheEnd) {
  List();
  const auto response = Response("ListParkedResponse");
  EXPECT_EQ(ValueAt(*response, "parked_events"), "0");
  EXPECT_EQ(ValueAt(*response, "cursor"), CursorAt(0));
  EXPECT_EQ(ValueAt(*response, "at_end"), "true");
}

TEST_F(ParkedCallsTest, EachPageContinuesAtTheCursorOfThePageBefore) {
  Park(3);
  std::vector<std::string> listed;
  std::string options = "page_size: 2";
  for (int page = 0; page < 2; ++page) {
    List(options);
    for (const std::string& id : Listed()) listed.push_back(id);
    EXPECT_EQ(ValueAt(*Response("ListParkedResponse"), "at_end"), page == 1 ? "true" : "false");
    options = absl::StrCat("page_size: 2 cursor: '", ValueAt(*Response("ListParkedResponse"), "cursor"), "'");
  }
  EXPECT_THAT(listed, ElementsAre("event-1", "event-2", "event-3"));
}

TEST_F(ParkedCallsTest, APageIsNotLargerThanAMessage) {
  for (Position position = 1; position <= 4; ++position) {
    Event event;
    event.event_id = absl::StrCat("large-", position);
    event.body = std::string(kMaxEventMessageBytes * 2 / 5, ' ');
    log_.Put(position, event);
  }
  Park(2);
  Park(2);
  List();
  EXPECT_THAT(Listed(), ElementsAre("large-1", "large-2"));
  EXPECT_LE((*response_)->message.Length(), kMaxEventMessageBytes);
  EXPECT_EQ(ValueAt(*Response("ListParkedResponse"), "at_end"), "false");
  List(absl::StrCat("cursor: '", ValueAt(*Response("ListParkedResponse"), "cursor"), "'"));
  EXPECT_THAT(Listed(), ElementsAre("large-3", "large-4"));
  EXPECT_EQ(ValueAt(*Response("ListParkedResponse"), "at_end"), "true");
}

TEST_F(ParkedCallsTest, AnEventThatTheLogCannotReadHasOnlyItsCursor) {
  Park(2);
  log_.Damage(2);
  List();
  EXPECT_THAT(Listed(), ElementsAre("event-1", ""));
  const std::string cursor = ValueAt(*Response("ListParkedResponse"), "parked_events.1.event.cursor");
  EXPECT_EQ(ValueAt(*Response("ListParkedResponse"), "parked_events.1.reason"), "broken");
  Skip({cursor});
  EXPECT_THAT(NotParked("SkipParkedResponse"), IsEmpty());
  EXPECT_THAT(*payouts_->Parked(0, 9), SizeIs(1));
}

// A reload can take an organization away from the subscription and from the caller, while events of it are parked.
TEST_F(ParkedCallsTest, AnEventThatTheCallerMayNotSeeIsNotListed) {
  Park(3);
  Grant("'odd'");
  Declare({"reader"}, {"odd"});
  List();
  EXPECT_THAT(Listed(), ElementsAre("event-1", "event-3"));
}

TEST_F(ParkedCallsTest, ALogThatCannotBeReadIsAnError) {
  Park(1);
  log_.Fail();
  List();
  EXPECT_EQ(Reason(), "EVENT_LOG_UNAVAILABLE");
}

TEST_F(ParkedCallsTest, APageBeyondTheMaximumOfQueriesIsRejected) {
  const absl::StatusOr<CallerShare> first = queries_.TakeFor("another");
  const absl::StatusOr<CallerShare> second = queries_.TakeFor("another");
  List();
  EXPECT_EQ(Reason(), "TOO_MANY_SUBSCRIBERS");
}

TEST_F(ParkedCallsTest, AQueryIsInProgressUntilItsResponseIsSent) {
  List();
  EXPECT_EQ(queries_.taken(), 1u);
  response_.reset();
  EXPECT_EQ(queries_.taken(), 0u);
}

TEST_F(ParkedCallsTest, ARetriedEventComesAgainOutOfOrder) {
  Park(2);
  Retry({CursorAt(1), CursorAt(3)});
  EXPECT_THAT(NotParked("RetryParkedResponse"), ElementsAre(CursorAt(3))) << "event 3 is not parked";
  const auto taken = Take(9);
  ASSERT_THAT(taken, SizeIs(3));
  EXPECT_EQ(taken[0].id.position, 1);
  EXPECT_TRUE(taken[0].out_of_order);
  EXPECT_EQ(taken[0].reason, DeliveryReason::kUnparked);
  Retry({CursorAt(1)});
  EXPECT_THAT(NotParked("RetryParkedResponse"), ElementsAre(CursorAt(1)));
}

TEST_F(ParkedCallsTest, ASkippedEventIsForgotten) {
  Park(2);
  Skip({CursorAt(2)});
  EXPECT_THAT(NotParked("SkipParkedResponse"), IsEmpty());
  List();
  EXPECT_THAT(Listed(), ElementsAre("event-1"));
}

TEST_F(ParkedCallsTest, AChangeRespondsWhenItIsDurable) {
  Park(1);
  Serve();
  store_.Hold();
  Skip({CursorAt(1)});
  EXPECT_FALSE(response_.has_value());
  store_.AnswerAtOnce();
  EXPECT_THAT(NotParked("SkipParkedResponse"), IsEmpty());
}

// After a restore of the log, the cursors of the events that were lost must not name other events.
TEST_F(ParkedCallsTest, ACursorOfAnotherEventAtThePositionNamesNoParkedEvent) {
  Park(1);
  const std::string cursor = EncodeCursorAt({1, FakeEventLog::DigestOf(2)});
  Skip({cursor});
  EXPECT_THAT(NotParked("SkipParkedResponse"), ElementsAre(cursor));
  EXPECT_THAT(*payouts_->Parked(0, 9), SizeIs(1));
}

TEST_F(ParkedCallsTest, AnInvalidCursorChangesNothing) {
  Park(1);
  Skip({CursorAt(1), "x"});
  EXPECT_EQ(Reason(), "CURSOR_INVALID");
  EXPECT_THAT(*payouts_->Parked(0, 9), SizeIs(1));
  List("cursor: 'x'");
  EXPECT_EQ(Reason(), "CURSOR_INVALID");
}

TEST_F(ParkedCallsTest, AGrantOfTheClassEventsAllowsRetriesButNotSkips) {
  Park(1);
  GrantAll();
  Skip({CursorAt(1)});
  EXPECT_THAT(Error(), StatusIs(Code::kPermissionDenied));
  EXPECT_EQ(DetailsOf(Error()).metadata["method"], "SubscriptionService/SkipParked");
  EXPECT_THAT(*payouts_->Parked(0, 9), SizeIs(1));
  Retry({CursorAt(1)});
  EXPECT_THAT(NotParked("RetryParkedResponse"), IsEmpty());
}

}  // namespace
}  // namespace stampgate
