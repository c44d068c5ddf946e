#include "webhooks/log/postgres/event_seal.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace stampgate {
namespace {

LogIdentity LogOf(uint8_t id, uint8_t key) {
  LogIdentity log;
  log.id.fill(id);
  log.cursor_key.fill(key);
  return log;
}

TEST(EventSealsTest, ASealCoversTheLogAndAllOfTheEventButItsPlace) {
  EventRow row;
  row.position = 1;
  row.commit_us = 2;
  row.event_id = "a";
  row.organization_id = "b";
  row.key_id = "c";
  const std::string seal = EventSeals(LogOf(1, 2)).Make(row);
  EXPECT_TRUE(EventSeals(LogOf(1, 2)).IsValid(seal, row));
  EXPECT_FALSE(EventSeals(LogOf(3, 2)).IsValid(seal, row));
  EXPECT_FALSE(EventSeals(LogOf(1, 3)).IsValid(seal, row));
  EventRow moved = row;
  moved.position = 9;
  moved.commit_us = 9;
  moved.previous = "digest";
  EXPECT_TRUE(EventSeals(LogOf(1, 2)).IsValid(seal, moved));
  const std::vector<std::function<void(EventRow&)>> changes = {
      [](EventRow& row) { row.event_id = "x"; },    [](EventRow& row) { row.organization_id = "x"; },
      [](EventRow& row) { row.type = "x"; },        [](EventRow& row) { row.parent_organization_id = "x"; },
      [](EventRow& row) { row.key_id = "x"; },      [](EventRow& row) { row.timestamp_ms = 9; },
      [](EventRow& row) { row.signature = "x"; },   [](EventRow& row) { row.headers = "x"; },
      [](EventRow& row) { row.body_sha256 = "x"; },
  };
  for (const auto& change : changes) {
    EventRow changed = row;
    change(changed);
    EXPECT_FALSE(EventSeals(LogOf(1, 2)).IsValid(seal, changed));
  }
}

}  // namespace
}  // namespace stampgate
