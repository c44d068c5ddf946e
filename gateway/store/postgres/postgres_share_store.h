// The store of shares on a PostgreSQL server.
//
// A renewal is one round trip, with a transaction that waits neither for the disk nor for a standby: the server may
// lose the shares, because every replica states its own again with each renewal. After a failover, a share can be used
// twice for half a second: see Replica.
#ifndef STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_SHARE_STORE_H_
#define STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_SHARE_STORE_H_

#include <memory>

#include "base/postgres/server_address.h"
#include "gateway/shares/share_store.h"

namespace stampgate {

// Connects with the first renewal, and again after a loss of the connection. A renewal can take 4 s if the server does
// not answer, and 3 s for each server of the address if there is no connection.
std::unique_ptr<ShareStore> MakePostgresShareStore(const PostgresAddress& address);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_SHARE_STORE_H_
