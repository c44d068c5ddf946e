#include "gateway/subscriptions/holder_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"

namespace stampgate {
namespace {

TEST(HolderTaskTest, EachTaskIsReadAsItWasWritten) {
  for (const SettleOutcome outcome :
       {SettleOutcome::kDone, SettleOutcome::kRetry, SettleOutcome::kPark, SettleOutcome::kExtend}) {
    const HolderTask settle =
        SettleTask{{{3, 17, 2, 5}, {3, 1'000'000'000'000, 1, 6}}, outcome, absl::Microseconds(1500), "broken"};
    EXPECT_EQ(DecodeTask(EncodeTask(settle), 3), settle);
  }
  for (const ParkedChange change : {ParkedChange::kRetry, ParkedChange::kSkip}) {
    const HolderTask parked = ParkedTask{{4, 9}, change};
    EXPECT_EQ(DecodeTask(EncodeTask(parked), 3), parked);
  }
}

TEST(HolderTaskTest, WhatALaterReleaseAsksIsNotUnderstood) {
  EXPECT_EQ(DecodeTask("", 0), std::nullopt);
  EXPECT_EQ(DecodeTask("\x7a\x00", 0), std::nullopt) << "another kind, field 15";
  EXPECT_EQ(DecodeTask(std::string("\x0a\x02\x10\x09", 4), 0), std::nullopt) << "another outcome, 9";
  EXPECT_EQ(DecodeTask("\xff", 0), std::nullopt) << "no message";
}

TEST(HolderTaskTest, WhatNoGatewayAsksIsNotCarriedOut) {
  const std::vector<DeliveryId> many(1001);
  const std::vector<DeliveryId> one(1);
  for (const HolderTask& task : {HolderTask(SettleTask{many, SettleOutcome::kDone, {}, ""}),
                                 HolderTask(SettleTask{one, SettleOutcome::kPark, {}, std::string(5000, 'a')}),
                                 HolderTask(SettleTask{one, SettleOutcome::kRetry, absl::Hours(25), ""}),
                                 HolderTask(SettleTask{one, SettleOutcome::kRetry, -absl::Seconds(1), ""}),
                                 HolderTask(ParkedTask{std::vector<Position>(1001), ParkedChange::kSkip})}) {
    EXPECT_EQ(DecodeTask(EncodeTask(task), 0), std::nullopt);
  }
}

TEST(HolderTaskTest, AResultIsReadAsItWasWritten) {
  const TaskResult result = {{0, 7}, true, true};
  EXPECT_EQ(DecodeResult(EncodeResult(result)), result);
  EXPECT_EQ(DecodeResult(EncodeResult({})), TaskResult());
  EXPECT_EQ(DecodeResult("\xff"), std::nullopt);
  EXPECT_EQ(DecodeResult(NotUnderstood()), std::nullopt);
}

}  // namespace
}  // namespace stampgate
