#include "gateway/reflection/open_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;
using testing::StatusIs;
using Code = absl::StatusCode;

// Records the calls of its functions.
struct FakeStream : OpenStreams::Stream {
  void Begin() override { calls += "begin "; }
  void Expire() override { calls += "expire "; }
  void Leave(const absl::Status& why) override { absl::StrAppend(&calls, DetailsOf(why).reason, " "); }
  std::string calls;
};

class OpenStreamsTest : public ::testing::Test {
 protected:
  void Pass(absl::Duration time) { now_ += absl::ToChronoNanoseconds(time); }

  OpenStreams::Clock::time_point now_{};
  OpenStreams streams_{{.idle_timeout = absl::Seconds(60), .now = [this] { return now_; }}};
  FakeStream first_;
  FakeStream second_;
};

TEST_F(OpenStreamsTest, BeginsAStreamThatItOpens) {
  EXPECT_THAT(streams_.Open(first_), StatusIs(Code::kOk));
  EXPECT_EQ(first_.calls, "begin ");
}

TEST_F(OpenStreamsTest, ExpiresAStreamThatIsIdleForTheTimeout) {
  ASSERT_THAT(streams_.Open(first_), StatusIs(Code::kOk));
  ASSERT_THAT(streams_.Open(second_), StatusIs(Code::kOk));
  Pass(absl::Seconds(59));
  streams_.Touch(second_);
  streams_.EndDue();
  EXPECT_EQ(first_.calls, "begin ");
  Pass(absl::Seconds(1));
  streams_.EndDue();
  EXPECT_EQ(first_.calls, "begin expire ");
  EXPECT_EQ(second_.calls, "begin ");
  Pass(absl::Seconds(59));
  streams_.EndDue();
  EXPECT_EQ(first_.calls, "begin expire expire ");
  EXPECT_EQ(second_.calls, "begin expire ");
}

TEST_F(OpenStreamsTest, EndsABusyStreamWhoseConnectionHasReachedItsAge) {
  ASSERT_THAT(streams_.Open(first_, now_ + std::chrono::seconds(90)), StatusIs(Code::kOk));
  ASSERT_THAT(streams_.Open(second_), StatusIs(Code::kOk));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(streams_.WhyLeave(first_), StatusIs(Code::kOk));
    Pass(absl::Seconds(30));
    streams_.Touch(first_);
    streams_.Touch(second_);
    if (i < 2) streams_.EndDue();
  }
  EXPECT_EQ(first_.calls, "begin ");
  streams_.EndDue();
  EXPECT_EQ(first_.calls, "begin SHUTTING_DOWN ");
  EXPECT_EQ(DetailsOf(streams_.WhyLeave(first_)).reason, "SHUTTING_DOWN");
  EXPECT_EQ(second_.calls, "begin ");
}

TEST_F(OpenStreamsTest, DoesNotUseAStreamAfterItIsClosed) {
  ASSERT_THAT(streams_.Open(first_), StatusIs(Code::kOk));
  streams_.Close(first_);
  Pass(absl::Hours(1));
  streams_.EndDue();
  streams_.Drain();
  EXPECT_EQ(first_.calls, "begin ");
}

TEST_F(OpenStreamsTest, DrainsTheOpenStreamsAndOpensNoMore) {
  ASSERT_THAT(streams_.Open(first_), StatusIs(Code::kOk));
  EXPECT_THAT(streams_.WhyLeave(first_), StatusIs(Code::kOk));
  streams_.Drain();
  EXPECT_THAT(streams_.WhyLeave(first_), StatusIs(Code::kUnavailable));
  EXPECT_EQ(first_.calls, "begin SHUTTING_DOWN ");
  const absl::Status refused = streams_.Open(second_);
  EXPECT_THAT(refused, StatusIs(Code::kUnavailable));
  EXPECT_EQ(DetailsOf(refused).reason, "SHUTTING_DOWN");
  EXPECT_EQ(second_.calls, "");
}

}  // namespace
}  // namespace stampgate
