// Where the PostgreSQL servers of a store are, and how the gateway logs in.
#ifndef STAMPGATE_BASE_POSTGRES_SERVER_ADDRESS_H_
#define STAMPGATE_BASE_POSTGRES_SERVER_ADDRESS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/secret/file.h"

namespace stampgate {

struct PostgresAddress {
  // Each is "host:port" or "[IPv6 address]:port". A host that begins with "/" is the folder of a Unix socket. The
  // gateway uses a server that accepts writes.
  std::vector<std::string> hosts;
  std::string database;
  std::string user;
  std::string schema;          // the schema of the store's tables
  std::string password_file;   // read for each connection; empty: no password
  SecretOwners secret_owners;  // who else may own the password file
  bool plaintext = false;      // whether the connection is without TLS
  // The CA's certificates, against which the server's certificate and name are verified. Empty: the system's.
  std::string ca_file;
  std::string certificate_file;  // the client's certificate; empty: none
  std::string private_key_file;
  // What the gateway accepts of the servers. `allow_single_server`: that they require no synchronous standby, so that
  // the loss of a server can lose what it has committed. `allow_full_page_writes_off`: that full_page_writes is off,
  // because the storage never tears a page.
  bool allow_single_server = false;
  bool allow_full_page_writes_off = false;
  // The highest timeline of a server that PostgresConnection::Open has seen; 0 before. Copies of the address share it.
  std::shared_ptr<std::atomic<int64_t>> timeline = std::make_shared<std::atomic<int64_t>>(0);

  // Raises `timeline` to `seen` if it is lower. Thread-safe.
  void SeeTimeline(int64_t seen) const;
};

// Splits "host:port". Errors: kInvalidArgument.
absl::StatusOr<std::pair<std::string, std::string>> SplitHostAndPort(const std::string& host);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_SERVER_ADDRESS_H_
