#include "gateway/events/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
using ::testing::SizeIs;
using testing::StatusIs;
using Code = absl::StatusCode;

constexpr char kEarliest[] = "end: LOG_END_EARLIEST";

std::unique_ptr<google::protobuf::Message> Parse(const std::string& type, const absl::StatusOr<EventResponse>& result) {
  EXPECT_TRUE(result.ok()) << result.status();
  grpc::Slice slice;
  if (!result.ok() || !result->message.DumpToSingleSlice(&slice).ok()) {
    ADD_FAILURE() << "there is no message";
    return testing::NewMessage(type);
  }
  return testing::MessageIn(type, {reinterpret_cast<const char*>(slice.begin()), slice.size()});
}

// The response of ListEvents.
struct Page {
  std::vector<std::string> events;  // the ids of the events
  std::string cursor;
  bool at_end = false;
};

Page PageIn(const absl::StatusOr<EventResponse>& result) {
  const auto response = Parse("stampgate.v1.ListEventsResponse", result);
  return {.events = testing::ValuesAt(*response, "events", "event_id"),
          .cursor = testing::ValueAt(*response, "cursor"),
          .at_end = testing::ValueAt(*response, "at_end") == "true"};
}

// Returns the value at `path` of the event in the response of GetEvent.
std::string EventValue(const absl::StatusOr<EventResponse>& result, absl::string_view path) {
  return testing::ValueAt(*Parse("stampgate.v1.GetEventResponse", result), absl::StrCat("event.", path));
}

// A unary call of the event service. The test controls the call's reads of the log.
class EventQueryTest : public EventCallTest {
 protected:
  EventQueryTest() { log_.Grow(4); }
  ~EventQueryTest() override {
    EXPECT_TRUE(response_.has_value()) << "each test must end its call";
    response_.reset();
    EXPECT_THAT(lines(), SizeIs(1)) << "the end is recorded once";
  }

  void List(const std::string& request) {
    request_ = RequestBytes("ListEventsRequest", request);
    ListEvents(environment_, Identity(), Trace(), request_, OnResponse());
  }
  void Get(const std::string& request) {
    request_ = RequestBytes("GetEventRequest", request);
    GetEvent(environment_, Identity(), Trace(), request_, OnResponse());
  }

  OnEventResponse OnResponse() {
    return [this](absl::StatusOr<EventResponse> response) {
      EXPECT_FALSE(response_.has_value()) << "a second response";
      EXPECT_FALSE(source_.is_busy()) << "a response during a read";
      response_ = std::move(response);
    };
  }

  absl::Status Error() const {
    return response_.has_value() ? response_->status() : absl::UnknownError("there is no response yet");
  }
  std::string Reason() const { return DetailsOf(Error()).reason; }

  grpc::ByteBuffer request_;
  std::optional<absl::StatusOr<EventResponse>> response_;
};

TEST_F(EventQueryTest, APageHasItsEventsAndTheCursorAfterThem) {
  List(absl::StrCat("cursor: '", CursorAt(1), "'"));
  source_.Serve();
  ASSERT_NE(source_.asked(), nullptr);
  EXPECT_EQ(source_.asked()->after.position, 1);
  EXPECT_EQ(source_.asked()->patience, absl::ZeroDuration()) << "a page does not wait for events";
  source_.Give(PageOf(2, 3));
  const auto page = PageIn(*response_);
  EXPECT_THAT(page.events, ElementsAre("event-2", "event-3"));
  EXPECT_EQ(page.cursor, CursorAt(3));
  EXPECT_FALSE(page.at_end);
}

TEST_F(EventQueryTest, TheLastPageIsAtTheEnd) {
  List(absl::StrCat("cursor: '", CursorAt(4), "'"));
  source_.Serve();
  source_.Give(PageOf(5, 4));
  const auto page = PageIn(*response_);
  EXPECT_THAT(page.events, IsEmpty());
  EXPECT_EQ(page.cursor, CursorAt(4));
  EXPECT_TRUE(page.at_end);
}

TEST_F(EventQueryTest, APageHasAHundredEventsByDefault) {
  List(kEarliest);
  source_.Serve();
  EXPECT_EQ(source_.asked()->limits.max_events, 100u);
  EXPECT_EQ(source_.asked()->limits.max_bytes, kMaxEventMessageBytes - kMessageOverheadBytes);
  source_.Give(PageOf(1, 4));
}

TEST_F(EventQueryTest, APageHasAsManyEventsAsItsRequestWants) {
  Grant("'odd'");
  List(absl::StrCat(kEarliest, " page_size: 7 filter { types: 't' }"));
  source_.Serve();
  EXPECT_EQ(source_.asked()->limits.max_events, 7u);
  EXPECT_THAT(source_.asked()->filter->types, ElementsAre("t"));
  ASSERT_NE(source_.asked()->filter->visible, nullptr);
  EXPECT_TRUE((*source_.asked()->filter->visible)("odd"));
  EXPECT_FALSE((*source_.asked()->filter->visible)("even"));
  source_.Give(PageOf(1, 1));
}

TEST_F(EventQueryTest, AnEventIsFoundByItsId) {
  Get("event_id: 'event-3'");
  source_.Serve();
  EXPECT_EQ(EventValue(*response_, "event_id"), "event-3");
  EXPECT_EQ(EventValue(*response_, "organization_id"), "odd");
  EXPECT_EQ(EventValue(*response_, "cursor"), CursorAt(3));
  EXPECT_EQ(EventValue(*response_, "body"), "{}");
}

TEST_F(EventQueryTest, AnEventIsFoundByItsIdAndOrganization) {
  Event event;
  event.event_id = "event-3";
  event.organization_id = "other";
  log_.Put(2, event);
  Get("event_id: 'event-3' organization_id: 'odd'");
  source_.Serve();
  EXPECT_EQ(EventValue(*response_, "organization_id"), "odd");
}

TEST_F(EventQueryTest, AnEventThatTheLogDoesNotHaveIsAnError) {
  Get("event_id: 'event-5'");
  source_.Serve();
  EXPECT_THAT(Error(), StatusIs(Code::kNotFound));
  EXPECT_EQ(Reason(), "EVENT_NOT_FOUND");
}

TEST_F(EventQueryTest, AnEventThatTheCallerMayNotSeeIsNotFound) {
  Grant("'even'");
  Get("event_id: 'event-3'");
  source_.Serve();
  EXPECT_EQ(Reason(), "EVENT_NOT_FOUND");
}

TEST_F(EventQueryTest, ADamagedEventIsAnError) {
  log_.Damage(3);
  Get("event_id: 'event-3'");
  source_.Serve();
  EXPECT_EQ(Reason(), "EVENT_DAMAGED");
}

TEST_F(EventQueryTest, AnErrorOfTheReadIsTheErrorOfTheCall) {
  List(kEarliest);
  source_.Serve();
  source_.Give(ToStatus(GatewayError(Code::kOutOfRange, v1::ERROR_REASON_EVENTS_TRIMMED, "gone")));
  EXPECT_EQ(Reason(), "EVENTS_TRIMMED");
}

TEST_F(EventQueryTest, AStartThatTheLogDoesNotHaveIsAnError) {
  log_.Trim(3);
  List(absl::StrCat("cursor: '", CursorAt(1), "'"));
  source_.Serve();
  EXPECT_EQ(Reason(), "EVENTS_TRIMMED");
}

TEST_F(EventQueryTest, ALogThatCannotBeReadIsAnErrorOfAList) {
  log_.Fail();
  List(kEarliest);
  source_.Serve();
  EXPECT_EQ(Reason(), "EVENT_LOG_UNAVAILABLE");
}

TEST_F(EventQueryTest, ALogThatCannotBeReadIsAnErrorOfAGet) {
  log_.Fail();
  Get("event_id: 'event-3'");
  source_.Serve();
  EXPECT_EQ(Reason(), "EVENT_LOG_UNAVAILABLE");
}

TEST_F(EventQueryTest, AStrangerIsRejected) {
  MakeStranger();
  Get("event_id: 'event-3'");
  EXPECT_EQ(Error(), stranger_);
  EXPECT_THAT(lines(), ElementsAre("call_refused"));
}

TEST_F(EventQueryTest, ACallWhoseCallerIsIdentifiedLaterGetsItsResponse) {
  hold_identity_ = true;
  Get("event_id: 'event-3'");
  EXPECT_FALSE(source_.has_task());
  Release();
  source_.Serve();
  EXPECT_EQ(EventValue(*response_, "event_id"), "event-3");
}

TEST_F(EventQueryTest, EachMethodNeedsAGrantOfItsOwn) {
  SetGrants("methods: 'EventService/GetEvent' all_organizations: true");
  List(kEarliest);
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
  EXPECT_EQ(DetailsOf(Error()).metadata["method"], "EventService/ListEvents");
}

TEST_F(EventQueryTest, AListWithoutAStartIsRejected) {
  List("");
  EXPECT_EQ(Reason(), "INVALID_REQUEST");
}

TEST_F(EventQueryTest, AListOfTooManyEventsIsRejected) {
  List(absl::StrCat(kEarliest, " page_size: 1001"));
  EXPECT_EQ(Reason(), "INVALID_REQUEST");
  EXPECT_THAT(DetailsOf(Error()).violations, SizeIs(1));
}

TEST_F(EventQueryTest, AListWithTooManyConditionsIsRejected) {
  std::string filter;
  for (int i = 0; i <= 1000; ++i) absl::StrAppend(&filter, " organization_ids: 'o'");
  List(absl::StrCat(kEarliest, " filter {", filter, "}"));
  EXPECT_EQ(Reason(), "INVALID_REQUEST");
}

TEST_F(EventQueryTest, AGetWithoutAnEventIsRejected) {
  Get("");
  EXPECT_EQ(Reason(), "INVALID_REQUEST");
}

TEST_F(EventQueryTest, ACallBeyondTheMaximumOfItsCallerIsRejected) {
  counted_ = ToStatus(GatewayError(Code::kResourceExhausted, v1::ERROR_REASON_TOO_MANY_CALLS, "too many"));
  Get("event_id: 'event-3'");
  EXPECT_EQ(Reason(), "TOO_MANY_CALLS");
  EXPECT_THAT(lines(), ElementsAre("call_refused"));
}

TEST_F(EventQueryTest, AQueryBeyondTheMaximumIsRejectedWithoutARead) {
  const absl::StatusOr<CallerShare> first = queries_.TakeFor("another");
  const absl::StatusOr<CallerShare> second = queries_.TakeFor("another");
  Get("event_id: 'event-3'");
  EXPECT_THAT(Error(), StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(Reason(), "TOO_MANY_SUBSCRIBERS");
  EXPECT_EQ(source_.asked(), nullptr);
}

TEST_F(EventQueryTest, AQueryIsInProgressUntilItsResponseIsSent) {
  Get("event_id: 'event-3'");
  EXPECT_EQ(queries_.taken(), 1u);
  source_.Serve();
  EXPECT_EQ(queries_.taken(), 1u);
  ASSERT_TRUE(response_->ok());
  EXPECT_EQ(memory_.held(), (*response_)->message.Length());
  **response_ = EventResponse();
  EXPECT_EQ(queries_.taken(), 0u);
  EXPECT_EQ(memory_.held(), 0);
}

TEST_F(EventQueryTest, AResponseForWhichThereIsNoMemoryIsRejected) {
  memory_.TakeAllBut(10);
  Get("event_id: 'event-3'");
  source_.Serve();
  EXPECT_THAT(Error(), StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(Reason(), "TOO_MUCH_MEMORY");
}

TEST_F(EventQueryTest, WithoutALogEveryCallIsRejected) {
  environment_.log = nullptr;
  Get("event_id: 'event-3'");
  EXPECT_EQ(Reason(), "EVENTS_NOT_CONFIGURED");
}

TEST_F(EventQueryTest, ASourceThatEndsBeforeTheStartWasReadEndsAList) {
  List(kEarliest);
  source_.End();
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
}

TEST_F(EventQueryTest, ASourceThatEndsBeforeThePageWasReadEndsAList) {
  List(kEarliest);
  source_.Serve();
  source_.End();
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
}

TEST_F(EventQueryTest, ASourceThatEndsEndsAGet) {
  Get("event_id: 'event-3'");
  source_.End();
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
}

TEST_F(EventQueryTest, ADrainedFeedStillServesPages) {
  Grant("'odd'");
  const std::unique_ptr<EventFeed> feed = *EventFeed::Start(log_, *encoder_, 1, feed_metrics_);
  served_.source = feed.get();
  feed->Drain();
  std::promise<void> responded;
  request_ = RequestBytes("ListEventsRequest", kEarliest);
  ListEvents(environment_, Identity(), Trace(), request_, [&, next = OnResponse()](auto response) mutable {
    next(std::move(response));
    responded.set_value();
  });
  ASSERT_EQ(responded.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  const auto page = PageIn(*response_);
  EXPECT_THAT(page.events, ElementsAre("event-1", "event-3"));
  EXPECT_EQ(page.cursor, CursorAt(4));
  EXPECT_TRUE(page.at_end);
}

}  // namespace
}  // namespace stampgate
