// Measures the least that a shared subscription can cost: reads the events of a log in batches, and stores durably
// after each batch how far it has come. Uses the log's own code. Prints one line of name=value pairs.

#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/process_cpu.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/subscription_store.h"

ABSL_FLAG(std::string, file, "", "file of the event log, which no other program may have open");
ABSL_FLAG(std::string, subscription, "floor", "subscription whose position is stored");

namespace stampgate::bench {
namespace {

// Writes the change, and waits until it is durable.
absl::Status Write(SubscriptionStore& store, SubscriptionChange change) {
  std::promise<absl::Status> written;
  store.Write(std::move(change), [&written](absl::Status status) { written.set_value(std::move(status)); });
  return written.get_future().get();
}

absl::Status Measure() {
  SqliteEventLogOptions options;
  options.path = absl::GetFlag(FLAGS_file);
  options.now = absl::Now;
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<EventLog> log, OpenSqliteEventLog(std::move(options)));
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<EventReader> reader, log->NewReader());
  const absl::Time begin = absl::Now();
  const absl::Duration cpu = ProcessCpu(0).value();
  int64_t events = 0;
  int commits = 0;
  Position through = 0;
  while (true) {
    ABSL_ASSIGN_OR_RETURN(const EventReader::Batch batch, reader->Read({through, {}}, {}, {}));
    if (batch.events.empty()) break;
    events += static_cast<int64_t>(batch.events.size());
    through = batch.through;
    ABSL_RETURN_IF_ERROR(
        Write(*log->subscriptions(), {.subscription = absl::GetFlag(FLAGS_subscription), .head = HeadAt(through)}));
    ++commits;
  }
  std::printf("cpu_us=%.2f per_second=%.0f events=%lld events_per_commit=%.1f\n",
              absl::ToDoubleMicroseconds(ProcessCpu(0).value() - cpu) / static_cast<double>(events),
              static_cast<double>(events) / absl::ToDoubleSeconds(absl::Now() - begin), static_cast<long long>(events),
              static_cast<double>(events) / commits);
  return Write(*log->subscriptions(), {.subscription = absl::GetFlag(FLAGS_subscription), .remove = true});
}

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = stampgate::bench::Measure();
  if (!status.ok()) std::fprintf(stderr, "read_floor: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
