#include "gateway/commands/store_commands.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/status_is.h"
#include "base/testing/temporary_file.h"

namespace stampgate {
namespace {

using testing::StatusIs;

// Writes a config with these settings, and returns its path.
std::string ConfigWith(const std::string& settings) {
  return WriteTemp("config.yaml", absl::StrCat("upstream: {base_url: 'https://host'}\n"
                                               "keys: [{name: a, file: a.key, all_organizations: true}]\n"
                                               "callers: [{name: c, loopback: true, grants: [{classes: [query], "
                                               "all_organizations: true}]}]\n",
                                               settings));
}

TEST(StoreCommandsTest, TheCommandsOfAServerNeedAStoreOnAServer) {
  const std::string config = ConfigWith("");
  for (const auto& result :
       {MigrateStoreOf(config, ""), SetStoreOf(config), SealStoreOf(config), CheckStoreOf(config)}) {
    EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_EQ(result.status().message(), absl::StrCat(config, ": the config has no store.postgresql"));
  }
}

TEST(StoreCommandsTest, WithoutAStoreNothingCanBeMarked) {
  const std::string config = ConfigWith("");
  const auto result = MarkStoreAsRestored(config);
  EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(result.status().message(), absl::StrCat(config, ": the config has no store"));
}

TEST(StoreCommandsTest, AStoreWithoutFilesCannotBeMarked) {
  std::filesystem::create_directory(TempPath("empty"));
  const std::string config = ConfigWith(absl::StrCat("store: {sqlite: {folder: '", TempPath("empty"), "'}}\n"));
  EXPECT_THAT(MarkStoreAsRestored(config).status(), StatusIs(absl::StatusCode::kNotFound));
}

TEST(StoreCommandsTest, AConfigThatCannotBeReadIsAnError) {
  EXPECT_THAT(CheckStoreOf("/no/such/config.yaml").status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(MarkStoreAsRestored("/no/such/config.yaml").status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace stampgate
