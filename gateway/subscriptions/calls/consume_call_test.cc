#include "gateway/subscriptions/calls/consume_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gateway/callers/peer_registry.h"
#include "gateway/events/fake_output.h"
#include "gateway/feed/feed.h"
#include "gateway/subscriptions/calls/delivery_token.h"
#include "gateway/subscriptions/calls/testing.h"
#include "translate/error.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::ValueAt;
using testing::ValuesAt;
using Code = absl::StatusCode;

// A decoded message.
struct Message {
  std::vector<std::string> events;  // their ids
  std::vector<std::string> tokens;
  std::vector<std::string> counts;
  std::vector<std::string> reasons;
  std::vector<std::string> superseded;
  std::string settle_within_ms;
};

Message MessageOf(const std::string& bytes) {
  const auto response = testing::MessageIn("stampgate.v1.ConsumeResponse", bytes);
  Message message = {.events = ValuesAt(*response, "deliveries", "event.event_id"),
                     .tokens = ValuesAt(*response, "deliveries", "token"),
                     .counts = ValuesAt(*response, "deliveries", "delivery_count"),
                     .reasons = ValuesAt(*response, "deliveries", "reason"),
                     .superseded = {},
                     .settle_within_ms = ValueAt(*response, "settle_within_ms")};
  const size_t superseded = std::stoul(ValueAt(*response, "superseded_tokens"));
  for (size_t i = 0; i < superseded; ++i) {
    message.superseded.push_back(ValueAt(*response, absl::StrCat("superseded_tokens.", i)));
  }
  return message;
}

// A call of Consume on a connection of its own.
class TestConsumer {
 public:
  TestConsumer(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
               const std::string& request)
      : request_(RequestBytes("ConsumeRequest", absl::StrCat("subscription: 'payouts' ", request))) {
    identity.connection = peer_->id();
    call_ = std::make_shared<ConsumeCall>(environment, std::move(identity), trace, output_);
    call_->Start(request_);
  }

  // Receives the message that was sent.
  Message Receive() {
    const Message message = MessageOf(output_.Take());
    call_->OnSent(true);
    return message;
  }
  bool has_message() const { return output_.has_message(); }
  absl::Status End() const { return output_.end().value_or(absl::OkStatus()); }
  bool has_ended() const { return output_.end().has_value(); }
  std::string Reason() const { return DetailsOf(End()).reason; }

  // Ends the connection, which gRPC reports to the call.
  void LoseConnection() {
    ReportEndByPeer(peer_->id());
    call_->Cancel();
    peer_ = nullptr;
  }

  FakeOutput output_;
  grpc::ByteBuffer request_;
  std::unique_ptr<RegisteredPeer> peer_ = std::make_unique<RegisteredPeer>(Peer());
  std::shared_ptr<ConsumeCall> call_;
};

class ConsumeCallTest : public SubscriptionCallTest {
 protected:
  ~ConsumeCallTest() override {
    for (const auto& consumer : started_) {
      EXPECT_TRUE(consumer->has_ended()) << "each test must end its consumers";
      // A Cancel after the end has no effect.
      consumer->call_->Cancel();
      consumer->call_->Dismiss();
    }
    if (!started_.empty()) EXPECT_THAT(lines(), SizeIs(started_.size())) << "each end is recorded once";
  }

  TestConsumer& Start(const std::string& request = "") {
    return *started_.emplace_back(
        std::make_unique<TestConsumer>(subscription_environment_, Identity(), Trace(), request));
  }
  // Starts a consumer that has received its first message and all that the subscription has for it.
  TestConsumer& Consuming(const std::string& request = "") {
    TestConsumer& consumer = Start(request);
    EXPECT_THAT(consumer.Receive().events, IsEmpty());
    Serve();
    return consumer;
  }

  // Receives messages until no further one is sent, and returns them as one.
  Message ReceiveAll(TestConsumer& consumer) {
    Message all;
    for (Serve(); consumer.has_message(); Serve()) {
      const Message message = consumer.Receive();
      const auto append = [](const std::vector<std::string>& from, std::vector<std::string>& to) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(message.events, all.events);
      append(message.tokens, all.tokens);
      append(message.counts, all.counts);
      append(message.reasons, all.reasons);
    }
    return all;
  }

  // Ends a consumer after it has received all messages.
  void Leave(TestConsumer& consumer) {
    ReceiveAll(consumer);
    consumer.call_->Cancel();
    EXPECT_THAT(consumer.End(), StatusIs(Code::kCancelled));
  }

  void Done(const std::string& token) {
    payouts_->Settle({*DeliveryTokens(log_.identity(), "payouts").Decode(token)}, SettleOutcome::kDone,
                     absl::ZeroDuration(), "", [](const auto&) {});
    Serve();
  }

  std::vector<std::unique_ptr<TestConsumer>> started_;
};

TEST_F(ConsumeCallTest, TheFirstMessageHasNoDeliveriesAndTheOthersHaveThem) {
  TestConsumer& consumer = Start();
  EXPECT_EQ(payouts_->state().all.consumers, 1);
  const Message first = consumer.Receive();
  EXPECT_THAT(first.events, IsEmpty());
  EXPECT_THAT(first.superseded, IsEmpty());
  EXPECT_EQ(first.settle_within_ms, "20000");
  const Message message = ReceiveAll(consumer);
  EXPECT_THAT(message.events, ElementsAre("event-1", "event-2", "event-3", "event-4"));
  EXPECT_THAT(message.counts, ElementsAre("1", "1", "1", "1"));
  EXPECT_EQ(message.reasons[0], "DELIVERY_REASON_FIRST");
  for (const std::string& token : message.tokens) Done(token);
  EXPECT_EQ(payouts_->state().all.through, 4);
  Leave(consumer);
}

TEST_F(ConsumeCallTest, ADeliveryHasTheWholeEvent) {
  TestConsumer& consumer = Consuming("max_unsettled: 1");
  const auto response = testing::MessageIn("stampgate.v1.ConsumeResponse", consumer.output_.Take());
  EXPECT_EQ(ValueAt(*response, "deliveries.0.event.cursor"), CursorAt(1));
  EXPECT_EQ(ValueAt(*response, "deliveries.0.event.organization_id"), "odd");
  EXPECT_EQ(ValueAt(*response, "deliveries.0.event.body"), "{}");
  EXPECT_EQ(ValueAt(*response, "deliveries.0.retried_after_parking"), "false");
  consumer.call_->OnSent(true);
  Leave(consumer);
}

TEST_F(ConsumeCallTest, AConsumerHoldsNoMoreThanItsPlaces) {
  TestConsumer& consumer = Consuming("max_unsettled: 2");
  const Message message = ReceiveAll(consumer);
  EXPECT_THAT(message.events, ElementsAre("event-1", "event-2"));
  Done(message.tokens[0]);
  EXPECT_THAT(ReceiveAll(consumer).events, ElementsAre("event-3"));
  Leave(consumer);
}

TEST_F(ConsumeCallTest, ASlowConsumerGetsTheNextMessageWhenItHasReceivedTheOneBefore) {
  TestConsumer& consumer = Consuming();
  EXPECT_TRUE(consumer.has_message());
  EXPECT_GT(memory_.held(), 0);
  log_.Grow(6);
  Serve();
  EXPECT_EQ(consumer.output_.messages(), 2);
  const Message second = consumer.Receive();
  EXPECT_EQ(memory_.held(), 0);
  const Message others = ReceiveAll(consumer);
  EXPECT_EQ(second.events.size() + others.events.size(), 6u);
  Leave(consumer);
}

TEST_F(ConsumeCallTest, ARedeliveryHasItsCountAndReason) {
  Take(1);
  Elapse(kSettleWithin);
  TestConsumer& consumer = Consuming("max_unsettled: 1");
  const Message message = consumer.Receive();
  EXPECT_THAT(message.counts, ElementsAre("2"));
  EXPECT_THAT(message.reasons, ElementsAre("DELIVERY_REASON_TIMEOUT"));
  Leave(consumer);
}

TEST_F(ConsumeCallTest, AnEventThatWasParkedIsMarked) {
  Park(1);
  payouts_->ChangeParked({1}, ParkedChange::kRetry, [](const auto&) {});
  TestConsumer& consumer = Consuming("max_unsettled: 1");
  const auto response = testing::MessageIn("stampgate.v1.ConsumeResponse", consumer.output_.Take());
  EXPECT_EQ(ValueAt(*response, "deliveries.0.retried_after_parking"), "true");
  EXPECT_EQ(ValueAt(*response, "deliveries.0.reason"), "DELIVERY_REASON_UNPARKED");
  consumer.call_->OnSent(true);
  Leave(consumer);
}

TEST_F(ConsumeCallTest, AConsumerKeepsTheEventsOfItsTokensAndLearnsWhichItHasLost) {
  const auto taken = Take(2);
  const std::string lost = TokenOf(taken[0]);
  const std::string kept = TokenOf(taken[1]);
  payouts_->Settle({taken[0].id}, SettleOutcome::kPark, absl::ZeroDuration(), "", [](const auto&) {});
  TestConsumer& consumer = Start(absl::StrCat("max_unsettled: 2 held_tokens: ['", lost, "', '", kept, "']"));
  EXPECT_THAT(consumer.Receive().superseded, ElementsAre(lost));
  EXPECT_THAT(ReceiveAll(consumer).events, ElementsAre("event-3")) << "it holds event 2 already";
  Elapse(kSettleWithin - absl::Seconds(1));
  Done(kept);
  EXPECT_EQ(payouts_->state().all.through, 2);
  Leave(consumer);
}

TEST_F(ConsumeCallTest, AHeldTokenThatWasNotMadeForTheSubscriptionIsAnError) {
  const auto taken = Take(1);
  TestConsumer& consumer = Start(absl::StrCat("held_tokens: ['", TokenOf(taken[0]), "', 'x']"));
  EXPECT_THAT(consumer.End(), StatusIs(Code::kInvalidArgument, HasSubstr("held_tokens[1]")));
  EXPECT_EQ(consumer.Reason(), "DELIVERY_TOKEN_INVALID");
}

TEST_F(ConsumeCallTest, AnInvalidRequestIsRejected) {
  EXPECT_EQ(Start("max_unsettled: 0").Reason(), "INVALID_REQUEST");
  EXPECT_EQ(Start("max_unsettled: 1001").Reason(), "INVALID_REQUEST");
}

TEST_F(ConsumeCallTest, ACallerThatTheSubscriptionDoesNotListFindsNoSubscription) {
  Declare({"another"});
  TestConsumer& consumer = Start();
  EXPECT_THAT(consumer.End(), StatusIs(Code::kNotFound));
  EXPECT_EQ(consumer.Reason(), "SUBSCRIPTION_NOT_FOUND");
}

TEST_F(ConsumeCallTest, ACallerNeedsAGrantForAllOrganizations) {
  Grant("'odd'");
  EXPECT_EQ(Start().Reason(), "DENIED_BY_POLICY");
  Declare({"reader"}, {"odd", "even"});
  EXPECT_EQ(Start().Reason(), "DENIED_BY_POLICY");
  GrantNothing();
  EXPECT_EQ(Start().Reason(), "DENIED_BY_POLICY");
  Grant("'odd', 'even'");
  Leave(Consuming());
}

TEST_F(ConsumeCallTest, WithoutALogEveryConsumerIsRejected) {
  environment_.log = nullptr;
  EXPECT_EQ(Start().Reason(), "EVENTS_NOT_CONFIGURED");
  environment_.is_configured = true;
  EXPECT_EQ(Start().Reason(), "EVENT_LOG_UNAVAILABLE");
  environment_.log = &served_;
  subscription_environment_.subscriptions = nullptr;
  EXPECT_EQ(Start().Reason(), "SUBSCRIPTION_NOT_FOUND");
}

TEST_F(ConsumeCallTest, AConsumerBeyondTheMaximumIsRejected) {
  TestConsumer& first = Start();
  TestConsumer& second = Start();
  EXPECT_EQ(Start().Reason(), "TOO_MANY_SUBSCRIBERS");
  for (TestConsumer* each : {&first, &second}) {
    each->Receive();
    Leave(*each);
  }
  TestConsumer& fourth = Start();
  fourth.Receive();
  Leave(fourth);
}

TEST_F(ConsumeCallTest, AMessageForWhichThereIsNoMemoryEndsTheCall) {
  TestConsumer& consumer = Start();
  consumer.Receive();
  memory_.TakeAllBut(10);
  Serve();
  EXPECT_THAT(consumer.End(), StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(consumer.Reason(), "TOO_MUCH_MEMORY");
}

// ---- Time ----

TEST_F(ConsumeCallTest, AHeartbeatIsSentWhenNothingWasSentForTheInterval) {
  TestConsumer& consumer = Consuming();
  for (const std::string& token : ReceiveAll(consumer).tokens) Done(token);
  Elapse(kHeartbeat - absl::Milliseconds(1));
  EXPECT_FALSE(consumer.has_message());
  Elapse(absl::Milliseconds(1));
  const Message heartbeat = consumer.Receive();
  EXPECT_THAT(heartbeat.events, IsEmpty());
  Leave(consumer);
}

TEST_F(ConsumeCallTest, ATokenThatExpiresEndsTheCall) {
  token_end_ = now_ + absl::Seconds(7);
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  Elapse(absl::Seconds(7));
  EXPECT_THAT(consumer.End(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(consumer.Reason(), "TOKEN_EXPIRED");
  EXPECT_THAT(Take(9), IsEmpty()) << "the consumer still holds its events";
}

TEST_F(ConsumeCallTest, AConnectionThatHasReachedItsAgeEndsTheCall) {
  stream_end_ = steady_now_ + std::chrono::seconds(7);
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  Elapse(absl::Seconds(7));
  EXPECT_THAT(consumer.End(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(consumer.Reason(), "SHUTTING_DOWN");
  Elapse(absl::Seconds(1));
  EXPECT_THAT(Take(9), IsEmpty()) << "the consumer still holds its events";
  Elapse(kSettleWithin);
  EXPECT_THAT(Take(9), SizeIs(4));
}

TEST_F(ConsumeCallTest, ADrainEndsTheCall) {
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  payouts_->End(absl::AbortedError("the gateway drains"));
  EXPECT_THAT(consumer.End(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(consumer.Reason(), "SHUTTING_DOWN");
}

// ---- Policies and configs that change ----

TEST_F(ConsumeCallTest, APolicyThatStillAllowsTheCallChangesNothing) {
  TestConsumer& consumer = Start();
  consumer.Receive();
  GrantAll();
  EXPECT_THAT(ReceiveAll(consumer).events, SizeIs(4));
  EXPECT_EQ(identified_, 2);
  Leave(consumer);
}

TEST_F(ConsumeCallTest, APolicyThatRemovesTheGrantEndsTheCallBeforeTheNextMessage) {
  TestConsumer& consumer = Start();
  consumer.Receive();
  Grant("'odd'");
  Serve();
  EXPECT_THAT(consumer.End(), StatusIs(Code::kPermissionDenied));
  EXPECT_EQ(consumer.output_.messages(), 1);
}

TEST_F(ConsumeCallTest, AConfigThatNoLongerListsTheCallerEndsTheCall) {
  TestConsumer& consumer = Consuming("max_unsettled: 1");
  const Message message = consumer.Receive();
  Declare({"another"});
  Done(message.tokens[0]);
  EXPECT_EQ(consumer.Reason(), "SUBSCRIPTION_NOT_FOUND");
}

TEST_F(ConsumeCallTest, ASubscriptionThatWasRemovedEndsTheCall) {
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  set_.Remove("payouts");
  payouts_->End(absl::NotFoundError("the subscription was removed"));
  EXPECT_THAT(consumer.End(), StatusIs(Code::kNotFound));
  EXPECT_EQ(consumer.Reason(), "SUBSCRIPTION_NOT_FOUND");
}

TEST_F(ConsumeCallTest, ADismissedCallAuthorizesItsCallerAgainAtOnce) {
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  consumer.call_->Dismiss();
  EXPECT_FALSE(consumer.has_ended());
  EXPECT_EQ(identified_, 2);
  MakeStranger();
  consumer.call_->Dismiss();
  EXPECT_EQ(consumer.End(), stranger_);
  Elapse(absl::Seconds(1));
  EXPECT_THAT(Take(9), IsEmpty()) << "nobody has cancelled the call";
}

TEST_F(ConsumeCallTest, ATokenThatExpiresDuringReauthorizationEndsTheCallAsExpired) {
  token_end_ = now_ + absl::Seconds(7);
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  hold_identity_ = true;
  consumer.call_->Dismiss();
  Pass(absl::Seconds(7));
  MakeStranger();
  Release();
  EXPECT_EQ(consumer.Reason(), "TOKEN_EXPIRED");
}

// The subscription can have read an event before a reload.
TEST_F(ConsumeCallTest, AnEventThatTheCallerMayNoLongerSeeIsNotSent) {
  Declare({"reader"}, {"odd"});
  Grant("'odd'");
  TestConsumer& consumer = Consuming();
  EXPECT_THAT(ReceiveAll(consumer).events, ElementsAre("event-1", "event-3"));
  Leave(consumer);
}

TEST_F(ConsumeCallTest, EventsThatAreMissingEndTheCallOfOneConsumer) {
  log_.Lose(1, 2);
  TestConsumer& consumer = Consuming();
  EXPECT_THAT(consumer.End(), StatusIs(Code::kDataLoss));
  EXPECT_EQ(consumer.Reason(), "EVENTS_LOST");
  EXPECT_THAT(consumer.End().message(), HasSubstr("from 1 to 2"));
  TestConsumer& again = Consuming();
  EXPECT_THAT(ReceiveAll(again).events, ElementsAre("event-3", "event-4"));
  Leave(again);
}

// ---- Callers that leave ----

TEST_F(ConsumeCallTest, AClientThatCancelsItsStreamGivesItsEventsBack) {
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  Leave(consumer);
  EXPECT_THAT(Take(9), IsEmpty()) << "the connection may end, too";
  Elapse(absl::FromChrono(Departures::kWait));
  const auto again = Take(9);
  ASSERT_THAT(again, SizeIs(4));
  EXPECT_EQ(again[0].reason, DeliveryReason::kConsumerLeft);
}

TEST_F(ConsumeCallTest, AConsumerThatHasLeftGetsNoEvents) {
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  Leave(consumer);
  EXPECT_EQ(payouts_->state().all.consumers, 1) << "it is not known yet how it has left";
  log_.Grow(5);
  const auto taken = Take(9);
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].id.position, 5);
  EXPECT_EQ(taken[0].id.number, 1);
}

TEST_F(ConsumeCallTest, AClientThatCancelsAndThenClosesItsConnectionGivesItsEventsBack) {
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  Leave(consumer);
  ReportEndByPeer(consumer.peer_->id());
  consumer.peer_ = nullptr;
  Elapse(absl::FromChrono(Departures::kWait));
  EXPECT_THAT(Take(9), SizeIs(4));
}

TEST_F(ConsumeCallTest, AConsumerWhoseConnectionIsLostHoldsItsEventsUntilTheirTimeIsOver) {
  TestConsumer& consumer = Consuming();
  const Message message = ReceiveAll(consumer);
  consumer.LoseConnection();
  Elapse(absl::FromChrono(Departures::kWait));
  EXPECT_THAT(Take(9), IsEmpty());
  Done(message.tokens[0]);
  EXPECT_EQ(payouts_->state().all.through, 1) << "its tokens stay valid";
  Elapse(kSettleWithin);
  const auto again = Take(9);
  ASSERT_THAT(again, SizeIs(3));
  EXPECT_EQ(again[0].reason, DeliveryReason::kTimeout);
}

TEST_F(ConsumeCallTest, AConnectionThatTheGatewayClosesIsLost) {
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  Leave(consumer);
  consumer.peer_ = nullptr;
  Elapse(absl::FromChrono(Departures::kWait));
  EXPECT_THAT(Take(9), IsEmpty());
}

TEST_F(ConsumeCallTest, ACallThatADrainCancelsGivesNothingBack) {
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  ending_ = true;
  Leave(consumer);
  Elapse(absl::FromChrono(Departures::kWait));
  EXPECT_THAT(Take(9), IsEmpty());
}

TEST_F(ConsumeCallTest, EventsThatTheClientDidNotReceiveBeforeItCancelledComeBack) {
  TestConsumer& consumer = Consuming();
  consumer.call_->Cancel();
  EXPECT_FALSE(consumer.has_ended()) << "the end must wait for the message";
  consumer.output_.Take();
  consumer.call_->OnSent(false);
  EXPECT_THAT(consumer.End(), StatusIs(Code::kCancelled));
  Elapse(absl::FromChrono(Departures::kWait));
  EXPECT_THAT(Take(9), SizeIs(4));
}

TEST_F(ConsumeCallTest, ACancelBeforeTheCallerIsKnownEndsTheCallAtItsFirstMessage) {
  hold_identity_ = true;
  TestConsumer& consumer = Start();
  consumer.call_->Cancel();
  Release();
  consumer.output_.Take();
  consumer.call_->OnSent(false);
  EXPECT_THAT(consumer.End(), StatusIs(Code::kCancelled));
}

TEST_F(ConsumeCallTest, ACancelDuringTheFirstMessageEndsTheCall) {
  TestConsumer& consumer = Start();
  consumer.call_->Cancel();
  consumer.Receive();
  EXPECT_THAT(consumer.End(), StatusIs(Code::kCancelled));
}

TEST_F(ConsumeCallTest, ACancelWhileTheCallerIsFoundAgainEndsTheCall) {
  TestConsumer& consumer = Consuming();
  ReceiveAll(consumer);
  hold_identity_ = true;
  consumer.call_->Dismiss();
  consumer.call_->Cancel();
  EXPECT_FALSE(consumer.has_ended()) << "the end must wait for the authorization";
  Release();
  EXPECT_THAT(consumer.End(), StatusIs(Code::kCancelled));
}

// Consumers of a real feed cancel at random moments, and reloads happen meanwhile. FakeOutput checks the rules of a
// stream call.
TEST_F(ConsumeCallTest, CancelsAtAnyMomentEndEachCallOnce) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  const std::unique_ptr<EventFeed> feed = *EventFeed::Start(log_, *encoder_, 2, feed_metrics_);
  const auto served = Serving("payouts", *feed);
  set_.Declare({.served = served, .callers = {"reader"}, .organizations = {}});
  served_.source = feed.get();
  StreamSlots slots(kThreads, kThreads, "consumers");
  served_.consumers = &slots;
  std::atomic<bool> done = false;
  std::thread owner([&] {
    for (Position latest = 5; !done; ++latest) {
      log_.Grow(latest);
      if (latest % 7 == 0) GrantAll();
      served->Tick();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);  // NOLINT(cert-msc51-cpp): the same in each run
      for (int round = 0; round < kRounds; ++round) {
        FakeOutput output;
        const grpc::ByteBuffer request =
            RequestBytes("ConsumeRequest", absl::StrCat("subscription: 'payouts' max_unsettled: ", 1 + random() % 20));
        auto call = std::make_shared<ConsumeCall>(subscription_environment_, Identity(), Trace(), output);
        call->Start(request);
        std::thread canceller([&call, yields = random() % 50] {
          for (unsigned i = 0; i < yields; ++i) std::this_thread::yield();
          if (yields % 2 == 0) call->Dismiss();
          call->Cancel();
        });
        while (output.Wait()) {
          std::vector<DeliveryId> settled;
          for (const std::string& token : MessageOf(output.Take()).tokens) {
            settled.push_back(*DeliveryTokens(log_.identity(), "payouts").Decode(token));
          }
          served->Settle(settled, SettleOutcome::kDone, absl::ZeroDuration(), "", [](const auto&) {});
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
  owner.join();
  EXPECT_EQ(slots.taken(), 0u);
  EXPECT_EQ(served->state().all.consumers, 0);
  EXPECT_THAT(lines(), SizeIs(kThreads * kRounds));
  served->End(absl::AbortedError("the test ends"));
  served->Close([] {});
  served_.consumers = &consumers_;
  served_.source = &step_source_;
}

}  // namespace
}  // namespace stampgate
