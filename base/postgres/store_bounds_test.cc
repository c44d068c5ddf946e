#include "base/postgres/store_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/postgres/schema.h"
#include "base/postgres/test_server.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;

constexpr StoreBounds kBounds = {.retention_age = absl::Hours(5),
                                 .retention_bytes = 7,
                                 .deduplication_age = absl::Hours(6),
                                 .key_retention = absl::Hours(7)};

// A store that has only what all stores have.
const StoreSteps kSteps = {{}, /*version=*/3};

std::unique_ptr<PostgresConnection> Connect(const std::string& schema, const std::string& user = "postgres") {
  PostgresAddress address = SharedServer().address(schema);
  address.user = user;
  return PostgresConnection::Open(address).value();
}

TEST(StoreBoundsTest, TheOwnerOfANewStoreDecides) {
  const std::unique_ptr<PostgresConnection> owner = Connect("fresh");
  ASSERT_EQ(MigrateStore(*owner, "fresh", kSteps), absl::OkStatus());
  EXPECT_EQ(ReadStoreDecisions(*owner)->bounds, std::nullopt);
  EXPECT_EQ(ReadStoreDecisions(*owner)->unsealed_through, std::nullopt);
  ASSERT_EQ(WriteStoreBounds(*owner, kBounds), absl::OkStatus());
  EXPECT_EQ(ReadStoreDecisions(*owner)->bounds, kBounds);
}

TEST(StoreBoundsTest, AGatewayCanOnlyReadWhatTheOwnerHasDecided) {
  const std::unique_ptr<PostgresConnection> owner = Connect("decided");
  ASSERT_EQ(MigrateStore(*owner, "decided", kSteps), absl::OkStatus());
  ASSERT_EQ(WriteStoreBounds(*owner, kBounds), absl::OkStatus());
  SharedServer().Sql("CREATE ROLE reader LOGIN");
  ASSERT_EQ(GrantStore(*owner, "decided", "reader", kSteps), absl::OkStatus());
  const std::unique_ptr<PostgresConnection> gateway = Connect("decided", "reader");
  EXPECT_EQ(ReadStoreDecisions(*gateway)->bounds, kBounds);
  const absl::Status status = WriteStoreBounds(*gateway, StoreBounds());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("permission denied"));
}

}  // namespace
}  // namespace stampgate
