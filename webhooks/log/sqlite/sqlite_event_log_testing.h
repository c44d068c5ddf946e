// A fixture for the tests of the event log in a SQLite file, which can damage the file.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_SQLITE_EVENT_LOG_TESTING_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_SQLITE_EVENT_LOG_TESTING_H_

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {

constexpr absl::StatusCode kRefused = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kGone = absl::StatusCode::kUnavailable;
constexpr absl::StatusCode kDamaged = absl::StatusCode::kDataLoss;
constexpr absl::StatusCode kTrimmed = absl::StatusCode::kOutOfRange;

inline const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

inline std::string IdOf(int64_t number) { return absl::StrCat("event-", number); }

inline std::string BodyOf(absl::string_view organization, absl::string_view text) {
  return absl::StrCat(R"({"organizationId":")", organization, R"(","text":")", text, R"("})");
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline int ModeOf(const std::string& path) {
  struct stat file;
  return stat(path.c_str(), &file) == 0 ? static_cast<int>(file.st_mode & 07777) : -1;
}

// Runs SQL on the event log's file, as another program could.
inline void RunSql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

// A fixture with an event log in a temporary folder. Each test advances the clock itself.
class SqliteEventLogTest : public testing::Test {
 protected:
  SqliteEventLogTest() {
    std::string folder = absl::StrCat(testing::TempDir(), "/log-XXXXXX");
    folder_ = mkdtemp(folder.data());
    options_.path = absl::StrCat(folder_, "/events");
    options_.retention_interval = absl::Hours(1);
    options_.now = [this] { return absl::FromUnixMicros(now_us_); };
    options_.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    SetTime(kStart);
  }
  ~SqliteEventLogTest() override {
    reader_ = nullptr;
    log_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  void SetTime(absl::Time now) { now_us_ = absl::ToUnixMicros(now); }
  void Pass(absl::Duration time) { now_us_ += absl::ToInt64Microseconds(time); }

  void Open() {
    reader_ = nullptr;
    log_ = nullptr;
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    absl::StatusOr<std::unique_ptr<EventReader>> reader = log_->NewReader();
    ASSERT_TRUE(reader.ok()) << reader.status();
    reader_ = *std::move(reader);
  }

  absl::Status OpenStatus() {
    reader_ = nullptr;
    log_ = nullptr;
    return OpenSqliteEventLog(options_).status();
  }

  // Closes the log and all readers, so that only the database file remains.
  void CloseAll() {
    reader_ = nullptr;
    log_ = nullptr;
  }

  void Store(const std::string& id, const std::string& body, AppendOutcome expected = AppendOutcome::kStored) {
    absl::StatusOr<AppendOutcome> outcome = AppendAndWait(*log_, MakeVerifiedEvent(id, body));
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(*outcome, expected) << id;
  }

  // Stores the events `first` to `last`, one second apart.
  void StoreNumbers(int first, int last, const std::string& text = "text") {
    for (int number = first; number <= last; ++number) {
      Store(IdOf(number), BodyOf("org", absl::StrCat(text, number)));
      Pass(absl::Seconds(1));
    }
  }

  LogExtent Extent() { return reader_->Extent().value(); }

  std::vector<Position> Positions(absl::StatusOr<EventReader::Batch> batch) {
    EXPECT_TRUE(batch.ok()) << batch.status();
    std::vector<Position> positions;
    if (batch.ok()) {
      for (const LoggedEvent& event : batch->events) positions.push_back(event.position);
    }
    return positions;
  }

  // Stores events without waiting for each one.
  void StoreTogether(int first, int last, const std::string& body) {
    for (int number = first; number < last; ++number)
      log_->Append(MakeVerifiedEvent(IdOf(number), body), [](const auto&) {});
    Store(IdOf(last), body);
  }

  // Opens another event log and stores one event in it.
  void StoreInto(const std::string& path, const std::string& id, const std::string& body) {
    SqliteEventLogOptions options = options_;
    options.path = path;
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(AppendAndWait(**log, MakeVerifiedEvent(id, body)).value(), AppendOutcome::kStored);
  }

  // Changes the last byte of the first `marker` in the file.
  void Damage(const std::string& marker) {
    std::string content = ReadFile(options_.path);
    const size_t at = content.find(marker);
    ASSERT_NE(at, std::string::npos) << marker;
    content[at + marker.size() - 1] ^= 1;
    WriteFile(options_.path, content);
  }

  std::string folder_;
  SqliteEventLogOptions options_;
  std::atomic<int64_t> now_us_ = 0;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<EventReader> reader_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_SQLITE_EVENT_LOG_TESTING_H_
