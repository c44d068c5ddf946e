#include "gateway/deliveries/log_opening.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/time/clock.h"
#include "base/secret/symmetric_key.h"
#include "base/time/duration.h"
#include "gateway/config/settings/named_files.h"
#include "gateway/config/settings/store_address.h"
#include "gateway/process/log.h"
#include "gateway/store/postgres/store_tables.h"
#include "webhooks/log/postgres/postgres_event_log.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"

namespace stampgate {
namespace {

// Returns the function that reports whether events can be stored. `failing` names the line.
std::function<void(const absl::Status&)> StateReporter(std::string failing, DeliveryMetrics& metrics) {
  return [failing = std::move(failing), &metrics](const absl::Status& status) {
    if (status.ok()) {
      Log(Severity::kInfo, "event_log_works_again", {});
    } else {
      Log(Severity::kWarning, failing, {{"message", std::string(status.message())}});
    }
    metrics.log_failing.Set(status.ok() ? 0 : 1);
  };
}

SqliteEventLogOptions FileOptions(const config::v1::Events& events, std::function<void()> on_fatal,
                                  DeliveryMetrics& metrics) {
  SqliteEventLogOptions options;
  options.path = events.file();
  options.retention_age = ToDuration(events.retention_age());
  options.retention_bytes = static_cast<int64_t>(events.retention_bytes());
  options.deduplication_age = ToDuration(events.deduplication_age());
  options.now = [] { return absl::Now(); };
  options.on_fatal = [on_fatal = std::move(on_fatal)](const absl::Status& status) {
    Log(Severity::kWarning, "event_log_failed", {{"message", std::string(status.message())}});
    on_fatal();
  };
  options.on_state = StateReporter("event_log_not_written", metrics);
  options.on_loss = [&metrics](const LostEvents& lost) {
    Log(Severity::kWarning, "events_lost",
        {{"what", lost.gone ? "gone" : "damaged"}, {"first", lost.first}, {"last", lost.last}});
    metrics.lost_events.Increment(static_cast<double>(lost.last - lost.first + 1));
  };
  options.on_mark_missing = [] { Log(Severity::kWarning, "event_log_mark_made_anew", {}); };
  options.on_clock_step = [](absl::Duration step) {
    Log(Severity::kWarning, "clock_stepped", {{"seconds", absl::ToInt64Seconds(step)}});
  };
  return options;
}

PostgresEventLogOptions ServerOptions(const config::v1::Config& config,
                                      std::function<void(bool reachable)> on_reachable, DeliveryMetrics& metrics) {
  PostgresEventLogOptions options;
  options.address = AddressOf(config);
  options.steps = &StepsOfThisProgram();
  options.on_state = [on_reachable = std::move(on_reachable),
                      report = StateReporter("event_log_unreachable", metrics)](const absl::Status& status) {
    report(status);
    on_reachable(status.ok());
  };
  options.on_taken_back = [&metrics](Position had, Position latest) {
    Log(Severity::kWarning, "events_taken_back", {{"had", had}, {"latest", latest}});
    metrics.lost_events.Increment(static_cast<double>(std::max<Position>(1, had - latest)));
  };
  return options;
}

absl::StatusOr<std::unique_ptr<EventLog>> OpenOnServer(const config::v1::Config& config,
                                                       std::function<void(bool reachable)> on_reachable,
                                                       DeliveryMetrics& metrics) {
  PostgresEventLogOptions options = ServerOptions(config, std::move(on_reachable), metrics);
  ABSL_ASSIGN_OR_RETURN(const SecretBytes key,
                        ReadSymmetricKey(config.store().postgresql().key_file(), SecretOwnersOf(config)));
  options.store_key = &key;
  return OpenPostgresEventLog(std::move(options));
}

}  // namespace

bool HasEventLog(const config::v1::Config& config) {
  return config.store().has_postgresql() || !config.events().file().empty();
}

absl::StatusOr<std::unique_ptr<EventLog>> OpenEventLog(const config::v1::Config& config, EventLogObservers observers,
                                                       DeliveryMetrics& metrics) {
  absl::StatusOr<std::unique_ptr<EventLog>> log =
      config.store().has_postgresql()
          ? OpenOnServer(config, std::move(observers.on_reachable), metrics)
          : OpenSqliteEventLog(FileOptions(config.events(), std::move(observers.on_fatal), metrics));
  if (log.ok()) metrics.log_failing.Set(0);
  return log;
}

}  // namespace stampgate
