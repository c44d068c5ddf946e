#include "gateway/server/connection_ages.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

ConnectionAges AgesOf(absl::Duration max_wait, absl::Duration max_deadline) {
  return ConnectionAgesOf(testing::Proto<config::v1::Config>(
      absl::StrCat("tls {} activities { max_wait { seconds: ", absl::ToInt64Seconds(max_wait),
                   " } } calls { max_deadline { seconds: ", absl::ToInt64Seconds(max_deadline), " } }")));
}

// Each value is the default, or an end of the range that the config permits.
TEST(ConnectionAgesTest, EachCallEndsBeforeItsConnectionIsClosed) {
  for (const absl::Duration max_wait : {absl::Seconds(1), absl::Minutes(10), absl::Hours(24)}) {
    for (const absl::Duration max_deadline : {absl::Seconds(1), absl::Seconds(30), absl::Minutes(10)}) {
      const ConnectionAges ages = AgesOf(max_wait, max_deadline);
      EXPECT_GE(ages.grace, max_wait + absl::Minutes(1));
      EXPECT_GE(ages.grace, max_deadline + absl::Minutes(1));
      const absl::Duration earliest_close = ages.goaway * (1 - ConnectionAges::kJitter) + ages.grace;
      EXPECT_GE(earliest_close, ages.end_of_streams + absl::Minutes(1));
    }
  }
}

TEST(ConnectionAgesTest, AStreamThatEndsCanBeginAgainOnlyOnAnotherConnection) {
  const ConnectionAges ages = AgesOf(absl::Minutes(10), absl::Seconds(30));
  const absl::Duration latest_goaway = ages.goaway * (1 + ConnectionAges::kJitter);
  EXPECT_GE(ages.end_of_streams, latest_goaway + absl::Minutes(1));
}

TEST(ConnectionAgesTest, ConnectionsWithoutTlsMayHaveAnyAge) {
  const ConnectionAges ages = ConnectionAgesOf({});
  EXPECT_EQ(ages.goaway, absl::InfiniteDuration());
  EXPECT_EQ(ages.end_of_streams, absl::InfiniteDuration());
}

}  // namespace
}  // namespace stampgate
