// Reads events from the event log on a PostgreSQL server, and detects damage.
#ifndef STAMPGATE_WEBHOOKS_POSTGRES_LOG_POSTGRES_READER_H_
#define STAMPGATE_WEBHOOKS_POSTGRES_LOG_POSTGRES_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/row.h"
#include "webhooks/postgres/connection.h"
#include "webhooks/postgres/result.h"
#include "webhooks/postgres/server_address.h"

namespace stampgate {

// A reader with its own connection to the server that accepts writes: a standby can lack events that another reader has
// read. Each function reads the log's state at one moment, except bodies, which never change. If the connection is
// lost, a function returns kUnavailable, and the next one connects again.
class PostgresReader : public EventReader {
 public:
  // Errors: kUnavailable.
  static absl::StatusOr<std::unique_ptr<PostgresReader>> Open(PostgresAddress address, const LogIdentity& log);

  absl::StatusOr<LogExtent> Extent() override;
  absl::StatusOr<LogUsage> Usage() override;
  absl::StatusOr<Batch> Read(const EventPlace& after, const EventFilter& filter, const Limits& limits) override;
  LostEvents Lost() const override { return lost_; }
  absl::StatusOr<ChainDigest> DigestAt(Position position) override;
  absl::StatusOr<std::optional<LoggedEvent>> Find(const EventName& name, const EventFilter& filter) override;
  absl::StatusOr<Position> PlaceOf(absl::Time time) override;

 private:
  // The state of the log.
  struct Head {
    Position earliest = 1;
    Position latest = 0;
    ChainDigest latest_digest = {};
    ChainDigest digest_before = {};  // of the event before `earliest`
  };
  // The state of the log, and the result of a statement at the same moment.
  struct Snapshot {
    Head head;
    PostgresResult result;
  };

  PostgresReader(PostgresAddress address, const LogIdentity& log) : address_(std::move(address)), log_(log) {}

  absl::StatusOr<Snapshot> Look(const PostgresStatement& statement);
  absl::StatusOr<Snapshot> LookOnce(const PostgresStatement& statement);
  absl::Status CheckRow(const PostgresResult& rows, int row, Position expected);
  absl::StatusOr<std::vector<LoggedEvent>> ReadBodies(const PostgresResult& rows, const std::vector<int>& wanted);
  absl::Status Damaged(Position position, absl::string_view how);

  const PostgresAddress address_;
  const LogIdentity log_;
  std::unique_ptr<PostgresConnection> connection_;
  LostEvents lost_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_POSTGRES_LOG_POSTGRES_READER_H_
