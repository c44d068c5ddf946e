// PostgreSQL servers and pools for tests.
#ifndef STAMPGATE_BASE_POSTGRES_TEST_SERVER_H_
#define STAMPGATE_BASE_POSTGRES_TEST_SERVER_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/postgres/connection.h"
#include "base/postgres/schema.h"
#include "base/postgres/server_address.h"
#include "base/postgres/store_bounds.h"

namespace stampgate {

// The versions of PostgreSQL that deploy/install has installed: the oldest that the gateway supports, and the newest.
enum class PostgresVersion { k15, k18 };

// Runs a server, which listens on a Unix socket in a temporary folder. The server does not run as root, because
// PostgreSQL refuses that. Ends the process of the test if something fails that is not under test.
class TestPostgres {
 public:
  // Creates a cluster with these lines of postgresql.conf, and starts the server. If the setting `port` is not 5432,
  // pass it too.
  explicit TestPostgres(PostgresVersion version, const std::vector<std::string>& settings = {}, int port = 5432);

  // Creates a standby of `primary`, which confirms transactions under the name `name`, and starts it.
  TestPostgres(const TestPostgres& primary, const std::string& name);

  // Kills the server, and deletes the cluster.
  ~TestPostgres();

  TestPostgres(const TestPostgres&) = delete;
  TestPostgres& operator=(const TestPostgres&) = delete;

  // Starts the server, and waits until it accepts connections.
  void Start();
  // Ends the server at once, as a loss of power does, except that the system keeps what it has not yet written.
  void Kill();
  // Stops the server's processes, so that they do not answer, and lets them continue.
  void Pause();
  void Continue();
  // Makes a standby a primary, and waits until it is one.
  void Promote();

  // Returns the address of a superuser for the tables in `schema`. It allows a single server.
  PostgresAddress address(const std::string& schema) const;

  // Puts a line before the others in pg_hba.conf, which states who may log in and how.
  void Allow(const std::string& line) const;

  // Creates an empty store with the tables of `steps` in a new schema, and returns its address. Its functions follow
  // the ServerClock of the test.
  PostgresAddress NewStore(const StoreSteps& steps, const StoreBounds& bounds = {}) const;

  // Makes each write to the table `table` of the store in `schema` claim the store, as a copy does that begins at the
  // same time.
  void ClaimAtWrite(const std::string& table, const std::string& schema) const;

  // Runs a statement as a superuser, and returns the first column of its first row as text. Returns an empty text if
  // there is no row.
  std::string Sql(const std::string& sql, const std::string& schema = "public") const;

  // Changes a setting of the running server, and waits until new connections have it.
  void Set(const std::string& name, const std::string& value) const;

  // Returns how many sessions wait for a standby in a COMMIT.
  int WaitingCommits() const;

 private:
  std::string Program(const std::string& name) const;
  void Run(const std::vector<std::string>& command) const;

  const PostgresVersion version_;
  const int port_ = 5432;
  std::string folder_;
  pid_t server_ = -1;
};

// Runs PgBouncer before a server, on a Unix socket in a temporary folder.
class TestPool {
 public:
  // `mode` is PgBouncer's pool_mode.
  TestPool(const TestPostgres& server, const std::string& mode);

  // Kills the pool.
  ~TestPool();

  TestPool(const TestPool&) = delete;
  TestPool& operator=(const TestPool&) = delete;

  // Returns the address of the server, by way of the pool.
  PostgresAddress address(const std::string& schema) const;

 private:
  const TestPostgres& server_;
  std::string folder_;
  pid_t process_ = -1;
};

// Returns a server for the tests that do not harm it. It runs until the process ends, because a start takes a second.
TestPostgres& SharedServer(PostgresVersion version = PostgresVersion::k15);

// Waits until `condition` holds. Returns false after a minute.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_TEST_SERVER_H_
