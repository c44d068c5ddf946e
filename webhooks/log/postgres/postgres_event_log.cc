#include "webhooks/log/postgres/postgres_event_log.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/postgres/commit_terms.h"
#include "base/postgres/connection.h"
#include "base/postgres/primary_check.h"
#include "base/postgres/store_connection.h"
#include "base/threads/commit_thread.h"
#include "base/threads/mutex.h"
#include "base/threads/start_thread.h"
#include "webhooks/log/event_queue.h"
#include "webhooks/log/postgres/event_seal.h"
#include "webhooks/log/postgres/growth.h"
#include "webhooks/log/postgres/postgres_reader.h"
#include "webhooks/log/postgres/postgres_subscriptions.h"
#include "webhooks/log/postgres/sealed_key.h"
#include "webhooks/log/row.h"
#include "webhooks/log/state.h"

namespace stampgate {
namespace {

// How often the log asks the server for its end, and tries to connect again.
constexpr std::chrono::milliseconds kPoll(1000);
constexpr absl::Duration kRetry = absl::Milliseconds(250);

using SteadyClock = std::chrono::steady_clock;

absl::string_view AsBytes(const std::array<uint8_t, 64>& signature) {
  return {reinterpret_cast<const char*>(signature.data()), signature.size()};
}

LogPoint PositionBefore(const PostgresResult& result, int position_column) {
  LogPoint point = {result.Number(0, position_column), {}};
  const absl::string_view digest = result.Bytes(0, position_column + 1);
  std::copy_n(digest.begin(), std::min(digest.size(), point.digest.size()), point.digest.begin());
  return point;
}

// The identity of a log, and its end as far as it is known to be durable.
struct LogHead {
  LogIdentity identity;
  LogPoint end;
};

// Reads the head of the log. Creates the log if the store has none.
absl::StatusOr<LogHead> ReadHead(PostgresConnection& connection, const StoreSteps& steps,
                                 const SecretBytes& store_key) {
  const LogIdentity fresh = MakeLogIdentity();
  ABSL_ASSIGN_OR_RETURN(
      std::vector<PostgresResult> results,
      connection.Commit({{"SELECT create_log($1, $2)",
                          PostgresParameters().Bytes(AsText(fresh.id)).Bytes(SealKey(fresh.cursor_key, store_key))},
                         {"SELECT id, sealed_cursor_key, latest, latest_digest, wall_us FROM log"},
                         {kReadCommitTerms}}));
  // A copy can have claimed the empty store since the connection was opened: see ClaimStore.
  ABSL_RETURN_IF_ERROR(CheckStore(connection, steps));
  const PostgresResult& row = results[1];
  LogHead head;
  const absl::string_view id = row.Bytes(0, 0);
  std::copy_n(id.begin(), std::min(id.size(), head.identity.id.size()), head.identity.id.begin());
  ABSL_ASSIGN_OR_RETURN(auto key, OpenSealedKey(row.Bytes(0, 1), store_key));
  head.identity.cursor_key = key;
  if (connection.ProveRead(CommitTermsOf(results.back()), row.Number(0, 4)).ok()) head.end = PositionBefore(row, 2);
  return head;
}

// The arguments of the function store_events of log_v3.sql.
PostgresParameters ArgumentsOf(const std::vector<WaitingEvent>& batch, bool needs_standby, const EventSeals& seal) {
  std::vector<std::string> headers;
  std::vector<std::string> contents;
  std::vector<std::string> seals;
  for (const WaitingEvent& waiting : batch) {
    headers.push_back(EncodeHeaders(waiting.event->headers));
    const EventRow row = RowOf(*waiting.event, headers.back());
    contents.push_back(EncodeContent(row));
    seals.push_back(seal.Make(row));
  }
  const auto column = [&batch](auto of) {
    std::vector<absl::string_view> values;
    for (const WaitingEvent& waiting : batch) values.push_back(of(*waiting.event));
    return values;
  };
  std::vector<int64_t> timestamps_ms;
  for (const WaitingEvent& waiting : batch) timestamps_ms.push_back(waiting.event->timestamp_ms);
  PostgresParameters arguments;
  arguments.Bool(needs_standby)
      .ByteArrays(column([](const Event& event) -> absl::string_view { return event.event_id; }))
      .ByteArrays(column([](const Event& event) -> absl::string_view { return IdScopeOf(event); }))
      .ByteArrays(column([](const Event& event) -> absl::string_view { return event.organization_id; }))
      .ByteArrays(column([](const Event& event) -> absl::string_view { return event.parent_organization_id; }))
      .ByteArrays(column([](const Event& event) -> absl::string_view { return event.type; }))
      .ByteArrays(column([](const Event& event) -> absl::string_view { return event.key_id; }))
      .Bigints(timestamps_ms)
      .ByteArrays(column([](const Event& event) { return AsBytes(event.signature); }))
      .ByteArrays({headers.begin(), headers.end()})
      .ByteArrays(column([](const Event& event) { return AsText(event.body_sha256); }))
      .ByteArrays({contents.begin(), contents.end()})
      .ByteArrays(column([](const Event& event) -> absl::string_view { return event.body; }))
      .ByteArrays({seals.begin(), seals.end()});
  return arguments;
}

class PostgresEventLog final : public EventLog, private CommitThread::Owner {
 public:
  PostgresEventLog(PostgresEventLogOptions options, std::unique_ptr<PostgresConnection> connection, LogHead head)
      : options_(std::move(options)),
        identity_(head.identity),
        seals_(identity_),
        growth_(std::make_shared<LogGrowth>(head.end)),
        wake_listener_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        connection_(std::move(connection)),
        subscriptions_(MakePostgresSubscriptions({.address = options_.address,
                                                  .steps = options_.steps,
                                                  .max_queued_bytes = options_.max_queued_bytes,
                                                  .now = options_.now})),
        writer_({.thread_name = "event-log",
                 .subject = "the event log",
                 .medium = "the event log's server",
                 .steady_now = options_.steady_now},
                *this),
        queue_(options_.max_queued_bytes) {
    writer_.Start();
    listener_ = StartThread("event-listener", [this] { Listen(); });
  }

  ~PostgresEventLog() override {
    Close();
    close(wake_listener_);
  }

  void Append(VerifiedEvent event, absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done) override {
    WaitingEvent waiting{std::move(event), std::move(done)};
    const absl::Status refusal =
        writer_.Add([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_.mutex()) { return queue_.Push(waiting); });
    if (!refusal.ok()) waiting.done(refusal);
  }

  void SetOnGrowth(std::function<void(Position latest)> on_growth) override {
    growth_->SetOnGrowth(std::move(on_growth));
  }

  absl::StatusOr<std::unique_ptr<EventReader>> NewReader() override {
    return PostgresReader::Open(options_.address, identity_, growth_);
  }

  const LogIdentity& identity() const override { return identity_; }

  SubscriptionStore* subscriptions() override { return subscriptions_.get(); }
  SubscriptionHolds* holds() override { return subscriptions_.get(); }

  absl::Duration WriteUnderWay() const override { return writer_.under_way(); }

  void Close() override {
    subscriptions_->Close();
    writer_.Close();
    const uint64_t one = 1;
    (void)!write(wake_listener_, &one, sizeof(one));
    std::call_once(joined_, [this] { listener_.join(); });
  }

  void TrimNow() { writer_.TidyNow(); }

 private:
  CommitThread::Clock::time_point WriteAt() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_.mutex()) {
    return queue_.empty() && !probe_ ? CommitThread::kNever : CommitThread::kAtOnce;
  }

  // While the server fails, no step of retention ends, so that `trim_at_` can be long past.
  CommitThread::Clock::time_point SleepUntil() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_.mutex()) {
    return writer_.failure().ok() ? trim_at_ : CommitThread::After(kRetry);
  }

  size_t TakeGroup() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_.mutex()) {
    batch_ = queue_.TakeBatch();
    if (std::exchange(probe_, false)) trim_at_ = SteadyClock::now();
    return 0;  // the answer of the server takes longer than it takes to gather events
  }

  absl::Status WriteGroup() override {
    writer_.wait().End();  // not while it connects: SetState reports that the server cannot be reached
    status_ = Reconnect();
    writer_.wait().Begin();
    if (!batch_.empty()) status_ = Store(status_, std::exchange(batch_, {}));
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Tidy(bool wanted) override {
    bool more = false;
    if (status_.ok() && (wanted || SteadyClock::now() >= trim_at_)) {
      const absl::StatusOr<bool> trimmed = Trim();
      status_ = trimmed.status();
      more = trimmed.ok() && *trimmed;
      trim_at_ = more ? SteadyClock::now() : CommitThread::After(options_.retention_interval);
    }
    SetState(status_);
    return more;
  }

  void Stop(absl::Status status) override { connection_ = nullptr; }

  absl::Status Reconnect() {
    if (connection_ != nullptr && connection_->usable()) return absl::OkStatus();
    connection_ = nullptr;
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> connection,
                          ConnectToStore(options_.address, *options_.steps));
    // Before this gateway stores events on the new connection: later it could not see that the log had lost others.
    ABSL_RETURN_IF_ERROR(CompareEnd(*connection, /*listen=*/false));
    connection_ = std::move(connection);
    return absl::OkStatus();
  }

  // Stores the batch, unless `status` is an error, and reports the outcomes.
  absl::Status Store(absl::Status status, std::vector<WaitingEvent> batch) {
    std::vector<int64_t> outcomes;
    if (status.ok()) {
      absl::StatusOr<std::vector<PostgresResult>> results =
          CommitAt(options_.now, *connection_,
                   {{"SELECT s.outcomes, s.latest, s.latest_digest, log.id FROM store_events($1, $2, $3, $4, $5, $6, "
                     "$7, $8, $9, $10, $11, $12, $13, $14) s, log",
                     ArgumentsOf(batch, !options_.address.allow_single_server, seals_)}});
      status = results.status();
      if (status.ok() && results->front().Bytes(0, 3) != AsText(identity_.id)) status = OfAnotherLog();
      if (status.ok()) {
        outcomes = results->front().Numbers(0, 0);
        growth_->Grow(PositionBefore(results->front(), 1));  // before the acknowledgements, as SetOnGrowth requires
      }
    }
    if (status.ok() && outcomes.size() != batch.size()) status = absl::InternalError("the server returned no outcomes");
    // Before any callback runs, so that the log accepts no event after a callback has received the error.
    if (!status.ok()) SetState(status);
    {
      const MutexLock lock(writer_.mutex());
      queue_.Release(batch);
    }
    for (size_t i = 0; i < batch.size(); ++i) {
      if (status.ok()) {
        Finish(batch[i], static_cast<AppendOutcome>(outcomes[i]));
      } else {
        Finish(batch[i], CannotStore(status));
      }
    }
    return status;
  }

  // Returns whether there is more to trim.
  absl::StatusOr<bool> Trim() {
    absl::StatusOr<std::vector<PostgresResult>> results =
        CommitAt(options_.now, *connection_, {{"SET LOCAL lock_timeout = '300ms'"}, {"SELECT trim_events()"}});
    // Another transaction uses the part that must be dropped. The next step of retention tries again.
    if (absl::IsAborted(results.status()) || absl::IsDeadlineExceeded(results.status())) return false;
    if (!results.ok()) return results.status();
    return results->back().Number(0, 0) != 0;
  }

  static absl::Status OfAnotherLog() {
    return absl::FailedPreconditionError("the server has another event log than when the gateway started");
  }

  // Runs on the writer's thread. Keeps the reason why the log cannot store events, and reports a change. An error after
  // which the next transaction can succeed is no such reason.
  void SetState(const absl::Status& status) {
    const absl::Status failure = absl::IsAborted(status) ? absl::OkStatus() : status;
    {
      const MutexLock lock(writer_.mutex());
      if (failure.ok() == writer_.failure().ok()) return;
    }
    writer_.Refuse(failure.ok() ? failure : CannotStore(failure));
    // A new connection checks the server's settings again.
    if (!failure.ok()) connection_ = nullptr;
    if (options_.on_state) options_.on_state(failure);
  }

  // The listener's thread.
  void Listen() {
    std::unique_ptr<PostgresConnection> connection;
    while (!IsClosed()) {
      if (connection == nullptr) {
        absl::StatusOr<std::unique_ptr<PostgresConnection>> opened = PostgresConnection::Open(options_.address);
        if (opened.ok()) {
          connection = *std::move(opened);
          if (!options_.address.allow_single_server) connection->RequireStandby();
        }
      }
      absl::Status status =
          connection == nullptr ? absl::UnavailableError("") : CompareEnd(*connection, /*listen=*/true);
      if (status.ok()) status = connection->AwaitNotification(SteadyClock::now() + kPoll, wake_listener_).status();
      if (status.ok()) continue;
      connection = nullptr;
      Probe();
      pollfd wake = {wake_listener_, POLLIN, 0};
      poll(&wake, 1, static_cast<int>(absl::ToInt64Milliseconds(kRetry)));
    }
  }

  // Reads the end of the log, and reports whether the log has grown, or has lost the event that was its end. Runs on
  // both threads. With `listen`, the connection gets notifications from now on; to repeat LISTEN does no harm.
  absl::Status CompareEnd(PostgresConnection& connection, bool listen) {
    const LogPoint had = growth_->end();
    std::vector<PostgresStatement> statements;
    if (listen) statements.push_back({absl::StrCat("LISTEN \"stampgate.", options_.address.schema, "\"")});
    statements.push_back(
        {"SELECT latest, latest_digest, id, $1 > latest OR ($1 >= earliest AND"
         " (SELECT digest FROM events WHERE position = $1) <> $2), wall_us FROM log",
         PostgresParameters().Bigint(had.position).Bytes(AsText(had.digest))});
    statements.push_back({kReadCommitTerms});
    ABSL_ASSIGN_OR_RETURN(std::vector<PostgresResult> results, connection.Run(statements));
    const PostgresResult& row = results[results.size() - 2];
    if (row.rows() != 1 || row.Bytes(0, 2) != AsText(identity_.id)) return OfAnotherLog();
    const LogPoint end = PositionBefore(row, 0);
    if (row.Number(0, 3) == 0) {
      if (end.position <= had.position) return absl::OkStatus();
      // Readers may now see the events that other gateways have stored.
      const absl::Status durable = connection.ProveRead(CommitTermsOf(results.back()), row.Number(0, 4));
      if (durable.ok()) growth_->Grow(end);
      return durable;
    }
    // Before an operator looks for lost events.
    ABSL_RETURN_IF_ERROR(PrimaryCheck(options_.address).Confirm(connection));
    if (growth_->TakeBack(had, end) && options_.on_taken_back) options_.on_taken_back(had.position, end.position);
    return absl::OkStatus();
  }

  // Makes the writer use the server now, so that it notices the loss of the server even if no event arrives.
  void Probe() {
    writer_.Change([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_.mutex()) { probe_ = writer_.failure().ok(); });
  }

  bool IsClosed() {
    const MutexLock lock(writer_.mutex());
    return writer_.closed();
  }

  const PostgresEventLogOptions options_;
  const LogIdentity identity_;
  const EventSeals seals_;
  const std::shared_ptr<LogGrowth> growth_;         // of the durable events
  const int wake_listener_;                         // an eventfd
  std::unique_ptr<PostgresConnection> connection_;  // used only by the writer's thread
  const std::unique_ptr<PostgresSubscriptions> subscriptions_;
  std::vector<WaitingEvent> batch_;                       // used only by the writer's thread
  absl::Status status_;                                   // of the writer's last use of the server
  SteadyClock::time_point trim_at_ = SteadyClock::now();  // used only by the writer's thread

  CommitThread writer_;
  EventQueue queue_ ABSL_GUARDED_BY(writer_.mutex());
  // Whether the writer shall use the server although there is nothing to store.
  bool probe_ ABSL_GUARDED_BY(writer_.mutex()) = false;

  std::once_flag joined_;
  std::thread listener_;
};

absl::StatusOr<std::unique_ptr<EventLog>> Open(PostgresEventLogOptions options) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> connection,
                        ConnectToStore(options.address, *options.steps));
  ABSL_ASSIGN_OR_RETURN(LogHead head, ReadHead(*connection, *options.steps, *options.store_key));
  return std::make_unique<PostgresEventLog>(std::move(options), std::move(connection), head);
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventLog>> OpenPostgresEventLog(PostgresEventLogOptions options) {
  absl::StatusOr<std::unique_ptr<EventLog>> log = Open(std::move(options));
  if (log.ok()) return log;
  const absl::StatusCode code =
      absl::IsFailedPrecondition(log.status()) ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kUnavailable;
  return absl::Status(code, absl::StrCat("the event log on PostgreSQL: ", log.status().message()));
}

void TrimPostgresLogNow(EventLog& log) { static_cast<PostgresEventLog&>(log).TrimNow(); }

}  // namespace stampgate
