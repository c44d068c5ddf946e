// Tests the event log on a disk that returns flipped bits. The log must still have every acknowledged event or report
// the positions of the lost events, and must use no position twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/disk/test_disk.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

constexpr char kPath[] = "/events";
constexpr int kEvents = 40;
constexpr int kFlips = 300;

std::string IdOf(Position position) { return absl::StrCat("event-", position); }

std::string BodyOf(Position position) {
  return absl::StrCat(R"({"n":)", position, R"(,"text":")", std::string(600, 'x'), R"("})");
}

SqliteEventLogOptions OptionsFor(TestDisk& disk, const LogSafeguards& safeguards) {
  SqliteEventLogOptions options;
  options.path = kPath;
  options.disk = &disk;
  options.safeguards = safeguards;
  options.retention_interval = absl::Minutes(30);
  options.checkpoint_pages = 60;
  options.now = [] { return absl::FromUnixSeconds(1'700'000'000); };
  return options;
}

// Returns the files of an event log that stored kEvents events before its process was killed.
DiskImage Crashed(const LogSafeguards& safeguards) {
  TestDisk disk;
  absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(OptionsFor(disk, safeguards));
  EXPECT_TRUE(log.ok()) << log.status();
  for (Position position = 1; position <= kEvents; ++position) {
    EXPECT_TRUE(AppendAndWait(**log, MakeVerifiedEvent(IdOf(position), BodyOf(position))).ok());
  }
  disk.StopAfter(0);
  *log = nullptr;
  return disk.image();
}

enum class Sight { kNoLoss, kReported, kRefused, kSilent };

// Opens an event log with these files and classifies the result. All events up to kEvents were acknowledged.
Sight SightOf(const DiskImage& image, const LogSafeguards& safeguards) {
  TestDisk disk(image);
  std::set<Position> reported;
  SqliteEventLogOptions options = OptionsFor(disk, safeguards);
  options.on_loss = [&reported](const LostEvents& lost) {
    for (Position position = lost.first; position <= lost.last; ++position) reported.insert(position);
  };
  absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options);
  if (!log.ok()) return Sight::kRefused;
  // Appends a new event, which gets the next position.
  const absl::StatusOr<AppendOutcome> appended = AppendAndWait(**log, MakeVerifiedEvent("new", "{}"));
  if (!appended.ok()) return Sight::kRefused;
  absl::StatusOr<std::unique_ptr<EventReader>> reader = (*log)->NewReader();
  EXPECT_TRUE(reader.ok()) << reader.status();
  const Position latest = (*reader)->Extent()->latest;
  std::set<Position> lost;
  for (Position after = 0; after < latest;) {
    absl::StatusOr<EventReader::Batch> batch = (*reader)->Read({after}, {}, {});
    if (batch.ok()) {
      for (const LoggedEvent& event : batch->events) {
        if (event.event.event_id == "new") {
          if (event.position <= kEvents) return Sight::kSilent;  // a position was used twice
        } else if (event.event.event_id != IdOf(event.position) || event.event.body != BodyOf(event.position)) {
          return Sight::kSilent;
        }
      }
      after = batch->through;
      continue;
    }
    if (!absl::IsDataLoss(batch.status())) return Sight::kRefused;
    const LostEvents range = (*reader)->Lost();
    EXPECT_EQ(range.first, after + 1);
    for (Position position = range.first; position <= range.last; ++position) lost.insert(position);
    after = range.last;
  }
  for (Position position = latest + 1; position <= kEvents; ++position) lost.insert(position);
  if (lost != reported) return Sight::kSilent;
  return lost.empty() ? Sight::kNoLoss : Sight::kReported;
}

struct Count {
  int no_loss = 0;
  int reported = 0;
  int refused = 0;
  int silent = 0;
};

Count Flip(const std::string& file, const LogSafeguards& safeguards) {
  const DiskImage image = Crashed(safeguards);
  EXPECT_TRUE(image.contains(file));
  std::mt19937_64 random(5);
  Count count;
  for (int flip = 0; flip < kFlips; ++flip) {
    DiskImage flipped = image;
    std::string& content = flipped[file];
    const uint64_t bit = random() % (content.size() * 8);
    content[bit / 8] = static_cast<char>(content[bit / 8] ^ (1 << (bit % 8)));
    switch (SightOf(flipped, safeguards)) {
      case Sight::kNoLoss:
        ++count.no_loss;
        break;
      case Sight::kReported:
        ++count.reported;
        break;
      case Sight::kRefused:
        ++count.refused;
        break;
      case Sight::kSilent:
        ++count.silent;
        break;
    }
  }
  return count;
}

TEST(BitFlipTest, ALossInTheWriteAheadLogIsReportedWithItsRange) {
  const Count count = Flip(absl::StrCat(kPath, "-wal"), {});
  EXPECT_EQ(count.silent, 0);
  EXPECT_EQ(count.refused, 0);
  EXPECT_GT(count.reported, 20);
}

TEST(BitFlipTest, ALossInTheWriteAheadLogIsNotReportedWithoutTheMark) {
  EXPECT_GT(Flip(absl::StrCat(kPath, "-wal"), {.high_water_mark = false}).silent, 20);
}

TEST(BitFlipTest, DamageOfTheDatabaseIsReportedWithItsRange) {
  const Count count = Flip(kPath, {});
  EXPECT_EQ(count.silent, 0);
  EXPECT_GT(count.reported, 5);
}

TEST(BitFlipTest, DamageOfTheDatabaseIsNotReportedWithoutTheCheckAtOpen) {
  EXPECT_GT(Flip(kPath, {.check_at_open = false}).silent, 5);
}

// If one slot of the mark file is damaged, the log uses the mark in the other slot, which can be older. The log must
// not report a loss.
TEST(BitFlipTest, DamageOfTheMarkIsNotReportedAsALoss) {
  const Count count = Flip(absl::StrCat(kPath, "-mark"), {});
  EXPECT_EQ(count.silent, 0);
  EXPECT_EQ(count.reported, 0);
}

}  // namespace
}  // namespace stampgate
