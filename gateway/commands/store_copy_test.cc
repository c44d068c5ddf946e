#include "gateway/commands/store_copy.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/status_is.h"
#include "base/testing/temporary_file.h"

namespace stampgate {
namespace {

using absl::StatusCode;
using testing::StatusIs;

// Writes a config with this store to the file `name`, and returns its path.
std::string ConfigWith(const std::string& name, const std::string& store) {
  return WriteTemp(name, absl::StrCat("upstream: {base_url: 'https://host'}\n"
                                      "keys: [{name: a, file: a.key, all_organizations: true}]\n"
                                      "callers: [{name: c, loopback: true, grants: [{classes: [query], "
                                      "all_organizations: true}]}]\n",
                                      store));
}

absl::Status Copy(const std::string& from, const std::string& to) {
  return CopyStoreOf(from, to, [](absl::string_view) {}).status();
}

std::string Files() { return absl::StrCat("store: {sqlite: {folder: '", TempPath(""), "'}}\n"); }

std::string Server(const std::string& key_file) {
  return absl::StrCat("store: {postgresql: {hosts: ['127.0.0.1:1'], database: d, user: u, plaintext: true, key_file: '",
                      key_file, "'}}\n");
}

TEST(StoreCopyTest, OneStoreMustBeInFilesAndTheOtherOnAServer) {
  const std::string files = ConfigWith("files.yaml", Files());
  const std::string server = ConfigWith("server.yaml", Server("/no/such/key"));
  for (const std::string& config : {files, server}) {
    EXPECT_THAT(Copy(config, config),
                StatusIs(StatusCode::kFailedPrecondition,
                         "one config must have a store in SQLite files, and the other store.postgresql"));
  }
}

TEST(StoreCopyTest, AConfigWithoutAStoreCannotBeCopiedToOrFrom) {
  const std::string none = ConfigWith("none.yaml", "");
  const std::string server = ConfigWith("server.yaml", Server("/no/such/key"));
  EXPECT_THAT(Copy(none, server),
              StatusIs(StatusCode::kFailedPrecondition, absl::StrCat(none, ": the config has no store")));
  EXPECT_THAT(Copy(server, none),
              StatusIs(StatusCode::kFailedPrecondition, absl::StrCat(none, ": the config has no store")));
}

TEST(StoreCopyTest, TheKeyOfTheStoreIsReadFirst) {
  const std::string files = ConfigWith("files.yaml", Files());
  const std::string server = ConfigWith("server.yaml", Server("/no/such/key"));
  EXPECT_THAT(Copy(files, server), StatusIs(StatusCode::kNotFound));
}

TEST(StoreCopyTest, AConfigThatCannotBeReadIsAnError) {
  EXPECT_THAT(Copy("/no/such/config", "/no/such/config"), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace stampgate
