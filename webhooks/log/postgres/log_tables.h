// The tables of the event log on a PostgreSQL server.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_LOG_TABLES_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_LOG_TABLES_H_

#include "base/postgres/schema.h"

namespace stampgate {

// See log_v1.sql and log_v3.sql.
StoreTables LogTables();

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_LOG_TABLES_H_
