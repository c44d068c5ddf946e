#include "gateway/subscriptions/calls/settle_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gateway/audit/log.h"
#include "gateway/audit/testing.h"
#include "gateway/subscriptions/calls/testing.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;
using Code = absl::StatusCode;

class SettleCallTest : public SubscriptionCallTest {
 protected:
  void Settle(const std::string& request) {
    request_ = RequestBytes("SettleRequest", request);
    stampgate::Settle(subscription_environment_, Identity(), Trace(), request_, OnResponse());
  }
  void Settle(const std::vector<std::string>& tokens, const std::string& outcome) {
    Settle(absl::StrCat("subscription: 'payouts' tokens: ['", absl::StrJoin(tokens, "', '"),
                        "'] outcome: SETTLE_OUTCOME_", outcome));
  }

  std::vector<std::string> Superseded() const {
    const auto response = Response("SettleResponse");
    std::vector<std::string> tokens;
    const size_t count = std::stoul(testing::ValueAt(*response, "superseded_tokens"));
    for (size_t i = 0; i < count; ++i) {
      tokens.push_back(testing::ValueAt(*response, absl::StrCat("superseded_tokens.", i)));
    }
    return tokens;
  }

  grpc::ByteBuffer request_;
};

TEST_F(SettleCallTest, ADoneEventIsNotDeliveredAgain) {
  const auto taken = Take(2);
  ASSERT_THAT(taken, SizeIs(2));
  Settle({TokenOf(taken[0]), TokenOf(taken[1])}, "DONE");
  EXPECT_THAT(Superseded(), IsEmpty());
  EXPECT_EQ(payouts_->state().all.through, 2);
  Elapse(kSettleWithin);
  const auto later = Take(4);
  ASSERT_THAT(later, SizeIs(2));
  EXPECT_EQ(later.front().id.position, 3);
}

TEST_F(SettleCallTest, TheResponseWaitsForTheStore) {
  const auto taken = Take(1);
  store_.Hold();
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_FALSE(response_.has_value()) << "the outcome is not durable yet";
  store_.AnswerAtOnce();
  EXPECT_THAT(Superseded(), IsEmpty());
}

TEST_F(SettleCallTest, AStoreThatCannotWriteIsAnError) {
  const auto taken = Take(1);
  store_.AnswerAtOnce(absl::ResourceExhaustedError("the disk is full"));
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_THAT(Error(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(Reason(), "EVENT_LOG_UNAVAILABLE");
  store_.AnswerAtOnce();
}

TEST_F(SettleCallTest, SettlingTwiceIsHarmless) {
  const auto taken = Take(1);
  for (int i = 0; i < 2; ++i) {
    Settle({TokenOf(taken[0])}, "DONE");
    EXPECT_THAT(Superseded(), IsEmpty());
  }
}

TEST_F(SettleCallTest, TheTokenOfAnEarlierDeliveryIsSupersededAndTheOthersAreSettled) {
  const auto first = Take(1);
  Elapse(kSettleWithin);
  const auto second = Take(2);
  ASSERT_THAT(second, SizeIs(2));
  Settle({TokenOf(first[0]), TokenOf(second[1])}, "DONE");
  EXPECT_THAT(Superseded(), ElementsAre(TokenOf(first[0])));
  Elapse(kSettleWithin);
  EXPECT_THAT(Take(9), SizeIs(3));
}

TEST_F(SettleCallTest, ARetryComesAgainAfterItsDelay) {
  const auto taken = Take(1);
  Settle(absl::StrCat("subscription: 'payouts' tokens: '", TokenOf(taken[0]),
                      "' outcome: SETTLE_OUTCOME_RETRY retry_delay_ms: 5000"));
  EXPECT_THAT(Superseded(), IsEmpty());
  EXPECT_THAT(Take(4), SizeIs(3));
  Elapse(absl::Seconds(5));
  const auto again = Take(4);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].reason, DeliveryReason::kRetry);
  EXPECT_EQ(again[0].id.number, 2);
}

TEST_F(SettleCallTest, AParkedEventHasItsReason) {
  const auto taken = Take(1);
  Settle(absl::StrCat("subscription: 'payouts' tokens: '", TokenOf(taken[0]),
                      "' outcome: SETTLE_OUTCOME_PARK park_reason: 'no such account'"));
  EXPECT_THAT(Superseded(), IsEmpty());
  const auto parked = *payouts_->Parked(0, 9);
  ASSERT_THAT(parked, SizeIs(1));
  EXPECT_EQ(parked[0].parked.reason, "no such account");
}

TEST_F(SettleCallTest, ExtendBeginsTheTimeAgain) {
  const auto taken = Take(1);
  Elapse(kSettleWithin - absl::Seconds(1));
  Settle({TokenOf(taken[0])}, "EXTEND");
  EXPECT_THAT(Superseded(), IsEmpty());
  Elapse(kSettleWithin - absl::Seconds(1));
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_THAT(Superseded(), IsEmpty());
}

TEST_F(SettleCallTest, ATokenThatWasNotMadeForTheSubscriptionIsAnErrorAndNothingIsSettled) {
  const auto taken = Take(1);
  Settle({TokenOf(taken[0]), "other"}, "DONE");
  EXPECT_THAT(Error(), StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(Reason(), "DELIVERY_TOKEN_INVALID");
  EXPECT_THAT(std::string(Error().message()), HasSubstr("tokens[1]"));
  EXPECT_EQ(payouts_->state().all.through, 0);
}

TEST_F(SettleCallTest, ARequestThatBreaksTheRulesOfItsFieldsIsRejected) {
  const std::string token = TokenOf(Take(1)[0]);
  const std::string begin = absl::StrCat("subscription: 'payouts' tokens: '", token, "' ");
  for (const std::string& request : {std::string("subscription: 'payouts' outcome: SETTLE_OUTCOME_DONE"), begin,
                                     begin + "outcome: SETTLE_OUTCOME_DONE retry_delay_ms: 1",
                                     begin + "outcome: SETTLE_OUTCOME_RETRY park_reason: 'x'",
                                     begin + "outcome: SETTLE_OUTCOME_EXTEND park_reason: ''",
                                     begin + "outcome: SETTLE_OUTCOME_RETRY retry_delay_ms: 3600001"}) {
    Settle(request);
    EXPECT_EQ(Reason(), "INVALID_REQUEST") << request;
    EXPECT_THAT(DetailsOf(Error()).violations, SizeIs(1)) << request;
  }
}

TEST_F(SettleCallTest, ACallerThatTheSubscriptionDoesNotListFindsNoSubscription) {
  const auto taken = Take(1);
  Declare({"another"});
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_THAT(Error(), StatusIs(Code::kNotFound));
  EXPECT_EQ(Reason(), "SUBSCRIPTION_NOT_FOUND");
}

TEST_F(SettleCallTest, AGrantForSomeOfTheOrganizationsIsNotEnough) {
  const auto taken = Take(1);
  Grant("'odd'");
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_THAT(Error(), StatusIs(Code::kPermissionDenied));
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
  Declare({"reader"}, {"even", "odd"});
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
  Declare({"reader"}, {"odd"});
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_THAT(Superseded(), IsEmpty());
}

TEST_F(SettleCallTest, WithoutSubscriptionsNoneIsFound) {
  const auto taken = Take(1);
  subscription_environment_.subscriptions = nullptr;
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_EQ(Reason(), "SUBSCRIPTION_NOT_FOUND");
}

TEST_F(SettleCallTest, WithoutALogEveryCallIsRejected) {
  const auto taken = Take(1);
  environment_.log = nullptr;
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_EQ(Reason(), "EVENTS_NOT_CONFIGURED");
  environment_.is_configured = true;
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_EQ(Reason(), "EVENT_LOG_UNAVAILABLE");
  environment_.log = &served_;
}

TEST_F(SettleCallTest, TheRequestCountsInTheMemoryOfItsConnection) {
  const auto taken = Take(1);
  memory_.TakeAllBut(10);
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_EQ(Reason(), "TOO_MUCH_MEMORY");
  EXPECT_EQ(payouts_->state().all.through, 0);
}

// Otherwise the limit of recorded calls that send nothing upstream would limit how fast a consumer settles.
TEST_F(SettleCallTest, TheAuditLogHasOnlyTheDenials) {
  const std::string path = NewFolder() + "audit.log";
  const auto audit = AuditLog::Open({.file = path, .key = TestAuditKey(), .now = [this] { return now_; }}).value();
  environment_.recorders.audit = audit.get();
  const auto taken = Take(1);
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_THAT(Superseded(), IsEmpty());
  Grant("'odd'");
  Settle({TokenOf(taken[0])}, "DONE");
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
  audit->Close();
  EXPECT_THAT(LinesWith(path, "\"kind\":\"allow\""), IsEmpty());
  const std::vector<std::string> denials = LinesWith(path, "\"kind\":\"deny\"");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "subscription"), "payouts");
  environment_.recorders.audit = nullptr;
}

}  // namespace
}  // namespace stampgate
