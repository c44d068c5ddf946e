// Reads events from the event log on a PostgreSQL server, and detects damage.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_READER_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_READER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/postgres/commit_terms.h"
#include "base/postgres/connection.h"
#include "base/postgres/primary_check.h"
#include "base/postgres/result.h"
#include "base/postgres/server_address.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/postgres/event_seal.h"
#include "webhooks/log/postgres/growth.h"
#include "webhooks/log/row.h"

namespace stampgate {

// A reader with its own connection to the server that accepts writes: a standby can lack events that another reader has
// read. Each function reads the log's state at one moment, except bodies, which never change. If the connection is
// lost, a function returns kUnavailable, and the next one connects again.
//
// A reader returns only events that have a valid seal: others are damaged. While gateways of releases before 0.2.0 can
// use the store, it also returns events without a seal.
//
// A reader returns only events that are durable, as far as PostgresConnection::ProveRead can show it. While this cannot
// be shown, the log ends for it where the gateway last knew that it was durable. Before a reader reports that something
// is missing or lost, it makes sure that no other server has it: see PrimaryCheck.
class PostgresReader : public EventReader {
 public:
  // `durable` is what the gateway knows about the end of the log. Errors: kUnavailable.
  static absl::StatusOr<std::unique_ptr<PostgresReader>> Open(PostgresAddress address, const LogIdentity& log,
                                                              std::shared_ptr<const LogGrowth> durable);

  absl::StatusOr<LogExtent> Extent() override;
  absl::StatusOr<LogUsage> Usage() override;
  absl::StatusOr<Batch> Read(const LogPoint& after, const EventFilter& filter, const Limits& limits) override;
  LostEvents Lost() const override { return lost_; }
  absl::StatusOr<ChainDigest> DigestAt(Position position) override;
  absl::StatusOr<std::optional<LoggedEvent>> Find(const EventName& name, const EventFilter& filter) override;
  absl::StatusOr<Position> PositionBefore(absl::Time time) override;
  absl::Status Confirm() override;

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

  PostgresReader(PostgresAddress address, const LogIdentity& log, std::shared_ptr<const LogGrowth> durable)
      : address_(address), log_(log), seals_(log), durable_(std::move(durable)), primary_check_(std::move(address)) {}

  absl::StatusOr<Snapshot> Look(const PostgresStatement& statement);
  absl::StatusOr<Snapshot> LookOnce(const PostgresStatement& statement);
  // Removes events from `head` that are perhaps not durable. `written_us` is the time of the last transaction that
  // wrote the head.
  void Cut(const CommitTerms& terms, int64_t written_us, Head& head);
  absl::StatusOr<Batch> ReadOnce(const LogPoint& after, const EventFilter& filter, const Limits& limits);
  absl::StatusOr<ChainDigest> DigestOnce(Position position);
  absl::StatusOr<std::optional<LoggedEvent>> FindOnce(const EventName& name, const EventFilter& filter);
  absl::Status CheckRow(const PostgresResult& rows, int row, Position expected);
  absl::StatusOr<std::vector<LoggedEvent>> ReadBodies(const PostgresResult& rows, const std::vector<int>& wanted);
  absl::Status Damaged(Position position, absl::string_view how);

  const PostgresAddress address_;
  const LogIdentity log_;
  const EventSeals seals_;
  const std::shared_ptr<const LogGrowth> durable_;
  std::unique_ptr<PostgresConnection> connection_;
  PrimaryCheck primary_check_;
  std::optional<Position> unsealed_through_;        // the last position without a seal, of the last head; null: any
  bool is_cut_ = false;                             // of the last head
  std::chrono::steady_clock::time_point prove_at_;  // not before
  LostEvents lost_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_READER_H_
