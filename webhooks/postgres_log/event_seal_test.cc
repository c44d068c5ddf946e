#include "webhooks/postgres_log/event_seal.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"
#include "webhooks/log/event_log.h"

namespace stampgate {
namespace {

LogIdentity LogOf(uint8_t id, uint8_t key) {
  LogIdentity log;
  log.id.fill(id);
  log.cursor_key.fill(key);
  return log;
}

// HMAC-SHA-256 by another program: of the log's id and "content" under the HMAC of the purpose under the cursor key.
TEST(EventSealsTest, ASealIsTheHmacOfTheLogAndTheContent) {
  EXPECT_EQ(absl::BytesToHexString(EventSeals(LogOf(1, 2)).Make("content")),
            "fc0304276cf939ffced96933c9d94e377f6cfdc4d6caa7bed0eaf9d0867f575d");
}

TEST(EventSealsTest, ASealIsValidOnlyForItsLogItsKeyAndItsContent) {
  const EventSeals seals(LogOf(1, 2));
  const std::string seal = seals.Make("content");
  EXPECT_EQ(seal.size(), 32u);
  EXPECT_TRUE(seals.IsValid(seal, "content"));
  EXPECT_TRUE(EventSeals(LogOf(1, 2)).IsValid(seal, "content"));
  EXPECT_FALSE(seals.IsValid(seal, "Content"));
  EXPECT_FALSE(seals.IsValid(seal, ""));
  EXPECT_FALSE(EventSeals(LogOf(3, 2)).IsValid(seal, "content"));
  EXPECT_FALSE(EventSeals(LogOf(1, 3)).IsValid(seal, "content"));
  for (const std::string& other : {std::string(), seal.substr(1), seal + "x", std::string(32, '\0')}) {
    EXPECT_FALSE(seals.IsValid(other, "content"));
  }
  for (size_t i = 0; i < seal.size(); ++i) {
    std::string changed = seal;
    changed[i] ^= 1;
    EXPECT_FALSE(seals.IsValid(changed, "content"));
  }
}

}  // namespace
}  // namespace stampgate
