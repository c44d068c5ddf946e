#include "webhooks/log/postgres/log_tables.h"

#include "webhooks/log/postgres/sql.h"

namespace stampgate {

StoreTables LogTables() {
  return {{kLogV1Sql, "", kLogV3Sql, kSubscriptionsV4Sql},
          "create_log, store_events, trim_events, bytes_of_log, position_before, declare_subscription, renew_hold, "
          "end_hold, "
          "change_subscription, seek_subscription, delete_subscription, ask_holder, requests_for, take_answers"};
}

}  // namespace stampgate
