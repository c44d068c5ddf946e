// Tests which values of a method's option the set returns, and that a faulty day is an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "translate/operation_set/operation_set.h"
#include "translate/testing/changed_operations.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kGetPolicy[] = "/stampgate.v1.PolicyService/GetPolicy";
constexpr char kGetEvent[] = "/stampgate.v1.EventService/GetEvent";

TEST(OperationSetRulesTest, AMethodHasTheDayAndTheMarksOfItsOption) {
  const OperationSet::Shared set = testing::ChangedOperations(
      {{"PolicyService/GetPolicy", "since: '2026-09-22' internal: true moves_unread_amount: true"}});
  const ApiMethod& changed = *set->FindMethod(kGetPolicy);
  EXPECT_EQ(changed.since, "2026-09-22");
  EXPECT_TRUE(changed.internal);
  EXPECT_TRUE(changed.moves_unread_amount);
  const ApiMethod& unchanged = *set->FindMethod(kGetEvent);
  EXPECT_EQ(unchanged.since, "");
  EXPECT_FALSE(unchanged.internal);
  EXPECT_FALSE(unchanged.moves_unread_amount);
}

TEST(OperationSetRulesTest, ReturnsTheLatestDayOfItsMethods) {
  const OperationSet::Shared set = testing::ChangedOperations({{"PolicyService/GetPolicy", "since: '2099-12-31'"},
                                                               {"PolicyService/CreatePolicies", "since: '2100-01-01'"},
                                                               {"EventService/GetEvent", "since: '2099-01-01'"}});
  EXPECT_EQ(set->newest_since(), "2100-01-01");
}

TEST(OperationSetRulesTest, ADayOfAnotherFormIsAnError) {
  for (const char* method : {"PolicyService/GetPolicy", "EventService/GetEvent"}) {
    EXPECT_THAT(testing::CreateChanged({{method, "since: '2026-9-22'"}}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(": since must be a day such as 2026-09-22")))
        << method;
  }
}

}  // namespace
}  // namespace stampgate
