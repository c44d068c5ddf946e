#include "gateway/calls/call_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CallLinesTest : public ::testing::Test {
 protected:
  CallLinesTest() {
    lines_ = std::make_unique<CallLines>(
        CallLines::Options{.now = [this] { return now_; },
                           .write =
                               [this](Severity, absl::string_view event, const LogFields& fields) {
                                 std::string line(event);
                                 for (const auto& [name, value] : fields) {
                                   absl::StrAppend(&line, " ", name, "=");
                                   std::visit([&line](const auto& each) { absl::StrAppend(&line, each); }, value);
                                 }
                                 written_.push_back(line);
                               }});
  }

  // Asks Admit for `count` lines, and returns how many of them it admits.
  int Admitted(int count, absl::string_view event, absl::string_view caller) {
    int admitted = 0;
    for (int i = 0; i < count; ++i) admitted += lines_->Admit(event, caller) ? 1 : 0;
    return admitted;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::vector<std::string> written_;
  std::unique_ptr<CallLines> lines_;
};

TEST_F(CallLinesTest, BoundsLinesByCallerAndEvent) {
  EXPECT_EQ(Admitted(1000, "call_refused", "payments"), CallLines::kWritten);
  EXPECT_EQ(Admitted(1000, "call_refused", "support"), CallLines::kWritten);
  EXPECT_EQ(Admitted(1000, "call_failed", "payments"), CallLines::kWritten);
}

TEST_F(CallLinesTest, ReportsLeftOutLinesWhenTheMinuteHasPassed) {
  Admitted(35, "call_refused", "payments");
  now_ += absl::Seconds(59);
  lines_->ReportLeftOut();
  EXPECT_THAT(written_, IsEmpty());
  Admitted(2, "call_refused", "payments");
  now_ += absl::Seconds(1);
  lines_->ReportLeftOut();
  EXPECT_THAT(written_, ElementsAre("call_lines_left_out left_out=call_refused caller=payments count=7"));
  EXPECT_EQ(Admitted(40, "call_refused", "payments"), CallLines::kWritten);
}

TEST_F(CallLinesTest, ReportsNothingIfNothingWasLeftOut) {
  EXPECT_EQ(Admitted(30, "call_refused", "payments"), 30);
  now_ += absl::Minutes(1);
  EXPECT_EQ(Admitted(30, "call_refused", "payments"), 30);
  now_ += absl::Minutes(1);
  lines_->ReportLeftOut();
  EXPECT_THAT(written_, IsEmpty());
}

TEST_F(CallLinesTest, AClockThatIsSetBackBlocksNoLines) {
  Admitted(31, "call_refused", "payments");
  now_ -= absl::Hours(1);
  lines_->ReportLeftOut();
  EXPECT_THAT(written_, ElementsAre("call_lines_left_out left_out=call_refused caller=payments count=1"));
  EXPECT_EQ(Admitted(1, "call_refused", "payments"), 1);
}

TEST_F(CallLinesTest, CallersBeyondTheLimitAreCountedTogether) {
  for (size_t i = 0; i < FloodBound::kStrangers; ++i) EXPECT_TRUE(lines_->Admit("call_refused", absl::StrCat(i)));
  EXPECT_EQ(Admitted(1, "call_refused", "one more"), 0);
  EXPECT_EQ(Admitted(2, "call_refused", "and another"), 0);
  now_ += absl::Minutes(1);
  lines_->ReportLeftOut();
  EXPECT_THAT(written_, ElementsAre("call_lines_left_out left_out=call_refused caller=(others) count=3"));
  EXPECT_TRUE(lines_->Admit("call_refused", "one more"));
}

TEST_F(CallLinesTest, TheDestructorReportsLeftOutLines) {
  Admitted(31, "late_outcome", "payments");
  lines_.reset();
  EXPECT_THAT(written_, ElementsAre("call_lines_left_out left_out=late_outcome caller=payments count=1"));
}

}  // namespace
}  // namespace stampgate
