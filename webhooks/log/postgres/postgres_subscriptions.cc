#include "webhooks/log/postgres/postgres_subscriptions.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/postgres/connection.h"
#include "base/postgres/holder_secret.h"
#include "base/postgres/lasting_connection.h"
#include "base/postgres/store_connection.h"
#include "base/threads/commit_thread.h"
#include "base/threads/mutex.h"
#include "webhooks/log/change_queue.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/event_queue.h"
#include "webhooks/log/postgres/subscription_rows.h"

namespace stampgate {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(250);

std::vector<absl::string_view> Views(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

// The arguments of the function change_subscription of subscriptions_v4.sql.
PostgresParameters ArgumentsOf(const SubscriptionChange& change, bool needs_standby, absl::string_view secret,
                               int64_t number) {
  std::vector<int64_t> parts;
  std::vector<int64_t> through;
  std::vector<int64_t> reserved;
  for (const auto& [partition, progress] : change.progress) {
    parts.push_back(ToTables(partition));
    through.push_back(progress.through);
    reserved.push_back(progress.reserved);
  }
  std::vector<int64_t> answered;
  std::vector<absl::string_view> answers;
  for (const auto& [id, answer] : change.answers) {
    answered.push_back(id);
    answers.push_back(answer);
  }
  PostgresParameters arguments;
  arguments.Bool(needs_standby)
      .Bytes(secret)
      .Bigint(number)
      .Bytes(change.subscription)
      .Bigint(change.hold)
      .Bigints(parts)
      .Bigints(through)
      .Bigints(reserved)
      .Bigints(change.erase);
  AddRows(change.put, arguments);
  arguments.ByteArrays(Views(change.erase_lagging));
  AddKeys(change.put_lagging, arguments);
  arguments.Bigints(answered).ByteArrays(answers);
  return arguments;
}

class Subscriptions final : public PostgresSubscriptions, private CommitThread::Owner {
 public:
  explicit Subscriptions(PostgresSubscriptionsOptions options)
      : options_(std::move(options)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        writing_(options_.address, *options_.steps),
        holding_(options_.address, *options_.steps),
        writer_({.thread_name = "subscriptions",
                 .subject = "the shared subscriptions",
                 .medium = "the server of the shared subscriptions"},
                *this),
        queue_(options_.max_queued_bytes) {
    writer_.Start();
  }

  ~Subscriptions() override {
    writer_.Close();
    close(wake_);
  }

  void Close() override { writer_.Close(); }

  // --- The store.

  absl::StatusOr<SubscriptionStates> Load() override {
    ABSL_ASSIGN_OR_RETURN(const PostgresConnection::Reading reading, Read(QueriesOfStates()));
    return ReadStates(reading.results);
  }

  void Write(SubscriptionChange change, absl::AnyInvocable<void(absl::Status)> done) override {
    if (change.head.has_value()) return done(absl::InvalidArgumentError("a head is changed by Declare or Seek"));
    WaitingChange waiting{std::move(change), std::move(done)};
    const absl::Status refusal =
        writer_.Add([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_.mutex()) { return queue_.Push(waiting); });
    if (!refusal.ok()) waiting.done(refusal);
  }

  // --- The holds.

  absl::StatusOr<DeclaredSettings> Declare(const SubscriptionDeclaration& declaration) override {
    ABSL_ASSIGN_OR_RETURN(const std::vector<PostgresResult> results,
                          Commit({{"SELECT is_new, applied_version, applied_settings, applied_order"
                                   " FROM declare_subscription($1, $2, $3, $4, $5, $6)",
                                   PostgresParameters()
                                       .Bool(needs_standby())
                                       .Bytes(declaration.subscription)
                                       .Bigint(declaration.order)
                                       .Bigint(declaration.start)
                                       .Bigint(declaration.version)
                                       .Bytes(declaration.settings)}}));
    const PostgresResult& row = results.front();
    return DeclaredSettings{row.Number(0, 0) != 0, row.Number(0, 1), std::string(row.Bytes(0, 2)), row.Number(0, 3)};
  }

  absl::StatusOr<Hold> Renew(const HoldRenewal& renewal) override {
    ABSL_ASSIGN_OR_RETURN(PostgresConnection * connection, holding_.Get());
    // Most renewals change nothing that must survive the loss of the server, and wait for neither disk nor standby.
    ABSL_ASSIGN_OR_RETURN(const std::vector<PostgresResult> results, RunAt(options_.now, *connection,
                                                                           {{"BEGIN"},
                                                                            {"SET LOCAL synchronous_commit = off"},
                                                                            {"SET LOCAL lock_timeout = '1s'"},
                                                                            Renewal(renewal, /*takes=*/false),
                                                                            OtherSettings(renewal),
                                                                            {"COMMIT"}}));
    const PostgresResult& row = results[3];
    if (row.IsNull(0, kHold)) return absl::NotFoundError("there is no such subscription");
    Hold hold = ReadHold(row, renewal);
    if (row.Number(0, kLacks) > 0 || !hold.added.empty()) {
      ABSL_ASSIGN_OR_RETURN(hold, Take(renewal, hold));
    }
    if (results[4].rows() == 1) {
      hold.settings = {.version = results[4].Number(0, 0),
                       .settings = std::string(results[4].Bytes(0, 1)),
                       .order = hold.state.head.order};
    }
    return hold;
  }

  absl::Status End(const std::string& subscription, absl::Duration sent_for) override {
    return Commit(
               {{"SELECT end_hold($1, $2, $3)",
                 PostgresParameters().Bytes(secret_).Bytes(subscription).Bigint(absl::ToInt64Microseconds(sent_for))}})
        .status();
  }

  absl::Status Seek(const std::string& subscription, Position position) override {
    ABSL_ASSIGN_OR_RETURN(const std::vector<PostgresResult> before,
                          Run({{"SELECT incarnation FROM subscriptions WHERE subscription = $1",
                                PostgresParameters().Bytes(subscription)}}));
    if (before.front().rows() == 0) return absl::NotFoundError("there is no such subscription");
    ABSL_ASSIGN_OR_RETURN(const std::vector<PostgresResult> results,
                          Commit({{"SELECT seek_subscription($1, $2, $3, $4)", PostgresParameters()
                                                                                   .Bool(needs_standby())
                                                                                   .Bytes(subscription)
                                                                                   .Bigint(before.front().Number(0, 0))
                                                                                   .Bigint(position)}}));
    if (results.front().Number(0, 0) == 0) return absl::AbortedError("the subscription was moved meanwhile");
    return absl::OkStatus();
  }

  absl::StatusOr<std::set<std::string>> Names() override {
    ABSL_ASSIGN_OR_RETURN(const PostgresConnection::Reading reading,
                          Read({{"SELECT subscription FROM subscriptions"}}));
    std::set<std::string> names;
    for (int i = 0; i < reading.results[0].rows(); ++i) names.emplace(reading.results[0].Bytes(i, 0));
    return names;
  }

  absl::StatusOr<std::vector<SubscriptionRow>> Parked(const std::string& subscription, Position after,
                                                      size_t most) override {
    return ReadRows({absl::StrCat("SELECT ", kRowColumns,
                                  " FROM subscription_events WHERE subscription = $1 AND mark = 3 AND position > $2"
                                  " ORDER BY position LIMIT $3"),
                     PostgresParameters().Bytes(subscription).Bigint(after).Bigint(static_cast<int64_t>(most))});
  }

  absl::StatusOr<std::vector<SubscriptionRow>> ParkedAt(const std::string& subscription,
                                                        const std::vector<Position>& positions) override {
    return ReadRows({absl::StrCat("SELECT ", kRowColumns,
                                  " FROM subscription_events WHERE subscription = $1 AND mark = 3"
                                  " AND position = ANY ($2) ORDER BY position"),
                     PostgresParameters().Bytes(subscription).Bigints(positions)});
  }

  absl::StatusOr<int64_t> Ask(const std::string& subscription, size_t partition, const std::string& request) override {
    ABSL_ASSIGN_OR_RETURN(
        const std::vector<PostgresResult> results,
        Run({{"SELECT ask_holder($1, $2, $3, $4)",
              PostgresParameters().Bytes(secret_).Bytes(subscription).Bigint(ToTables(partition)).Bytes(request)}}));
    if (results.front().IsNull(0, 0)) return absl::NotFoundError("there is no such subscription");
    return results.front().Number(0, 0);
  }

  absl::StatusOr<std::vector<HolderRequest>> Requests() override {
    ABSL_ASSIGN_OR_RETURN(
        const std::vector<PostgresResult> results,
        Run({{"SELECT id, of, in_partition, asked FROM requests_for($1)", PostgresParameters().Bytes(secret_)}}));
    const PostgresResult& rows = results.front();
    std::vector<HolderRequest> requests;
    for (int i = 0; i < rows.rows(); ++i) {
      requests.push_back({rows.Number(i, 0), std::string(rows.Bytes(i, 1)), FromTables(rows.Number(i, 2)),
                          std::string(rows.Bytes(i, 3))});
    }
    return requests;
  }

  absl::StatusOr<std::vector<HolderAnswer>> TakeAnswers() override {
    ABSL_ASSIGN_OR_RETURN(const std::vector<PostgresResult> new_answers,
                          Run({{"SELECT FROM subscription_requests WHERE asker = $1 AND answer IS NOT NULL LIMIT 1",
                                PostgresParameters().Bytes(HolderNameOf(secret_))}}));
    if (new_answers.front().rows() == 0) return std::vector<HolderAnswer>();
    // The server also shows changes that a standby may lack. This later write proves that it has them.
    ABSL_ASSIGN_OR_RETURN(const std::vector<PostgresResult> results,
                          Commit({{"SELECT asked, given FROM take_answers($1)", PostgresParameters().Bytes(secret_)}}));
    const PostgresResult& rows = results.front();
    std::vector<HolderAnswer> answers;
    for (int i = 0; i < rows.rows(); ++i) answers.push_back({rows.Number(i, 0), std::string(rows.Bytes(i, 1))});
    return answers;
  }

  bool Await(std::chrono::steady_clock::time_point deadline) override {
    const absl::StatusOr<std::set<std::string>> changed = AwaitChange(deadline);
    if (!changed.ok()) WaitForWake(deadline);
    uint64_t wakes = 0;
    (void)!read(wake_, &wakes, sizeof(wakes));
    return changed.ok() && changed->contains("hold");
  }

  void Wake() override {
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof(one));
  }

 private:
  // The columns of a renewal.
  enum { kHold, kHeld, kThrough, kReserved, kSentFor, kLacks, kIncarnation, kOthers, kOrder, kSoughtFrom, kLatest };

  bool needs_standby() const { return !options_.address.allow_single_server; }

  PostgresStatement Renewal(const HoldRenewal& renewal, bool takes) {
    std::vector<int64_t> given;
    std::vector<int64_t> sent_for_us;
    if (!takes) {
      for (const auto& [partition, sent_for] : renewal.given) {
        given.push_back(ToTables(partition));
        sent_for_us.push_back(absl::ToInt64Microseconds(sent_for));
      }
    }
    const HoldReport& report = renewal.report;
    return {
        "SELECT r.hold, r.held, r.held_through, r.held_reserved, r.sent_for, r.lacks, r.current_incarnation, r.others,"
        " s.event_order, s.sought_from, (SELECT latest FROM log) FROM renew_hold($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        " r LEFT JOIN subscriptions s ON s.subscription = $3",
        PostgresParameters()
            .Bytes(secret_)
            .Bigint(++renewals_)
            .Bytes(renewal.subscription)
            .Bigints(given)
            .Bigints(sent_for_us)
            .Bigint(absl::ToInt64Microseconds(renewal.settle_within))
            .Bool(takes)
            .Bigint(report.consumers)
            .Bigints({report.through, report.held, report.parked, report.lagging_keys,
                      report.oldest.has_value() ? absl::ToUnixMicros(*report.oldest) : 0})};
  }

  static PostgresStatement OtherSettings(const HoldRenewal& renewal) {
    return {"SELECT version, settings FROM subscriptions WHERE subscription = $1 AND version <> $2",
            PostgresParameters().Bytes(renewal.subscription).Bigint(renewal.settings_version)};
  }

  static Hold ReadHold(const PostgresResult& row, const HoldRenewal& renewal) {
    Hold hold;
    hold.number = row.Number(0, kHold);
    const std::vector<int64_t> held = row.Numbers(0, kHeld);
    const std::vector<int64_t> sent_for = row.Numbers(0, kSentFor);
    for (const int64_t number : held) {
      const size_t partition = FromTables(number);
      if (partition >= sent_for.size()) continue;
      hold.partitions.insert(partition);
      if (hold.number == renewal.hold && renewal.known.contains(partition)) continue;
      hold.added[partition] = absl::Microseconds(sent_for[partition]);
    }
    hold.state.head.incarnation = row.Number(0, kIncarnation);
    hold.state.head.order = row.Number(0, kOrder);
    ReadProgress(held, row.Numbers(0, kThrough), row.Numbers(0, kReserved), hold.state.head);
    hold.latest = row.Number(0, kLatest);
    hold.sought_from = row.Number(0, kSoughtFrom);
    hold.others = ReadReport(row.Numbers(0, kOthers));
    hold.excess = static_cast<size_t>(std::max<int64_t>(-row.Number(0, kLacks), 0));
    return hold;
  }

  // Reads the column `others` of a renewal.
  static HoldReport ReadReport(const std::vector<int64_t>& others) {
    HoldReport report;
    if (others.size() != 6) return report;
    report.through = others[0];
    report.consumers = others[1];
    report.held = others[2];
    report.parked = others[3];
    report.lagging_keys = others[4];
    if (others[5] != 0) report.oldest = absl::FromUnixMicros(others[5]);
    return report;
  }

  // Reads on a connection of its own: such reads are rare, and any thread can want one.
  absl::StatusOr<PostgresConnection::Reading> Read(std::vector<PostgresStatement> statements) const {
    ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresConnection> connection,
                          ConnectToStore(options_.address, *options_.steps));
    return connection->Read(std::move(statements));
  }

  absl::StatusOr<std::vector<SubscriptionRow>> ReadRows(PostgresStatement statement) {
    std::vector<PostgresStatement> statements;
    statements.push_back(std::move(statement));
    ABSL_ASSIGN_OR_RETURN(const PostgresConnection::Reading reading, Read(std::move(statements)));
    std::vector<SubscriptionRow> rows;
    for (int i = 0; i < reading.results[0].rows(); ++i) rows.push_back(ReadRow(reading.results[0], i, 0));
    return rows;
  }

  // Takes partitions, and reads the state of those that the gateway does not know. When the transaction is durable, so
  // is everything that it has read.
  absl::StatusOr<Hold> Take(const HoldRenewal& renewal, const Hold& before) {
    std::vector<int64_t> known;
    for (const size_t partition : renewal.known) {
      if (before.partitions.contains(partition) && !before.added.contains(partition)) {
        known.push_back(ToTables(partition));
      }
    }
    const std::string of_added =
        " WHERE t.subscription = $2 AND t.partition <> ALL ($3) AND t.partition = ANY (ARRAY("
        "SELECT unnest(h.partitions) FROM subscription_holds h WHERE h.subscription = $2 AND h.holder = $1))";
    const PostgresParameters parameters =
        PostgresParameters().Bytes(HolderNameOf(secret_)).Bytes(renewal.subscription).Bigints(known);
    ABSL_ASSIGN_OR_RETURN(
        const std::vector<PostgresResult> results,
        Commit({{"SET LOCAL lock_timeout = '1s'"},
                Renewal(renewal, /*takes=*/true),
                {absl::StrCat("SELECT ", kRowColumns, " FROM subscription_events t", of_added, " ORDER BY position"),
                 parameters},
                {absl::StrCat("SELECT key, position, partition FROM subscription_keys t", of_added), parameters}}));
    const PostgresResult& row = results[1];
    if (row.IsNull(0, kHold)) return absl::NotFoundError("there is no such subscription");
    // If another hold has begun since, the gateway knows nothing of it.
    if (row.Number(0, kHold) != before.number) return absl::AbortedError("the hold has ended meanwhile");
    Hold hold = ReadHold(row, renewal);
    for (int i = 0; i < results[2].rows(); ++i) hold.state.rows.push_back(ReadRow(results[2], i, 0));
    for (int i = 0; i < results[3].rows(); ++i) ReadKey(results[3], i, 0, hold.state);
    return hold;
  }

  absl::StatusOr<std::vector<PostgresResult>> Commit(std::vector<PostgresStatement> statements) {
    ABSL_ASSIGN_OR_RETURN(PostgresConnection * connection, holding_.Get());
    return CommitAt(options_.now, *connection, std::move(statements));
  }

  absl::StatusOr<std::vector<PostgresResult>> Run(std::vector<PostgresStatement> statements) {
    ABSL_ASSIGN_OR_RETURN(PostgresConnection * connection, holding_.Get());
    return RunAt(options_.now, *connection, std::move(statements));
  }

  absl::StatusOr<std::set<std::string>> AwaitChange(std::chrono::steady_clock::time_point deadline) {
    ABSL_ASSIGN_OR_RETURN(PostgresConnection * connection, holding_.Get());
    // A new connection listens to nothing, and to repeat LISTEN does no harm.
    ABSL_RETURN_IF_ERROR(
        connection->Run({{absl::StrCat("LISTEN \"stampgate-subs.", options_.address.schema, "\"")}}).status());
    return connection->AwaitNotification(deadline, wake_);
  }

  void WaitForWake(std::chrono::steady_clock::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    // With a negative time, poll waits forever.
    const auto wait = std::clamp(left, std::chrono::milliseconds(0), absl::ToChronoMilliseconds(kRetry));
    pollfd wake = {wake_, POLLIN, 0};
    poll(&wake, 1, static_cast<int>(wait.count()));
  }

  // --- The writer's thread.

  CommitThread::Clock::time_point WriteAt() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_.mutex()) {
    return queue_.empty() ? CommitThread::kNever : CommitThread::kAtOnce;
  }

  CommitThread::Clock::time_point SleepUntil() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_.mutex()) {
    return CommitThread::kNever;
  }

  size_t TakeGroup() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_.mutex()) {
    batch_ = queue_.TakeBatch();
    return 0;  // the answer of the server takes longer than it takes to gather changes
  }

  absl::Status WriteGroup() override {
    std::vector<WaitingChange> batch = std::exchange(batch_, {});
    if (batch.empty()) return absl::OkStatus();
    writer_.wait().End();  // not while it connects
    const absl::StatusOr<PostgresConnection*> connection = writing_.Get();
    writer_.wait().Begin();
    std::vector<absl::Status> outcomes =
        connection.ok() ? Store(**connection, batch)
                        : std::vector<absl::Status>(batch.size(), CannotStore(connection.status()));
    {
      const MutexLock lock(writer_.mutex());
      queue_.Release(batch);
    }
    for (size_t i = 0; i < batch.size(); ++i) batch[i].done(std::move(outcomes[i]));
    return absl::OkStatus();
  }

  void Stop(absl::Status status) override {}

  std::vector<absl::Status> Store(PostgresConnection& connection, const std::vector<WaitingChange>& batch) {
    std::vector<PostgresStatement> statements;
    for (const WaitingChange& waiting : batch) {
      const SubscriptionChange& change = waiting.change;
      if (change.remove) {
        statements.push_back({"SELECT delete_subscription($1, $2)",
                              PostgresParameters().Bool(needs_standby()).Bytes(change.subscription)});
      } else {
        statements.push_back(
            {"SELECT change_subscription($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,"
             " $15, $16, $17, $18, $19, $20, $21, $22)",
             ArgumentsOf(change, needs_standby(), secret_, ++changes_)});
      }
    }
    const absl::StatusOr<std::vector<PostgresResult>> results =
        CommitAt(options_.now, connection, std::move(statements));
    std::vector<absl::Status> outcomes;
    for (size_t i = 0; i < batch.size(); ++i) {
      if (!results.ok()) {
        outcomes.push_back(CannotStore(results.status()));
      } else if ((*results)[i].Number(0, 0) == 0) {
        outcomes.push_back(batch[i].change.remove
                               ? absl::FailedPreconditionError("a gateway serves the subscription")
                               : absl::AbortedError("the gateway does not hold the partitions any more"));
      } else {
        outcomes.emplace_back();
      }
    }
    return outcomes;
  }

  const PostgresSubscriptionsOptions options_;
  const std::string secret_ = NewHolderSecret();
  const int wake_;             // an eventfd
  LastingConnection writing_;  // used only by the writer's thread
  LastingConnection holding_;  // used only by the thread that calls the functions of SubscriptionHolds
  // The numbers of the latest ones that the gateway has sent, each used only by the thread of its connection.
  int64_t changes_ = 0;
  int64_t renewals_ = 0;
  std::vector<WaitingChange> batch_;  // used only by the writer's thread
  CommitThread writer_;
  ChangeQueue queue_ ABSL_GUARDED_BY(writer_.mutex());
};

}  // namespace

std::unique_ptr<PostgresSubscriptions> MakePostgresSubscriptions(PostgresSubscriptionsOptions options) {
  return std::make_unique<Subscriptions>(std::move(options));
}

}  // namespace stampgate
