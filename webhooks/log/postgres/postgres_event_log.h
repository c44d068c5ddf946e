// An event log on a PostgreSQL server, which several gateways share.
//
// A transaction on the server gives the events their positions, and checks whether they are stored already, so that any
// gateway may store any event. One thread stores: each transaction has the events that arrived during the previous one.
// Another thread waits for the notifications of all gateways, and also asks the server every second.
//
// The log acknowledges an event only if it is durable: see commit_terms.h. If this is not known, because the server
// does not answer, or because somebody empties its setting synchronous_standby_names, upstream sends the event again,
// and the server then recognizes it. Readers do not see an event before it is durable, unless an administrator cancels
// or terminates the COMMIT while it waits for the standby.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_EVENT_LOG_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_EVENT_LOG_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/postgres/schema.h"
#include "base/postgres/server_address.h"
#include "base/postgres/server_clock.h"
#include "base/secret/bytes.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

struct PostgresEventLogOptions {
  PostgresAddress address;
  const StoreSteps* steps = nullptr;  // those of the program; they must outlive the log
  // The key under which the server stores the log's cursor key: kSymmetricKeyBytes bytes, which all gateways have.
  const SecretBytes* store_key = nullptr;
  // How often the log deletes what the owner of the store does not want to keep: see StoreBounds.
  absl::Duration retention_interval = absl::Seconds(10);
  size_t max_queued_bytes = 64 << 20;
  ServerClock now;
  // The clock of EventLog::WriteUnderWay.
  std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;
  // Called on one of the log's threads when the log cannot store events any more, with the reason, and with OK when it
  // can store events again. Must not block.
  std::function<void(const absl::Status&)> on_state;
  // Called on one of the log's threads if the server no longer has an event that this gateway has seen in the log: a
  // failover has lost the latest transactions, or an administrator has restored the server to an earlier state.
  // `events` is the last position that the log had, `latest` is the last position that the server has now.
  std::function<void(Position had, Position latest)> on_taken_back;
};

// Opens the log. Creates it if the store has no log yet. Errors: kFailedPrecondition if the store's tables are missing
// or are of another version, if `store_key` is another key than the one with which the log was created, if the login is
// refused, or if the server's settings lack what the options require; kUnavailable if the server cannot be reached.
absl::StatusOr<std::unique_ptr<EventLog>> OpenPostgresEventLog(PostgresEventLogOptions options);

// For tests: returns after retention has deleted all events and ids that it must delete now. Requires a `log` from
// OpenPostgresEventLog whose server can be reached.
void TrimPostgresLogNow(EventLog& log);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_EVENT_LOG_H_
