#include "gateway/store/postgres/store_tables.h"

#include "gateway/store/postgres/sql.h"
#include "webhooks/log/postgres/log_tables.h"

namespace stampgate {
namespace {

StoreTables CallTables() {
  return {{kCallsV1Sql, "", kCallsV3Sql},
          "age_of_keys, store_submits, trim_submits, report_loss, begin_lease, extend_lease, end_lease"};
}

StoreTables RateTables() {
  return {{"", kRatesV2Sql, kRatesV3Sql}, "renew_rates, release_rates, take_calls, return_calls"};
}

StoreTables Seals() { return {{"", "", kSealV3Sql}, ""}; }

}  // namespace

const StoreSteps& StepsOfThisProgram() {
  static const StoreSteps& steps =
      *new StoreSteps{{LogTables(), CallTables(), RateTables(), Seals()}, /*version=*/4, /*usable_since=*/1};
  return steps;
}

}  // namespace stampgate
