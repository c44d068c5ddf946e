// A connection to a PostgreSQL server, on which every wait ends in time.
#ifndef STAMPGATE_WEBHOOKS_POSTGRES_CONNECTION_H_
#define STAMPGATE_WEBHOOKS_POSTGRES_CONNECTION_H_

#include <postgresql/libpq-fe.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "webhooks/postgres/parameters.h"
#include "webhooks/postgres/result.h"
#include "webhooks/postgres/server_address.h"

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
//   kFailedPrecondition  an object or a right is missing, or the login was refused, or a function of schema.sql refuses
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

  // Connects to the server of `address` that accepts writes. After a failover, the old primary can be running and
  // accept writes too, which it will lose. So Open looks at all servers, uses the one with the highest timeline, and
  // refuses one whose timeline is lower than the highest that any Open with a copy of `address` has seen. Errors:
  // kFailedPrecondition if no server can be used until somebody changes a setting, otherwise kUnavailable. The message
  // has the reason of each server.
  static absl::StatusOr<std::unique_ptr<PostgresConnection>> Open(const PostgresAddress& address);

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
  // old primary.
  absl::StatusOr<std::vector<PostgresResult>> Run(const std::vector<PostgresStatement>& statements);

  // Runs `statements` in one transaction with isolation level READ COMMITTED. If Commit returns results, the
  // transaction is durable as far as the server's settings require. If the server warns during the commit that it did
  // not wait for its standby, returns kUnavailable; the transaction can then take effect or be lost. Errors: those of
  // Run.
  absl::StatusOr<std::vector<PostgresResult>> Commit(std::vector<PostgresStatement> statements);

  // Waits until the server sends a notification of LISTEN, until `deadline`, or until `wake`, a file descriptor, can be
  // read. Discards the notifications. Errors: kUnavailable.
  absl::Status AwaitNotification(std::chrono::steady_clock::time_point deadline, int wake);

  // Returns whether a later Run can succeed.
  bool usable() const { return usable_; }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using Time = std::chrono::steady_clock::time_point;

  explicit PostgresConnection(PGconn* connection);

  static absl::StatusOr<std::unique_ptr<PostgresConnection>> OpenHost(const PostgresAddress& address,
                                                                      const std::string& host);
  absl::Status Connect(Time deadline);
  absl::StatusOr<int64_t> Timeline();
  absl::Status Send(const std::vector<PostgresStatement>& statements);
  absl::Status Flush(Time deadline);
  absl::StatusOr<std::unique_ptr<PGresult, Clear>> Next(Time deadline);
  absl::Status Receive(size_t count, Time deadline, std::vector<PostgresResult>* results);
  absl::Status Lost(absl::string_view why);
  bool IsOutdated() const { return latest_timeline_ != nullptr && timeline_ < *latest_timeline_; }

  std::unique_ptr<PGconn, Finish> connection_;
  bool usable_ = true;
  int64_t timeline_ = 0;
  std::shared_ptr<const std::atomic<int64_t>> latest_timeline_;  // null before Open returns
  std::string warning_;  // the server's last warning since the begin of the current Run
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_POSTGRES_CONNECTION_H_
