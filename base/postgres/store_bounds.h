// What the owner of a store on PostgreSQL decides. A gateway, which has another role, can only read it.
#ifndef STAMPGATE_BASE_POSTGRES_STORE_BOUNDS_H_
#define STAMPGATE_BASE_POSTGRES_STORE_BOUNDS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/postgres/connection.h"

namespace stampgate {

// How long the store keeps events, the ids of events, and idempotency keys. The age follows the server's clock, but a
// jump of this clock counts as one hour at most.
struct StoreBounds {
  // Retention drops parts of the event log, about a sixteenth of its events at a time. It drops a part when the age of
  // its last event exceeds `retention_age`, or when the events and ids use more than `retention_bytes`.
  absl::Duration retention_age = absl::Hours(24 * 7);
  int64_t retention_bytes = int64_t{10} << 30;
  absl::Duration deduplication_age = absl::Hours(24 * 30);
  absl::Duration key_retention = absl::Hours(24);

  friend bool operator==(const StoreBounds& a, const StoreBounds& b) {
    return a.retention_age == b.retention_age && a.retention_bytes == b.retention_bytes &&
           a.deduplication_age == b.deduplication_age && a.key_retention == b.key_retention;
  }
};

struct StoreDecisions {
  // Nothing in a store from which nothing is deleted, because an earlier release has created it, and its owner has
  // decided nothing since.
  std::optional<StoreBounds> bounds;
  // The position after which every event must have a seal. Nothing while gateways of releases before 0.2.0 can use the
  // store.
  std::optional<int64_t> unsealed_through;
};

// Errors: those of PostgresConnection::Run.
absl::StatusOr<StoreDecisions> ReadStoreDecisions(PostgresConnection& connection);

// The role of the connection must own the tables. Errors: those of PostgresConnection::Commit.
absl::Status WriteStoreBounds(PostgresConnection& connection, const StoreBounds& bounds);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_STORE_BOUNDS_H_
