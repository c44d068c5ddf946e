#include "gateway/subscriptions/calls/state_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/audit/log.h"
#include "gateway/audit/testing.h"
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
using Code = absl::StatusCode;

class StateCallsTest : public SubscriptionCallTest {
 protected:
  void Get(const std::string& name = "payouts") {
    request_ = RequestBytes("GetSubscriptionRequest", absl::StrCat("subscription: '", name, "'"));
    GetSubscription(subscription_environment_, Identity(), Trace(), request_, OnResponse());
    step_source_.Serve();
  }
  void List() {
    request_ = RequestBytes("ListSubscriptionsRequest", "");
    ListSubscriptions(subscription_environment_, Identity(), Trace(), request_, OnResponse());
    step_source_.Serve();
  }
  void Seek(const std::string& place) {
    request_ = RequestBytes("SeekRequest", absl::StrCat("subscription: 'payouts' ", place));
    SeekSubscription(subscription_environment_, Identity(), Trace(), request_, OnResponse());
    step_source_.Serve();
  }

  void Delete(const std::string& name) {
    request_ = RequestBytes("DeleteSubscriptionRequest", absl::StrCat("subscription: '", name, "'"));
    DeleteSubscription(subscription_environment_, Identity(), Trace(), request_, OnResponse());
    step_source_.Serve();
  }

  void Done(size_t count) {
    std::vector<DeliveryId> taken;
    for (const auto& sent : Take(count)) taken.push_back(sent.id);
    payouts_->Settle(taken, SettleOutcome::kDone, absl::ZeroDuration(), "", [](const auto&) {});
  }

  grpc::ByteBuffer request_;
};

TEST_F(StateCallsTest, TheStateOfASubscriptionHasItsCursorAndItsCounts) {
  log_.Grow(7);
  Done(2);
  Park(1);
  Take(2);
  Get();
  const auto response = Response("GetSubscriptionResponse");
  EXPECT_EQ(ValueAt(*response, "subscription.name"), "payouts");
  EXPECT_EQ(ValueAt(*response, "subscription.cursor"), CursorAt(3));
  EXPECT_EQ(ValueAt(*response, "subscription.events_behind"), "4");
  EXPECT_EQ(ValueAt(*response, "subscription.oldest_unsettled_time.seconds"), "4")
      << "event 4 was stored 4 s after 1970";
  EXPECT_EQ(ValueAt(*response, "subscription.unsettled"), "2");
  EXPECT_EQ(ValueAt(*response, "subscription.parked"), "1");
  EXPECT_EQ(ValueAt(*response, "subscription.consumers"), "0");
  EXPECT_EQ(ValueAt(*response, "subscription.lagging_keys"), "0");
}

TEST_F(StateCallsTest, ASubscriptionThatIsUpToDateHasNoOldestEvent) {
  Done(4);
  Get();
  const auto response = Response("GetSubscriptionResponse");
  EXPECT_EQ(ValueAt(*response, "subscription.events_behind"), "0");
  EXPECT_FALSE(testing::HasValueAt(*response, "subscription.oldest_unsettled_time"));
}

TEST_F(StateCallsTest, ASubscriptionThatIsNotDeclaredForTheCallerIsNotFound) {
  Get("other");
  EXPECT_THAT(Error(), StatusIs(Code::kNotFound));
  EXPECT_EQ(Reason(), "SUBSCRIPTION_NOT_FOUND");
  Declare({"another"});
  Get();
  EXPECT_EQ(Reason(), "SUBSCRIPTION_NOT_FOUND");
}

TEST_F(StateCallsTest, ASubscriptionThatIsDeclaredButNotServedIsUnavailable) {
  SetGrants("classes: POLICY_CLASS_EVENTS all_organizations: true",
            "subscriptions { name: 'other' callers: 'reader' } subscriptions { name: 'another' callers: 'another' }");
  Get("other");
  EXPECT_THAT(Error(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(Reason(), "EVENT_LOG_UNAVAILABLE");
  Get("another");
  EXPECT_EQ(Reason(), "SUBSCRIPTION_NOT_FOUND");
}

TEST_F(StateCallsTest, EachMethodNeedsAGrantOfItsOwn) {
  SetGrants("methods: 'SubscriptionService/GetSubscription' all_organizations: true");
  Get();
  EXPECT_TRUE(Error().ok());
  Seek("end: LOG_END_LATEST");
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
  EXPECT_EQ(DetailsOf(Error()).metadata["method"], "SubscriptionService/Seek");
  EXPECT_EQ(DetailsOf(Error()).metadata["policy_class"], "dangerous");
  EXPECT_EQ(payouts_->state().all.through, 0);
}

TEST_F(StateCallsTest, AGrantOfTheClassEventsDoesNotAllowSeek) {
  GrantAll();
  Seek("end: LOG_END_LATEST");
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
}

TEST_F(StateCallsTest, AListHasTheSubscriptionsThatTheCallerMayUse) {
  const auto others = Serving("others", step_source_);
  const auto audit = Serving("audit", step_source_);
  set_.Declare({.served = others, .callers = {"another"}, .organizations = {}});
  set_.Declare({.served = audit, .callers = {"reader"}, .organizations = {"odd"}});
  List();
  EXPECT_THAT(testing::ValuesAt(*Response("ListSubscriptionsResponse"), "subscriptions", "name"),
              ElementsAre("audit", "payouts"));
  Grant("'odd'");
  List();
  EXPECT_THAT(testing::ValuesAt(*Response("ListSubscriptionsResponse"), "subscriptions", "name"), ElementsAre("audit"));
  for (const auto& each : {others, audit}) {
    each->End(absl::AbortedError("the test ends"));
    each->Close([] {});
  }
}

TEST_F(StateCallsTest, WithoutSubscriptionsTheListIsEmpty) {
  subscription_environment_.subscriptions = nullptr;
  List();
  EXPECT_EQ(ValueAt(*Response("ListSubscriptionsResponse"), "subscriptions"), "0");
}

TEST_F(StateCallsTest, SeekMovesTheSubscriptionAndReturnsItsState) {
  Done(4);
  Seek(absl::StrCat("cursor: '", CursorAt(1), "'"));
  EXPECT_EQ(ValueAt(*Response("SeekResponse"), "subscription.cursor"), CursorAt(1));
  EXPECT_EQ(ValueAt(*Response("SeekResponse"), "subscription.events_behind"), "3");
  const auto taken = Take(9);
  ASSERT_THAT(taken, SizeIs(3));
  EXPECT_EQ(taken[0].id.position, 2);
  EXPECT_EQ(taken[0].id.incarnation, 2);
}

TEST_F(StateCallsTest, SeekFindsATimeAndAnEndOfTheLog) {
  Seek("time { seconds: 3 }");
  EXPECT_EQ(ValueAt(*Response("SeekResponse"), "subscription.cursor"), CursorAt(2));
  Seek("end: LOG_END_LATEST");
  EXPECT_EQ(ValueAt(*Response("SeekResponse"), "subscription.cursor"), CursorAt(4));
  Seek("end: LOG_END_EARLIEST");
  EXPECT_EQ(ValueAt(*Response("SeekResponse"), "subscription.cursor"), CursorAt(0));
}

TEST_F(StateCallsTest, SeekRespondsWhenTheNewPlaceIsDurable) {
  Serve();
  store_.Hold();
  Seek("end: LOG_END_LATEST");
  EXPECT_FALSE(response_.has_value());
  store_.AnswerAtOnce();
  EXPECT_TRUE(Error().ok()) << Error();
}

TEST_F(StateCallsTest, APlaceThatTheLogDoesNotHaveIsAnErrorAndChangesNothing) {
  log_.Trim(3);
  Seek(absl::StrCat("cursor: '", CursorAt(1), "'"));
  EXPECT_EQ(Reason(), "EVENTS_TRIMMED");
  Seek(absl::StrCat("cursor: '", CursorAt(5), "'"));
  EXPECT_EQ(Reason(), "CURSOR_AHEAD_OF_LOG");
  Seek("cursor: 'x'");
  EXPECT_EQ(Reason(), "CURSOR_INVALID");
  Seek("");
  EXPECT_EQ(Reason(), "INVALID_REQUEST");
  EXPECT_EQ(DetailsOf(Error()).violations.front().first, "place");
  EXPECT_TRUE(Take(9).empty() || Take(9)[0].id.incarnation == 1);
}

TEST_F(StateCallsTest, AListNamesUndeclaredSubscriptionsToACallerWithAGrantForAllOrganizations) {
  set_.AddUndeclared("old");
  List();
  EXPECT_EQ(ValueAt(*Response("ListSubscriptionsResponse"), "undeclared_names"), "1");
  Grant("'even'");
  List();
  EXPECT_EQ(ValueAt(*Response("ListSubscriptionsResponse"), "undeclared_names"), "0");
}

TEST_F(StateCallsTest, AnUndeclaredSubscriptionIsDeletedOnce) {
  set_.AddUndeclared("old");
  Delete("old");
  EXPECT_TRUE(Error().ok()) << Error();
  EXPECT_THAT(set_.Undeclared(), IsEmpty());
  Delete("old");
  EXPECT_THAT(Error(), StatusIs(Code::kNotFound));
}

TEST_F(StateCallsTest, DeletionNeedsAGrantForAllOrganizations) {
  set_.AddUndeclared("old");
  SetGrants("classes: POLICY_CLASS_DANGEROUS organizations: 'even'");
  Delete("old");
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
  GrantAll();
  Delete("old");
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY") << "it has only the class events";
  EXPECT_THAT(set_.Undeclared(), ElementsAre("old"));
}

TEST_F(StateCallsTest, WithoutSubscriptionsThereIsNothingToDelete) {
  subscription_environment_.subscriptions = nullptr;
  Delete("old");
  EXPECT_EQ(Reason(), "SUBSCRIPTION_NOT_FOUND");
}

TEST_F(StateCallsTest, TheEndOfTheSourceEndsACall) {
  request_ = RequestBytes("GetSubscriptionRequest", "subscription: 'payouts'");
  GetSubscription(subscription_environment_, Identity(), Trace(), request_, OnResponse());
  step_source_.End();
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
}

// With an audit log, the call continues on the log's thread.
class AuditedSeekTest : public StateCallsTest {
 protected:
  AuditedSeekTest() { environment_.recorders.audit = audit_.get(); }
  ~AuditedSeekTest() override { environment_.recorders.audit = nullptr; }

  void SeekToTheEnd() {
    std::promise<void> responded;
    request_ = RequestBytes("SeekRequest", "subscription: 'payouts' end: LOG_END_LATEST");
    SeekSubscription(subscription_environment_, Identity(), Trace(), request_,
                     [&responded, next = OnResponse()](auto response) mutable {
                       next(std::move(response));
                       responded.set_value();
                     });
    const auto is_responded = responded.get_future();
    while (is_responded.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
      if (audit_->WriteUnderWay() == absl::ZeroDuration()) step_source_.Serve();
    }
  }

  const std::string path_ = NewFolder() + "audit.log";
  FaultyCalls calls_;
  const std::unique_ptr<AuditLog> audit_ =
      AuditLog::Open({.file = path_, .key = TestAuditKey(), .now = [] { return absl::UnixEpoch(); }, .calls = &calls_})
          .value();
};

TEST_F(AuditedSeekTest, TheAuditLogHasTheSubscriptionAndTheOutcome) {
  SeekToTheEnd();
  EXPECT_TRUE(Error().ok()) << Error();
  audit_->Close();
  const std::vector<std::string> allows = LinesWith(path_, "\"kind\":\"allow\"");
  ASSERT_THAT(allows, SizeIs(1));
  EXPECT_EQ(Member(allows[0], "method"), "/stampgate.v1.SubscriptionService/Seek");
  EXPECT_EQ(Member(allows[0], "caller"), "reader");
  EXPECT_EQ(Member(allows[0], "subscription"), "payouts");
  const std::vector<std::string> outcomes = LinesWith(path_, "\"kind\":\"outcome\"");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "code"), "OK");
}

TEST_F(AuditedSeekTest, NothingMovesIfTheAuditLogCannotBeWritten) {
  calls_.Fail(FaultyCalls::Call::kWrite, ENOSPC);
  SeekToTheEnd();
  EXPECT_EQ(Reason(), "AUDIT_UNAVAILABLE");
  EXPECT_EQ(payouts_->state().all.through, 0);
}

}  // namespace
}  // namespace stampgate
