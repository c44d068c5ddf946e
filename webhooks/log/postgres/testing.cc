#include "webhooks/log/postgres/testing.h"

#include "webhooks/log/postgres/log_tables.h"

namespace stampgate {
namespace {

constexpr char kSealed[] = "UPDATE bounds SET unsealed_through = 0 WHERE NOT EXISTS (SELECT FROM log);\n";

}  // namespace

const StoreSteps& LogSteps() {
  static const StoreSteps& steps = *new StoreSteps{{LogTables(), {{"", "", kSealed}, ""}}, /*version=*/4};
  return steps;
}

}  // namespace stampgate
