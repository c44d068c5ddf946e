// A connection to a PostgreSQL server, on which every wait ends in time.
#ifndef STAMPGATE_BASE_POSTGRES_CONNECTION_H_
#define STAMPGATE_BASE_POSTGRES_CONNECTION_H_

#include <postgresql/libpq-fe.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/postgres/commit_terms.h"
#include "base/postgres/parameters.h"
#include "base/postgres/result.h"
#include "base/postgres/server_address.h"

namespace stampgate {

// A statement with its parameters $1, $2, ...
struct PostgresStatement {
  std::string sql;
  PostgresParameters parameters = {};
};

// Returns the Status for an SQLSTATE, or for the lost connection if `sqlstate` is empty:
//   kResourceExhausted   the server's disk is full or its memory is short: a retry may succeed
//   kAborted             the transaction was rolled back because of another one: a retry may succeed
//   kDeadlineExceeded    the transaction was rolled back, because it has waited too long for the locks of another one
//   kDataLoss            the server has found damage
//   kFailedPrecondition  an object or a right is missing, or the login was refused, or a function of the store refuses
//                        (SQLSTATEs that begin with SG)
//   kUnavailable         the connection is lost, or the server does not accept writes now
//   kInternal            any other SQLSTATE
absl::Status PostgresStatus(absl::string_view sqlstate, absl::string_view message);

// Only one thread at a time may use a connection.
class PostgresConnection {
 public:
  // How long Open may wait for each server, and how long Run may take.
  static constexpr std::chrono::milliseconds kConnectTime{3000};
  static constexpr std::chrono::milliseconds kRunTime{4000};
  // How long Commit may take in addition to learn whether a transaction is durable.
  static constexpr std::chrono::milliseconds kProveTime{4000};

  // Connects to the server of `address` that accepts writes. After a failover, the old primary can be running and
  // accept writes too, which it will lose. So Open looks at all servers, uses the one with the highest timeline, and
  // refuses one whose timeline is lower than the highest that any Open with a copy of `address` has seen. Errors:
  // kFailedPrecondition if no server can be used until somebody changes a setting, otherwise kUnavailable. The message
  // has the reason of each server.
  static absl::StatusOr<std::unique_ptr<PostgresConnection>> Open(const PostgresAddress& address);

  // Connects to one server, which can be a standby, and sets and verifies the settings of the session. `host` is an
  // element of `address.hosts`. Waits for `time` at most, and if there is a pool between the gateway and the server, as
  // long as Run, and a second for another session. Errors: as Open; kFailedPrecondition also if the pool gives each
  // transaction another session.
  static absl::StatusOr<std::unique_ptr<PostgresConnection>> OpenHost(const PostgresAddress& address,
                                                                      const std::string& host,
                                                                      std::chrono::milliseconds time = kConnectTime);

  // Returns the number of the server's timeline, and 0 for a standby. A server that becomes the primary begins a new
  // timeline, with a higher number. Returns 1 if the server does not show it, as some managed services do. Errors:
  // those of Run.
  absl::StatusOr<int64_t> Timeline();

  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // Sends the statements together, and returns a result for each of them. Errors: those of PostgresStatus for the first
  // statement that failed; the server has then not run the later ones. kUnavailable also if the server does not answer
  // within kRunTime: whether the server has run the statements is then unknown.
  //
  // A transaction must begin and end in one Run, so that a process that stops keeps no locks. If there is an error
  // between BEGIN and COMMIT, the server has rolled back, or will roll back when the connection is closed.
  //
  // Also kUnavailable if another connection has found a server with a higher timeline: the results would be those of an
  // old primary. kFailedPrecondition if the statements would run in another session than the one that Open has
  // prepared, because a pool has changed it; none of them has then run.
  absl::StatusOr<std::vector<PostgresResult>> Run(const std::vector<PostgresStatement>& statements);

  // The results of Read, and the terms of the session after it.
  struct Reading {
    std::vector<PostgresResult> results;
    CommitTerms terms;
  };

  // Runs `statements` in one transaction that only reads, and whose queries see the same moment. Errors: those of Run.
  absl::StatusOr<Reading> Read(std::vector<PostgresStatement> statements);

  // From now on, a transaction counts as durable only if it also survives the loss of the server.
  void RequireStandby() { needs_standby_ = true; }

  // Runs `statements` in one transaction with isolation level READ COMMITTED. If Commit returns results, the
  // transaction is durable: see commit_terms.h. If this is not known at first, commits other writes to learn it, for
  // kProveTime at most. Returns kUnavailable if it is still not known, or if the server warns during the commit that it
  // did not wait for its standby; the transaction can then take effect or be lost. Errors: those of Run.
  absl::StatusOr<std::vector<PostgresResult>> Commit(std::vector<PostgresStatement> statements);

  // Returns OK if everything that this session has read before it read `terms` is durable. A server also shows
  // transactions that it did not let wait for a standby. Can return OK although an administrator has cancelled or
  // terminated the COMMIT of such a transaction while it waited: see commit_terms.h. `written_us` is when, by the
  // server's clock, the last transaction ran that wrote what was read, or 0 if this is unknown. If the clock was set
  // back since, so that this time is too late, ProveRead can return OK too early. Commits a write if the terms do not
  // show it. Errors: those of Commit.
  absl::Status ProveRead(const CommitTerms& terms, int64_t written_us);

  // Commits a write. If Prove returns OK, everything that the server showed before is durable, and with RequireStandby
  // a standby still confirmed its transactions. In each database, only one Prove of all gateways waits for the standby.
  // Errors: those of Commit; kUnavailable also if the write of another Prove has waited for a second.
  absl::Status Prove();

  // Waits until the server sends a notification of LISTEN, until `deadline`, or until `wake`, a file descriptor, can be
  // read. Returns the payloads of the notifications that other sessions have caused since the last call. Errors:
  // kUnavailable.
  absl::StatusOr<std::set<std::string>> AwaitNotification(std::chrono::steady_clock::time_point deadline, int wake);

  // Returns whether a later Run can succeed.
  bool usable() const { return usable_ && !IsOutdated(); }

  // Returns whether another connection has found a server with a higher timeline.
  bool IsOutdated() const { return latest_timeline_ != nullptr && timeline_ < *latest_timeline_; }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using Time = std::chrono::steady_clock::time_point;

  explicit PostgresConnection(PGconn* connection);

  static absl::StatusOr<std::unique_ptr<PostgresConnection>> Dial(const PostgresAddress& address,
                                                                  const std::string& host, Time deadline);
  absl::Status Connect(Time deadline);
  absl::Status PrepareSession(const std::string& search_path, Time deadline);
  absl::Status CheckPool(const PostgresAddress& address, const std::string& host);
  absl::StatusOr<std::vector<PostgresResult>> RunUntil(Time deadline, const std::vector<PostgresStatement>& statements);
  absl::StatusOr<std::vector<PostgresResult>> Exchange(Time deadline, const std::vector<PostgresStatement>& guard,
                                                       const std::vector<PostgresStatement>& statements);
  absl::StatusOr<std::vector<PostgresResult>> RunTransaction(Time deadline, std::vector<PostgresStatement> statements,
                                                             absl::Status* durable);
  absl::Status Send(const std::vector<PostgresStatement>& statements);
  absl::Status Flush(Time deadline);
  absl::StatusOr<std::unique_ptr<PGresult, Clear>> Next(Time deadline);
  absl::Status Receive(size_t count, Time deadline, std::vector<PostgresResult>* results);
  absl::Status Lost(absl::string_view why);

  std::unique_ptr<PGconn, Finish> connection_;
  bool usable_ = true;
  int64_t process_ = 0;  // the number of the server's process for the session
  std::string search_path_;
  // A statement that fails in any session but the one that OpenHost has prepared. Empty before.
  std::vector<PostgresStatement> guard_;
  int64_t timeline_ = 0;
  bool needs_standby_ = false;
  // When the server's process had loaded the terms of this session's last durable transaction that wrote; 0 if none.
  int64_t proven_us_ = 0;
  std::shared_ptr<const std::atomic<int64_t>> latest_timeline_;  // null before Open returns
  std::string warning_;  // the server's last warning since statements were last sent
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_CONNECTION_H_
