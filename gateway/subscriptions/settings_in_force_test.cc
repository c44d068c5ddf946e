#include "gateway/subscriptions/settings_in_force.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gateway/config/settings/defaults.h"

namespace stampgate {
namespace {

using ::testing::SizeIs;

// A store, and a gateway that shares it with others.
class SettingsInForceTest : public ::testing::Test {
 protected:
  static config::v1::Subscription Payouts(int64_t version, uint32_t max_deliveries = 10) {
    config::v1::Subscription config;
    config.set_name("payouts");
    config.add_callers("b");
    config.add_callers("a");
    config.set_all_organizations(true);
    config.set_version(version);
    config.set_max_deliveries(max_deliveries);
    SetDefaults(config);
    return config;
  }

  absl::StatusOr<DeclaredSettings> Declare(const SubscriptionDeclaration& declaration) {
    declared_.push_back(declaration);
    if (!failure_.ok()) return failure_;
    stored_.is_new = declared_.size() == 1;
    if (stored_.is_new || stored_.version < declaration.version) {
      stored_.version = declaration.version;
      stored_.settings = declaration.settings;
      stored_.order = declaration.order;
    }
    return stored_;
  }

  static SettingsInForce::Settings Find(SettingsInForce& settings, const config::v1::Subscription& own) {
    const auto found = settings.Find(own, [] { return absl::StatusOr<Position>(7); });
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : SettingsInForce::Settings();
  }

  const SettingsInForce::Declare declare_ = [this](const SubscriptionDeclaration& declaration) {
    return Declare(declaration);
  };
  std::vector<SubscriptionDeclaration> declared_;
  DeclaredSettings stored_;
  absl::Status failure_;
};

TEST_F(SettingsInForceTest, TheOwnSettingsApplyAndAreDeclaredOnce) {
  SettingsInForce gateway(declare_);
  for (int i = 0; i < 2; ++i) {
    const SettingsInForce::Settings settings = Find(gateway, Payouts(1, 3));
    EXPECT_TRUE(settings.is_own);
    EXPECT_EQ(settings.version, 1);
    EXPECT_EQ(settings.config.max_deliveries(), 3u);
  }
  ASSERT_THAT(declared_, SizeIs(1));
  EXPECT_EQ(declared_[0].start, 7);
  EXPECT_EQ(declared_[0].order, config::v1::ORDER_BY_ACTIVITY);
}

TEST_F(SettingsInForceTest, ALowerVersionIsOverruledAsAWhole) {
  SettingsInForce newer(declare_);
  SettingsInForce older(declare_);
  config::v1::Subscription config = Payouts(2, 3);
  config.add_types("PAYOUT");
  Find(newer, config);
  const SettingsInForce::Settings settings = Find(older, Payouts(1, 9));
  EXPECT_FALSE(settings.is_own);
  EXPECT_EQ(settings.version, 2);
  EXPECT_EQ(settings.config.max_deliveries(), 3u);
  EXPECT_EQ(settings.config.types_size(), 1);
}

TEST_F(SettingsInForceTest, OtherSettingsWithTheSameVersionAreOverruled) {
  SettingsInForce first(declare_);
  SettingsInForce second(declare_);
  Find(first, Payouts(1, 3));
  EXPECT_EQ(Find(second, Payouts(1, 9)).config.max_deliveries(), 3u);
  EXPECT_FALSE(Find(second, Payouts(1, 9)).is_own);
  EXPECT_TRUE(Find(second, Payouts(2, 9)).is_own) << "a reload has raised the version";
}

TEST_F(SettingsInForceTest, TheOrderOfAListAndTheStartHaveNoVersion) {
  SettingsInForce first(declare_);
  SettingsInForce second(declare_);
  Find(first, Payouts(1));
  config::v1::Subscription other = Payouts(1);
  other.set_start("latest");
  other.mutable_callers()->SwapElements(0, 1);
  EXPECT_TRUE(Find(second, other).is_own);
}

TEST_F(SettingsInForceTest, WhatTheStoreReportsAppliesFromThenOn) {
  SettingsInForce gateway(declare_);
  Find(gateway, Payouts(1, 3));
  EXPECT_FALSE(gateway.Update());
  gateway.Report("payouts", stored_);
  gateway.Report("unknown", stored_);
  EXPECT_FALSE(gateway.Update()) << "it is in force already";
  DeclaredSettings newer = stored_;
  newer.version = 5;
  newer.settings = Payouts(0, 8).SerializeAsString();
  DeclaredSettings older = stored_;
  older.version = 0;
  gateway.Report("payouts", older);
  EXPECT_FALSE(gateway.Update()) << "it was reported before the declaration";
  gateway.Report("payouts", newer);
  EXPECT_TRUE(gateway.Update());
  EXPECT_EQ(Find(gateway, Payouts(1, 3)).config.max_deliveries(), 8u);
  EXPECT_EQ(Find(gateway, Payouts(1, 3)).version, 5);
  EXPECT_THAT(declared_, SizeIs(1));
}

TEST_F(SettingsInForceTest, ASubscriptionThatWasDeletedIsDeclaredAgain) {
  SettingsInForce gateway(declare_);
  Find(gateway, Payouts(1));
  gateway.DeclareAgain("payouts");
  EXPECT_TRUE(gateway.Update());
  Find(gateway, Payouts(1));
  EXPECT_THAT(declared_, SizeIs(2));
}

// Another gateway can have declared it with a lower version, before this gateway reports either.
TEST_F(SettingsInForceTest, ADeclarationCountsMoreThanSettingsThatAreReportedBeforeIt) {
  SettingsInForce gateway(declare_);
  Find(gateway, Payouts(/*version=*/2));
  stored_.version = 1;
  gateway.DeclareAgain("payouts");
  gateway.Report("payouts", stored_);
  EXPECT_TRUE(gateway.Update());
  EXPECT_TRUE(Find(gateway, Payouts(2)).is_own);
  EXPECT_EQ(stored_.version, 2);
}

TEST_F(SettingsInForceTest, SettingsOfAnotherReleaseHaveTheDefaultsOfThisOne) {
  SettingsInForce gateway(declare_);
  config::v1::Subscription earlier;
  earlier.set_name("payouts");
  earlier.add_callers("a");
  earlier.add_callers("b");
  earlier.set_all_organizations(true);
  stored_ = {.version = 1, .settings = earlier.SerializeAsString() + "\xf8\x7f\x01"};  // with a field of a later one
  declared_.emplace_back();
  EXPECT_TRUE(Find(gateway, Payouts(1)).is_own);
}

TEST_F(SettingsInForceTest, SettingsThatNoConfigCanHaveAreNotUsed) {
  config::v1::Subscription no_deliveries = Payouts(0, 1001);
  config::v1::Subscription nobody = Payouts(0);
  nobody.set_all_organizations(false);
  config::v1::Subscription no_time = Payouts(0);
  no_time.mutable_settle_within()->set_seconds(0);
  for (const std::string& settings : {std::string("\xff"), no_deliveries.SerializeAsString(),
                                      nobody.SerializeAsString(), no_time.SerializeAsString()}) {
    SettingsInForce gateway(declare_);
    stored_ = {.version = 9, .settings = settings};
    declared_.emplace_back();
    EXPECT_EQ(Find(gateway, Payouts(1, 4)).config.max_deliveries(), 4u);
    EXPECT_FALSE(Find(gateway, Payouts(1, 4)).is_own);
  }
}

TEST_F(SettingsInForceTest, AFailureIsReturnedAndTriedAgain) {
  SettingsInForce gateway(declare_);
  failure_ = absl::UnavailableError("the server is away");
  const auto start = [] { return absl::StatusOr<Position>(7); };
  EXPECT_EQ(gateway.Find(Payouts(1), start).status(), failure_);
  failure_ = absl::OkStatus();
  EXPECT_TRUE(gateway.Find(Payouts(1), start).ok());
}

}  // namespace
}  // namespace stampgate
