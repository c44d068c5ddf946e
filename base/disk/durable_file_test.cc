#include "base/disk/durable_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;

DurableFile::Settings SettingsOf(int64_t version) {
  return {.format = {.name = "a file of tests", .application_id = 0x74657374, .version = version}, .busy_ms = 100};
}

class DurableFileTest : public ::testing::Test {
 protected:
  absl::StatusOr<SqliteConnection> Connect(
      int64_t version, absl::FunctionRef<absl::Status(SqliteConnection& connection, int64_t version)> upgrade) const {
    return DurableFile::Connect(path_, /*vfs=*/"", SettingsOf(version), /*synchronous_full=*/true, upgrade);
  }

  // Opens the file at version 1, which has an empty table.
  std::unique_ptr<DurableFile> Open() const {
    absl::StatusOr<SqliteConnection> connection =
        Connect(1, [](SqliteConnection& connection, int64_t) { return connection.Run("CREATE TABLE t (n INTEGER)"); });
    EXPECT_TRUE(connection.ok()) << connection.status();
    absl::StatusOr<std::unique_ptr<DurableFile>> file =
        DurableFile::Create(*std::move(connection), /*checkpoint_pages=*/1000, /*busy_ms=*/100);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }

  static int64_t Rows(DurableFile& file) { return file.connection().Number("SELECT count(*) FROM t").value_or(-1); }

  const std::string folder_ =
      absl::StrCat(::testing::TempDir(), "/", ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string path_ = folder_ + "/file";

  void SetUp() override { std::filesystem::create_directories(folder_); }
};

TEST_F(DurableFileTest, AFileIsUpgradedOnceToEachVersion) {
  std::vector<int64_t> versions;
  const auto upgrade = [&](SqliteConnection& connection, int64_t version) {
    EXPECT_TRUE(connection.in_transaction());
    versions.push_back(version);
    return connection.Run(absl::StrCat("CREATE TABLE t", version, " (n INTEGER)").c_str());
  };
  for (const int version : {1, 1, 3, 3}) {
    absl::StatusOr<SqliteConnection> connection = Connect(version, upgrade);
    ASSERT_TRUE(connection.ok()) << connection.status();
    EXPECT_FALSE(connection->in_transaction());
    EXPECT_EQ(connection->Number("PRAGMA user_version").value_or(-1), version);
  }
  EXPECT_THAT(versions, ElementsAre(0, 1));
  EXPECT_TRUE(absl::IsFailedPrecondition(Connect(2, upgrade).status()));
}

TEST_F(DurableFileTest, AFileKeepsAVersionThatItsOwnerHasRaised) {
  DurableFile::Settings settings = SettingsOf(1);
  settings.format.newest_version = 2;
  int upgrades = 0;
  const auto connect = [&] {
    return DurableFile::Connect(path_, /*vfs=*/"", settings, /*synchronous_full=*/true,
                                [&](SqliteConnection& connection, int64_t) {
                                  ++upgrades;
                                  return connection.Run("CREATE TABLE t (n INTEGER)");
                                });
  };
  for (const int version : {1, 2, 2}) {
    absl::StatusOr<SqliteConnection> connection = connect();
    ASSERT_TRUE(connection.ok()) << connection.status();
    EXPECT_EQ(connection->Number("PRAGMA user_version").value_or(-1), version);
    ASSERT_TRUE(connection->Run("PRAGMA user_version = 2").ok());
  }
  EXPECT_EQ(upgrades, 1);
  ASSERT_TRUE(connect()->Run("PRAGMA user_version = 3").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(connect().status()));
}

TEST_F(DurableFileTest, AFailedUpgradeChangesNothing) {
  const auto fail = [](SqliteConnection& connection, int64_t) {
    EXPECT_TRUE(connection.Run("CREATE TABLE t (n INTEGER)").ok());
    return absl::InternalError("no upgrade");
  };
  EXPECT_EQ(Connect(1, fail).status(), absl::InternalError("no upgrade"));
  EXPECT_EQ(Rows(*Open()), 0);  // the table can be created
}

TEST_F(DurableFileTest, AnAbandonedTransactionLeavesNoRow) {
  const std::unique_ptr<DurableFile> file = Open();
  const absl::Status full = absl::ResourceExhaustedError("full");
  ASSERT_TRUE(file->Begin().ok());
  ASSERT_TRUE(file->connection().Run("INSERT INTO t VALUES (1)").ok());
  int64_t reread = -1;
  EXPECT_EQ(file->Abandon(full,
                          [&] {
                            reread = Rows(*file);
                            return absl::OkStatus();
                          }),
            full);
  EXPECT_EQ(reread, 0);
  ASSERT_TRUE(file->Begin().ok());
  ASSERT_TRUE(file->connection().Run("INSERT INTO t VALUES (2)").ok());
  ASSERT_TRUE(file->Reserve().ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Rows(*file), 1);
}

TEST_F(DurableFileTest, AbandonReturnsTheErrorThatEndsTheUse) {
  const std::unique_ptr<DurableFile> file = Open();
  const absl::Status damaged = absl::DataLossError("damaged");
  const auto unread = []() -> absl::Status {
    ADD_FAILURE() << "a damaged file is read again";
    return absl::OkStatus();
  };
  EXPECT_EQ(file->Abandon(damaged, unread), damaged);
  EXPECT_EQ(file->Abandon(absl::AbortedError("locked"), [&] { return damaged; }), damaged);
}

TEST(DeleteInSmallerStepsTest, WhileTheDiskIsFullEachStepHasFewerRows) {
  std::vector<int> steps;
  const auto full_above = [&](int limit) {
    return [&steps, limit](int max_rows) -> absl::StatusOr<bool> {
      steps.push_back(max_rows);
      if (max_rows > limit) return absl::ResourceExhaustedError("full");
      return true;
    };
  };
  EXPECT_EQ(DeleteInSmallerSteps(500, full_above(60)).value_or(false), true);
  EXPECT_THAT(steps, ElementsAre(500, 62, 7));
  steps.clear();
  EXPECT_EQ(DeleteInSmallerSteps(9, full_above(0)).status(), absl::ResourceExhaustedError("full"));
  EXPECT_THAT(steps, ElementsAre(9, 1));
}

TEST(DeleteInSmallerStepsTest, AnotherErrorEndsTheSteps) {
  int steps = 0;
  const auto fail = [&](int) -> absl::StatusOr<bool> {
    ++steps;
    return absl::AbortedError("locked");
  };
  EXPECT_EQ(DeleteInSmallerSteps(500, fail).status(), absl::AbortedError("locked"));
  EXPECT_EQ(steps, 1);
}

}  // namespace
}  // namespace stampgate
