#include "gateway/feed/error.h"

#include <gtest/gtest.h>

#include <memory>

#include "gateway/feed/fake_log.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;

class EventErrorTest : public ::testing::Test {
 protected:
  absl::Status ToCaller(const absl::Status& status) { return ToCallerError(status, *reader_, log_.identity()); }

  FakeEventLog log_;
  const std::unique_ptr<EventReader> reader_ = *log_.NewReader();
};

// A reader returns kFailedPrecondition if the log does not have the event after which it should read.
TEST_F(EventErrorTest, APlaceOfAnotherHistoryIsDataLoss) {
  const absl::Status status = ToCaller(absl::FailedPreconditionError("the log has no such event"));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DetailsOf(status).reason, "CURSOR_AHEAD_OF_LOG");
  EXPECT_EQ(status.message(), "the log has no such event");
}

TEST_F(EventErrorTest, EachErrorOfAReaderHasAReason) {
  log_.Grow(3);
  log_.Trim(2);
  EXPECT_EQ(DetailsOf(ToCaller(absl::OutOfRangeError(""))).reason, "EVENTS_TRIMMED");
  EXPECT_EQ(DetailsOf(ToCaller(absl::UnavailableError(""))).reason, "EVENT_LOG_UNAVAILABLE");
  log_.Damage(2);
  const absl::Status damage = reader_->Read({1}, {}, {}).status();
  EXPECT_EQ(DetailsOf(ToCaller(damage)).reason, "EVENT_DAMAGED");
}

}  // namespace
}  // namespace stampgate
