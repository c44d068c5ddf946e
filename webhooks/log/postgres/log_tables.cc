#include "webhooks/log/postgres/log_tables.h"

#include "webhooks/log/postgres/sql.h"

namespace stampgate {

StoreTables LogTables() {
  return {{kLogV1Sql, "", kLogV3Sql}, "create_log, store_events, trim_events, bytes_of_log, position_before"};
}

}  // namespace stampgate
