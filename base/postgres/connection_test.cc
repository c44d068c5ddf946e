#include "base/postgres/connection.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/http/test_certificates.h"
#include "base/postgres/test_server.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;

std::unique_ptr<PostgresConnection> Open() {
  return PostgresConnection::Open(SharedServer().address("public")).value();
}

TEST(PostgresStatusTest, AnSqlstateShowsWhetherARetryHelps) {
  const auto code = [](const char* sqlstate) { return PostgresStatus(sqlstate, "text").code(); };
  EXPECT_EQ(code(""), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("08006"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("57P01"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("25006"), absl::StatusCode::kUnavailable) << "a standby";
  EXPECT_EQ(code("53300"), absl::StatusCode::kUnavailable) << "too many connections";
  EXPECT_EQ(code("53100"), absl::StatusCode::kResourceExhausted) << "a full disk";
  EXPECT_EQ(code("40001"), absl::StatusCode::kAborted);
  EXPECT_EQ(code("55P03"), absl::StatusCode::kDeadlineExceeded) << "a lock that was not free in time";
  EXPECT_EQ(code("XX001"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("28P01"), kFailed) << "a wrong password";
  EXPECT_EQ(code("42501"), kFailed) << "a missing right";
  EXPECT_EQ(code("SG001"), kFailed) << "a function of the store refuses";
  EXPECT_EQ(code("22012"), absl::StatusCode::kInternal);
  EXPECT_EQ(PostgresStatus("22012", " two\nlines\n").message(), "two lines (22012)");
}

TEST(PostgresConnectionTest, EachStatementHasAResult) {
  const std::unique_ptr<PostgresConnection> connection = Open();
  const std::string bytes("\0\xff", 2);
  const std::vector<PostgresResult> results = connection
                                                  ->Run({{"SELECT $1 + 1", PostgresParameters().Bigint(41)},
                                                         {"SELECT $1 || $1", PostgresParameters().Bytes(bytes)},
                                                         {"SELECT ARRAY[1, -2]::bigint[], NULL"}})
                                                  .value();
  ASSERT_EQ(results.size(), 3);
  EXPECT_EQ(results[0].Number(0, 0), 42);
  EXPECT_EQ(results[1].Bytes(0, 0), bytes + bytes);
  EXPECT_THAT(results[2].Numbers(0, 0), ::testing::ElementsAre(1, -2));
  EXPECT_TRUE(results[2].IsNull(0, 1));
}

// More than the buffers of a socket hold, in both directions.
TEST(PostgresConnectionTest, StatementsCanBeLarge) {
  const std::string large(2 << 20, 'x');
  const std::unique_ptr<PostgresConnection> connection = Open();
  const PostgresStatement statement = {"SELECT $1", PostgresParameters().Bytes(large)};
  const std::vector<PostgresResult> results = connection->Run({statement, statement}).value();
  EXPECT_EQ(results[1].Bytes(0, 0), large);
}

TEST(PostgresConnectionTest, AConnectionCanBeUsedAfterAnError) {
  const std::unique_ptr<PostgresConnection> connection = Open();
  const absl::Status error = connection->Run({{"SELECT 1"}, {"SELECT 1 / 0"}, {"SELECT 2"}}).status();
  EXPECT_EQ(error.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(error.message(), HasSubstr("division by zero"));
  EXPECT_EQ(connection->Run({{"no SQL"}}).status().code(), kFailed);
  EXPECT_TRUE(connection->usable());
  EXPECT_EQ(connection->Run({{"SELECT 3"}})->front().Number(0, 0), 3);
}

TEST(PostgresConnectionTest, AFailedTransactionChangesNothing) {
  const std::unique_ptr<PostgresConnection> connection = Open();
  ASSERT_TRUE(connection->Commit({{"CREATE TABLE numbers (number bigint)"}}).ok());
  EXPECT_FALSE(connection->Commit({{"INSERT INTO numbers VALUES (1)"}, {"SELECT 1 / 0"}}).ok());
  EXPECT_TRUE(connection->usable());
  const std::vector<PostgresResult> results =
      connection->Commit({{"INSERT INTO numbers VALUES (2) RETURNING number"}}).value();
  ASSERT_EQ(results.size(), 1) << "only the results of the caller's statements";
  EXPECT_EQ(results[0].Number(0, 0), 2);
  EXPECT_EQ(SharedServer().Sql("SELECT string_agg(number::text, ',') FROM numbers"), "2");
}

TEST(PostgresConnectionTest, ATransactionWaitsForTheDiskWhateverTheDefaultIs) {
  const std::unique_ptr<PostgresConnection> connection = Open();
  ASSERT_TRUE(connection->Run({{"SET synchronous_commit = off"}}).ok());
  EXPECT_EQ(connection->Commit({{"SHOW synchronous_commit"}})->front().Bytes(0, 0), "on");
}

// The default of the role does not reach the session, and a setting that changes later is noticed.
TEST(PostgresConnectionTest, TheSessionHasItsOwnSettings) {
  SharedServer().Sql("CREATE ROLE odd SUPERUSER LOGIN");
  // The settings of the role hold until the session has its own, so that a short timeout could end the login.
  for (const char* setting :
       {"statement_timeout = '1min'", "lock_timeout = 0", "client_min_messages = error", "search_path = pg_catalog",
        "idle_in_transaction_session_timeout = 0", "default_transaction_isolation = 'repeatable read'"}) {
    SharedServer().Sql(absl::StrCat("ALTER ROLE odd SET ", setting));
  }
  PostgresAddress address = SharedServer().address("public");
  address.user = "odd";
  const std::unique_ptr<PostgresConnection> connection = PostgresConnection::Open(address).value();
  const auto shown = [&](const char* setting) {
    return std::string(connection->Run({{absl::StrCat("SHOW ", setting)}})->front().Bytes(0, 0));
  };
  EXPECT_EQ(shown("statement_timeout"), "0");
  EXPECT_EQ(shown("lock_timeout"), "2s");
  EXPECT_EQ(shown("idle_in_transaction_session_timeout"), "5s");
  EXPECT_EQ(shown("client_min_messages"), "warning");
  EXPECT_EQ(shown("search_path"), "public,pg_temp");
  EXPECT_EQ(connection->Commit({{"CREATE TABLE of_odd ()"}}).status(), absl::OkStatus());
  ASSERT_TRUE(connection->Run({{"SET search_path = pg_catalog"}}).ok());
  const absl::Status status = connection->Commit({{"CREATE TABLE elsewhere ()"}}).status();
  EXPECT_EQ(status.code(), kFailed);
  EXPECT_THAT(status.message(), HasSubstr("pool"));
  EXPECT_FALSE(connection->usable());
}

TEST(PostgresConnectionTest, APoolInSessionModeIsUsed) {
  TestPostgres server(PostgresVersion::k15);
  const TestPool pool(server, "session");
  const std::unique_ptr<PostgresConnection> listener = PostgresConnection::Open(pool.address("public")).value();
  const std::unique_ptr<PostgresConnection> sender = PostgresConnection::Open(pool.address("public")).value();
  EXPECT_EQ(listener->Run({{"SELECT current_schema()::text"}})->front().Bytes(0, 0), "public");
  EXPECT_EQ(listener->Run({{"SHOW lock_timeout"}})->front().Bytes(0, 0), "2s");
  ASSERT_TRUE(listener->Run({{"LISTEN channel"}}).ok());
  ASSERT_TRUE(sender->Commit({{"NOTIFY channel"}}).ok());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  EXPECT_TRUE(listener->AwaitNotification(deadline, /*wake=*/-1).ok());
  EXPECT_LT(std::chrono::steady_clock::now(), deadline);
}

TEST(PostgresConnectionTest, APoolThatSharesASessionIsRefused) {
  TestPostgres server(PostgresVersion::k15);
  for (const char* mode : {"transaction", "statement"}) {
    const TestPool pool(server, mode);
    const absl::Status status = PostgresConnection::Open(pool.address("public")).status();
    EXPECT_EQ(status.code(), kFailed) << mode;
    EXPECT_THAT(status.message(), HasSubstr("set its mode to session")) << mode;
  }
}

// The pool keeps what a server reported at the login, when it was a standby.
TEST(PostgresConnectionTest, APoolBeforeAStandbyIsUsedWhenTheStandbyBecomesThePrimary) {
  TestPostgres primary(PostgresVersion::k15);
  TestPostgres standby(primary, "standby");
  const TestPool first(primary, "session");
  const TestPool second(standby, "session");
  PostgresAddress address = first.address("public");
  address.hosts.push_back(second.address("public").hosts[0]);
  ASSERT_TRUE(PostgresConnection::Open(address).ok());
  primary.Kill();
  standby.Promote();
  EXPECT_TRUE(Eventually([&] { return PostgresConnection::Open(address).ok(); }));
}

TEST(PostgresConnectionTest, ALockThatIsNotFreeAbortsTheTransaction) {
  const std::unique_ptr<PostgresConnection> holder = Open();
  const std::unique_ptr<PostgresConnection> connection = Open();
  ASSERT_TRUE(holder->Run({{"SELECT pg_advisory_lock(1)"}}).ok());
  EXPECT_EQ(connection->Commit({{"SET LOCAL lock_timeout = 1"}, {"SELECT pg_advisory_xact_lock(1)"}}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(holder->Run({{"SELECT pg_advisory_unlock(1)"}}).ok());
  EXPECT_TRUE(connection->Commit({{"SELECT pg_advisory_xact_lock(1)"}}).ok());
}

TEST(PostgresConnectionTest, AnEndedSessionMakesTheConnectionUnusable) {
  const std::unique_ptr<PostgresConnection> connection = Open();
  EXPECT_EQ(connection->Run({{"SELECT pg_terminate_backend(pg_backend_pid())"}}).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_FALSE(connection->usable());
  EXPECT_EQ(connection->Run({{"SELECT 1"}}).status().code(), absl::StatusCode::kUnavailable);
}

TEST(PostgresConnectionTest, ANotificationEndsTheWait) {
  const std::unique_ptr<PostgresConnection> listener = Open();
  const std::unique_ptr<PostgresConnection> sender = Open();
  ASSERT_TRUE(listener->Run({{"LISTEN channel"}}).ok());
  ASSERT_TRUE(listener->Run({{"NOTIFY channel, 'own'"}}).ok());
  ASSERT_TRUE(sender->Run({{"NOTIFY channel, 'of another session'"}}).ok());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  EXPECT_THAT(*listener->AwaitNotification(deadline, /*wake=*/-1), ElementsAre("of another session"));
  EXPECT_LT(std::chrono::steady_clock::now(), deadline);
  EXPECT_EQ(listener->Run({{"SELECT 1"}})->front().Number(0, 0), 1);
}

TEST(PostgresConnectionTest, UsesTheFirstServerThatAcceptsWrites) {
  const TestPostgres primary(PostgresVersion::k15);
  const TestPostgres standby(primary, "standby");
  PostgresAddress address = primary.address("public");
  const std::string live = address.hosts[0];
  address.hosts = {"/tmp/no-such-folder:5432", standby.address("").hosts[0], live};
  const std::unique_ptr<PostgresConnection> connection = PostgresConnection::Open(address).value();
  EXPECT_EQ(connection->Run({{"SELECT pg_is_in_recovery()"}})->front().Number(0, 0), 0);
  address.hosts.pop_back();
  const absl::Status status = PostgresConnection::Open(address).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  for (const std::string& host : address.hosts) EXPECT_THAT(status.message(), HasSubstr(host + ": "));
}

TEST(PostgresConnectionTest, AWrongNameIsRefused) {
  PostgresAddress address = SharedServer().address("public");
  address.database = "none";
  EXPECT_EQ(PostgresConnection::Open(address).status().code(), kFailed);
  address = SharedServer().address("public");
  address.user = "nobody";
  EXPECT_EQ(PostgresConnection::Open(address).status().code(), kFailed);
  address.hosts.push_back("/tmp/no-such-folder:5432");
  EXPECT_EQ(PostgresConnection::Open(address).status().code(), absl::StatusCode::kUnavailable)
      << "the other server may accept it later";
}

TEST(PostgresConnectionTest, APasswordFileMustExist) {
  PostgresAddress address = SharedServer().address("public");
  address.password_file = "/tmp/no-such-folder/password";
  const absl::Status status = PostgresConnection::Open(address).status();
  EXPECT_EQ(status.code(), kFailed);
  EXPECT_THAT(status.message(), HasSubstr(address.password_file));
}

// Accepts one connection on loopback, and answers the request for TLS with a refusal.
class ServerWithoutTls {
 public:
  ServerWithoutTls() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    host_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
    thread_ = std::thread([this] {
      const int connection = accept(listener_, nullptr, nullptr);
      char request[8];
      if (recv(connection, request, sizeof(request), MSG_WAITALL) == sizeof(request)) send(connection, "N", 1, 0);
      while (recv(connection, request, sizeof(request), 0) > 0) sent_more_ = true;
      close(connection);
    });
  }

  ~ServerWithoutTls() { close(listener_); }

  const std::string& host() const { return host_; }

  // Waits for the end of the connection. Returns whether the client sent more than its request.
  bool sent_more() {
    thread_.join();
    return sent_more_;
  }

 private:
  const int listener_;
  std::string host_;
  bool sent_more_ = false;
  std::thread thread_;
};

TEST(PostgresConnectionTest, AServerWithoutTlsIsRefused) {
  ServerWithoutTls server;
  PostgresAddress address = SharedServer().address("public");
  address.plaintext = false;
  address.hosts = {server.host()};
  const absl::Status status = PostgresConnection::Open(address).status();
  EXPECT_EQ(status.code(), kFailed) << status;
  EXPECT_THAT(status.message(), HasSubstr("SSL"));
  EXPECT_FALSE(server.sent_more()) << "neither a name nor a password";
}

class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~EnvironmentVariable() { unsetenv(name_); }

 private:
  const char* const name_;
};

TEST(PostgresConnectionTest, VariablesThatOthersSetForLibpqHaveNoEffect) {
  const std::string home = ::testing::TempDir() + "/home";
  mkdir(home.c_str(), 0700);
  std::ofstream(home + "/.pgpass") << "*:*:*:*:secret\n";
  const EnvironmentVariable variables[] = {
      {"HOME", home},
      {"PGHOST", "192.0.2.1"},
      {"PGPORT", "1"},
      {"PGUSER", "nobody"},
      {"PGDATABASE", "none"},
      {"PGSSLMODE", "require"},
      {"PGTARGETSESSIONATTRS", "standby"},
      {"PGPASSFILE", home + "/.pgpass"},
      {"PGAPPNAME", "other"},
  };
  const std::unique_ptr<PostgresConnection> connection = Open();
  EXPECT_EQ(connection->Run({{"SHOW application_name"}})->front().Bytes(0, 0), "stampgate");
}

TEST(PostgresConnectionTest, AVariableThatLibpqWouldUseIsRefused) {
  for (const char* name : {"PGHOSTADDR", "PGOPTIONS", "PGPASSWORD", "PGSERVICE", "PGREQUIREPEER"}) {
    const EnvironmentVariable variable(name, "192.0.2.1");
    const absl::Status status = PostgresConnection::Open(SharedServer().address("public")).status();
    EXPECT_EQ(status.code(), kFailed) << name;
    EXPECT_THAT(status.message(), HasSubstr(name));
  }
}

// A server with TLS on a port of its own.
class PostgresTlsTest : public testing::Test {
 protected:
  PostgresTlsTest() {
    const TestIdentity server = authority_.IssueServer();
    folder_.Write("server.pem", server.certificate);
    folder_.Write("server.key", server.key);
    folder_.Write("ca.pem", authority_.certificate());
    server_ = std::make_unique<TestPostgres>(
        PostgresVersion::k15,  // PyPI has PostgreSQL 18 without TLS
        std::vector<std::string>{"listen_addresses = '127.0.0.1'", absl::StrCat("port = ", port_), "ssl = on",
                                 absl::StrCat("ssl_cert_file = '", folder_.Path("server.pem"), "'"),
                                 absl::StrCat("ssl_key_file = '", folder_.Path("server.key"), "'"),
                                 absl::StrCat("ssl_ca_file = '", folder_.Path("ca.pem"), "'")},
        port_);
    address_ = server_->address("public");
    address_.hosts = {absl::StrCat("127.0.0.1:", port_)};
    address_.plaintext = false;
    address_.ca_file = folder_.Path("ca.pem");
  }

  absl::Status Status() { return PostgresConnection::Open(address_).status(); }

  // Returns a port that is free now.
  static int FreePort() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    bind(listener, reinterpret_cast<const sockaddr*>(&address), size);
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    close(listener);
    return ntohs(address.sin_port);
  }

  const int port_ = FreePort();
  TestAuthority authority_{"authority"};
  TestFolder folder_;
  std::unique_ptr<TestPostgres> server_;
  PostgresAddress address_;
};

TEST_F(PostgresTlsTest, TheServersCertificateAndNameMustBeRight) {
  EXPECT_EQ(Status(), absl::OkStatus());
  address_.hosts = {absl::StrCat("localhost:", port_)};
  EXPECT_EQ(Status().code(), kFailed) << "the certificate is for 127.0.0.1";
  address_.hosts = {absl::StrCat("127.0.0.1:", port_)};
  address_.ca_file = folder_.Write("other.pem", TestAuthority("other").certificate());
  EXPECT_EQ(Status().code(), kFailed) << "another authority";
}

TEST_F(PostgresTlsTest, APasswordIsReadForEachConnection) {
  server_->Sql("CREATE ROLE walter LOGIN PASSWORD 'open sesame'");
  server_->Allow("hostssl all walter 127.0.0.1/32 scram-sha-256");
  address_.user = "walter";
  EXPECT_EQ(Status().code(), kFailed) << "no password";
  address_.password_file = folder_.Write("password", "wrong\n");
  EXPECT_EQ(Status().code(), kFailed);
  folder_.Write("password", "open sesame\n");
  EXPECT_EQ(Status(), absl::OkStatus());
}

TEST_F(PostgresTlsTest, ACertificateLogsIn) {
  server_->Sql("CREATE ROLE walter LOGIN");
  server_->Allow("hostssl all walter 127.0.0.1/32 cert");
  address_.user = "walter";
  EXPECT_EQ(Status().code(), kFailed) << "no certificate";
  const TestIdentity walter = authority_.Issue({.subject = "walter"});
  address_.certificate_file = folder_.Write("walter.pem", walter.certificate);
  address_.private_key_file = folder_.Write("walter.key", walter.key);
  EXPECT_EQ(Status(), absl::OkStatus());
  const TestIdentity other = authority_.Issue({.subject = "other"});
  address_.certificate_file = folder_.Write("other.pem", other.certificate);
  address_.private_key_file = folder_.Write("other.key", other.key);
  EXPECT_EQ(Status().code(), kFailed);
}

// After a failover, the old primary runs again, and does not know that it is one no more.
TEST(PostgresConnectionTest, UsesTheNewPrimaryBesideAnOldOne) {
  TestPostgres primary(PostgresVersion::k15);
  TestPostgres standby(primary, "standby");
  PostgresAddress address = primary.address("public");
  address.hosts.push_back(standby.address("public").hosts[0]);
  const std::unique_ptr<PostgresConnection> before = PostgresConnection::Open(address).value();
  primary.Pause();
  standby.Promote();
  primary.Continue();
  EXPECT_TRUE(before->Run({{"SELECT 1"}}).ok()) << "nobody has seen the new primary yet";
  for (int i = 0; i < 3; ++i) {
    const std::unique_ptr<PostgresConnection> connection = PostgresConnection::Open(address).value();
    EXPECT_EQ(connection->Run({{"SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)"}})->front().Bytes(0, 0),
              "00000002");
  }
  EXPECT_EQ(before->Run({{"SELECT 1"}}).status(), absl::UnavailableError("the server is no longer the primary"));
  EXPECT_FALSE(before->usable());
  // Without the new primary, the gateway uses none.
  standby.Kill();
  const absl::Status status = PostgresConnection::Open(address).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the server is no longer the primary: its timeline is 1"));
}

}  // namespace
}  // namespace stampgate
