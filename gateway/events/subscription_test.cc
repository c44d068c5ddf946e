#include "gateway/events/subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/events/fake_output.h"
#include "gateway/events/testing.h"
#include "gateway/feed/feed.h"
#include "translate/error.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;
using testing::StatusIs;
using Code = absl::StatusCode;

constexpr char kEarliest[] = "end: LOG_END_EARLIEST";
constexpr char kLatest[] = "end: LOG_END_LATEST";

// A decoded message of the subscription.
struct Message {
  std::vector<std::string> events;  // the ids of the events
  std::string cursor;
};

Message MessageOf(const std::string& bytes) {
  const auto response = testing::MessageIn("stampgate.v1.SubscribeResponse", bytes);
  return {.events = testing::ValuesAt(*response, "events", "event_id"),
          .cursor = testing::ValueAt(*response, "cursor")};
}

// A call of Subscribe. The test controls the call's reads of the log.
class SubscriptionTest : public EventCallTest {
 protected:
  ~SubscriptionTest() override {
    if (call_ == nullptr) return;
    EXPECT_TRUE(output_.end().has_value()) << "each test must end its subscription";
    EXPECT_THAT(lines(), SizeIs(1)) << "the end is recorded once";
    // A Cancel after the end has no effect.
    call_->Cancel();
    EXPECT_FALSE(source_.is_busy());
  }

  void Start(const std::string& request) {
    request_ = RequestBytes("SubscribeRequest", request);
    call_ = std::make_shared<Subscription>(environment_, Identity(), Trace(), output_);
    call_->Start(request_);
  }

  // Starts the call at `position`. When StartAt returns, the call waits for the page after `position`.
  void StartAt(Position position) {
    Start(absl::StrCat("cursor: '", CursorAt(position), "'"));
    source_.Serve();
    Expect({}, position);
    OnSent();
    ASSERT_NE(source_.asked(), nullptr);
  }

  void OnSent(bool ok = true) { call_->OnSent(ok); }

  // Checks that the sent message contains these events, and a cursor at `position`.
  void Expect(const std::vector<std::string>& events, Position position) {
    const Message message = MessageOf(output_.Take());
    EXPECT_EQ(message.events, events);
    EXPECT_EQ(message.cursor, CursorAt(position));
  }

  // Returns the status with which the call has ended.
  absl::Status End() const { return output_.end().value_or(absl::OkStatus()); }
  std::string Reason() const { return DetailsOf(End()).reason; }
  std::string Metadata(const std::string& name) const { return DetailsOf(End()).metadata[name]; }

  // Cancels a call that waits for a page, so that the call ends before the test ends.
  void Leave() {
    call_->Cancel();
    EXPECT_THAT(End(), StatusIs(Code::kCancelled));
  }

  FakeOutput output_{[this] { return source_.is_busy(); }};
  grpc::ByteBuffer request_;
  std::shared_ptr<Subscription> call_;
};

TEST_F(SubscriptionTest, TheFirstMessageHoldsTheCursorOfTheStartAndNoEvent) {
  log_.Grow(5);
  const std::vector<std::pair<std::string, Position>> starts = {
      {kEarliest, 0},
      {kLatest, 5},
      {"time { seconds: 3 }", 2},
      {"time { seconds: 3 nanos: 1 }", 3},
      {absl::StrCat("cursor: '", CursorAt(4), "'"), 4},
  };
  for (const auto& [start, position] : starts) {
    FakeOutput output([this] { return source_.is_busy(); });
    const grpc::ByteBuffer request = RequestBytes("SubscribeRequest", start);
    auto call = std::make_shared<Subscription>(environment_, Identity(), Trace(), output);
    call->Start(request);
    EXPECT_FALSE(output.has_message()) << "the log was not read yet";
    EXPECT_EQ(subscriptions_.Furthest(), std::nullopt);
    source_.Serve();
    const Message first = MessageOf(output.Take());
    EXPECT_THAT(first.events, IsEmpty());
    EXPECT_EQ(first.cursor, CursorAt(position)) << start;
    EXPECT_EQ(subscriptions_.Furthest(), position);
    call->OnSent(true);
    ASSERT_NE(source_.asked(), nullptr);
    EXPECT_EQ(source_.asked()->after.position, position);
    call->Cancel();
  }
}

TEST_F(SubscriptionTest, EachPageIsSentAndTheNextIsReadOnceItWasSent) {
  log_.Grow(5);
  StartAt(0);
  source_.Give(PageOf(1, 2));
  EXPECT_EQ(source_.asked(), nullptr) << "only one page is read for a slow caller";
  EXPECT_EQ(subscriptions_.Furthest(), 0) << "the page was not sent yet";
  Expect({"event-1", "event-2"}, 2);
  OnSent();
  EXPECT_EQ(subscriptions_.Furthest(), 2);
  ASSERT_NE(source_.asked(), nullptr);
  EXPECT_EQ(source_.asked()->after.position, 2);
  source_.Give(PageOf(3, 3));
  Expect({"event-3"}, 3);
  OnSent();
  Leave();
}

TEST_F(SubscriptionTest, TheReadFiltersByTheRequestAndByWhatTheCallerMaySee) {
  Grant("'a', 'b'");
  Start(absl::StrCat(kEarliest, " filter { organization_ids: 'a' types: ['t', 'u'] }"));
  source_.Serve();
  output_.Take();
  OnSent();
  ASSERT_NE(source_.asked(), nullptr);
  const EventFilter& filter = *source_.asked()->filter;
  EXPECT_THAT(filter.organization_ids, ElementsAre("a"));
  EXPECT_THAT(filter.types, ElementsAre("t", "u"));
  ASSERT_NE(filter.visible, nullptr);
  for (const char* id : {"a", "b"}) EXPECT_TRUE((*filter.visible)(id)) << id;
  EXPECT_FALSE((*filter.visible)("c"));
  Leave();
}

TEST_F(SubscriptionTest, ACallerWithAllOrganizationsMaySeeEveryEvent) {
  StartAt(0);
  EXPECT_EQ(source_.asked()->filter->visible, nullptr);
  Leave();
}

// ---- Calls that are rejected before the log is read ----

TEST_F(SubscriptionTest, AStrangerIsRejected) {
  MakeStranger();
  Start(kEarliest);
  EXPECT_EQ(End(), stranger_);
  EXPECT_THAT(lines(), ElementsAre("call_refused"));
}

TEST_F(SubscriptionTest, ACallerWithoutAGrantIsRejected) {
  GrantNothing();
  Start(kEarliest);
  EXPECT_THAT(End(), StatusIs(Code::kPermissionDenied));
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
  EXPECT_EQ(Metadata("caller"), "reader");
  EXPECT_EQ(Metadata("method"), "EventService/Subscribe");
}

TEST_F(SubscriptionTest, AFaultyRequestIsRejected) {
  std::string many;
  for (int i = 0; i <= 1000; ++i) absl::StrAppend(&many, " types: 't'");
  LogIdentity other = log_.identity();
  other.id[0] = 1;
  const std::vector<std::pair<std::string, std::string>> requests = {
      {"", "INVALID_REQUEST"},
      {absl::StrCat("cursor: '", std::string(257, 'c'), "'"), "INVALID_REQUEST"},
      {absl::StrCat(kEarliest, " filter {", many, "}"), "INVALID_REQUEST"},
      {"cursor: 'none'", "CURSOR_INVALID"},
      {absl::StrCat("cursor: '", EncodeCursor(other, PointAt(0)), "'"), "CURSOR_OF_ANOTHER_LOG"},
  };
  for (const auto& [text, reason] : requests) {
    FakeOutput output;
    const grpc::ByteBuffer request = RequestBytes("SubscribeRequest", text);
    std::make_shared<Subscription>(environment_, Identity(), Trace(), output)->Start(request);
    ASSERT_TRUE(output.end().has_value()) << text;
    EXPECT_EQ(DetailsOf(*output.end()).reason, reason) << text;
  }
}

TEST_F(SubscriptionTest, OfTwoStartsInTheBytesTheLastIsUsed) {
  log_.Grow(5);
  const auto bytes_of = [](const std::string& text) {
    return testing::MessageOf("stampgate.v1.SubscribeRequest", text)->SerializeAsString();
  };
  const std::string cursor = bytes_of(absl::StrCat("cursor: '", CursorAt(3), "'"));
  const std::string time = bytes_of("time { seconds: 3 }");
  const std::string end = bytes_of(kLatest);
  const std::vector<std::pair<std::string, Position>> requests = {
      {cursor + time, 2}, {time + cursor, 3}, {end + time, 2}, {time + end, 5}, {time + end + cursor, 3}};
  for (const auto& [bytes, position] : requests) {
    FakeOutput output{[this] { return source_.is_busy(); }};
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    const auto call = std::make_shared<Subscription>(environment_, Identity(), Trace(), output);
    call->Start(request);
    source_.Serve();
    EXPECT_EQ(MessageOf(output.Take()).cursor, CursorAt(position));
    call->OnSent(false);
  }
}

TEST_F(SubscriptionTest, BytesThatAreNoRequestAreRejected) {
  const grpc::Slice slice("\xff\xff");
  request_ = grpc::ByteBuffer(&slice, 1);
  call_ = std::make_shared<Subscription>(environment_, Identity(), Trace(), output_);
  call_->Start(request_);
  EXPECT_THAT(End(), StatusIs(Code::kInvalidArgument));
}

TEST_F(SubscriptionTest, WithoutALogEveryCallIsRejected) {
  environment_.log = nullptr;
  Start(kEarliest);
  EXPECT_EQ(Reason(), "EVENTS_NOT_CONFIGURED");
}

TEST_F(SubscriptionTest, ASubscriptionBeyondTheMaximumIsRejectedUntilAnotherEnds) {
  const std::unique_ptr<StreamSlot> first = *subscriptions_.Take("another");
  std::unique_ptr<StreamSlot> second = *subscriptions_.Take("another");
  Start(kEarliest);
  EXPECT_THAT(End(), StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(Reason(), "TOO_MANY_SUBSCRIBERS");
  EXPECT_EQ(DetailsOf(End()).retry_delay, absl::Seconds(10));

  second = nullptr;
  FakeOutput output;
  auto next = std::make_shared<Subscription>(environment_, Identity(), Trace(), output);
  next->Start(request_);
  source_.Serve();
  EXPECT_TRUE(output.has_message());
  output.Take();
  EXPECT_EQ(subscriptions_.taken(), 2u);
  next->OnSent(false);
  EXPECT_EQ(subscriptions_.taken(), 1u) << "the slot is free once the subscription has ended";
  EXPECT_THAT(lines(), SizeIs(2));
  call_ = nullptr;
}

TEST_F(SubscriptionTest, AMessageForWhichThereIsNoMemoryEndsTheSubscription) {
  log_.Grow(4);
  StartAt(0);
  memory_.TakeAllBut(10);
  source_.Give(PageOf(1, 4));
  EXPECT_FALSE(output_.has_message());
  EXPECT_THAT(End(), StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(Reason(), "TOO_MUCH_MEMORY");
}

TEST_F(SubscriptionTest, TheBytesOfAMessageCountUntilItIsSent) {
  log_.Grow(4);
  StartAt(0);
  const int64_t before = memory_.held();
  source_.Give(PageOf(1, 4));
  EXPECT_EQ(memory_.held() - before, output_.Take().size());
  OnSent(false);
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
  EXPECT_EQ(memory_.held(), 0);
}

// ---- Requests that start at an event that the log does not have ----

TEST_F(SubscriptionTest, AStartThatRetentionHasDeletedIsAnError) {
  log_.Grow(9);
  log_.Trim(5);
  Start(absl::StrCat("cursor: '", CursorAt(3), "'"));
  source_.Serve();
  EXPECT_THAT(End(), StatusIs(Code::kOutOfRange));
  EXPECT_EQ(Reason(), "EVENTS_TRIMMED");
  EXPECT_EQ(Metadata("earliest_cursor"), CursorAt(4));
}

TEST_F(SubscriptionTest, ACursorOfAnotherHistoryIsAnError) {
  log_.Grow(3);
  for (const LogPoint& point : {PointAt(4), LogPoint{2, FakeEventLog::DigestOf(99)}}) {
    FakeOutput output;
    const std::string cursor = absl::StrCat("cursor: '", EncodeCursorAt(point), "'");
    const grpc::ByteBuffer request = RequestBytes("SubscribeRequest", cursor);
    std::make_shared<Subscription>(environment_, Identity(), Trace(), output)->Start(request);
    source_.Serve();
    ASSERT_THAT(output.end(), Optional(StatusIs(Code::kDataLoss)));
    EXPECT_EQ(DetailsOf(*output.end()).reason, "CURSOR_AHEAD_OF_LOG");
  }
}

TEST_F(SubscriptionTest, AStartAtALostEventIsAnError) {
  log_.Grow(9);
  log_.Lose(3, 6);
  Start(absl::StrCat("cursor: '", CursorAt(4), "'"));
  source_.Serve();
  EXPECT_EQ(Reason(), "EVENTS_LOST");
  EXPECT_EQ(DetailsOf(End()).metadata.count("next_cursor"), 1u);
}

TEST_F(SubscriptionTest, ALogThatCannotBeReadIsAnError) {
  log_.Fail();
  Start(kEarliest);
  source_.Serve();
  EXPECT_THAT(End(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(Reason(), "EVENT_LOG_UNAVAILABLE");
}

// ---- Heartbeats ----

TEST_F(SubscriptionTest, AHeartbeatRepeatsTheCursorIfNoEventArrivesInTheInterval) {
  log_.Grow(2);
  StartAt(2);
  EXPECT_EQ(source_.asked()->patience, kHeartbeat);
  Pass(kHeartbeat);
  source_.Give(PageOf(3, 2));
  Expect({}, 2);
  Pass(absl::Hours(1));  // the caller reads nothing during this hour
  OnSent();
  EXPECT_EQ(source_.asked()->patience, kHeartbeat) << "the interval begins when the last message was sent";
  Leave();
}

TEST_F(SubscriptionTest, AStretchWithoutEventsMovesTheCursorWithTheNextHeartbeat) {
  log_.Grow(9000);
  StartAt(0);
  Pass(absl::Seconds(10));
  source_.Give(PageOf(1001, 1000));
  EXPECT_FALSE(output_.has_message());
  ASSERT_NE(source_.asked(), nullptr);
  EXPECT_EQ(source_.asked()->after.position, 1000);
  EXPECT_EQ(source_.asked()->patience, kHeartbeat - absl::Seconds(10)) << "the stretch does not delay the heartbeat";
  EXPECT_EQ(subscriptions_.Furthest(), 1000);
  Pass(absl::Seconds(20));
  source_.Give(PageOf(2001, 2000));
  Expect({}, 2000);
  OnSent();
  Leave();
}

TEST_F(SubscriptionTest, AnEventAfterAStretchWithoutEventsIsSentImmediately) {
  log_.Grow(9);
  StartAt(0);
  source_.Give(PageOf(6, 5));
  source_.Give(PageOf(6, 7));
  Expect({"event-6", "event-7"}, 7);
  OnSent();
  Leave();
}

TEST_F(SubscriptionTest, AReadWaitsAtLeastAMillisecond) {
  StartAt(0);
  Pass(2 * kHeartbeat);
  log_.Grow(1);
  source_.Give(PageOf(1, 1));
  environment_.heartbeat_interval = absl::ZeroDuration();
  Expect({"event-1"}, 1);
  OnSent();
  EXPECT_EQ(source_.asked()->patience, absl::Milliseconds(1));
  Leave();
}

// ---- Tokens that expire ----

TEST_F(SubscriptionTest, AWaitEndsWhenTheTokenExpires) {
  token_end_ = now_ + absl::Seconds(7);
  log_.Grow(4);
  StartAt(4);
  EXPECT_EQ(source_.asked()->patience, absl::Seconds(7));
  Pass(absl::Seconds(7));
  source_.Give(PageOf(5, 4));
  EXPECT_THAT(End(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(Reason(), "TOKEN_EXPIRED");
  EXPECT_EQ(Metadata("cursor"), CursorAt(4));
}

TEST_F(SubscriptionTest, APageThatArrivesAfterTheTokenHasExpiredIsNotSent) {
  token_end_ = now_ + absl::Seconds(7);
  log_.Grow(4);
  StartAt(2);
  Pass(absl::Seconds(8));
  source_.Give(PageOf(3, 4));
  EXPECT_EQ(Reason(), "TOKEN_EXPIRED");
  EXPECT_EQ(Metadata("cursor"), CursorAt(2)) << "the caller does not have the page";
}

TEST_F(SubscriptionTest, ATokenThatExpiresWhileAMessageIsSentEndsTheSubscriptionAfterTheMessage) {
  token_end_ = now_ + absl::Seconds(7);
  log_.Grow(4);
  StartAt(2);
  source_.Give(PageOf(3, 4));
  Pass(absl::Seconds(7));
  Expect({"event-3", "event-4"}, 4);
  OnSent();
  EXPECT_EQ(Reason(), "TOKEN_EXPIRED");
  EXPECT_EQ(Metadata("cursor"), CursorAt(4));
}

// ---- Connections that end ----

TEST_F(SubscriptionTest, ACallerThatIsDismissedLearnsAtOnceThatItIsNoCaller) {
  StartAt(0);
  MakeStranger();
  call_->Dismiss();
  EXPECT_EQ(End(), stranger_);
}

TEST_F(SubscriptionTest, ACallerThatIsDismissedWhileAMessageIsSentLearnsItAfterTheMessage) {
  log_.Grow(2);
  StartAt(0);
  source_.Give(PageOf(1, 2));
  Expect({"event-1", "event-2"}, 2);
  MakeStranger();
  call_->Dismiss();
  EXPECT_FALSE(output_.end().has_value());
  OnSent();
  EXPECT_EQ(End(), stranger_);
}

TEST_F(SubscriptionTest, ADismissedSubscriptionWhoseCallerIsStillKnownContinues) {
  log_.Grow(2);
  StartAt(0);
  call_->Dismiss();
  ASSERT_NE(source_.asked(), nullptr);
  source_.Give(PageOf(1, 2));
  Expect({"event-1", "event-2"}, 2);
  OnSent();
  Leave();
}

// Dismiss first asks for the authorization and then cancels the wait. Between both, the authorization can be over.
TEST_F(SubscriptionTest, ADismissalThatCancelsALaterWaitDoesNotEndTheSubscription) {
  log_.Grow(2);
  StartAt(0);
  const EventSource::ReaderId reader = source_.asked_by();
  call_->Dismiss();
  ASSERT_NE(source_.asked(), nullptr);
  source_.Cancel(reader);
  ASSERT_NE(source_.asked(), nullptr);
  source_.Give(PageOf(1, 2));
  Expect({"event-1", "event-2"}, 2);
  OnSent();
  Leave();
}

TEST_F(SubscriptionTest, AWaitEndsWithItsCursorWhenTheConnectionHasReachedItsAge) {
  stream_end_ = steady_now_ + std::chrono::seconds(7);
  log_.Grow(4);
  StartAt(4);
  EXPECT_EQ(source_.asked()->patience, absl::Seconds(7));
  Pass(absl::Seconds(7));
  source_.Give(PageOf(5, 4));
  EXPECT_THAT(End(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
  EXPECT_EQ(Metadata("cursor"), CursorAt(4));
  EXPECT_TRUE(DetailsOf(End()).retry_delay.has_value());
}

TEST_F(SubscriptionTest, AConnectionThatReachesItsAgeWhileAMessageIsSentEndsTheSubscriptionAfterTheMessage) {
  stream_end_ = steady_now_ + std::chrono::seconds(7);
  log_.Grow(4);
  StartAt(2);
  source_.Give(PageOf(3, 4));
  Pass(absl::Seconds(7));
  Expect({"event-3", "event-4"}, 4);
  OnSent();
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
  EXPECT_EQ(Metadata("cursor"), CursorAt(4));
}

// ---- Policies that change ----

TEST_F(SubscriptionTest, APageThatWasReadByAnOldPolicyIsReadAgain) {
  log_.Grow(4);
  StartAt(0);
  EXPECT_EQ(source_.asked()->filter->visible, nullptr);
  Grant("'odd'");
  source_.Give(PageOf(1, 4));
  EXPECT_FALSE(output_.has_message()) << "the page contains events that the caller may no longer see";
  ASSERT_NE(source_.asked(), nullptr);
  EXPECT_EQ(source_.asked()->after.position, 0);
  ASSERT_NE(source_.asked()->filter->visible, nullptr);
  EXPECT_TRUE((*source_.asked()->filter->visible)("odd"));
  source_.Give(PageOf(1, 1));
  Expect({"event-1"}, 1);
  EXPECT_EQ(identified_, 2);
  OnSent();
  Leave();
}

TEST_F(SubscriptionTest, APolicyThatChangesWhileAMessageIsSentAppliesToTheNextPage) {
  Grant("'even'");
  log_.Grow(4);
  StartAt(0);
  source_.Give(PageOf(2, 2));
  GrantAll();
  Expect({"event-2"}, 2);
  OnSent();
  source_.Give(PageOf(4, 4));
  EXPECT_FALSE(output_.has_message());
  ASSERT_NE(source_.asked(), nullptr);
  EXPECT_EQ(source_.asked()->after.position, 2);
  EXPECT_EQ(source_.asked()->filter->visible, nullptr) << "a policy that allows more applies too";
  source_.Give(PageOf(3, 4));
  Expect({"event-3", "event-4"}, 4);
  OnSent();
  Leave();
}

TEST_F(SubscriptionTest, APolicyThatRemovesTheGrantEndsTheSubscription) {
  log_.Grow(4);
  StartAt(0);
  GrantNothing();
  source_.Give(PageOf(1, 4));
  EXPECT_THAT(End(), StatusIs(Code::kPermissionDenied));
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
  EXPECT_EQ(output_.messages(), 1);
}

TEST_F(SubscriptionTest, ACallerThatANewPolicyDoesNotKnowIsRejected) {
  log_.Grow(4);
  StartAt(0);
  GrantAll();
  MakeStranger();
  source_.Give(PageOf(1, 4));
  EXPECT_EQ(End(), stranger_);
}

TEST_F(SubscriptionTest, ATokenThatExpiresDuringReauthorizationEndsTheSubscriptionAsExpired) {
  token_end_ = now_ + absl::Seconds(7);
  log_.Grow(4);
  StartAt(3);
  GrantAll();
  hold_identity_ = true;
  source_.Give(PageOf(4, 4));
  EXPECT_FALSE(output_.end().has_value());
  Pass(absl::Seconds(7));
  MakeStranger();
  Release();
  EXPECT_EQ(Reason(), "TOKEN_EXPIRED");
  EXPECT_EQ(Metadata("cursor"), CursorAt(3));
}

TEST_F(SubscriptionTest, AnErrorOfTheReadEndsTheCallEvenIfThePolicyHasChanged) {
  StartAt(0);
  GrantNothing();
  source_.Give(absl::DataLossError("lost"));
  EXPECT_THAT(End(), StatusIs(Code::kDataLoss));
}

// ---- Drains, and the end of the source ----

TEST_F(SubscriptionTest, ADrainEndsAWaitWithTheCursor) {
  log_.Grow(4);
  StartAt(2);
  source_.Give(PageOf(3, 4));
  output_.Take();
  OnSent();
  source_.Give(absl::AbortedError("the gateway drains"));
  EXPECT_THAT(End(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
  EXPECT_EQ(Metadata("cursor"), CursorAt(4));
}

TEST_F(SubscriptionTest, ASourceThatEndsBeforeTheStartWasReadReturnsTheCursorOfTheRequest) {
  Start(absl::StrCat("cursor: '", CursorAt(4), "'"));
  EXPECT_EQ(subscriptions_.taken(), 1u);
  source_.End();
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
  EXPECT_EQ(Metadata("cursor"), CursorAt(4));
}

TEST_F(SubscriptionTest, ASourceThatEndsBeforeTheStartWasReadReturnsNoCursorIfTheRequestHasNone) {
  Start(kEarliest);
  source_.End();
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
  EXPECT_EQ(DetailsOf(End()).metadata.count("cursor"), 0u);
}

TEST_F(SubscriptionTest, ARefusalContainsTheCursorOnlyIfItBelongsToThisLog) {
  const auto cursor_of = [](const EventEnvironment& environment, const std::string& cursor) {
    const grpc::ByteBuffer request = RequestBytes("SubscribeRequest", absl::StrCat("cursor: '", cursor, "'"));
    const absl::Status status = SubscriptionRefusal(environment, request, ShuttingDown());
    EXPECT_EQ(DetailsOf(status).reason, "SHUTTING_DOWN");
    return DetailsOf(status).metadata["cursor"];
  };
  EXPECT_EQ(cursor_of(environment_, CursorAt(7)), CursorAt(7));
  EXPECT_EQ(cursor_of(environment_, "something else"), "");
  EventEnvironment without = environment_;
  without.log = nullptr;
  EXPECT_EQ(cursor_of(without, CursorAt(7)), "");
}

TEST_F(SubscriptionTest, ARefusalForAnotherReasonThanADrainContainsNoCursor) {
  const absl::Status why = ToStatus(GatewayError(Code::kResourceExhausted, v1::ERROR_REASON_TOO_MANY_CALLS, "many"));
  const grpc::ByteBuffer request = RequestBytes("SubscribeRequest", absl::StrCat("cursor: '", CursorAt(7), "'"));
  EXPECT_EQ(SubscriptionRefusal(environment_, request, why), why);
}

// ---- Callers that leave ----

TEST_F(SubscriptionTest, AMessageThatIsNotSentEndsTheSubscription) {
  log_.Grow(4);
  StartAt(0);
  source_.Give(PageOf(1, 4));
  output_.Take();
  OnSent(false);
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
  EXPECT_EQ(source_.asked(), nullptr);
}

TEST_F(SubscriptionTest, ACancelBeforeTheCallerIsKnownEndsTheSubscriptionAtItsFirstMessage) {
  hold_identity_ = true;
  Start(kEarliest);
  call_->Cancel();
  Release();
  source_.Serve();
  output_.Take();
  OnSent(false);
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
}

TEST_F(SubscriptionTest, ACancelBeforeTheStartIsReadEndsTheSubscriptionAtItsFirstMessage) {
  Start(kEarliest);
  call_->Cancel();
  source_.Serve();
  output_.Take();
  OnSent(false);
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
}

TEST_F(SubscriptionTest, ACancelWhileAMessageIsSentEndsTheSubscription) {
  Start(kEarliest);
  source_.Serve();
  call_->Cancel();
  EXPECT_FALSE(output_.end().has_value()) << "the end must wait for the message";
  output_.Take();
  OnSent(true);  // the message was sent before the cancel
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
  EXPECT_EQ(output_.messages(), 1);
}

TEST_F(SubscriptionTest, ACancelEndsAWaitImmediately) {
  StartAt(0);
  call_->Cancel();
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
}

TEST_F(SubscriptionTest, ACancelJustBeforeTheWaitBeginsIsNotLost) {
  log_.Grow(1);
  StartAt(0);
  source_.Give(PageOf(1, 1));
  output_.Take();
  source_.OnNext([this] { call_->Cancel(); });
  OnSent();
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
}

TEST_F(SubscriptionTest, ACancelWhileAPageIsReadEndsTheSubscriptionWithTheRead) {
  log_.Grow(1);
  StartAt(0);
  source_.BeginRead();
  call_->Cancel();
  EXPECT_FALSE(output_.end().has_value()) << "the end must wait for the read";
  source_.Give(PageOf(1, 1));
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
  EXPECT_EQ(output_.messages(), 1);
}

TEST_F(SubscriptionTest, ACancelBetweenTheReadAndTheMessageEndsTheSubscriptionAtTheMessage) {
  log_.Grow(1);
  StartAt(0);
  on_now_ = [this] { call_->Cancel(); };  // the call reads the clock in its last step before it sends the page
  source_.Give(PageOf(1, 1));
  on_now_ = [] {};
  EXPECT_FALSE(output_.end().has_value());
  output_.Take();
  OnSent(false);
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
}

TEST_F(SubscriptionTest, ACancelWhileTheCallerIsFoundAgainEndsTheSubscription) {
  log_.Grow(1);
  StartAt(0);
  GrantAll();
  hold_identity_ = true;
  source_.Give(PageOf(1, 1));
  call_->Cancel();
  EXPECT_FALSE(output_.end().has_value()) << "the end must wait for the authorization";
  Release();
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
  EXPECT_EQ(output_.messages(), 1);
}

TEST_F(SubscriptionTest, ACancelDuringAStretchWithoutEventsEndsTheSubscription) {
  log_.Grow(5000);
  StartAt(0);
  source_.OnNext([this] { call_->Cancel(); });
  source_.Give(PageOf(1001, 1000));
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
}

// Runs subscriptions with the real feed and its threads.
class SubscriptionThreadsTest : public EventCallTest {
 protected:
  SubscriptionThreadsTest() { served_.source = feed_.get(); }
  ~SubscriptionThreadsTest() override {
    served_.source = &source_;
    feed_ = nullptr;
  }

  std::shared_ptr<Subscription> Start(FakeOutput& output, const std::string& request = kEarliest) {
    request_ = RequestBytes("SubscribeRequest", request);
    auto call = std::make_shared<Subscription>(environment_, Identity(), Trace(), output);
    call->Start(request_);
    return call;
  }

  std::unique_ptr<EventFeed> feed_ = *EventFeed::Start(log_, *encoder_, 2, feed_metrics_);
  grpc::ByteBuffer request_;
};

TEST_F(SubscriptionThreadsTest, AReaderGetsEveryEventThatItMaySeeInOrder) {
  constexpr Position kEvents = 3000;
  Grant("'odd'");
  FakeOutput output;
  const auto call = Start(output);
  Position next = 1;
  for (Position latest = 0; next <= kEvents - 1;) {
    if (latest < kEvents) log_.Grow(latest = std::min(kEvents, latest + 700));
    ASSERT_TRUE(output.Wait());
    for (const std::string& id : MessageOf(output.Take()).events) {
      EXPECT_EQ(id, absl::StrCat("event-", next));
      next += 2;
    }
    call->OnSent(true);
  }
  call->Cancel();
  EXPECT_FALSE(output.Wait());
  EXPECT_THAT(output.end(), Optional(StatusIs(Code::kCancelled)));
}

TEST_F(SubscriptionThreadsTest, ACancelDuringARealReadEndsTheSubscription) {
  log_.Grow(5);
  FakeOutput output;
  const auto call = Start(output);
  ASSERT_TRUE(output.Wait());
  output.Take();
  log_.OnRead([&call] { call->Cancel(); });
  call->OnSent(true);
  EXPECT_FALSE(output.Wait());
  EXPECT_THAT(output.end(), Optional(StatusIs(Code::kCancelled)));
  EXPECT_EQ(output.messages(), 1);
}

TEST_F(SubscriptionThreadsTest, LostEventsEndTheSubscriptionWithTheCursorAfterThem) {
  log_.Grow(9);
  log_.Lose(3, 6);
  FakeOutput output;
  const auto call = Start(output);
  std::vector<std::string> events;
  while (output.Wait()) {
    for (std::string& id : MessageOf(output.Take()).events) events.push_back(std::move(id));
    call->OnSent(true);
  }
  EXPECT_THAT(events, ElementsAre("event-1", "event-2"));
  ASSERT_THAT(output.end(), Optional(StatusIs(Code::kDataLoss)));
  EXPECT_EQ(DetailsOf(*output.end()).reason, "EVENTS_LOST");
  // The log does not know the digest of a lost event, so the cursor has the digest zero.
  EXPECT_EQ(DetailsOf(*output.end()).metadata["next_cursor"], EncodeCursorAt({6, {}}));
}

TEST_F(SubscriptionThreadsTest, RetentionThatOvertakesASlowCallerEndsTheSubscription) {
  log_.Grow(9);
  FakeOutput output;
  const auto call = Start(output);
  ASSERT_TRUE(output.Wait());
  output.Take();
  log_.Trim(5);
  call->OnSent(true);
  EXPECT_FALSE(output.Wait());
  ASSERT_THAT(output.end(), Optional(StatusIs(Code::kOutOfRange)));
  EXPECT_EQ(DetailsOf(*output.end()).reason, "EVENTS_TRIMMED");
  EXPECT_EQ(DetailsOf(*output.end()).metadata["earliest_cursor"], CursorAt(4));
}

TEST_F(SubscriptionThreadsTest, ADrainEndsEachSubscriptionWithItsCursor) {
  log_.Grow(2);
  FakeOutput waiting;
  FakeOutput slow;
  const auto first = Start(waiting, kLatest);
  const auto second = Start(slow);
  ASSERT_TRUE(waiting.Wait());
  waiting.Take();
  first->OnSent(true);
  ASSERT_TRUE(slow.Wait());
  feed_->Drain();
  EXPECT_FALSE(waiting.Wait());
  ASSERT_TRUE(slow.has_message()) << "the sent message must come first";
  slow.Take();
  second->OnSent(true);
  EXPECT_FALSE(slow.Wait());
  EXPECT_EQ(DetailsOf(*waiting.end()).metadata["cursor"], CursorAt(2));
  EXPECT_EQ(DetailsOf(*slow.end()).metadata["cursor"], CursorAt(0));
}

TEST_F(SubscriptionThreadsTest, AFeedThatIsDestroyedEndsASubscriptionThatItHasNotBegun) {
  feed_->Close();
  FakeOutput output;
  const auto call = Start(output);
  EXPECT_FALSE(output.has_message());
  feed_ = nullptr;
  ASSERT_THAT(output.end(), Optional(StatusIs(Code::kUnavailable)));
  EXPECT_EQ(DetailsOf(*output.end()).reason, "SHUTTING_DOWN");
  served_.source = &source_;
}

// Cancels, reads, messages, growth of the log and reloads happen at random moments. FakeOutput checks the rules of a
// stream call.
TEST_F(SubscriptionThreadsTest, CancelsAtAnyMomentEndEachSubscriptionOnce) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 100;
  StreamSlots slots(2 * kThreads, 2 * kThreads, "subscriptions");
  served_.subscriptions = &slots;
  std::atomic<bool> done = false;
  std::thread growth([this, &done] {
    for (Position latest = 1; !done; latest += 1 + latest % 5) {
      log_.Grow(latest);
      if (latest % 7 == 0) GrantAll();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread] {
      std::mt19937 random(thread);  // NOLINT(cert-msc51-cpp): the same in each run
      for (int round = 0; round < kRounds; ++round) {
        FakeOutput output;
        const grpc::ByteBuffer request = RequestBytes("SubscribeRequest", random() % 2 == 0 ? kEarliest : kLatest);
        auto call = std::make_shared<Subscription>(environment_, Identity(), Trace(), output);
        call->Start(request);
        std::thread canceller([&call, yields = random() % 50] {
          for (unsigned i = 0; i < yields; ++i) std::this_thread::yield();
          call->Cancel();
        });
        std::optional<Position> last;
        while (output.Wait()) {
          for (const std::string& id : MessageOf(output.Take()).events) {
            const Position position = std::stoll(id.substr(id.find('-') + 1));
            EXPECT_EQ(position, last.value_or(position - 1) + 1);
            last = position;
          }
          // gRPC sends no message to a caller that has left. So a message must fail at some time after the cancel, or
          // the call would never end.
          call->OnSent(random() % 10 != 0);
        }
        canceller.join();
        EXPECT_THAT(output.end(), Optional(StatusIs(Code::kCancelled)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  growth.join();
  EXPECT_EQ(slots.taken(), 0u);
  EXPECT_THAT(lines(), SizeIs(kThreads * kRounds));
  served_.subscriptions = &subscriptions_;
}

}  // namespace
}  // namespace stampgate
