#include "webhooks/log/postgres/postgres_log_copy.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "webhooks/log/postgres/event_seal.h"
#include "webhooks/log/postgres/growth.h"
#include "webhooks/log/postgres/postgres_reader.h"
#include "webhooks/log/postgres/sealed_key.h"
#include "webhooks/log/postgres/subscription_rows.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {
namespace {

// How many positions one statement searches for ids.
constexpr Position kIdsPerBatch = 2000;

// How many rows of a subscription one transaction stores. A server must store it within a few seconds.
constexpr size_t kRowsPerBatch = 500;

// The bounds of subscriptions_v4.sql.
constexpr size_t kMostReasonBytes = 4096;
constexpr size_t kMostKeyBytes = 8192;

// The number of parts of a log: see trim_log in log_v1.sql.
constexpr Position kParts = 16;

template <size_t kSize>
std::array<uint8_t, kSize> ArrayOf(absl::string_view bytes) {
  std::array<uint8_t, kSize> array = {};
  std::copy_n(bytes.begin(), std::min(bytes.size(), kSize), array.begin());
  return array;
}

class PostgresLogSource final : public LogSource {
 public:
  explicit PostgresLogSource(PostgresConnection& connection) : connection_(connection) {}

  absl::Status Open(const PostgresAddress& address, const SecretBytes& store_key) {
    ABSL_ASSIGN_OR_RETURN(
        std::vector<PostgresResult> results,
        connection_.Run({{"SELECT id, sealed_cursor_key, earliest, latest, latest_commit_us, latest_digest,"
                          " digest_before, age_us, wall_us, (SELECT min(position) FROM seen) FROM log"}}));
    const PostgresResult& row = results.front();
    if (row.rows() != 1) return absl::FailedPreconditionError("the store on the server has no event log");
    ABSL_ASSIGN_OR_RETURN(const auto key, OpenSealedKey(row.Bytes(0, 1), store_key));
    state_.identity = {ArrayOf<16>(row.Bytes(0, 0)), key};
    state_.earliest = row.Number(0, 2);
    state_.latest = row.Number(0, 3);
    state_.latest_commit_us = row.Number(0, 4);
    state_.latest_digest = ArrayOf<32>(row.Bytes(0, 5));
    state_.digest_before = ArrayOf<32>(row.Bytes(0, 6));
    state_.clock = {.age_us = row.Number(0, 7), .wall_us = row.Number(0, 8)};
    first_id_ = row.Number(0, 9);
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<PostgresReader> reader,
                          PostgresReader::Open(address, state_.identity, std::make_shared<LogGrowth>(state_.end())));
    reader_ = std::move(reader);
    return absl::OkStatus();
  }

  const LogState& state() const override { return state_; }
  EventReader& reader() override { return *reader_; }

  // The server stores no age for an id. It gets the age of the last event of its part, so that the copy forgets it a
  // little later, as the server would have.
  absl::StatusOr<std::vector<StoredId>> IdsAfter(Position after) override {
    std::vector<StoredId> ids;
    for (after = std::max(after, first_id_ - 1); ids.empty() && after < state_.latest; after += kIdsPerBatch) {
      ABSL_ASSIGN_OR_RETURN(
          std::vector<PostgresResult> results,
          connection_.Run(
              {{"SELECT s.event_id, s.scope, s.position, s.body_sha256, coalesce((SELECT p.ended_age_us FROM parts p"
                " WHERE p.last_position >= s.position ORDER BY p.part LIMIT 1), log.latest_age_us)"
                " FROM seen s, log WHERE s.position > $1 AND s.position <= $1 + $2 ORDER BY s.position",
                PostgresParameters().Bigint(after).Bigint(kIdsPerBatch)}}));
      const PostgresResult& rows = results.front();
      for (int row = 0; row < rows.rows(); ++row) {
        ids.push_back({std::string(rows.Bytes(row, 0)), std::string(rows.Bytes(row, 1)), rows.Number(row, 2),
                       ArrayOf<32>(rows.Bytes(row, 3)), rows.Number(row, 4)});
      }
    }
    return ids;
  }

  absl::StatusOr<SubscriptionStates> Subscriptions() override {
    ABSL_ASSIGN_OR_RETURN(const PostgresConnection::Reading reading, connection_.Read(QueriesOfStates()));
    return ReadStates(reading.results);
  }

 private:
  PostgresConnection& connection_;
  LogState state_;
  Position first_id_ = 0;  // the position of the first id
  std::unique_ptr<PostgresReader> reader_;
};

// The columns of a statement's rows, as arrays.
class Columns {
 public:
  explicit Columns(PostgresParameters& parameters) : parameters_(parameters) {}

  template <typename Rows, typename Of>
  Columns& Bytes(const Rows& rows, Of of) {
    std::vector<absl::string_view> values;
    for (const auto& row : rows) values.push_back(of(row));
    parameters_.ByteArrays(values);
    return *this;
  }
  template <typename Rows, typename Of>
  Columns& Numbers(const Rows& rows, Of of) {
    std::vector<int64_t> values;
    for (const auto& row : rows) values.push_back(of(row));
    parameters_.Bigints(values);
    return *this;
  }

 private:
  PostgresParameters& parameters_;
};

absl::Status CheckBounds(const std::string& name, const SubscriptionState& state) {
  const auto too_long = [&name](absl::string_view what, size_t most) {
    return absl::FailedPreconditionError(absl::StrCat("the shared subscription ", name, " has a ", what,
                                                      " of more than ", most,
                                                      " bytes, which a store on PostgreSQL cannot have"));
  };
  for (const SubscriptionRow& row : state.rows) {
    if (row.reason.size() > kMostReasonBytes) return too_long("reason", kMostReasonBytes);
  }
  for (const auto& [key, position] : state.lagging) {
    if (key.size() > kMostKeyBytes) return too_long("key", kMostKeyBytes);
  }
  return absl::OkStatus();
}

class PostgresLogTarget final : public LogTarget {
 public:
  PostgresLogTarget(PostgresConnection& connection, const LogState& state, const SecretBytes& store_key)
      : connection_(connection), store_key_(store_key), seals_(state.identity) {
    const Position count = state.latest - state.earliest + 1;
    const Position size = std::max<Position>(1, (count + kParts - 1) / kParts);
    // The part 0 has no events: it stands for the ids of events that retention has deleted.
    parts_.push_back({.first = 1, .last = state.earliest - 1, .digest = state.digest_before});
    for (Position first = state.earliest; first <= state.latest; first += size) {
      parts_.push_back({.first = first, .last = std::min(first + size - 1, state.latest)});
    }
    // A log without events has one part, which begins at its next position.
    if (count <= 0) parts_.push_back({.first = state.earliest, .last = state.latest});
  }

  absl::Status Create() {
    std::vector<PostgresStatement> statements = {{"DELETE FROM parts"}, {"DROP TABLE events_1"}};
    for (size_t part = 1; part < parts_.size(); ++part) {
      statements.push_back({"SELECT create_part($1::integer)", PostgresParameters().Bigint(AsNumber(part))});
    }
    return connection_.Commit(std::move(statements)).status();
  }

  absl::Status AddIds(const std::vector<StoredId>& ids) override {
    for (const StoredId& id : ids) AddAge(id);
    PostgresParameters parameters;
    Columns(parameters)
        .Bytes(ids, [](const StoredId& id) -> absl::string_view { return id.event_id; })
        .Bytes(ids, [](const StoredId& id) -> absl::string_view { return id.scope; })
        .Numbers(ids, [](const StoredId& id) { return id.position; })
        .Bytes(ids, [](const StoredId& id) { return AsText(id.body_sha256); });
    return connection_
        .Commit({{"INSERT INTO seen (event_id, scope, position, body_sha256) SELECT * FROM unnest($1, $2, $3, $4)",
                  std::move(parameters)}})
        .status();
  }

  absl::Status AddEvents(const std::vector<CopiedEvent>& events) override {
    std::vector<std::pair<Position, size_t>> part_of;
    std::vector<std::string> seals;
    for (const CopiedEvent& event : events) {
      seals.push_back(seals_.Make(event.row));
      if (event.row.position > parts_[part_].last) ++part_;
      parts_[part_].digest = event.digest;
      part_of.emplace_back(event.row.position, part_);
    }
    PostgresParameters parameters;
    Columns(parameters)
        .Numbers(part_of, [](const auto& entry) { return AsNumber(entry.second); })
        .Numbers(events, [](const CopiedEvent& event) { return event.row.position; })
        .Numbers(events, [](const CopiedEvent& event) { return event.row.commit_us; })
        .Bytes(events, [](const CopiedEvent& event) { return event.row.event_id; })
        .Bytes(events, [](const CopiedEvent& event) { return event.row.organization_id; })
        .Bytes(events, [](const CopiedEvent& event) { return event.row.parent_organization_id; })
        .Bytes(events, [](const CopiedEvent& event) { return event.row.type; })
        .Bytes(events, [](const CopiedEvent& event) { return event.row.key_id; })
        .Numbers(events, [](const CopiedEvent& event) { return event.row.timestamp_ms; })
        .Bytes(events, [](const CopiedEvent& event) { return event.row.signature; })
        .Bytes(events, [](const CopiedEvent& event) { return event.row.headers; })
        .Bytes(events, [](const CopiedEvent& event) { return event.row.body_sha256; })
        .Bytes(events, [](const CopiedEvent& event) { return AsText(event.digest); })
        .Bytes(events, [](const CopiedEvent& event) { return event.row.previous; })
        .Bytes(events, [](const CopiedEvent& event) { return event.body; })
        .Bytes(seals, [](const std::string& seal) -> absl::string_view { return seal; });
    return connection_
        .Commit({{"INSERT INTO events (part, position, commit_us, event_id, organization_id, parent_organization_id,"
                  " type, key_id, timestamp_ms, signature, headers, body_sha256, digest, previous, body, seal)"
                  " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
                  std::move(parameters)}})
        .status();
  }

  absl::Status AddSubscriptions(const SubscriptionStates& states) override {
    for (const auto& [name, state] : states) {
      ABSL_RETURN_IF_ERROR(CheckBounds(name, state));
    }
    for (const auto& [name, state] : states) {
      ABSL_RETURN_IF_ERROR(AddHead(name, state.head));
      ABSL_RETURN_IF_ERROR(
          InBatches(name, state.rows,
                    "INSERT INTO subscription_events SELECT $1, * FROM unnest($2, $3, $4, $5, $6, $7, $8)", AddRows));
      const std::vector<std::pair<std::string, Position>> keys(state.lagging.begin(), state.lagging.end());
      ABSL_RETURN_IF_ERROR(
          InBatches(name, keys, "INSERT INTO subscription_keys SELECT $1, * FROM unnest($2, $3, $4)", AddKeys));
    }
    return absl::OkStatus();
  }

  absl::Status Finish(const LogState& state) override {
    std::vector<PostgresStatement> statements;
    const size_t current = parts_.size() - 1;
    for (size_t number = state.earliest > 1 ? 0 : 1; number < parts_.size(); ++number) {
      const Part& part = parts_[number];
      // Nothing ends the part that gets the next events.
      const bool ended = number < current;
      statements.push_back(
          {"INSERT INTO parts VALUES ($1::integer, $2, $3, CASE WHEN $4 THEN $5 END, CASE WHEN $4 THEN $6 END,"
           " CASE WHEN $4 THEN $7 END, $8)",
           PostgresParameters()
               .Bigint(AsNumber(number))
               .Bigint(part.first)
               .Bigint(part.began_age_us)
               .Bool(ended)
               .Bigint(part.last)
               .Bytes(AsText(part.digest))
               .Bigint(part.ended_age_us)
               .Bool(number == 0)});
    }
    // A gateway that was starting when the store was claimed can have created a log before it noticed the claim.
    statements.push_back({"DELETE FROM log"});
    statements.push_back(
        {"INSERT INTO log (id, sealed_cursor_key, part, earliest, latest, latest_commit_us,"
         " latest_age_us, latest_digest, digest_before, age_us, wall_us)"
         " VALUES ($1, $2, $3::integer, $4, $5, $6, $7, $8, $9, $10, $11)",
         PostgresParameters()
             .Bytes(AsText(state.identity.id))
             .Bytes(SealKey(state.identity.cursor_key, store_key_))
             .Bigint(AsNumber(current))
             .Bigint(state.earliest)
             .Bigint(state.latest)
             .Bigint(state.latest_commit_us)
             .Bigint(parts_[current].ended_age_us)
             .Bytes(AsText(state.latest_digest))
             .Bytes(AsText(state.digest_before))
             .Bigint(state.clock.age_us)
             .Bigint(state.clock.wall_us)});
    return connection_.Commit(std::move(statements)).status();
  }

 private:
  struct Part {
    Position first = 0;
    Position last = 0;
    int64_t began_age_us = 0;
    int64_t ended_age_us = 0;
    ChainDigest digest = {};  // of the last event
  };

  // Creates a subscription whose partitions nobody holds.
  absl::Status AddHead(const std::string& name, const SubscriptionHead& head) {
    std::vector<int64_t> through;
    std::vector<int64_t> reserved;
    for (const PartitionProgress& progress : head.partitions) {
      through.push_back(progress.through);
      reserved.push_back(progress.reserved);
    }
    return connection_
        .Commit(
            // Each gateway's declaration replaces these settings.
            {{"SELECT declare_subscription(false, $1, $2, 0, -1, '')",
              PostgresParameters().Bytes(name).Bigint(head.order)},
             {"UPDATE subscriptions SET incarnation = $2 WHERE subscription = $1",
              PostgresParameters().Bytes(name).Bigint(head.incarnation)},
             // Consumers can hold events that were sent before the copy. Nobody knows when a gateway will start: the
             // time of the settings counts from when it takes the partition, because renew_hold cuts a longer time.
             {"UPDATE subscription_holds SET through = $2, reserved = $3, sent_until_us = array_fill($4, ARRAY[16])"
              " WHERE subscription = $1 AND holder = ''",
              PostgresParameters().Bytes(name).Bigints(through).Bigints(reserved).Bigint(
                  std::numeric_limits<int64_t>::max())},
             // The server uses no number of the source again: tokens of another incarnation would count as valid.
             {"SELECT setval('subscription_numbers', greatest(nextval('subscription_numbers'), $1))",
              PostgresParameters().Bigint(head.incarnation)}})
        .status();
  }

  // Runs `insert`, whose first parameter is the name, for all rows. `add` adds the other parameters.
  template <typename Row, typename Add>
  absl::Status InBatches(const std::string& name, const std::vector<Row>& rows, const char* insert, Add add) {
    for (size_t first = 0; first < rows.size(); first += kRowsPerBatch) {
      PostgresParameters parameters;
      parameters.Bytes(name);
      add(absl::MakeConstSpan(rows).subspan(first, kRowsPerBatch), parameters);
      ABSL_RETURN_IF_ERROR(connection_.Commit({{insert, std::move(parameters)}}).status());
    }
    return absl::OkStatus();
  }

  static int64_t AsNumber(size_t part) { return static_cast<int64_t>(part); }

  // Adds the age of an event to its part.
  void AddAge(const StoredId& id) {
    const auto later = std::upper_bound(parts_.begin(), parts_.end(), id.position,
                                        [](Position position, const Part& part) { return position < part.first; });
    Part& part = *std::prev(later);
    if (part.began_age_us == 0) part.began_age_us = id.age_us;
    part.ended_age_us = std::max(part.ended_age_us, id.age_us);
  }

  PostgresConnection& connection_;
  const SecretBytes& store_key_;
  const EventSeals seals_;
  std::vector<Part> parts_;
  size_t part_ = 1;  // the part of the last event
};

}  // namespace

absl::StatusOr<std::unique_ptr<LogSource>> OpenPostgresLogSource(PostgresConnection& connection,
                                                                 const PostgresAddress& address,
                                                                 const SecretBytes& store_key) {
  auto source = std::make_unique<PostgresLogSource>(connection);
  ABSL_RETURN_IF_ERROR(source->Open(address, store_key));
  return source;
}

absl::StatusOr<std::unique_ptr<LogTarget>> CreatePostgresLogTarget(PostgresConnection& connection,
                                                                   const LogState& state,
                                                                   const SecretBytes& store_key) {
  auto target = std::make_unique<PostgresLogTarget>(connection, state, store_key);
  ABSL_RETURN_IF_ERROR(target->Create());
  return target;
}

}  // namespace stampgate
