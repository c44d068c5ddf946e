#include "gateway/config/rules/memory_rules.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/config/config.h"
#include "gateway/config/testing.h"

namespace stampgate {
namespace {

constexpr char kRest[] =
    "upstream: {base_url: https://api.example.com}\n"
    "keys: [{name: main, file: main.key, all_organizations: true}]\n"
    "callers: [{name: local, loopback: true, grants: [{classes: [query], all_organizations: true}]}]\n"
    "class_grants_as_of: 2026-09-22\n";

config::v1::Config Parsed(const std::string& config) {
  const absl::StatusOr<ParsedConfig> parsed = ParseConfig(TestSnapshot(kRest + config, "f", ConfigFiles::kPolicy));
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? *parsed->config : config::v1::Config();
}

config::v1::Memory MemoryOf(const std::string& config) { return Parsed(config).memory(); }

TEST(MemoryRulesTest, ALargerLimitThatContainsASmallerOneBoundsIt) {
  const config::v1::Memory memory = MemoryOf("memory: {max_bytes: 134217728, max_bytes_per_identity: 200000000}\n");
  EXPECT_EQ(memory.max_bytes(), 134217728u);
  EXPECT_EQ(memory.max_bytes_per_identity(), 117440512u);
  EXPECT_EQ(memory.max_bytes_per_connection(), 100663296u);
  EXPECT_EQ(MemoryOf("memory: {max_bytes_per_identity: 20000000}\n").max_bytes_per_connection(), 20000000u);
}

TEST(MemoryRulesTest, EachEarlierNameOfASettingStillCounts) {
  EXPECT_EQ(MemoryOf("connections: {max_bytes: 350000000}\n").max_bytes(), 400000000u);
  EXPECT_EQ(MemoryOf("calls: {max_in_flight_bytes: 87500000}\n").max_bytes(), 400000000u);
  EXPECT_EQ(MemoryOf("events: {max_unsent_bytes: 350000000}\n").max_bytes(), 400000000u);
  EXPECT_EQ(MemoryOf("connections: {max_bytes_per_identity: 90000000}\n").max_bytes_per_identity(), 90000000u);
  EXPECT_EQ(MemoryOf("calls: {max_in_flight_bytes_per_caller: 20000000}\n").max_bytes_per_identity(), 80000000u);
  EXPECT_EQ(MemoryOf("events: {max_unsent_bytes_per_caller: 80000000}\n").max_bytes_per_identity(), 80000000u);
  EXPECT_EQ(MemoryOf("connections: {max_bytes_per_connection: 19000000}\n").max_bytes_per_connection(), 19000000u);
}

TEST(MemoryRulesTest, ASmallValueOfAnEarlierNameLeavesMemoryForALargeCall) {
  EXPECT_EQ(MemoryOf("connections: {max_bytes_per_connection: 9000000}\n").max_bytes_per_connection(), 16u << 20);
  const config::v1::Memory memory = MemoryOf("events: {max_unsent_bytes_per_caller: 4194304}\n");
  EXPECT_EQ(memory.max_bytes_per_identity(), 16u << 20);
  EXPECT_EQ(memory.max_bytes_per_connection(), 16u << 20);
  EXPECT_EQ(MemoryOf("events: {max_unsent_bytes: 4194304}\n").max_bytes(), 64u << 20);
}

TEST(MemoryRulesTest, OfSeveralEarlierNamesTheLargestValueCounts) {
  const std::string earlier = "connections: {max_bytes: 200000000}\nevents: {max_unsent_bytes: 350000000}\n";
  EXPECT_EQ(MemoryOf(earlier).max_bytes(), 400000000u);
  EXPECT_EQ(MemoryOf(earlier + "memory: {max_bytes: 250000000}\n").max_bytes(), 250000000u);
}

TEST(MemoryRulesTest, EarlierNamesLeaveTheConfig) {
  const config::v1::Config config =
      Parsed("connections: {max_bytes: 200000000}\ncalls: {max_in_flight_bytes: 5000000}\n");
  EXPECT_FALSE(config.connections().has_max_bytes());
  EXPECT_FALSE(config.calls().has_max_in_flight_bytes());
}

constexpr char kWebhooks[] =
    "store: {sqlite: {folder: s}}\n"
    "webhooks: {listen_address: 127.0.0.1:0, paths: [/0123456789012345678901234567], max_bytes: 100000000}\n";

TEST(MemoryRulesTest, TheWebhookPortHasAPart) {
  EXPECT_EQ(MemoryOfCallers(Parsed("")), 224u << 20);
  EXPECT_EQ(MemoryOfCallers(Parsed(kWebhooks)), ((256u << 20) - 100000000) / 8 * 7);
  EXPECT_EQ(MemoryOfCallers(Parsed(std::string(kWebhooks) + "connections: {max_bytes: 70000000}\n")), 70000000u);
}

TEST(MemoryRulesTest, TheWebhookPortMustLeaveMemoryToCallers) {
  const auto report = [](const std::string& bytes) {
    const std::string text = absl::StrCat(kRest, kWebhooks, "memory: {max_bytes: ", bytes, "}\n");
    return ParseConfig(TestSnapshot(text, "f", ConfigFiles::kPolicy)).status();
  };
  EXPECT_TRUE(report(std::to_string(100000000 + (64 << 20))).ok());
  EXPECT_EQ(report(std::to_string(100000000 + (64 << 20) - 1)).message(),
            "f:7:21: memory.max_bytes: must be at least 64 MiB more than webhooks.max_bytes");
}

TEST(MemoryRulesTest, TheTimeHasARange) {
  const auto report = [](const std::string& time) {
    return ParseConfig(TestSnapshot(kRest + ("memory: {max_unread_time: " + time + "}\n"), "f", ConfigFiles::kPolicy))
        .status();
  };
  EXPECT_TRUE(report("1s").ok());
  EXPECT_TRUE(report("10m").ok());
  EXPECT_EQ(report("999ms").message(), "f:5:27: memory.max_unread_time: must be from 1s to 10m");
  EXPECT_EQ(report("601s").message(), "f:5:27: memory.max_unread_time: must be from 1s to 10m");
}

}  // namespace
}  // namespace stampgate
