// The store of quotas on a PostgreSQL server. A Take is durable: see PostgresConnection::Commit.
#ifndef STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_QUOTA_STORE_H_
#define STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_QUOTA_STORE_H_

#include <memory>

#include "base/postgres/server_address.h"
#include "base/postgres/server_clock.h"
#include "gateway/shares/quota_store.h"

namespace stampgate {

struct PostgresQuotaStoreOptions {
  PostgresAddress address;
  ServerClock now;
};

// Connects with the first Take, and again after a loss of the connection. A Take can last 4 s if the server does not
// answer, and 3 s for each server of the address if there is no connection.
std::unique_ptr<QuotaStore> MakePostgresQuotaStore(PostgresQuotaStoreOptions options);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_QUOTA_STORE_H_
