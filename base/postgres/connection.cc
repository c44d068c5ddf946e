#include "base/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/secret/bytes.h"
#include "base/secret/file.h"

namespace stampgate {
namespace {

using std::chrono::steady_clock;

// The settings of a session, as the server shows them. They are set with a statement after the login, because a pool
// refuses or drops those of the login. The first two end the transaction of a gateway that does not answer, and with it
// the locks:
//   lock_timeout                          a statement waits so long for another transaction
//   idle_in_transaction_session_timeout   a transaction waits so long for its gateway
//   statement_timeout                     none, because it would also cancel the wait for the standby at the end of a
//                                         transaction, which would then take effect without the standby
//   client_min_messages                   the server warns if a transaction did not wait for the standby
//   default_transaction_isolation         that of all transactions that write, which cannot change it after the guard
constexpr std::pair<const char*, const char*> kSessionSettings[] = {
    {"lock_timeout", "2s"},      {"idle_in_transaction_session_timeout", "5s"},
    {"statement_timeout", "0"},  {"client_min_messages", "warning"},
    {"client_encoding", "UTF8"}, {"default_transaction_isolation", "read committed"},
};
// The server waits so long for the acknowledgement of sent bytes. It shows 0 on a Unix socket, on which a pool can
// connect to it. So this setting is not verified.
constexpr char kTcpUserTimeout[] = "set_config('tcp_user_timeout', '10s', false)";

// How long Commit waits before it commits another write: until new terms count.
constexpr std::chrono::milliseconds kSettleTime = kTermsSettle + std::chrono::milliseconds(100);

// A transaction that writes to the server's log, which is all that a COMMIT needs to wait for a standby. Each role may
// call these functions. While a COMMIT waits, the server keeps its session, also if the gateway has closed the
// connection. So the transaction locks a number until its COMMIT has ended: one of them at most waits for a standby in
// each database, and the others end before their COMMIT.
std::vector<PostgresStatement> ProofStatements() {
  return {{"SET LOCAL lock_timeout = '1s'"},
          {"SELECT pg_advisory_xact_lock(x'7374616d'::integer, 1)"},
          {"SELECT pg_logical_emit_message(true, 'stampgate', '')"}};
}

// How long the check of a pool may wait for a second session.
constexpr std::chrono::milliseconds kPoolTime(1000);

constexpr char kNotInSessionMode[] =
    "a pool between the gateway and the server gives each transaction another session: set its mode to session";

// Waits until `descriptor` is ready for `events`, until `wake` can be read, or until `deadline`. Returns false at the
// deadline. Ignores `wake` if it is negative.
bool Await(int descriptor, short events, int wake, steady_clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    pollfd waits[] = {{descriptor, events, 0}, {wake, POLLIN, 0}};
    const int ready = poll(waits, 2, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready > 0) return true;
    if (ready == 0 && steady_clock::now() >= deadline) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

std::string OneLine(absl::string_view message) {
  std::string line(absl::StripAsciiWhitespace(message));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::string Field(const PGresult* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text == nullptr ? std::string() : std::string(text);
}

// A path at which there is never a file. libpq reads files in the home folder if it is given no path.
constexpr char kNoFile[] = "/dev/null/none";

// The parameters of PQconnectStartParams.
struct ConnectParameters {
  std::vector<const char*> names;
  std::vector<std::string> values;

  void Add(const char* name, std::string value) {
    names.push_back(name);
    values.push_back(std::move(value));
  }
};

absl::StatusOr<ConnectParameters> ParametersOf(const PostgresAddress& address, const std::string& host) {
  ABSL_ASSIGN_OR_RETURN(const auto parts, SplitHostAndPort(host));
  ConnectParameters parameters;
  parameters.Add("host", parts.first);
  parameters.Add("port", parts.second);
  parameters.Add("dbname", address.database);
  parameters.Add("user", address.user);
  parameters.Add("application_name", "stampgate");
  parameters.Add("target_session_attrs", "any");
  parameters.Add("gssencmode", "disable");
  parameters.Add("tcp_user_timeout", "5000");
  parameters.Add("sslmode", address.plaintext ? "disable" : "verify-full");
  parameters.Add("sslrootcert", address.ca_file.empty() ? kNoFile : address.ca_file);
  parameters.Add("sslcert", address.certificate_file.empty() ? kNoFile : address.certificate_file);
  parameters.Add("sslkey", address.private_key_file.empty() ? kNoFile : address.private_key_file);
  parameters.Add("sslcrl", kNoFile);
  parameters.Add("passfile", kNoFile);
  return parameters;
}

// Refuses an environment variable that would add a parameter to the connection, such as another address of the host.
// libpq has no option to ignore them.
absl::Status CheckEnvironment(const ConnectParameters& parameters) {
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(PQconndefaults(), PQconninfoFree);
  if (options == nullptr) return absl::ResourceExhaustedError("memory is short");
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    const char* value = option->envvar == nullptr ? nullptr : std::getenv(option->envvar);
    if (value == nullptr || *value == '\0') continue;
    const auto is_option = [option](const char* name) { return absl::string_view(name) == option->keyword; };
    if (std::any_of(parameters.names.begin(), parameters.names.end(), is_option)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the environment variable ", option->envvar, " must not be set, because libpq would use it"));
  }
  return absl::OkStatus();
}

// Returns the first line of the file, with a zero byte at its end, in locked memory.
absl::StatusOr<SecretBytes> ReadPassword(const PostgresAddress& address) {
  absl::StatusOr<SecretBytes> bytes = ReadSecretFile(address.password_file, address.secret_owners);
  if (!bytes.ok()) return bytes;
  const absl::string_view line = bytes->text().substr(0, bytes->text().find_first_of("\r\n"));
  absl::StatusOr<SecretBytes> text = SecretBytes::Create(line.size() + 1);
  if (text.ok()) std::copy(line.begin(), line.end(), text->data());
  return text;
}

// Whether a new attempt is useless until somebody changes a setting. libpq has only texts for the reasons.
bool IsRefusal(absl::string_view message) {
  for (const char* reason : {"authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry",
                             "requires a valid client certificate", "certificate verify failed",
                             "does not match host name", "does not support SSL", "no such database", "no such user"}) {
    if (absl::StrContains(message, reason)) return true;
  }
  return false;
}

std::string SearchPathOf(const PostgresAddress& address) { return absl::StrCat(address.schema, ",pg_temp"); }

constexpr char kNoPrimary[] = "the server is no longer the primary";

}  // namespace

absl::Status PostgresStatus(absl::string_view sqlstate, absl::string_view message) {
  const auto is = [sqlstate](absl::string_view prefix) { return absl::StartsWith(sqlstate, prefix); };
  const std::string text = sqlstate.empty() ? OneLine(message) : absl::StrCat(OneLine(message), " (", sqlstate, ")");
  if (sqlstate.empty()) return absl::UnavailableError(text);
  // Lost connections, and servers that start, stop or only read.
  if (is("08") || is("57P") || is("25006")) return absl::UnavailableError(text);
  if (is("53")) return is("533") ? absl::UnavailableError(text) : absl::ResourceExhaustedError(text);
  if (is("40") || is("25P0")) return absl::AbortedError(text);
  if (is("55P03") || is("57014")) return absl::DeadlineExceededError(text);
  if (is("XX001") || is("XX002")) return absl::DataLossError(text);
  if (is("28") || is("3D") || is("3F") || is("42") || is("SG")) return absl::FailedPreconditionError(text);
  return absl::InternalError(text);
}

PostgresConnection::PostgresConnection(PGconn* connection) : connection_(connection) {
  PQsetNoticeReceiver(
      connection,
      [](void* self, const PGresult* notice) {
        static_cast<PostgresConnection*>(self)->warning_ = Field(notice, PG_DIAG_MESSAGE_PRIMARY);
      },
      this);
}

absl::StatusOr<std::unique_ptr<PostgresConnection>> PostgresConnection::Open(const PostgresAddress& address) {
  std::vector<std::string> reasons;
  bool refused = true;  // by every server
  std::unique_ptr<PostgresConnection> best;
  int64_t best_timeline = 0;
  for (const std::string& host : address.hosts) {
    absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = OpenHost(address, host);
    absl::StatusOr<int64_t> timeline = connection.ok() ? (*connection)->Timeline() : connection.status();
    const int64_t latest = *address.timeline;
    if (timeline.ok() && *timeline == 0) {
      timeline = absl::UnavailableError("the server is a standby, or its default is to accept no writes");
    } else if (timeline.ok() && *timeline < latest) {
      timeline = absl::UnavailableError(absl::StrCat("the server is no longer the primary: its timeline is ", *timeline,
                                                     ", and another server has had ", latest));
    }
    if (!timeline.ok()) {
      reasons.push_back(absl::StrCat(host, ": ", timeline.status().message()));
      refused = refused && absl::IsFailedPrecondition(timeline.status());
      continue;
    }
    if (*timeline > best_timeline) {
      best = *std::move(connection);
      best_timeline = *timeline;
    }
    address.SeeTimeline(*timeline);
  }
  if (best != nullptr) {
    best->timeline_ = best_timeline;
    best->latest_timeline_ = address.timeline;
    return best;
  }
  const std::string message = absl::StrJoin(reasons, "; ");
  return refused ? absl::FailedPreconditionError(message) : absl::UnavailableError(message);
}

absl::StatusOr<std::unique_ptr<PostgresConnection>> PostgresConnection::OpenHost(const PostgresAddress& address,
                                                                                 const std::string& host,
                                                                                 std::chrono::milliseconds time) {
  const Time deadline = steady_clock::now() + time;
  absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = Dial(address, host, deadline);
  if (!connection.ok()) return connection;
  absl::Status status = (*connection)->PrepareSession(SearchPathOf(address), deadline);
  if (status.ok()) status = (*connection)->CheckPool(address, host);
  if (!status.ok()) return status;
  return connection;
}

// Connects and logs in.
absl::StatusOr<std::unique_ptr<PostgresConnection>> PostgresConnection::Dial(const PostgresAddress& address,
                                                                             const std::string& host, Time deadline) {
  ABSL_ASSIGN_OR_RETURN(ConnectParameters parameters, ParametersOf(address, host));
  std::vector<const char*> values;
  for (const std::string& value : parameters.values) values.push_back(value.c_str());
  std::optional<SecretBytes> password;  // libpq copies it to memory that is not locked
  if (!address.password_file.empty()) {
    absl::StatusOr<SecretBytes> read = ReadPassword(address);
    if (!read.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("password file ", address.password_file, ": ", read.status().message()));
    }
    password = *std::move(read);
    parameters.names.push_back("password");
    values.push_back(reinterpret_cast<const char*>(password->data()));
  }
  ABSL_RETURN_IF_ERROR(CheckEnvironment(parameters));
  parameters.names.push_back(nullptr);
  values.push_back(nullptr);
  PGconn* started = PQconnectStartParams(parameters.names.data(), values.data(), /*expand_dbname=*/0);
  if (started == nullptr) return absl::ResourceExhaustedError("memory is short");
  std::unique_ptr<PostgresConnection> connection(new PostgresConnection(started));
  ABSL_RETURN_IF_ERROR(connection->Connect(deadline));
  return connection;
}

absl::Status PostgresConnection::Connect(Time deadline) {
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED || PQstatus(connection_.get()) == CONNECTION_BAD) {
      const std::string message = OneLine(PQerrorMessage(connection_.get()));
      return IsRefusal(message) ? absl::FailedPreconditionError(message) : absl::UnavailableError(message);
    }
    const short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!Await(PQsocket(connection_.get()), events, /*wake=*/-1, deadline)) {
      return absl::UnavailableError("the server does not answer");
    }
    state = PQconnectPoll(connection_.get());
  }
  if (PQsetnonblocking(connection_.get(), 1) != 0 || PQenterPipelineMode(connection_.get()) != 1) {
    return absl::UnavailableError(OneLine(PQerrorMessage(connection_.get())));
  }
  return absl::OkStatus();
}

// Sets the settings of the session, and verifies that it has them.
absl::Status PostgresConnection::PrepareSession(const std::string& search_path, Time deadline) {
  std::string set = absl::StrCat("SELECT set_config('search_path', $1, false), ", kTcpUserTimeout);
  std::string verify = "SELECT pg_backend_pid()::bigint, current_setting('search_path') = $1";
  for (const auto& [name, value] : kSessionSettings) {
    absl::StrAppend(&set, ", set_config('", name, "', '", value, "', false)");
    absl::StrAppend(&verify, " AND current_setting('", name, "') = '", value, "'");
  }
  const PostgresParameters path = PostgresParameters().Text(search_path);
  ABSL_ASSIGN_OR_RETURN(const std::vector<PostgresResult> results, RunUntil(deadline, {{set, path}, {verify, path}}));
  if (results.back().Number(0, 1) == 0) {
    return absl::FailedPreconditionError("the session does not have the settings that the gateway has given it");
  }
  process_ = results.back().Number(0, 0);
  search_path_ = search_path;
  guard_ = {{"SELECT 1 / (pg_backend_pid() = $1 AND current_setting('search_path') = $2)::integer",
             PostgresParameters().Bigint(process_).Text(search_path_)}};
  return absl::OkStatus();
}

// Refuses a pool that shares a session among its clients: while this connection has its session, another one must not
// get the same. A pool gives its own number of a process at the login.
absl::Status PostgresConnection::CheckPool(const PostgresAddress& address, const std::string& host) {
  if (process_ == PQbackendPID(connection_.get())) return absl::OkStatus();  // no pool
  const Time deadline = steady_clock::now() + kPoolTime;
  absl::StatusOr<std::unique_ptr<PostgresConnection>> other = Dial(address, host, deadline);
  // Without a second session, the pool does not share.
  if (!other.ok()) return absl::OkStatus();
  const absl::StatusOr<std::vector<PostgresResult>> process =
      (*other)->RunUntil(deadline, {{"SELECT pg_backend_pid()::bigint"}});
  if (process.ok() && process->front().Number(0, 0) == process_) {
    return absl::FailedPreconditionError(kNotInSessionMode);
  }
  return Run({}).status();  // still in its session
}

absl::StatusOr<int64_t> PostgresConnection::Timeline() {
  // Asks the server itself. A pool can have cached what the server reported at the login, before it became the primary.
  ABSL_ASSIGN_OR_RETURN(
      const std::vector<PostgresResult> reads,
      Run({{"SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'"}}));
  if (reads.front().Number(0, 0) != 0) return 0;
  const absl::StatusOr<std::vector<PostgresResult>> results =
      Run({{"SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"}});
  if (absl::IsUnavailable(results.status())) return results.status();
  return results.ok() ? results->front().Number(0, 0) : 1;
}

absl::StatusOr<std::vector<PostgresResult>> PostgresConnection::Run(const std::vector<PostgresStatement>& statements) {
  return RunUntil(steady_clock::now() + kRunTime, statements);
}

absl::StatusOr<std::vector<PostgresResult>> PostgresConnection::RunUntil(
    Time deadline, const std::vector<PostgresStatement>& statements) {
  absl::StatusOr<std::vector<PostgresResult>> results = Exchange(deadline, guard_, statements);
  // Ends the transaction, which the server keeps open after an error, and in which the guard would fail.
  const bool failed = !results.ok() && usable_ && PQtransactionStatus(connection_.get()) != PQTRANS_IDLE;
  if (failed) Exchange(steady_clock::now() + kRunTime, /*guard=*/{}, {{"ROLLBACK"}}).status().IgnoreError();
  return results;
}

// Sends `guard` and `statements` together, and returns the results of `statements`.
absl::StatusOr<std::vector<PostgresResult>> PostgresConnection::Exchange(
    Time deadline, const std::vector<PostgresStatement>& guard, const std::vector<PostgresStatement>& statements) {
  if (!usable_) return absl::UnavailableError("the connection is lost");
  if (IsOutdated()) return Lost(kNoPrimary);
  warning_.clear();
  ABSL_RETURN_IF_ERROR(Send(guard));
  ABSL_RETURN_IF_ERROR(Send(statements));
  if (PQpipelineSync(connection_.get()) != 1) return Lost(PQerrorMessage(connection_.get()));
  ABSL_RETURN_IF_ERROR(Flush(deadline));
  std::vector<PostgresResult> results;
  if (absl::Status status = Receive(guard.size() + statements.size(), deadline, &results); !status.ok()) {
    if (!usable_ || results.size() >= guard.size()) return status;
    usable_ = false;
    return absl::FailedPreconditionError(kNotInSessionMode);
  }
  if (IsOutdated()) return Lost(kNoPrimary);
  results.erase(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(guard.size()));
  return results;
}

absl::StatusOr<PostgresConnection::Reading> PostgresConnection::Read(std::vector<PostgresStatement> statements) {
  std::vector<PostgresStatement> all;
  all.reserve(statements.size() + 4);
  all.push_back({"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"});
  std::move(statements.begin(), statements.end(), std::back_inserter(all));
  all.push_back({"COMMIT"});
  all.push_back({kReadCommitTerms});
  // Not the guard, after which a transaction cannot choose its isolation level.
  all.push_back({"SELECT pg_backend_pid() = $1 AND current_setting('search_path') = $2",
                 PostgresParameters().Bigint(process_).Text(search_path_)});
  ABSL_ASSIGN_OR_RETURN(std::vector<PostgresResult> results,
                        Exchange(steady_clock::now() + kRunTime, /*guard=*/{}, all));
  if (results.back().Number(0, 0) == 0) {
    usable_ = false;
    return absl::FailedPreconditionError(kNotInSessionMode);
  }
  Reading reading;
  reading.terms = CommitTermsOf(*(results.end() - 2));
  results.erase(results.end() - 3, results.end());
  results.erase(results.begin());
  reading.results = std::move(results);
  return reading;
}

absl::StatusOr<std::vector<PostgresResult>> PostgresConnection::Commit(std::vector<PostgresStatement> statements) {
  absl::Status durable;
  absl::StatusOr<std::vector<PostgresResult>> results =
      RunTransaction(steady_clock::now() + kRunTime, std::move(statements), &durable);
  if (!results.ok()) return results.status();
  // Transactions become durable in their order. So a later one that is durable shows that this one is.
  const Time deadline = steady_clock::now() + kProveTime;
  while (absl::IsAborted(durable) && steady_clock::now() + kSettleTime < deadline) {
    std::this_thread::sleep_for(kSettleTime);
    const absl::Status status = RunTransaction(deadline, ProofStatements(), &durable).status();
    if (!status.ok()) durable = status;
  }
  if (durable.ok()) return results;
  return absl::UnavailableError(
      absl::StrCat("it is not known whether the transaction is durable: ", durable.message()));
}

// Runs a transaction. Sets `*durable` to the result of CheckCommit.
absl::StatusOr<std::vector<PostgresResult>> PostgresConnection::RunTransaction(
    Time deadline, std::vector<PostgresStatement> statements, absl::Status* durable) {
  statements.insert(statements.begin(),
                    {{"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"}, {"SET LOCAL synchronous_commit = on"}});
  for (const char* sql : {kReadCommitTerms, "COMMIT", kReadCommitTerms}) statements.push_back({sql});
  absl::StatusOr<std::vector<PostgresResult>> results = RunUntil(deadline, statements);
  if (!results.ok()) return results.status();
  if (!warning_.empty()) return absl::UnavailableError(absl::StrCat("the server warns: ", OneLine(warning_)));
  const CommitTerms before = CommitTermsOf(*(results->end() - 3));
  *durable = CheckCommit(before, CommitTermsOf(results->back()), needs_standby_);
  if (durable->ok() && before.writes) proven_us_ = before.loaded_us;
  results->erase(results->begin(), results->begin() + 2);
  results->erase(results->end() - 3, results->end());
  return results;
}

absl::Status PostgresConnection::ProveRead(const CommitTerms& terms, int64_t written_us) {
  if (!needs_standby_) return absl::OkStatus();
  if (!terms.requires_standby) return absl::UnavailableError("the server requires no synchronous standby");
  // Since the server has these terms, each of its transactions has waited before it was shown. If one of them is known,
  // it also shows that those before are durable.
  const int64_t settled_us = terms.loaded_us + std::chrono::microseconds(kTermsSettle).count();
  const bool waited = terms.loaded_us == proven_us_ || (terms.are_settled && written_us > settled_us);
  return waited ? absl::OkStatus() : Prove();
}

absl::Status PostgresConnection::Prove() {
  absl::Status status = Commit(ProofStatements()).status();
  if (!absl::IsDeadlineExceeded(status)) return status;
  return absl::UnavailableError("another write waits for the server's standby");
}

absl::Status PostgresConnection::Send(const std::vector<PostgresStatement>& statements) {
  for (const PostgresStatement& statement : statements) {
    const PostgresParameters::Arguments arguments = statement.parameters.arguments();
    if (PQsendQueryParams(connection_.get(), statement.sql.c_str(), static_cast<int>(arguments.types.size()),
                          arguments.types.data(), arguments.values.data(), arguments.lengths.data(),
                          arguments.formats.data(), /*resultFormat=*/1) != 1) {
      return Lost(PQerrorMessage(connection_.get()));
    }
  }
  return absl::OkStatus();
}

absl::Status PostgresConnection::Flush(Time deadline) {
  for (;;) {
    const int left = PQflush(connection_.get());
    if (left == 0) return absl::OkStatus();
    if (left < 0) return Lost(PQerrorMessage(connection_.get()));
    // Also reads, because the server stops reading if nobody reads its responses.
    if (!Await(PQsocket(connection_.get()), POLLIN | POLLOUT, /*wake=*/-1, deadline)) {
      return Lost("the server does not answer");
    }
    if (PQconsumeInput(connection_.get()) != 1) return Lost(PQerrorMessage(connection_.get()));
  }
}

// Returns the next result, or null at the end of a statement's results.
absl::StatusOr<std::unique_ptr<PGresult, PostgresConnection::Clear>> PostgresConnection::Next(Time deadline) {
  while (PQisBusy(connection_.get()) != 0) {
    if (!Await(PQsocket(connection_.get()), POLLIN, /*wake=*/-1, deadline)) return Lost("the server does not answer");
    if (PQconsumeInput(connection_.get()) != 1) return Lost(PQerrorMessage(connection_.get()));
  }
  return std::unique_ptr<PGresult, Clear>(PQgetResult(connection_.get()));
}

absl::Status PostgresConnection::Receive(size_t count, Time deadline, std::vector<PostgresResult>* results) {
  absl::Status failure;
  // Each statement has a result and an end. After them comes the end of the pipeline, which has no end of its own.
  for (size_t ended = 0;;) {
    ABSL_ASSIGN_OR_RETURN(auto next, Next(deadline));
    if (next == nullptr) {
      if (++ended > count) return Lost("the server's response has too few results");
      continue;
    }
    switch (PQresultStatus(next.get())) {
      case PGRES_PIPELINE_SYNC:
        if (failure.ok() && results->size() != count) return Lost("the server's response has too few results");
        return failure;
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
        results->emplace_back(next.release());
        break;
      case PGRES_PIPELINE_ABORTED:
        break;
      default: {
        const std::string sqlstate = Field(next.get(), PG_DIAG_SQLSTATE);
        const std::string primary = Field(next.get(), PG_DIAG_MESSAGE_PRIMARY);
        if (sqlstate.empty() || PQstatus(connection_.get()) != CONNECTION_OK) {
          return Lost(primary.empty() ? PQresultErrorMessage(next.get()) : primary.c_str());
        }
        if (failure.ok()) failure = PostgresStatus(sqlstate, primary);
        // A server that has become a standby keeps its connections.
        if (absl::IsUnavailable(failure)) usable_ = false;
      }
    }
  }
}

absl::StatusOr<std::set<std::string>> PostgresConnection::AwaitNotification(Time deadline, int wake) {
  if (!usable_) return absl::UnavailableError("the connection is lost");
  std::set<std::string> payloads;
  const auto take = [this, &payloads] {
    while (PGnotify* notification = PQnotifies(connection_.get())) {
      if (notification->be_pid != process_) payloads.insert(notification->extra);
      PQfreemem(notification);
    }
  };
  take();  // those that arrived with the responses of the last Run
  if (!payloads.empty() || !Await(PQsocket(connection_.get()), POLLIN, wake, deadline)) return payloads;
  if (PQconsumeInput(connection_.get()) != 1) return Lost(PQerrorMessage(connection_.get()));
  take();
  return payloads;
}

absl::Status PostgresConnection::Lost(absl::string_view why) {
  usable_ = false;
  return absl::UnavailableError(OneLine(why));
}

}  // namespace stampgate
