#include "gateway/server/late_event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;

class LateEventLogTest : public ::testing::Test {
 protected:
  // Tries to open the log; `result` is what opening it returns.
  void Try(const absl::Status& result) {
    result_ = result;
    log_.Try();
  }

  absl::Status result_;
  std::vector<std::string> done_;
  LateEventLog log_{{.open =
                         [this] {
                           done_.push_back("open");
                           return result_;
                         },
                     .on_open = [this] { done_.push_back("opened"); },
                     .on_new_fault = [this](const absl::Status& fault) { done_.emplace_back(fault.message()); }}};
};

TEST_F(LateEventLogTest, ItIsOpenedOnce) {
  Try(absl::OkStatus());
  Try(absl::OkStatus());
  EXPECT_THAT(done_, ElementsAre("open", "opened"));
}

TEST_F(LateEventLogTest, ItIsOpenedWhenItsServerCanBeReached) {
  Try(absl::UnavailableError("refused"));
  Try(absl::OkStatus());
  EXPECT_THAT(done_, ElementsAre("open", "refused", "open", "opened"));
}

TEST_F(LateEventLogTest, EachNewFaultIsReportedOnce) {
  Try(absl::UnavailableError("refused"));
  Try(absl::UnavailableError("refused"));
  Try(absl::UnavailableError("no such host"));
  Try(absl::UnavailableError("refused"));
  EXPECT_THAT(done_, ElementsAre("open", "refused", "open", "open", "no such host", "open", "refused"));
}

}  // namespace
}  // namespace stampgate
