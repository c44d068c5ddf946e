#include "gateway/subscriptions/task_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "gateway/feed/error.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;

class TaskResultsTest : public ::testing::Test {
 protected:
  std::string Reason() const { return testing::DetailsOf(result_->status()).reason; }

  std::shared_ptr<TaskResults> NewResults() {
    return std::make_shared<TaskResults>(
        [this](absl::StatusOr<std::vector<size_t>> result) { result_ = std::move(result); });
  }

  std::optional<absl::StatusOr<std::vector<size_t>>> result_;
  std::shared_ptr<TaskResults> results_ = NewResults();
};

TEST_F(TaskResultsTest, TheRefusalsOfAllPartsAreReportedInOrder) {
  results_->Expect();
  results_->Expect();
  results_->Add(TaskResult{{3}});
  results_->AddAnswer(EncodeResult({{0, 2}}), {1, 4, 9});
  results_->AddAnswer(EncodeResult({}), {2});
  EXPECT_FALSE(result_.has_value());
  results_.reset();
  EXPECT_THAT(**result_, ElementsAre(1, 3, 9));
}

TEST_F(TaskResultsTest, AnAnswerThatIsNotUnderstoodIsNoSuccess) {
  for (const std::string& answer : {std::string("\xff"), NotUnderstood()}) {
    results_ = NewResults();
    results_->Expect();
    results_->AddAnswer(answer, {0});
    results_.reset();
    EXPECT_EQ(Reason(), "EVENT_LOG_UNAVAILABLE");
  }
}

TEST_F(TaskResultsTest, AnIndexThatTheRequestDoesNotHaveIsIgnored) {
  results_->Expect();
  results_->AddAnswer(EncodeResult({{0, 1, 77}}), {5});
  results_.reset();
  EXPECT_THAT(**result_, ElementsAre(5));
}

TEST_F(TaskResultsTest, WithoutAnExpectedAnswerTheCallFails) {
  results_->Expect();
  results_->Add(TaskResult{{3}});
  results_.reset();
  EXPECT_EQ(Reason(), "EVENT_LOG_UNAVAILABLE");
}

TEST_F(TaskResultsTest, TheFirstErrorOfAPartIsReported) {
  results_->Expect();
  results_->Expect();
  results_->AddAnswer(EncodeResult({{}, /*too_many_parked=*/true}), {0});
  results_->AddAnswer(LogUnavailable(), {1});
  results_.reset();
  EXPECT_EQ(Reason(), "TOO_MANY_PARKED");
}

TEST_F(TaskResultsTest, EventsThatWereNotReadAgainCannotBeSettledYet) {
  results_->Add(TaskResult{{}, false, /*not_read_yet=*/true});
  results_.reset();
  EXPECT_EQ(Reason(), "EVENT_LOG_UNAVAILABLE");
}

}  // namespace
}  // namespace stampgate
