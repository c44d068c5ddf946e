// Appends signed and verified deliveries to an event log with the gateway's own code, and measures the cost of an
// append as the log grows. Prints a line of name=value pairs at every power of ten. The last line contains the time to
// open the log, and cursors before its first event, before its middle and before its last event.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/internal/raw_logging.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "tests/bench/keyed_body.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/read_file.h"
#include "webhooks/keys/key_set_cache.h"
#include "webhooks/log/cursor.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/verification/testing.h"
#include "webhooks/verification/verifier.h"

ABSL_FLAG(std::string, file, "", "file of the event log");
ABSL_FLAG(std::string, body, "", "file with an activity, the body of every event");
ABSL_FLAG(int, count, 0, "final number of events in the log");
ABSL_FLAG(int, keys, 1, "number of activities to which the events belong, in turn");
ABSL_FLAG(int, in_flight, 64, "number of concurrent appends");
ABSL_FLAG(bool, crash, false, "if true, the process ends without closing the log");

namespace stampgate::bench {
namespace {

// The number of events that are made first and then appended together, so that nothing else uses the CPU while the
// appends are measured.
constexpr int kBatch = 500;

// Makes verified events, because an event log accepts no others. Unlike MakeVerifiedEvent, sets up the key and the
// verifier only once for all events.
class EventMaker {
 public:
  explicit EventMaker(KeyedBody body)
      : body_(std::move(body)),
        keys_(CacheOptions(), [this](auto done) { done(Keys()); }),
        verifier_(VerifierOptions(), keys_) {}

  VerifiedEvent Next(int number) {
    std::optional<Verdict> verdict;
    verifier_.Verify(sender_.Sign(absl::StrCat("bench-", number), body_.Of(number), absl::Now()),
                     [&](Verdict given) { verdict = std::move(given); });
    ABSL_RAW_CHECK(verdict && std::holds_alternative<VerifiedEvent>(*verdict),
                   "the verifier rejects an event that this program signed");
    return std::get<VerifiedEvent>(*std::move(verdict));
  }

 private:
  KeySetAnswer Keys() const { return {sender_.KeySet(), "max-age=86400", {}}; }

  static KeySetCache::Options CacheOptions() {
    KeySetCache::Options options;
    options.now = absl::Now;
    return options;
  }

  static Verifier::Options VerifierOptions() {
    Verifier::Options options;
    options.now = absl::Now;
    return options;
  }

  const TestSender sender_;
  const KeyedBody body_;
  KeySetCache keys_;
  Verifier verifier_;
};

struct Cost {
  absl::Duration cpu;
  absl::Duration time;
};

// Appends events with several appends in progress at the same time, like the connections of the receiver.
class Appender {
 public:
  explicit Appender(EventLog& log) : log_(log) {}

  // Appends the events and returns the cost when all are durable.
  Cost Append(std::vector<VerifiedEvent> events) {
    const absl::Time begin = absl::Now();
    const absl::Duration cpu = ProcessCpu(0).value();
    for (VerifiedEvent& event : events) {
      Await(absl::GetFlag(FLAGS_in_flight) - 1);
      {
        const MutexLock lock(mutex_);
        ++under_way_;
      }
      log_.Append(std::move(event), [this](const absl::StatusOr<AppendOutcome>& outcome) {
        const MutexLock lock(mutex_);
        --under_way_;
        failed_ = failed_ || !outcome.ok();
        changed_.WakeOne();
      });
    }
    Await(0);
    return {ProcessCpu(0).value() - cpu, absl::Now() - begin};
  }

  bool failed() {
    const MutexLock lock(mutex_);
    return failed_;
  }

 private:
  void Await(int at_most) {
    const MutexLock lock(mutex_);
    while (under_way_ > at_most) changed_.Wait(mutex_);
  }

  EventLog& log_;
  Mutex mutex_;
  Condition changed_;
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
};

// Fills the log, which has `from` events. At 1000 events and every higher power of ten, prints the mean cost of an
// append during the second half of these events.
bool Fill(EventLog& log, int from) {
  EventMaker maker(KeyedBody(ReadFile(absl::GetFlag(FLAGS_body)), absl::GetFlag(FLAGS_keys)));
  Appender appender(log);
  int power = 1000;
  while (power <= from) power *= 10;
  Cost cost;
  int counted = 0;
  for (int size = from; size < absl::GetFlag(FLAGS_count);) {
    std::vector<VerifiedEvent> events;
    const int count = std::min(kBatch, absl::GetFlag(FLAGS_count) - size);
    for (int i = 0; i < count; ++i) events.push_back(maker.Next(size + i));
    const Cost one = appender.Append(std::move(events));
    if (appender.failed()) return false;
    size += count;
    if (size <= power / 2) continue;
    cost = {cost.cpu + one.cpu, cost.time + one.time};
    counted += count;
    if (size < power) continue;
    std::printf("size=%d cpu_us=%.2f time_us=%.2f\n", size, absl::ToDoubleMicroseconds(cost.cpu) / counted,
                absl::ToDoubleMicroseconds(cost.time) / counted);
    power *= 10;
    cost = {};
    counted = 0;
  }
  return true;
}

int Main() {
  SqliteEventLogOptions options;
  options.path = absl::GetFlag(FLAGS_file);
  options.now = absl::Now;
  const absl::Time begin = absl::Now();
  absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(std::move(options));
  const absl::Duration open = absl::Now() - begin;
  if (!log.ok()) {
    std::fprintf(stderr, "fill: %s\n", log.status().ToString().c_str());
    return 1;
  }
  const Position size = (*(*log)->NewReader())->Extent()->latest;
  if (!Fill(**log, static_cast<int>(size))) return 1;
  const Position latest = (*(*log)->NewReader())->Extent()->latest;
  const std::unique_ptr<EventReader> reader = *(*log)->NewReader();
  const auto cursor = [&](Position position) {
    return EncodeCursor((*log)->identity(), {position, reader->DigestAt(position).value()});
  };
  std::printf("open_ms=%.2f beginning=%s middle=%s end=%s\n", absl::ToDoubleMilliseconds(open), cursor(0).c_str(),
              cursor(latest / 2).c_str(), cursor(latest - 1).c_str());
  std::fflush(stdout);
  if (absl::GetFlag(FLAGS_crash)) std::_Exit(0);
  return 0;
}

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return stampgate::bench::Main();
}
