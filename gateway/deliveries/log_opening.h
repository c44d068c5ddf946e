// Opens the event log that the config names, and reports its state.
#ifndef STAMPGATE_GATEWAY_DELIVERIES_LOG_OPENING_H_
#define STAMPGATE_GATEWAY_DELIVERIES_LOG_OPENING_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "gateway/deliveries/delivery_metrics.h"
#include "stampgate/config/v1/config.pb.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The log calls these functions on its threads. They must not block.
struct EventLogObservers {
  std::function<void()> on_fatal;                    // see SqliteEventLogOptions
  std::function<void(bool reachable)> on_reachable;  // see PostgresEventLogOptions::on_state
};

// Whether the config has an event log.
bool HasEventLog(const config::v1::Config& config);

// Opens the log, which is in a file or on a PostgreSQL server. Requires HasEventLog(config). `metrics` must outlive the
// log. Errors: those of OpenSqliteEventLog, OpenPostgresEventLog and ReadSymmetricKey.
absl::StatusOr<std::unique_ptr<EventLog>> OpenEventLog(const config::v1::Config& config, EventLogObservers observers,
                                                       DeliveryMetrics& metrics);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DELIVERIES_LOG_OPENING_H_
