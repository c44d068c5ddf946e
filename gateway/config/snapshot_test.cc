#include "gateway/config/snapshot.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

constexpr char kText[] =
    "upstream: {base_url: https://host, ca_file: up.pem}\n"
    "keys: [{name: main, file: main.key, all_organizations: true}]\n"
    "callers: [{name: c, loopback: true, grants: [{classes: [query], organizations_file: ids}]}]\n";

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    Put("f", kText);
    Put("main.key", KeyText(1));
    Put("ids", "a\n");
    Put("up.pem", "authorities");
  }

  std::string PathOf(absl::string_view name) const { return absl::StrCat(folder_, "/", name); }
  void Put(absl::string_view name, absl::string_view content) { PutTestFile(PathOf(name), content); }

  const std::string folder_ = NewTestFolder();
  int readings_ = 0;
  // Each reading calls the clock once, so `readings_` counts the readings.
  ConfigSource source_{PathOf("f"), ConfigFiles::kReloaded, [this] { return absl::FromUnixSeconds(++readings_); }};
};

TEST_F(SnapshotTest, HasTheConfigAndTheFilesThatItNames) {
  const absl::StatusOr<ConfigSnapshot> snapshot = source_.Read();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->path, PathOf("f"));
  EXPECT_EQ(snapshot->contents.Public(PathOf("f")).value(), kText);
  EXPECT_EQ(snapshot->contents.Public(PathOf("ids")).value(), "a\n");
  EXPECT_EQ(snapshot->contents.Secret(PathOf("main.key"))->text(), KeyText(1));
  // up.pem belongs to the fixed part, so the snapshot does not contain its content.
  EXPECT_EQ(snapshot->contents.Public(PathOf("up.pem")).status(), absl::NotFoundError("it was not read"));
}

TEST_F(SnapshotTest, ANewStateIsReadTwice) {
  ASSERT_TRUE(source_.Read().ok());
  EXPECT_EQ(readings_, 2);
}

TEST_F(SnapshotTest, AKnownStateIsReadOnce) {
  const ConfigSnapshot::Digest known = source_.Read()->digest;
  readings_ = 0;
  EXPECT_EQ(source_.Read(known)->digest, known);
  EXPECT_EQ(readings_, 1);
  // A change makes two more readings necessary.
  Put("ids", "b\n");
  readings_ = 0;
  EXPECT_NE(source_.Read(known)->digest, known);
  EXPECT_EQ(readings_, 2);
}

TEST_F(SnapshotTest, EachFileChangesTheDigest) {
  ConfigSnapshot::Digest known = source_.Read()->digest;
  const auto expect_new = [&](absl::string_view what) {
    const ConfigSnapshot::Digest next = source_.Read(known)->digest;
    EXPECT_NE(next, known) << what;
    known = next;
  };
  Put("main.key", KeyText(2));
  expect_new("a key");
  Put("ids", "b\n");
  expect_new("organizations");
  Put("f", absl::StrCat(kText, "# a comment\n"));
  expect_new("the config");
  std::filesystem::remove(PathOf("ids"));
  expect_new("a file that is gone");
  std::filesystem::permissions(PathOf("main.key"), std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  expect_new("a key that others can read");
  std::filesystem::remove(PathOf("f"));
  expect_new("a config that is gone");
  Put("up.pem", "others");
  EXPECT_EQ(source_.Read(known)->digest, known);
}

TEST_F(SnapshotTest, FollowsTheNamesInTheConfig) {
  ASSERT_TRUE(source_.Read().ok());
  Put("other.key", KeyText(2));
  Put("f", "keys: [{name: main, file: other.key, all_organizations: true}]\n");
  const absl::StatusOr<ConfigSnapshot> snapshot = source_.Read();
  EXPECT_EQ(snapshot->contents.Secret(PathOf("other.key"))->text(), KeyText(2));
  EXPECT_FALSE(snapshot->contents.Secret(PathOf("main.key")).ok());
  EXPECT_FALSE(snapshot->contents.Public(PathOf("ids")).ok());
}

TEST_F(SnapshotTest, KeepsTheErrorsOfFiles) {
  std::filesystem::remove(PathOf("f"));
  EXPECT_EQ(source_.Read()->contents.Public(PathOf("f")).status().message(),
            "it cannot be opened: No such file or directory");
  Put("f", "keys: [{name: main, file: none.key}]\nnot: yaml: at all\n");
  EXPECT_TRUE(source_.Read().ok());
}

// Each reading first calls the clock. The clock of this test changes a file.
TEST_F(SnapshotTest, TheFilesAreReadAgainUntilTwoReadingsAgree) {
  int readings = 0;
  ConfigSource source(PathOf("f"), ConfigFiles::kReloaded, [&] {
    if (++readings <= 3) Put("ids", absl::StrCat("a", readings, "\n"));
    return absl::UnixEpoch();
  });
  const absl::StatusOr<ConfigSnapshot> snapshot = source.Read();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->contents.Public(PathOf("ids")).value(), "a3\n");
  EXPECT_EQ(readings, 4);
}

TEST_F(SnapshotTest, ReadingFailsIfTheFilesChangeAllTheTime) {
  int readings = 0;
  ConfigSource source(PathOf("f"), ConfigFiles::kReloaded, [&] {
    Put("ids", absl::StrCat("a", ++readings, "\n"));
    return absl::UnixEpoch();
  });
  EXPECT_EQ(source.Read().status(), absl::AbortedError(absl::StrCat(
                                        PathOf("f"), ": the config or its files change faster than they can be read")));
  EXPECT_EQ(readings, 10);
}

}  // namespace
}  // namespace stampgate
