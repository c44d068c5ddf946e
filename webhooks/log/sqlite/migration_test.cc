#include "webhooks/log/sqlite/migration.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "webhooks/log/cursor.h"
#include "webhooks/log/sqlite/sqlite_event_log_testing.h"
#include "webhooks/log/testing.h"

namespace stampgate {
namespace {

// Tests with a log of version 1.

constexpr char kCursorOfVersion1[] = "AUxjaWBA0UxWb3R1LVh9LXIAAAAAAAAAApICI5Ewsuornxg6IjMeS0I";

TEST_F(SqliteEventLogTest, MigratesALogOfVersion1) {
  RunSql(options_.path, ReadFile("webhooks/log/sqlite/version_1.sql"));
  chmod(options_.path.c_str(), 0600);
  SetTime(absl::FromUnixSeconds(1'795'320'430));
  for (int round = 0; round < 2; ++round) {
    Open();
    EXPECT_EQ(Extent().earliest, 1);
    ASSERT_EQ(Extent().latest, 3 + 2 * round);
    const std::vector<LoggedEvent> events = ReadAll(*reader_).value();
    EXPECT_EQ(events[0].event.event_id, "bench-0");
    EXPECT_EQ(events[2].event.event_id, "bench-2");
    EXPECT_EQ(absl::ToUnixMicros(events[2].commit_time), 1'795'320'423'271'830);
    EXPECT_EQ(reader_->DigestAt(2).value(), events[1].digest);
    // An older gateway has issued this cursor, with which a subscriber resumes after the second event.
    EXPECT_EQ(DecodeCursor(log_->identity(), kCursorOfVersion1)->position, 2);
    Store("bench-1", R"({"organizationId":"org-1","type":"ACTIVITY_TYPE_X","n":"0000"})", AppendOutcome::kDuplicate);
    Store(absl::StrCat("new-", 2 * round), "{}");
    Store(absl::StrCat("new-", 2 * round + 1), "{}");
  }
  // The digest chain continues from the last row of version 1.
  CloseAll();
  RunSql(options_.path, "UPDATE events SET checksum = zeroblob(32) WHERE seq = 3");
  Open();
  EXPECT_NE(reader_->DigestAt(3).value(), ChainDigest{});
  EXPECT_EQ(reader_->Read({2}, {}, {}).status().code(), kDamaged);
}

TEST_F(SqliteEventLogTest, RetentionDeletesTheEventsOfVersion1) {
  options_.retention_age = absl::Seconds(60);
  RunSql(options_.path, ReadFile("webhooks/log/sqlite/version_1.sql"));
  chmod(options_.path.c_str(), 0600);
  SetTime(absl::FromUnixSeconds(1'795'320'424));
  Open();
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 1);
  Pass(absl::Seconds(61));
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 4);
}

TEST_F(SqliteEventLogTest, RefusesADamagedLogOfVersion1) {
  RunSql(options_.path, ReadFile("webhooks/log/sqlite/version_1.sql"));
  chmod(options_.path.c_str(), 0600);
  RunSql(options_.path, "UPDATE log SET latest = 2");
  EXPECT_EQ(OpenStatus().code(), kDamaged);
}

// Tests with a log of version 2.

class LogOfVersion2Test : public SqliteEventLogTest {
 protected:
  LogOfVersion2Test() {
    RunSql(options_.path, ReadFile("webhooks/log/sqlite/version_2.sql"));
    chmod(options_.path.c_str(), 0600);
    SetTime(absl::FromUnixSeconds(1'795'334'090));
  }
};

TEST_F(LogOfVersion2Test, MigrationGivesEachIdTheScopeOfItsEvent) {
  const std::string first =
      R"({"organizationId":"org-1","parentOrganizationId":"org-0","type":"ACTIVITY_TYPE_X","n":1})";
  for (int round = 0; round < 2; ++round) {
    Open();
    EXPECT_EQ(Extent().earliest, 2);
    ASSERT_EQ(Extent().latest, 4 + 3 * round);
    const std::vector<LoggedEvent> events = ReadAll(*reader_).value();
    EXPECT_EQ(events[0].event.event_id, "organization");
    EXPECT_EQ(events[0].event.body, first);
    EXPECT_EQ(events[2].event.event_id, "none");
    EXPECT_EQ(reader_->DigestAt(4).value(), events[2].digest);
    EXPECT_EQ(reader_->Find({"organization", "org-1"}, {}).value()->position, 2);
    EXPECT_EQ(reader_->Find({"parent", "org-0"}, {}).value()->position, 3);
    EXPECT_EQ(reader_->Find({"none", ""}, {}).value()->position, 4);
    // Events of other organizations that have the same ids are different events.
    const AppendOutcome outcome = round == 0 ? AppendOutcome::kStored : AppendOutcome::kDuplicate;
    Store("organization", first, AppendOutcome::kDuplicate);
    Store("organization", BodyOf("org-2", "text"), outcome);
    Store("parent", R"({"parentOrganizationId":"org-0","type":"ACTIVITY_TYPE_X","n":1})", AppendOutcome::kDuplicate);
    Store("parent", "{}", outcome);
    Store("none", R"({"type":"ACTIVITY_TYPE_X","n":1})", AppendOutcome::kDuplicate);
    Store("none", BodyOf("org-1", "text"), outcome);
    // The scope of this event is unknown, because retention had deleted the event before the migration.
    Store("trimmed", R"({"organizationId":"org-1","type":"ACTIVITY_TYPE_X","n":1})", AppendOutcome::kDuplicate);
    Store("trimmed", BodyOf("org-2", "text"), AppendOutcome::kConflict);
  }
}

TEST_F(LogOfVersion2Test, AnIdWithoutAScopeIsForgottenAfterTheDeduplicationAge) {
  options_.deduplication_age = absl::Hours(24 * 7);
  Open();
  Pass(absl::Minutes(1));
  TrimNow(*log_);
  Store("trimmed", "{}", AppendOutcome::kConflict);
  for (int hour = 0; hour < 24 * 7 + 1; ++hour) {
    Pass(absl::Hours(1));
    TrimNow(*log_);
  }
  Store("trimmed", "{}", AppendOutcome::kStored);
}

TEST_F(LogOfVersion2Test, AFailedMigrationDoesNotChangeTheFile) {
  RunSql(options_.path, "CREATE TABLE seen_of_version_2 (a)");
  EXPECT_EQ(OpenStatus().code(), kDamaged);
  RunSql(options_.path, "DROP TABLE seen_of_version_2");
  Open();
  EXPECT_EQ(reader_->Find({"organization", "org-1"}, {}).value()->position, 2);
}

}  // namespace
}  // namespace stampgate
