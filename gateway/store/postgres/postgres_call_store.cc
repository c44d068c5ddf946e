#include "gateway/store/postgres/postgres_call_store.h"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/postgres/connection.h"
#include "base/postgres/holder_secret.h"
#include "base/postgres/primary_check.h"
#include "base/postgres/schema.h"
#include "base/postgres/server_clock.h"
#include "base/postgres/store_connection.h"
#include "gateway/store/call_row.h"
#include "gateway/store/call_step.h"
#include "gateway/store/key_shares.h"
#include "gateway/store/postgres/store_tables.h"
#include "gateway/store/postgres/submit_rows.h"
#include "gateway/store/postgres/submit_seal.h"

namespace stampgate {
namespace {

// The number of leases: see calls_v1.sql.
constexpr uint64_t kLeases = 64;

// How often a group decides again because another gateway has changed one of its keys. Each time, that gateway has made
// progress with the key, so only many calls with one key at several gateways can need as many.
constexpr int kTries = 20;

// After a failed attempt to connect, the store refuses submits for this time, so that they do not wait in turn.
constexpr std::chrono::milliseconds kRefuseFor(250);

// How long the number of stored keys, an estimate of the server, may be old.
constexpr std::chrono::seconds kKeysInterval(30);

// About so many rows of keys are read for an estimate of the callers' keys.
constexpr int64_t kSampledKeys = 50'000;

using SteadyClock = std::chrono::steady_clock;

int64_t RandomNumber() {
  uint64_t number;
  randombytes_buf(&number, sizeof(number));
  return static_cast<int64_t>(number >> 1);
}

int64_t ToBigint(uint64_t number) {
  return static_cast<int64_t>(std::min<uint64_t>(number, std::numeric_limits<int64_t>::max()));
}

class PostgresBackend final : public CallBackend {
 public:
  explicit PostgresBackend(PostgresCallStoreOptions options)
      : options_(std::move(options)), seals_(*options_.store_key), primary_check_(options_.address) {}

  // Connects if the connection is lost. Then makes sure that this process has a lease, and that the server still has
  // what this store has committed.
  absl::Status Connect() {
    if (connection_ != nullptr && connection_->usable()) return absl::OkStatus();
    connection_ = nullptr;
    if (SteadyClock::now() < refuse_until_) return absl::UnavailableError("the server cannot be reached");
    absl::StatusOr<std::unique_ptr<PostgresConnection>> connection =
        ConnectToStore(options_.address, StepsOfThisProgram());
    absl::Status status = connection.status();
    if (status.ok()) status = FindLoss(**connection);
    if (status.ok() && !lease_.has_value()) status = TakeLease(**connection);
    if (!status.ok()) {
      refuse_until_ = SteadyClock::now() + kRefuseFor;
      return status;
    }
    connection_ = *std::move(connection);
    return absl::OkStatus();
  }

  uint64_t timestamp_floor_ms() const override { return floor_ms_; }
  std::optional<TimestampLease> lease() const override {
    if (!lease_.has_value()) return std::nullopt;
    return TimestampLease{static_cast<uint64_t>(*lease_), kLeases};
  }
  int64_t keys() const override { return keys_; }

  absl::Status Store(const std::vector<const CallStep*>& steps, OnDecided on_decided,
                     std::vector<Answer>* answers) override {
    absl::Status status;
    for (int i = 0; i < kTries; ++i) {
      status = TryToStore(steps, on_decided, answers);
      if (!absl::IsAborted(status)) break;
    }
    if (status.ok()) return status;
    for (Answer& answer : *answers) answer = status;
    return Temporary(status);
  }

  absl::StatusOr<bool> Tidy() override {
    if (absl::Status status = Connect(); !status.ok()) return Temporary(status);
    absl::StatusOr<std::vector<PostgresResult>> results =
        CommitAt(options_.now, *connection_, {{"SELECT trim_submits()"}});
    if (!results.ok()) return Temporary(results.status());
    const bool more = results->front().Number(0, 0) != 0;
    if (more || SteadyClock::now() < count_at_) return more;
    if (absl::Status status = CountKeys(*connection_); !status.ok()) return Temporary(status);
    return false;
  }

  absl::Status Settle() override { return absl::OkStatus(); }

  absl::Status RaiseTimestamps(uint64_t ms) override {
    if (absl::Status status = Connect(); !status.ok()) return Temporary(status);
    absl::StatusOr<std::vector<PostgresResult>> results =
        CommitAt(options_.now, *connection_,
                 {{"SELECT extend_lease($1, $2, $3, $4)", PostgresParameters()
                                                              .Bool(!options_.address.allow_single_server)
                                                              .Bigint(lease_)
                                                              .Bytes(secret_)
                                                              .Bigint(ToBigint(ms))}});
    if (!results.ok()) return Temporary(results.status());
    if (results->front().Number(0, 0) == 0) {
      connection_ = nullptr;  // the next use takes another lease
      return absl::AbortedError("another gateway has taken this gateway's lease of timestamps");
    }
    raised_ms_ = std::max(raised_ms_, ms);
    return absl::OkStatus();
  }

  absl::Status Close(uint64_t next_timestamp_ms) override {
    if (!Connect().ok()) return absl::OkStatus();  // the lease ends by itself
    EndLease(*connection_, *lease_, ToBigint(next_timestamp_ms));
    return absl::OkStatus();
  }

 private:
  // Returns `status` as an error after which the store continues.
  absl::Status Temporary(const absl::Status& status) {
    // The next use connects again, which finds the reason why a function of the store has refused.
    if (absl::IsFailedPrecondition(status)) connection_ = nullptr;
    if (absl::IsResourceExhausted(status) || absl::IsUnknown(status)) return status;
    return absl::AbortedError(status.message());
  }

  absl::Status TakeLease(PostgresConnection& connection) {
    // While the COMMIT waits for the standby, its lease is locked, and the next attempt would wait with another lease.
    if (!options_.address.allow_single_server) {
      ABSL_RETURN_IF_ERROR(connection.Prove());
    }
    ABSL_ASSIGN_OR_RETURN(
        std::vector<PostgresResult> results,
        CommitAt(options_.now, connection,
                 {{"SELECT lease, floor_ms FROM begin_lease($1)", PostgresParameters().Bytes(secret_)}}));
    if (results.front().IsNull(0, 0)) {
      return absl::ResourceExhaustedError(absl::StrCat(kLeases, " gateways use the store already"));
    }
    const int64_t lease = results.front().Number(0, 0);
    // A copy can have claimed the empty store since the connection was opened: see ClaimEmptyStore.
    if (absl::Status status = CheckStore(connection, StepsOfThisProgram()); !status.ok()) {
      EndLease(connection, lease, std::numeric_limits<int64_t>::max());  // keeps the bound, which the copy can have set
      return status;
    }
    lease_ = lease;
    floor_ms_ = static_cast<uint64_t>(results.front().Number(0, 1));
    raised_ms_ = 0;
    commits_ = 0;
    return CountKeys(connection);
  }

  // Frees the lease, whose bound may be as low as `next_timestamp_ms`. If this fails, the lease ends by itself.
  void EndLease(PostgresConnection& connection, int64_t lease, int64_t next_timestamp_ms) const {
    CommitAt(
        options_.now, connection,
        {{"SELECT end_lease($1, $2, $3)", PostgresParameters().Bigint(lease).Bytes(secret_).Bigint(next_timestamp_ms)}})
        .status()
        .IgnoreError();
  }

  // Checks whether the server still has what this store has committed under its lease, and whether this store still has
  // the lease.
  absl::Status FindLoss(PostgresConnection& connection) {
    if (!lease_.has_value()) return absl::OkStatus();
    ABSL_ASSIGN_OR_RETURN(
        std::vector<PostgresResult> results,
        connection.Run({{"SELECT holder IS NOT DISTINCT FROM $2, CASE WHEN holder = $2 THEN commits"
                         " WHEN previous_holder = $2 THEN previous_commits ELSE 0 END FROM leases WHERE index = $1",
                         PostgresParameters().Bigint(lease_).Bytes(HolderNameOf(secret_))}}));
    const bool held = results.front().Number(0, 0) != 0;
    const int64_t commits = results.front().Number(0, 1);
    if (commits < commits_) {
      const absl::Status loss = absl::DataLossError(
          absl::StrCat("the server has lost ", commits_ - commits, " transactions of this gateway"));
      absl::Status status =
          CommitAt(options_.now, connection,
                   {{"SELECT report_loss($1, $2)", PostgresParameters().Bigint(lease_).Bigint(ToBigint(raised_ms_))}})
              .status();
      if (!status.ok()) return status;
      commits_ = commits;
      if (options_.on_loss) options_.on_loss(loss);
    }
    if (!held) lease_.reset();
    return absl::OkStatus();
  }

  absl::Status CountKeys(PostgresConnection& connection) {
    ABSL_ASSIGN_OR_RETURN(
        std::vector<PostgresResult> results,
        connection.Run({{"SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'submits'::regclass"}}));
    keys_ = results.front().Number(0, 0);
    count_at_ = SteadyClock::now() + kKeysInterval;
    return EstimateShares(connection);
  }

  // If the maximum number of keys is stored, estimates the keys of each caller from a sample of the table's pages,
  // because a count of all keys takes seconds.
  absl::Status EstimateShares(PostgresConnection& connection) {
    shares_ = {};
    if (keys_ < options_.max_keys) return absl::OkStatus();
    ABSL_ASSIGN_OR_RETURN(
        std::vector<PostgresResult> results,
        connection.Run({{"WITH sample AS (SELECT caller, count(*) AS keys FROM submits TABLESAMPLE SYSTEM"
                         " (least(100, 100.0 * $1 / $2)) GROUP BY caller) SELECT caller, ceil(keys * $2 / (SELECT "
                         "sum(keys) FROM sample))::bigint FROM sample",
                         PostgresParameters().Bigint(kSampledKeys).Bigint(keys_)}}));
    const PostgresResult& result = results.front();
    for (int i = 0; i < result.rows(); ++i) shares_.Add(result.Bytes(i, 0), result.Number(i, 1));
    return absl::OkStatus();
  }

  absl::Status TryToStore(const std::vector<const CallStep*>& steps, OnDecided on_decided,
                          std::vector<Answer>* answers) {
    answers->assign(steps.size(), CallStore::Begun());
    ABSL_RETURN_IF_ERROR(Connect());
    SubmitRows rows;
    for (const CallStep* step : steps) {
      if (const auto* submit = std::get_if<KeyedSubmit>(step)) {
        rows[{submit->caller, submit->key}];
      } else {
        const auto& ended = std::get<EndedAttempt>(*step);
        rows[{ended.caller, ended.key}];
      }
    }
    ABSL_ASSIGN_OR_RETURN(
        std::vector<PostgresResult> read,
        RunAt(options_.now, *connection_,
              {ReadSubmits(rows),
               {"SELECT age_of_keys(), distrusted_age_us, keys_unsealed_through_us FROM submit_clock, bounds"}}));
    SubmitCheck check{seals_, std::nullopt};
    if (!read.back().IsNull(0, 2)) check.unsealed_through_us = read.back().Number(0, 2);
    AddSubmits(read.front(), check, &rows);
    Apply(steps, read.back(), &rows, answers);
    if (std::none_of(rows.begin(), rows.end(), [](const auto& row) { return row.second.changed; })) {
      // An old primary lacks the attempts that the new one knows. A commit would find that out.
      return std::all_of(answers->begin(), answers->end(), IsFinal) ? absl::OkStatus()
                                                                    : primary_check_.Confirm(*connection_);
    }
    on_decided(*answers);
    PostgresParameters arguments;
    arguments.Bool(!options_.address.allow_single_server).Bigint(lease_).Bytes(secret_).Bigint(commits_ + 1);
    AddChanges(rows, seals_, &arguments);
    const absl::Status status =
        connection_
            ->Commit(
                {{"SELECT store_submits($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,"
                  " $18, $19, $20)",
                  std::move(arguments)}})
            .status();
    if (status.ok()) {
      ++commits_;
      for (const std::string& caller : new_keys_) shares_.Add(caller, 1);
    }
    // If the connection was lost, the server has perhaps committed.
    return absl::IsUnavailable(status) ? absl::UnknownError(status.message()) : status;
  }

  // Whether no later attempt can change the answer.
  static bool IsFinal(const Answer& answer) {
    return answer.ok() && answer->record.has_value() && answer->record->outcome.kind == AttemptEnd::Kind::kDone;
  }

  // Applies the steps to `rows`.
  void Apply(const std::vector<const CallStep*>& steps, const PostgresResult& clock, SubmitRows* rows,
             std::vector<Answer>* answers) {
    const int64_t age_us = clock.Number(0, 0);
    const int64_t distrusted_age_us = clock.Number(0, 1);
    new_keys_.clear();
    const absl::Duration since_loss = absl::Microseconds(age_us - distrusted_age_us);
    for (size_t i = 0; i < steps.size(); ++i) {
      if (const auto* submit = std::get_if<KeyedSubmit>(steps[i])) {
        SubmitRow& stored = (*rows)[{submit->caller, submit->key}];
        const bool there = stored.version > 0 || stored.changed;
        if (!stored.is_genuine) {
          (*answers)[i] = CallDecision::Record(RecordOfDamaged(*submit)).answer;
          continue;
        }
        CallDecision decision =
            DecideCall(*submit, there ? &stored.row : nullptr,
                       {.age_us = age_us,
                        .key_retention = options_.key_retention,
                        .until_trusted = distrusted_age_us < 0
                                             ? absl::ZeroDuration()
                                             : std::max(options_.key_retention - since_loss, absl::ZeroDuration()),
                        .row_is_distrusted = there && stored.row.stored_age_us <= distrusted_age_us,
                        .is_full = keys_ >= options_.max_keys && shares_.HasShare(submit->caller, options_.max_keys),
                        .next_number = RandomNumber()});
        if (decision.is_new_key) new_keys_.push_back(submit->caller);
        if (decision.row.has_value()) {
          stored.row = *std::move(decision.row);
          stored.changed = true;
        }
        (*answers)[i] = std::move(decision.answer);
        continue;
      }
      const auto& ended = std::get<EndedAttempt>(*steps[i]);
      SubmitRow& stored = (*rows)[{ended.caller, ended.key}];
      // If retention has deleted the row, or the key has another submit, there is nothing to update.
      if (stored.row.number != ended.number || !stored.is_genuine) continue;
      EndAttempt(ended.end, &stored.row);
      stored.changed = true;
    }
  }

  const PostgresCallStoreOptions options_;
  const SubmitSeals seals_;
  PrimaryCheck primary_check_;
  std::unique_ptr<PostgresConnection> connection_;
  const std::string secret_ = NewHolderSecret();
  std::optional<int64_t> lease_;  // set while there is a connection
  uint64_t floor_ms_ = 0;
  uint64_t raised_ms_ = 0;  // the highest bound that the server has confirmed
  int64_t commits_ = 0;     // the number of transactions that the server has confirmed
  int64_t keys_ = 0;
  KeyShares shares_;                   // estimates, as far as the maximum of keys is stored
  std::vector<std::string> new_keys_;  // the callers of the keys that the last group of steps has added
  SteadyClock::time_point count_at_;
  SteadyClock::time_point refuse_until_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CallStore>> OpenPostgresCallStore(PostgresCallStoreOptions options) {
  CallQueueOptions queue = options.queue;
  auto backend = std::make_unique<PostgresBackend>(std::move(options));
  const absl::Status status = backend->Connect();
  if (!status.ok() && !absl::IsUnavailable(status)) {
    return absl::Status(status.code(), absl::StrCat("the call store on PostgreSQL: ", status.message()));
  }
  return MakeQueuedCallStore(std::move(queue), std::move(backend));
}

}  // namespace stampgate
