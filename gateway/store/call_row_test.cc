#include "gateway/store/call_row.h"

#include <gtest/gtest.h>

#include <string>

#include "gateway/store/call_store_testing.h"

namespace stampgate {
namespace {

using Kind = AttemptEnd::Kind;

CallRow RowWithAttempts(int open_attempts) {
  CallRow row;
  row.submit = MakeSubmit("key", 1, 2);
  row.open_attempts = open_attempts;
  return row;
}

Kind OutcomeOf(const CallRow& row) { return RecordOf(row).outcome.kind; }

TEST(CallRowTest, OutcomeIsUnknownWhileAnAttemptIsOpen) {
  CallRow row = RowWithAttempts(2);
  EXPECT_EQ(OutcomeOf(row), Kind::kUnknown);
  EndAttempt(Refused("FIRST"), &row);
  EXPECT_EQ(OutcomeOf(row), Kind::kUnknown);
  EXPECT_EQ(RecordOf(row).outcome.reason, "");
  EndAttempt(NotSent(), &row);
  EXPECT_EQ(OutcomeOf(row), Kind::kRefused);
  EXPECT_EQ(RecordOf(row).outcome.reason, "FIRST");
}

TEST(CallRowTest, OutcomeStaysUnknownAfterAnAttemptEndsAsUnknown) {
  CallRow row = RowWithAttempts(2);
  EndAttempt(Unknown(), &row);
  EndAttempt(Refused("R"), &row);
  EXPECT_EQ(OutcomeOf(row), Kind::kUnknown);
  EXPECT_FALSE(NothingWasSent(row));
}

TEST(CallRowTest, OutcomeIsTheLastRefusal) {
  CallRow row = RowWithAttempts(3);
  EndAttempt(Refused("FIRST"), &row);
  EndAttempt(Refused("SECOND"), &row);
  EndAttempt(NotSent(), &row);
  EXPECT_EQ(RecordOf(row).outcome.reason, "SECOND");
  EXPECT_EQ(RecordOf(row).outcome.code, absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(NothingWasSent(row));
}

TEST(CallRowTest, OutcomeStaysDoneAfterLaterEnds) {
  CallRow row = RowWithAttempts(4);
  EndAttempt(Refused("R"), &row);
  EndAttempt(Done("a-1"), &row);
  EXPECT_EQ(OutcomeOf(row), Kind::kDone);
  EndAttempt(Refused("R"), &row);
  EndAttempt(NotSent(), &row);
  EXPECT_EQ(OutcomeOf(row), Kind::kDone);
  EXPECT_EQ(RecordOf(row).outcome.activity_id, "a-1");
}

TEST(CallRowTest, NothingWasSentOnlyIfAllAttemptsEndedAsNotSent) {
  CallRow row = RowWithAttempts(2);
  EXPECT_FALSE(NothingWasSent(row));
  EndAttempt(NotSent(), &row);
  EXPECT_FALSE(NothingWasSent(row));
  EndAttempt(NotSent(), &row);
  EXPECT_TRUE(NothingWasSent(row));
  EXPECT_EQ(OutcomeOf(row), Kind::kNotSent);
}

TEST(CallRowTest, NumberOfOpenAttemptsIsNeverNegative) {
  CallRow row = RowWithAttempts(0);
  EndAttempt(Done("a-1"), &row);
  EXPECT_EQ(row.open_attempts, 0);
  EXPECT_EQ(OutcomeOf(row), Kind::kNotSent);
}

TEST(CallRowTest, TruncatesTextsAtTheEndOfACharacter) {
  CallRow row = RowWithAttempts(2);
  AttemptEnd end = Refused(std::string(kMaxEndTextBytes + 1, 'r'));
  end.domain = std::string(kMaxEndTextBytes - 1, 'd') + "é";  // the last character has two bytes
  EndAttempt(end, &row);
  EXPECT_EQ(row.best_end.reason, std::string(kMaxEndTextBytes, 'r'));
  EXPECT_EQ(row.best_end.domain, std::string(kMaxEndTextBytes - 1, 'd'));
  end = Done(std::string(1000, 'a'));
  end.activity_status = std::string(kMaxEndTextBytes, 's');
  EndAttempt(end, &row);
  EXPECT_EQ(row.best_end.activity_id.size(), kMaxEndTextBytes);
  EXPECT_EQ(row.best_end.activity_status.size(), kMaxEndTextBytes);
}

// An outdated row proves nothing except an activity.
TEST(CallRowTest, OutcomeOfADistrustedRowIsUnknownUnlessItIsDone) {
  CallRow row = RowWithAttempts(1);
  EndAttempt(NotSent(), &row);
  EXPECT_EQ(RecordOfDistrusted(row).outcome.kind, Kind::kUnknown);
  row = RowWithAttempts(1);
  EndAttempt(Refused("R"), &row);
  EXPECT_EQ(RecordOfDistrusted(row).outcome.kind, Kind::kUnknown);
  EXPECT_EQ(RecordOfDistrusted(row).outcome.reason, "");
  row = RowWithAttempts(1);
  EndAttempt(Done("a-1"), &row);
  EXPECT_EQ(RecordOfDistrusted(row).outcome.kind, Kind::kDone);
  EXPECT_EQ(RecordOfDistrusted(row).body_sha256, row.submit.body_sha256);
}

}  // namespace
}  // namespace stampgate
