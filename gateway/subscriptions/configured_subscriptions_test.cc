#include "gateway/subscriptions/configured_subscriptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gateway/config/rules/subscription_rules.h"
#include "gateway/feed/fake_log.h"
#include "gateway/feed/feed.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/metrics/registry.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"
#include "webhooks/log/fake_subscription_holds.h"
#include "webhooks/log/fake_subscription_store.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

config::v1::Subscription Payouts(const std::string& start = "earliest") {
  config::v1::Subscription subscription;
  subscription.set_name("payouts");
  subscription.add_callers("service");
  subscription.add_organizations("even");
  subscription.set_start(start);
  subscription.set_order_by(config::v1::ORDER_BY_ACTIVITY);
  subscription.mutable_settle_within()->set_seconds(30);
  subscription.set_max_deliveries(10);
  subscription.set_max_unsettled_per_key(64);
  return subscription;
}

class ConfiguredSubscriptionsTest : public ::testing::Test {
 protected:
  ConfiguredSubscriptionsTest() { store_.AnswerAtOnce(); }

  void Configure(const std::vector<config::v1::Subscription>& subscriptions) {
    auto access = std::make_shared<Access>();
    for (const auto& subscription : subscriptions) *access->settings.add_subscriptions() = subscription;
    access_.Set(std::move(access));
  }

  // `holds` is not null if other gateways share the store.
  absl::StatusOr<std::unique_ptr<ConfiguredSubscriptions>> Open(SubscriptionHolds* holds = nullptr) {
    return ConfiguredSubscriptions::Open({.log = &log_,
                                          .store = &store_,
                                          .holds = holds,
                                          .source = feed_.get(),
                                          .access = &access_,
                                          .metrics = &registry_,
                                          .now = [this] { return absl::FromUnixSeconds(seconds_++); }});
  }

  void Keep(const std::string& name) {
    SubscriptionChange known;
    known.subscription = name;
    known.head = SubscriptionHead{.order = 1};
    store_.Write(known, [](const absl::Status&) {});
  }

  static absl::Status Delete(ConfiguredSubscriptions& subscriptions, const std::string& name) {
    std::promise<absl::Status> deleted;
    subscriptions.Delete(name, [&deleted](absl::Status status) { deleted.set_value(std::move(status)); });
    return deleted.get_future().get();
  }

  std::atomic<int64_t> seconds_ = 1000;
  MetricRegistry registry_;
  FeedMetrics metrics_{registry_};
  FakeEventLog log_;
  FakeSubscriptionStore store_;
  CurrentAccess access_{nullptr};
  std::unique_ptr<const EventEncoder> encoder_ =
      *EventEncoder::Create(testing::Pool(), "Service", log_.identity(), metrics_);
  std::unique_ptr<EventFeed> feed_ = *EventFeed::Start(log_, *encoder_, 2, metrics_);
};

TEST_F(ConfiguredSubscriptionsTest, ANewSubscriptionHasAPositionBeforeItsFirstConsumer) {
  log_.Grow(9);
  for (const auto& [start, through] :
       {std::pair("earliest", 0), std::pair("latest", 9), std::pair("1970-01-01T00:00:05Z", 4)}) {
    Configure({Payouts(start)});
    SubscriptionChange removal;
    removal.subscription = "payouts";
    removal.remove = true;
    store_.Write(removal, [](const absl::Status&) {});
    const auto subscriptions = Open();
    ASSERT_TRUE(subscriptions.ok()) << subscriptions.status();
    EXPECT_EQ(store_.states().at("payouts").head, HeadAt(through, 1)) << start;
  }
}

TEST_F(ConfiguredSubscriptionsTest, AKnownSubscriptionContinuesAtItsPosition) {
  log_.Grow(9);
  Configure({Payouts("latest")});
  SubscriptionChange change;
  change.subscription = "payouts";
  change.head = HeadAt(3, 1);
  store_.Write(change, [](const absl::Status&) {});
  const auto subscriptions = Open();
  ASSERT_TRUE(subscriptions.ok()) << subscriptions.status();
  const auto declared = (*subscriptions)->Find("payouts");
  ASSERT_NE(declared, nullptr);
  EXPECT_TRUE(declared->callers.contains("service"));
  EXPECT_TRUE(declared->organizations.contains("even"));
  EXPECT_EQ(declared->served->state().all.through, 3);
  EXPECT_EQ((*subscriptions)->Find("others"), nullptr);
  EXPECT_THAT((*subscriptions)->All(), SizeIs(1));
}

TEST_F(ConfiguredSubscriptionsTest, DoesNotOpenIfTheStoreCannotBeReadOrWritten) {
  Configure({Payouts()});
  store_.AnswerAtOnce(absl::ResourceExhaustedError("the disk is full"));
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kResourceExhausted);
  store_.FailLoad(absl::DataLossError("damaged"));
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ConfiguredSubscriptionsTest, OpensWhileTheSharedServerIsAway) {
  Configure({Payouts()});
  FakeSubscriptionHolds holds;
  holds.Fail(absl::UnavailableError("the server is away"));
  const auto subscriptions = Open(&holds);
  ASSERT_TRUE(subscriptions.ok()) << subscriptions.status();
  EXPECT_EQ((*subscriptions)->Find("payouts"), nullptr) << "it begins when the server answers";
  EXPECT_THAT(registry_.Render(), HasSubstr("\nstampgate_subscriptions_not_served 1\n"));
}

// While this gateway was cut off, another one has deleted the subscription, and declared it with the same version.
TEST_F(ConfiguredSubscriptionsTest, ASubscriptionThatWasDeletedAndDeclaredAgainHasTheNewSettings) {
  Configure({Payouts()});
  FakeSubscriptionHolds holds;
  Hold hold = {.number = 1};
  hold.state.head.order = config::v1::ORDER_BY_ACTIVITY;
  holds.Give(hold);
  const auto subscriptions = Open(&holds);
  ASSERT_TRUE(subscriptions.ok()) << subscriptions.status();
  const auto before = (*subscriptions)->Find("payouts");
  while (holds.renewals() == 0) std::this_thread::yield();
  config::v1::Subscription other = Payouts();
  other.clear_callers();
  other.add_callers("another service");
  DeclaredSettings declared;
  declared.version = other.version();
  declared.settings = VersionedSettingsOf(other).SerializeAsString();
  declared.order = config::v1::ORDER_BY_ACTIVITY;
  holds.Replace("payouts", declared);
  hold.state.head.incarnation = 2;
  holds.Give(hold);
  while ((*subscriptions)->Find("payouts")->callers.contains("service")) std::this_thread::yield();
  EXPECT_THAT((*subscriptions)->Find("payouts")->callers, ElementsAre("another service"));
  EXPECT_EQ((*subscriptions)->Find("payouts")->served, before->served) << "it continues";
  declared.order = hold.state.head.order = config::v1::ORDER_BY_ORGANIZATION;
  holds.Replace("payouts", declared);
  holds.Give(hold);
  while ((*subscriptions)->Find("payouts")->served == before->served) std::this_thread::yield();
  EXPECT_EQ((*subscriptions)->Find("payouts")->served->order(), ServedSubscription::Order::kOrganization);
}

TEST_F(ConfiguredSubscriptionsTest, AReloadBeginsAndEndsSubscriptions) {
  Configure({});
  const auto subscriptions = Open();
  ASSERT_TRUE(subscriptions.ok()) << subscriptions.status();
  EXPECT_THAT((*subscriptions)->All(), IsEmpty());
  Configure({Payouts()});
  std::shared_ptr<const DeclaredSubscription> declared;
  while (declared == nullptr) {
    std::this_thread::yield();
    declared = (*subscriptions)->Find("payouts");
  }
  Configure({});
  while ((*subscriptions)->Find("payouts") != nullptr) std::this_thread::yield();
  EXPECT_TRUE(store_.states().contains("payouts")) << "its position is kept";
}

TEST_F(ConfiguredSubscriptionsTest, ASubscriptionThatCannotBeCreatedDelaysNoOther) {
  Keep("payouts");
  Configure({});
  const auto subscriptions = Open();
  ASSERT_TRUE(subscriptions.ok()) << subscriptions.status();
  store_.AnswerAtOnce(absl::ResourceExhaustedError("the disk is full"));
  config::v1::Subscription other = Payouts();
  other.set_name("other");
  Configure({other, Payouts()});
  std::shared_ptr<const DeclaredSubscription> declared;
  while (declared == nullptr) {
    std::this_thread::yield();
    declared = (*subscriptions)->Find("payouts");
  }
  EXPECT_EQ((*subscriptions)->Find("other"), nullptr);
  store_.AnswerAtOnce();
  while ((*subscriptions)->Find("other") == nullptr) std::this_thread::yield();
  EXPECT_EQ((*subscriptions)->Find("payouts")->served, declared->served) << "it was not begun again";
}

TEST_F(ConfiguredSubscriptionsTest, ADamagedSubscriptionHidesNoOtherAndBeginsAgainWhenItWasDeleted) {
  log_.Grow(9);
  for (const char* name : {"payouts", "other"}) Keep(name);
  store_.Damage("payouts", "its head has another checksum");
  store_.Damage("\xff\n", "its head has another checksum");
  config::v1::Subscription other = Payouts();
  other.set_name("other");
  Configure({Payouts("latest"), other});
  const auto subscriptions = Open();
  ASSERT_TRUE(subscriptions.ok()) << subscriptions.status();
  EXPECT_EQ((*subscriptions)->Find("payouts"), nullptr);
  EXPECT_NE((*subscriptions)->Find("other"), nullptr);
  EXPECT_THAT((*subscriptions)->Undeclared(), IsEmpty()) << "a name that is damaged is not listed";
  EXPECT_THAT(registry_.Render(), HasSubstr("\nstampgate_subscriptions_not_served 1\n"));
  Configure({other});
  while (!Delete(**subscriptions, "payouts").ok()) std::this_thread::yield();
  Configure({Payouts("latest"), other});
  while ((*subscriptions)->Find("payouts") == nullptr) std::this_thread::yield();
  EXPECT_EQ((*subscriptions)->Find("payouts")->served->state().all.through, 9);
  while (!absl::StrContains(registry_.Render(), "\nstampgate_subscriptions_not_served 0\n")) std::this_thread::yield();
}

TEST_F(ConfiguredSubscriptionsTest, OnlyAnUndeclaredSubscriptionIsDeleted) {
  Keep("old");
  Configure({Payouts()});
  const auto subscriptions = Open();
  ASSERT_TRUE(subscriptions.ok()) << subscriptions.status();
  EXPECT_THAT((*subscriptions)->Undeclared(), ElementsAre("old"));
  const absl::Status declared = Delete(**subscriptions, "payouts");
  EXPECT_EQ(declared.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(testing::DetailsOf(declared).reason, "SUBSCRIPTION_DECLARED");
  EXPECT_TRUE(Delete(**subscriptions, "old").ok());
  EXPECT_THAT((*subscriptions)->Undeclared(), IsEmpty());
  const absl::Status again = Delete(**subscriptions, "old");
  EXPECT_EQ(again.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(testing::DetailsOf(again).reason, "SUBSCRIPTION_NOT_FOUND");
  const SubscriptionStates states = store_.states();
  EXPECT_TRUE(states.contains("payouts"));
  EXPECT_FALSE(states.contains("old"));
}

TEST_F(ConfiguredSubscriptionsTest, ASubscriptionThatAReloadRemovedCanBeDeletedAndBeginAgain) {
  log_.Grow(9);
  Configure({Payouts("latest")});
  const auto subscriptions = Open();
  ASSERT_TRUE(subscriptions.ok()) << subscriptions.status();
  Configure({});
  while (!Delete(**subscriptions, "payouts").ok()) std::this_thread::yield();
  EXPECT_FALSE(store_.states().contains("payouts"));
  Configure({Payouts("earliest")});
  while ((*subscriptions)->Find("payouts") == nullptr) std::this_thread::yield();
  EXPECT_LT((*subscriptions)->Find("payouts")->served->state().all.through, 9) << "it begins at the log's start";
}

TEST_F(ConfiguredSubscriptionsTest, ADeletionThatTheStoreDoesNotWriteChangesNothing) {
  Keep("old");
  Configure({});
  const auto subscriptions = Open();
  ASSERT_TRUE(subscriptions.ok()) << subscriptions.status();
  store_.AnswerAtOnce(absl::ResourceExhaustedError("the disk is full"));
  EXPECT_EQ(testing::DetailsOf(Delete(**subscriptions, "old")).reason, "EVENT_LOG_UNAVAILABLE");
  EXPECT_THAT((*subscriptions)->Undeclared(), ElementsAre("old"));
}

}  // namespace
}  // namespace stampgate
