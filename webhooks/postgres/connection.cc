#include "webhooks/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "stamp/secret/bytes.h"
#include "stamp/secret/file.h"

namespace stampgate {
namespace {

using std::chrono::steady_clock;

// What the server does for a gateway that does not answer: it ends the transaction, and with it the locks.
//   lock_timeout                          a statement waits so long for another transaction
//   idle_in_transaction_session_timeout   a transaction waits so long for its gateway
//   tcp_user_timeout                      the server waits so long for the acknowledgement of sent bytes
// There is no statement_timeout, because it would also cancel the wait for the standby at the end of a transaction, and
// the transaction would then take effect without the standby.
constexpr char kSessionSettings[] =
    "-c lock_timeout=2000 -c idle_in_transaction_session_timeout=5000 -c tcp_user_timeout=10000"
    " -c client_min_messages=warning -c client_encoding=UTF8";

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
  absl::StatusOr<std::pair<std::string, std::string>> parts = SplitHostAndPort(host);
  if (!parts.ok()) return parts.status();
  ConnectParameters parameters;
  parameters.Add("host", parts->first);
  parameters.Add("port", parts->second);
  parameters.Add("dbname", address.database);
  parameters.Add("user", address.user);
  parameters.Add("application_name", "stampgate");
  parameters.Add("target_session_attrs", "read-write");
  parameters.Add("options", absl::StrCat(kSessionSettings, " -c search_path=", address.schema, ",pg_temp"));
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
                             "does not match host name", "does not support SSL"}) {
    if (absl::StrContains(message, reason)) return true;
  }
  return false;
}

constexpr char kNoPrimary[] = "the server is no longer the primary";

void Raise(int64_t value, std::atomic<int64_t>& maximum) {
  int64_t before = maximum;
  while (before < value && !maximum.compare_exchange_weak(before, value)) {
  }
}

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
    if (timeline.ok() && *timeline < latest) {
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
    Raise(*timeline, *address.timeline);
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
                                                                                 const std::string& host) {
  absl::StatusOr<ConnectParameters> parameters = ParametersOf(address, host);
  if (!parameters.ok()) return parameters.status();
  std::vector<const char*> values;
  for (const std::string& value : parameters->values) values.push_back(value.c_str());
  std::optional<SecretBytes> password;  // libpq copies it to memory that is not locked
  if (!address.password_file.empty()) {
    absl::StatusOr<SecretBytes> read = ReadPassword(address);
    if (!read.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("password file ", address.password_file, ": ", read.status().message()));
    }
    password = *std::move(read);
    parameters->names.push_back("password");
    values.push_back(reinterpret_cast<const char*>(password->data()));
  }
  if (absl::Status status = CheckEnvironment(*parameters); !status.ok()) return status;
  parameters->names.push_back(nullptr);
  values.push_back(nullptr);
  PGconn* started = PQconnectStartParams(parameters->names.data(), values.data(), /*expand_dbname=*/0);
  if (started == nullptr) return absl::ResourceExhaustedError("memory is short");
  std::unique_ptr<PostgresConnection> connection(new PostgresConnection(started));
  if (absl::Status status = connection->Connect(steady_clock::now() + kConnectTime); !status.ok()) return status;
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

// Returns the number of the server's timeline. A server that becomes the primary begins a new one, with a higher
// number. Returns 1 if the server does not show it, as some managed services do.
absl::StatusOr<int64_t> PostgresConnection::Timeline() {
  const absl::StatusOr<std::vector<PostgresResult>> results =
      Run({{"SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"}});
  if (absl::IsUnavailable(results.status())) return results.status();
  return results.ok() ? results->front().Number(0, 0) : 1;
}

absl::StatusOr<std::vector<PostgresResult>> PostgresConnection::Run(const std::vector<PostgresStatement>& statements) {
  if (!usable_) return absl::UnavailableError("the connection is lost");
  if (IsOutdated()) return Lost(kNoPrimary);
  warning_.clear();
  const Time deadline = steady_clock::now() + kRunTime;
  if (absl::Status status = Send(statements); !status.ok()) return status;
  if (absl::Status status = Flush(deadline); !status.ok()) return status;
  std::vector<PostgresResult> results;
  if (absl::Status status = Receive(statements.size(), deadline, &results); !status.ok()) return status;
  if (IsOutdated()) return Lost(kNoPrimary);
  return results;
}

absl::StatusOr<std::vector<PostgresResult>> PostgresConnection::Commit(std::vector<PostgresStatement> statements) {
  statements.insert(statements.begin(),
                    {{"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"}, {"SET LOCAL synchronous_commit = on"}});
  statements.push_back({"COMMIT"});
  absl::StatusOr<std::vector<PostgresResult>> results = Run(statements);
  if (!results.ok()) {
    // Ends the transaction, which the server keeps open after an error.
    const bool failed = usable_ && PQtransactionStatus(connection_.get()) != PQTRANS_IDLE;
    if (failed) Run({{"ROLLBACK"}}).status().IgnoreError();
    return results.status();
  }
  if (!warning_.empty()) return absl::UnavailableError(absl::StrCat("the server warns: ", OneLine(warning_)));
  results->erase(results->begin(), results->begin() + 2);
  results->pop_back();
  return results;
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
  if (PQpipelineSync(connection_.get()) != 1) return Lost(PQerrorMessage(connection_.get()));
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
    absl::StatusOr<std::unique_ptr<PGresult, Clear>> next = Next(deadline);
    if (!next.ok()) return next.status();
    if (*next == nullptr) {
      if (++ended > count) return Lost("the server's response has too few results");
      continue;
    }
    switch (PQresultStatus(next->get())) {
      case PGRES_PIPELINE_SYNC:
        if (failure.ok() && results->size() != count) return Lost("the server's response has too few results");
        return failure;
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
        results->emplace_back(next->release());
        break;
      case PGRES_PIPELINE_ABORTED:
        break;
      default: {
        const std::string sqlstate = Field(next->get(), PG_DIAG_SQLSTATE);
        const std::string primary = Field(next->get(), PG_DIAG_MESSAGE_PRIMARY);
        if (sqlstate.empty() || PQstatus(connection_.get()) != CONNECTION_OK) {
          return Lost(primary.empty() ? PQresultErrorMessage(next->get()) : primary.c_str());
        }
        if (failure.ok()) failure = PostgresStatus(sqlstate, primary);
        // A server that has become a standby keeps its connections.
        if (absl::IsUnavailable(failure)) usable_ = false;
      }
    }
  }
}

absl::Status PostgresConnection::AwaitNotification(Time deadline, int wake) {
  if (!usable_) return absl::UnavailableError("the connection is lost");
  bool notified = false;
  const auto take = [this, &notified] {
    while (PGnotify* notification = PQnotifies(connection_.get())) {
      PQfreemem(notification);
      notified = true;
    }
  };
  take();  // those that arrived with the responses of the last Run
  if (notified || !Await(PQsocket(connection_.get()), POLLIN, wake, deadline)) return absl::OkStatus();
  if (PQconsumeInput(connection_.get()) != 1) return Lost(PQerrorMessage(connection_.get()));
  take();
  return absl::OkStatus();
}

absl::Status PostgresConnection::Lost(absl::string_view why) {
  usable_ = false;
  return absl::UnavailableError(OneLine(why));
}

}  // namespace stampgate
