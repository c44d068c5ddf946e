#include "webhooks/log/sqlite/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "webhooks/log/sqlite/sqlite_event_log_testing.h"
#include "webhooks/log/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Holes: ranges of acknowledged events that the disk has lost.

class LogHoleTest : public SqliteEventLogTest {
 protected:
  LogHoleTest() {
    options_.on_loss = [this](const LostEvents& lost) {
      reports_.push_back(absl::StrCat(lost.first, "-", lost.last, lost.gone ? " gone" : " damaged"));
    };
    options_.on_mark_missing = [this] { reports_.push_back("no mark"); };
  }

  // Stores five events, and then replaces the log's file by an older copy that has only the first two events.
  void LoseThree() {
    Open();
    StoreNumbers(1, 2);
    CloseAll();
    const std::string before = ReadFile(options_.path);
    Open();
    StoreNumbers(3, 5);
    digest_of_last_ = reader_->DigestAt(5).value();
    CloseAll();
    WriteFile(options_.path, before);
  }

  std::vector<std::string> reports_;
  ChainDigest digest_of_last_ = {};
};

TEST_F(LogHoleTest, ALossIsReportedOnceAndNewEventsFollowTheHole) {
  LoseThree();
  Open();
  EXPECT_THAT(reports_, ElementsAre("3-5 gone"));
  EXPECT_EQ(Extent().latest, 5);
  // If upstream repeats a lost event, the log stores it at a new position.
  Store(IdOf(5), BodyOf("org", "text5"), AppendOutcome::kStored);
  Store(IdOf(2), BodyOf("org", "text2"), AppendOutcome::kDuplicate);
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(Positions(reader_->Read({0}, {}, {})), ElementsAre(1, 2));
    for (Position after : {2, 3, 4}) {
      const absl::Status status = reader_->Read({after}, {}, {}).status();
      EXPECT_EQ(status.code(), kDamaged);
      EXPECT_THAT(status.message(), HasSubstr("3 to 5"));
      EXPECT_TRUE(reader_->Lost().gone);
      EXPECT_EQ(reader_->Lost().first, 3);
      EXPECT_EQ(reader_->Lost().last, 5);
    }
    EXPECT_THAT(Positions(reader_->Read({5}, {}, {})), ElementsAre(6));
    Open();  // does not report the known hole again
  }
  EXPECT_THAT(reports_, ElementsAre("3-5 gone"));
}

TEST_F(LogHoleTest, OnlyTheDigestOfTheLastLostEventIsKnown) {
  LoseThree();
  Open();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(reader_->DigestAt(5).value(), digest_of_last_);
    EXPECT_TRUE(reader_->DigestAt(2).ok());
    EXPECT_EQ(reader_->DigestAt(3).status().code(), kDamaged);
    EXPECT_TRUE(reader_->Lost().gone);
    EXPECT_EQ(reader_->DigestAt(4).status().code(), kDamaged);
    if (round == 0) StoreNumbers(6, 7);  // the second round has events after the hole
  }
}

TEST_F(LogHoleTest, RetentionDeletesEventsAfterAHole) {
  options_.retention_age = absl::Seconds(100);
  LoseThree();
  Open();
  Pass(absl::Seconds(101));
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 3);
  EXPECT_EQ(reader_->Read({2}, {}, {}).status().code(), kDamaged);
  Open();  // the log has no events, only the hole
  StoreNumbers(6, 6);
  Pass(absl::Seconds(101));
  StoreNumbers(7, 7);
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 7);
  Open();
  EXPECT_THAT(Positions(reader_->Read({6}, {}, {})), ElementsAre(7));
}

TEST_F(LogHoleTest, TheDiskMayLoseTheWholeLog) {
  Open();
  CloseAll();
  const std::string before = ReadFile(options_.path);
  Open();
  StoreNumbers(1, 2);
  CloseAll();
  WriteFile(options_.path, before);
  Open();
  EXPECT_THAT(reports_, ElementsAre("1-2 gone"));
  EXPECT_EQ(reader_->Read({0}, {}, {}).status().code(), kDamaged);
  StoreNumbers(3, 3);
  Open();
  EXPECT_THAT(Positions(reader_->Read({2}, {}, {})), ElementsAre(3));
}

TEST_F(LogHoleTest, ALossIsNotDetectedWithoutTheMark) {
  LoseThree();
  std::filesystem::remove(options_.path + "-mark");
  Open();
  EXPECT_THAT(reports_, ElementsAre("no mark"));
  EXPECT_EQ(Extent().latest, 2);
  Open();
  EXPECT_THAT(reports_, ElementsAre("no mark"));
}

TEST_F(LogHoleTest, IgnoresTheMarkOfAnotherLog) {
  Open();
  StoreNumbers(1, 2);
  CloseAll();
  const std::string marked = options_.path + "-mark";
  options_.path += "-2";
  Open();
  StoreNumbers(1, 5);
  CloseAll();
  std::filesystem::copy_file(options_.path + "-mark", marked, std::filesystem::copy_options::overwrite_existing);
  options_.path.resize(options_.path.size() - 2);
  Open();
  EXPECT_THAT(reports_, ElementsAre("no mark"));
  EXPECT_EQ(Extent().latest, 2);
}

// The operator has restored an older copy without `stampgate store restored`, and the log has stored new events since.
TEST_F(LogHoleTest, RefusesALogThatHasAnotherEventAtItsMark) {
  LoseThree();
  const std::string mark = ReadFile(options_.path + "-mark");
  std::filesystem::remove(options_.path + "-mark");
  Open();
  for (int i = 3; i <= 6; ++i) Store(IdOf(i), BodyOf("org", "another"));
  CloseAll();
  WriteFile(options_.path + "-mark", mark);
  EXPECT_EQ(OpenStatus().code(), kDamaged);
  EXPECT_THAT(OpenStatus().message(), HasSubstr("another event at 5"));
}

TEST_F(LogHoleTest, OpeningTheLogReportsDamagedNewestEvents) {
  Open();
  StoreNumbers(1, 9, "marker-of-the-body-");
  CloseAll();
  Damage("marker-of-the-body-5");
  Damage("marker-of-the-body-6");
  Damage("marker-of-the-body-8");
  Open();
  EXPECT_THAT(reports_, ElementsAre("5-6 damaged", "8-8 damaged"));
}

}  // namespace
}  // namespace stampgate
