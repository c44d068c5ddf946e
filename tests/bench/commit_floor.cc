// Measures the storage part of the minimum cost of a webhook delivery: the CPU that SQLite needs to store rows with a
// unique id and a body. Commits the rows in groups, and syncs the write-ahead log at every commit.

#include <sqlite3.h>

#include <cstdio>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/read_file.h"

ABSL_FLAG(std::string, file, "", "the database, which must not exist yet");
ABSL_FLAG(std::string, body, "", "file with the body of every row");
ABSL_FLAG(int, group, 32, "number of rows in a commit");
ABSL_FLAG(absl::Duration, measure, absl::Seconds(1), "duration of the measurement");

namespace stampgate::bench {
namespace {

int Main() {
  const std::string body = ReadFile(absl::GetFlag(FLAGS_body));
  sqlite3* database = nullptr;
  sqlite3_stmt* insert = nullptr;
  if (sqlite3_open(absl::GetFlag(FLAGS_file).c_str(), &database) != SQLITE_OK ||
      sqlite3_exec(database,
                   "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                   "CREATE TABLE events (seq INTEGER PRIMARY KEY, event_id TEXT UNIQUE, body BLOB)",
                   nullptr, nullptr, nullptr) != SQLITE_OK ||
      sqlite3_prepare_v2(database, "INSERT INTO events (event_id, body) VALUES (?1, ?2)", -1, &insert, nullptr) !=
          SQLITE_OK) {
    std::fprintf(stderr, "commit_floor: %s\n", sqlite3_errmsg(database));
    return 1;
  }
  int rows = 0;
  int commits = 0;
  const absl::Time begin = absl::Now();
  const absl::Duration before = ProcessCpu(0).value();
  while (absl::Now() < begin + absl::GetFlag(FLAGS_measure)) {
    sqlite3_exec(database, "BEGIN", nullptr, nullptr, nullptr);
    for (int i = 0; i < absl::GetFlag(FLAGS_group); ++i) {
      const std::string id = absl::StrCat("bench-", rows++);
      sqlite3_bind_text(insert, 1, id.data(), static_cast<int>(id.size()), SQLITE_STATIC);
      sqlite3_bind_blob(insert, 2, body.data(), static_cast<int>(body.size()), SQLITE_STATIC);
      sqlite3_step(insert);
      sqlite3_reset(insert);
    }
    if (sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) return 1;
    ++commits;
  }
  const absl::Duration time = absl::Now() - begin;
  std::printf("cpu_us=%.2f per_second=%.0f commit_ms=%.3f rows=%d\n",
              absl::ToDoubleMicroseconds(ProcessCpu(0).value() - before) / rows, rows / absl::ToDoubleSeconds(time),
              absl::ToDoubleMilliseconds(time) / commits, rows);
  sqlite3_finalize(insert);
  sqlite3_close(database);
  return 0;
}

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return stampgate::bench::Main();
}
