// Tests an event log whose file is damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "webhooks/log/sqlite/sqlite_event_log_testing.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Reads all events and continues after each damaged one, as a subscriber does. Expects that exactly the event at
// `damaged` is damaged.
void ExpectAllBut(EventReader& reader, Position damaged, Position latest, const EventFilter& filter = {}) {
  std::vector<Position> expected;
  std::vector<Position> found;
  std::vector<Position> reported;
  Position after = 0;
  while (after < latest) {
    absl::StatusOr<EventReader::Batch> batch = reader.Read({after}, filter, {});
    if (batch.ok()) {
      for (const LoggedEvent& event : batch->events) found.push_back(event.position);
      ASSERT_GT(batch->through, after);
      after = batch->through;
    } else {
      ASSERT_EQ(batch.status().code(), kDamaged) << batch.status();
      reported.push_back(reader.Lost().last);
      after = reader.Lost().last;
    }
  }
  for (Position position = 1; position <= latest; ++position) {
    if (position != damaged) expected.push_back(position);
  }
  if (filter.organization_ids.empty()) {
    EXPECT_EQ(found, expected);
  }
  EXPECT_THAT(reported, ElementsAre(damaged));
}

TEST_F(SqliteEventLogTest, DetectsADamagedBody) {
  Open();
  StoreNumbers(1, 9, "marker-of-the-body-");
  CloseAll();
  Damage("marker-of-the-body-5");
  Open();
  ExpectAllBut(*reader_, 5, 9);
  EXPECT_EQ(reader_->Find({IdOf(5), {}}, {}).status().code(), kDamaged);
  EXPECT_EQ(reader_->Lost().last, 5);
  EXPECT_EQ(reader_->Find({IdOf(6), {}}, {}).value()->position, 6);
  Store(IdOf(5), BodyOf("org", "marker-of-the-body-5"), AppendOutcome::kDuplicate);
}

TEST_F(SqliteEventLogTest, DetectsADamagedBodyOfManyPages) {
  Open();
  StoreNumbers(1, 3, std::string(20'000, 'x') + "the-end-");
  CloseAll();
  Damage("the-end-2");
  Open();
  ExpectAllBut(*reader_, 2, 3);
}

// The organization of an event decides which subscribers see it. If the organization is damaged, every reader must get
// an error, even a reader whose filter might not match the event.
TEST_F(SqliteEventLogTest, DetectsADamagedOrganizationOfAFilteredEvent) {
  Open();
  for (int i = 1; i <= 5; ++i) Store(IdOf(i), BodyOf(absl::StrCat("organization-", i), "text"));
  CloseAll();
  Damage("event-3organization-3");  // changes the column of the organization, which follows the id
  Open();
  ExpectAllBut(*reader_, 3, 5);
  EventFilter filter;
  filter.organization_ids = {"organization-3"};
  ExpectAllBut(*reader_, 3, 5, filter);
}

TEST_F(SqliteEventLogTest, DetectsMovedChangedAndDeletedRows) {
  Open();
  StoreNumbers(1, 5);
  CloseAll();
  const std::string before = ReadFile(options_.path);
  for (const char* sql : {
           "DELETE FROM events WHERE seq = 3",
           "UPDATE events SET commit_us = commit_us + 1 WHERE seq = 3",
           "UPDATE events SET signature = zeroblob(64) WHERE seq = 3",
           "UPDATE events SET headers = x'' WHERE seq = 3",
           "UPDATE events SET key_id = organization_id, organization_id = key_id WHERE seq = 3",
           "UPDATE events SET checksum = x'' WHERE seq = 3",
           "UPDATE events SET body = x'7b7d', body_sha256 = zeroblob(32) WHERE seq = 3",
           R"(UPDATE events SET (commit_us, event_id, timestamp_ms, signature, headers, body_sha256, checksum, body) =
              (SELECT commit_us, event_id, timestamp_ms, signature, headers, body_sha256, checksum, body
               FROM events WHERE seq = 2) WHERE seq = 3)",
       }) {
    SCOPED_TRACE(sql);
    WriteFile(options_.path, before);
    RunSql(options_.path, sql);
    Open();
    ExpectAllBut(*reader_, 3, 5);
    EXPECT_EQ(reader_->Find({IdOf(3), {}}, {}).status().code(), kDamaged);
    // PositionBefore works despite the damaged event.
    EXPECT_EQ(reader_->PositionBefore(kStart + absl::Seconds(4)).value(), 4);
    CloseAll();
  }
}

TEST_F(SqliteEventLogTest, DetectsRowsOfAnotherLog) {
  Open();
  StoreNumbers(1, 3);
  CloseAll();
  const std::string one = options_.path;
  options_.path += "-2";
  SetTime(kStart);
  Open();
  StoreNumbers(1, 3);
  CloseAll();
  RunSql(options_.path, absl::StrCat("ATTACH '", one, "' AS one; DELETE FROM events WHERE seq = 2;",
                                     "INSERT INTO events SELECT * FROM one.events WHERE seq = 2"));
  Open();
  ExpectAllBut(*reader_, 2, 3);
}

// Zeroes a page, changes a byte or truncates the file, at many offsets. The log must refuse to open, or return correct
// events and report the damaged events.
TEST_F(SqliteEventLogTest, ReturnsNoWrongEventAfterAnyDamage) {
  Open();
  StoreNumbers(1, 30, std::string(700, 'x'));
  CloseAll();
  const std::string whole = ReadFile(options_.path);
  options_.on_fatal = nullptr;
  std::mt19937_64 random(11);
  int refused = 0;
  int reported = 0;
  const auto look = [&](const std::string& content) {
    WriteFile(options_.path, content);
    std::filesystem::remove(options_.path + "-mark");  // the mark of the undamaged log would not match
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options_);
    if (!log.ok()) {
      ++refused;
      EXPECT_TRUE(log.status().code() == kDamaged || log.status().code() == kRefused) << log.status();
      return;
    }
    AppendAndWait(**log, MakeVerifiedEvent("new", "{}")).IgnoreError();
    absl::StatusOr<std::unique_ptr<EventReader>> reader = (*log)->NewReader();
    if (!reader.ok()) return;
    for (Position after = 0; after < 30;) {
      absl::StatusOr<EventReader::Batch> batch = (*reader)->Read({after}, {}, {});
      if (batch.ok()) {
        for (const LoggedEvent& event : batch->events) {
          if (event.event.event_id == "new") continue;
          EXPECT_EQ(event.event.event_id, IdOf(event.position));
          EXPECT_EQ(event.event.body, BodyOf("org", absl::StrCat(std::string(700, 'x'), event.position)));
        }
        ASSERT_GT(batch->through, after);
        after = batch->through;
      } else if (batch.status().code() == kDamaged) {
        ++reported;
        ASSERT_EQ((*reader)->Lost().last, after + 1);
        ++after;
      } else {
        EXPECT_EQ(batch.status().code(), kGone) << batch.status();
        return;
      }
    }
  };
  for (size_t page = 0; page < whole.size(); page += 4096) {
    std::string content = whole;
    content.replace(page, 4096, std::string(4096, '\0'));
    look(content);
  }
  // SQLite treats a file of one byte as empty.
  for (size_t size = 2; size < whole.size(); size += 3000) look(whole.substr(0, size));
  for (int i = 0; i < 150; ++i) {
    std::string content = whole;
    content[random() % content.size()] ^= static_cast<char>(1 + random() % 255);
    look(content);
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(reported, 10);
}

TEST_F(SqliteEventLogTest, ReportsATruncatedFileAsDamaged) {
  Open();
  StoreNumbers(1, 20, std::string(1000, 'x'));
  CloseAll();
  const std::string whole = ReadFile(options_.path);
  WriteFile(options_.path, whole.substr(0, size_t{8} * 4096));
  EXPECT_EQ(OpenStatus().code(), kDamaged) << OpenStatus();
  EXPECT_THAT(OpenStatus().message(), HasSubstr(options_.path));
}

TEST_F(SqliteEventLogTest, RefusesAFileThatContradictsItself) {
  Open();
  StoreNumbers(1, 5);
  CloseAll();
  const std::string before = ReadFile(options_.path);
  for (const char* sql : {
           "DELETE FROM events WHERE seq = 5",
           "UPDATE sqlite_sequence SET seq = 4 WHERE name = 'events'",
           "DELETE FROM sqlite_sequence",
           "DELETE FROM log",
           "UPDATE log SET latest = 6",
           "UPDATE log SET cursor_key = zeroblob(32)",
           "DROP TABLE seen",
           "DELETE FROM seen WHERE seq = 5",
           "ALTER TABLE events RENAME COLUMN type TO kind",
       }) {
    WriteFile(options_.path, before);
    RunSql(options_.path, sql);
    EXPECT_EQ(OpenStatus().code(), kDamaged) << sql << ": " << OpenStatus();
  }
}

}  // namespace
}  // namespace stampgate
