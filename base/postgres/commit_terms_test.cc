#include "base/postgres/commit_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stampgate {
namespace {

using ::testing::HasSubstr;

constexpr CommitTerms kStrict{
    .loaded_us = 1000, .are_settled = true, .requires_standby = true, .waits = true, .syncs = true};

absl::StatusCode CodeOf(const CommitTerms& before, const CommitTerms& after, bool needs_standby = true) {
  return CheckCommit(before, after, needs_standby).code();
}

TEST(CommitTermsTest, EqualTermsWithAStandbyAreDurable) {
  EXPECT_EQ(CheckCommit(kStrict, kStrict, true), absl::OkStatus());
  CommitTerms after = kStrict;
  after.waits = false;  // the setting of the session, which the transaction has replaced
  EXPECT_EQ(CheckCommit(kStrict, after, true), absl::OkStatus());
}

TEST(CommitTermsTest, ASettingThatIsEmptyAfterTheCommitLetTheCommitGo) {
  CommitTerms after = kStrict;
  after.loaded_us = 2000;
  after.requires_standby = false;
  const absl::Status status = CheckCommit(kStrict, after, true);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no synchronous standby"));
}

TEST(CommitTermsTest, ASettingThatWasEmptiedAndRestoredShowsInTheTimeOfTheReload) {
  CommitTerms after = kStrict;
  after.loaded_us = 2000;
  after.are_settled = false;
  EXPECT_EQ(CodeOf(kStrict, after), absl::StatusCode::kAborted);
  EXPECT_EQ(CodeOf(kStrict, after, /*needs_standby=*/false), absl::StatusCode::kAborted)
      << "fsync can have been off in between";
}

TEST(CommitTermsTest, TermsThatWereJustLoadedShowNothingAboutAStandby) {
  CommitTerms young = kStrict;
  young.are_settled = false;
  EXPECT_EQ(CodeOf(young, young), absl::StatusCode::kAborted);
  EXPECT_EQ(CodeOf(young, young, /*needs_standby=*/false), absl::StatusCode::kOk);
}

TEST(CommitTermsTest, ASingleServerNeedsNoStandbyButADisk) {
  CommitTerms single = kStrict;
  single.requires_standby = false;
  EXPECT_EQ(CodeOf(single, single, /*needs_standby=*/false), absl::StatusCode::kOk);
  single.syncs = false;
  EXPECT_EQ(CodeOf(single, single, /*needs_standby=*/false), absl::StatusCode::kFailedPrecondition);
}

TEST(CommitTermsTest, ATransactionThatDoesNotWaitIsNotDurable) {
  CommitTerms before = kStrict;
  before.waits = false;
  EXPECT_EQ(CodeOf(before, kStrict), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace stampgate
