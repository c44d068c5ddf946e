#include "gateway/config/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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
  void WriteInPlace(absl::string_view name, const std::string& content) {
    std::ofstream(PathOf(name), std::ios::trunc) << content;
  }

  ConfigSource::Reading Read(ConfigFiles files = ConfigFiles::kReloaded, bool asked = false) {
    absl::StatusOr<ConfigSource::Reading> reading = source_.Read(files, asked);
    EXPECT_TRUE(reading.ok()) << reading.status();
    return *std::move(reading);
  }
  ConfigSource::Reading ReadAfter(milliseconds time) {
    now_ += time;
    return Read();
  }
  // Reads until no file is held.
  ConfigSnapshot ReadWhole() {
    ConfigSource::Reading reading = Read();
    while (reading.wait.count() > 0) {
      now_ += std::chrono::duration_cast<SettledFile::Time::duration>(reading.wait);
      reading = Read();
    }
    return *reading.snapshot;
  }
  std::string Text(const ConfigSnapshot& snapshot) const { return snapshot.contents.Public(PathOf("f")).value(); }
  bool Has(const ConfigSnapshot& snapshot, absl::string_view id) const {
    return (*snapshot.organizations.at(PathOf("ids")).ids)->Contains(id);
  }

  const std::string folder_ = NewTestFolder();
  SettledFile::Time now_{};
  std::function<void()> while_looking_ = [] {};
  // Each look at a file calls `while_looking_`.
  ConfigSource source_{PathOf("f"),
                       {.now = absl::UnixEpoch,
                        .steady_now = [this] { return now_; },
                        .state_of =
                            [this](const std::string& path) {
                              while_looking_();
                              return FileStateOf(path);
                            }}};
};

TEST_F(SnapshotTest, HasTheConfigAndTheFilesThatItNames) {
  const ConfigSnapshot snapshot = *Read().snapshot;
  EXPECT_EQ(snapshot.path, PathOf("f"));
  EXPECT_EQ(Text(snapshot), kText);
  EXPECT_TRUE(Has(snapshot, "a"));
  EXPECT_EQ(snapshot.contents.Secret(PathOf("main.key"))->text(), KeyText(1));
  // up.pem belongs to the fixed part, so the snapshot does not contain its content.
  EXPECT_EQ(snapshot.contents.Public(PathOf("up.pem")).status(), absl::NotFoundError("it was not read"));
  EXPECT_FALSE(Read(ConfigFiles::kAll).snapshot.has_value()) << "up.pem must be still first";
}

TEST_F(SnapshotTest, EachFileChangesTheDigest) {
  ConfigSnapshot::Digest known = ReadWhole().digest;
  const auto expect_new = [&](absl::string_view what) {
    const ConfigSnapshot::Digest next = ReadWhole().digest;
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
  EXPECT_EQ(ReadWhole().digest, known);
}

TEST_F(SnapshotTest, FollowsTheNamesInTheConfig) {
  ReadWhole();
  Put("other.key", KeyText(2));
  Put("f", "keys: [{name: main, file: other.key, all_organizations: true}]\n");
  const ConfigSnapshot snapshot = ReadWhole();
  EXPECT_EQ(snapshot.contents.Secret(PathOf("other.key"))->text(), KeyText(2));
  EXPECT_FALSE(snapshot.contents.Secret(PathOf("main.key")).ok());
  EXPECT_TRUE(snapshot.organizations.empty());
}

TEST_F(SnapshotTest, KeepsTheErrorsOfFiles) {
  std::filesystem::remove(PathOf("f"));
  EXPECT_EQ(Read().snapshot->contents.Public(PathOf("f")).status().message(),
            "it cannot be opened: No such file or directory");
  Put("f", "keys: [{name: main, file: none.key}]\nnot: yaml: at all\n");
  EXPECT_EQ(Text(ReadWhole()), "keys: [{name: main, file: none.key}]\nnot: yaml: at all\n");
}

TEST_F(SnapshotTest, AFileThatChangesWhileOthersAreReadIsReadAgain) {
  for (int change_at = 1; change_at <= 12; ++change_at) {
    MountedFolder folder({{"f", kText}, {"main.key", KeyText(1)}, {"ids", "a1\n"}});
    int looks = 0;
    ConfigSource source(folder.PathOf("f"), {.now = absl::UnixEpoch,
                                             .steady_now = [] { return SettledFile::Time(); },
                                             .state_of =
                                                 [&](const std::string& path) {
                                                   if (++looks == change_at) {
                                                     folder.Swap({{"f", absl::StrCat(kText, "#", change_at)},
                                                                  {"main.key", KeyText(1 + change_at % 9)},
                                                                  {"ids", absl::StrCat("a", change_at, "\n")}});
                                                   }
                                                   return FileStateOf(path);
                                                 }});
    const absl::StatusOr<ConfigSource::Reading> reading = source.Read(ConfigFiles::kReloaded);
    ASSERT_TRUE(reading.ok()) << reading.status();
    const std::string text = reading->snapshot->contents.Public(folder.PathOf("f")).value();
    const bool is_new = text == absl::StrCat(kText, "#", change_at);
    EXPECT_EQ(is_new, looks >= change_at) << change_at;
    EXPECT_EQ(reading->snapshot->contents.Secret(folder.PathOf("main.key"))->text(),
              KeyText(is_new ? 1 + change_at % 9 : 1));
    EXPECT_TRUE((*reading->snapshot->organizations.at(folder.PathOf("ids")).ids)
                    ->Contains(absl::StrCat("a", is_new ? change_at : 1)));
  }
}

// A start must not fail because somebody has replaced a file by a rename, or has written it, just then.
TEST_F(SnapshotTest, AFileWithoutALinkMayChangeOnceWhileTheFirstReadingIsInProgress) {
  for (const char* changed : {"f", "main.key", "ids", "up.pem"}) {
    const std::string before = changed == std::string("f") ? kText : "a\n";
    for (int change_at = 1; change_at <= 12; ++change_at) {
      Put(changed, changed == std::string("main.key") ? KeyText(1) : before);
      int looks = 0;
      ConfigSource source(PathOf("f"), {.now = absl::UnixEpoch,
                                        .steady_now = [] { return SettledFile::Time(); },
                                        .state_of =
                                            [&](const std::string& path) {
                                              if (++looks == change_at) {
                                                std::ofstream(PathOf(changed), std::ios::app) << "# later\n";
                                              }
                                              return FileStateOf(path);
                                            }});
      const absl::StatusOr<ConfigSource::Reading> reading = source.Read(ConfigFiles::kAll);
      ASSERT_TRUE(reading.ok()) << changed << change_at << reading.status();
      EXPECT_TRUE(reading->snapshot.has_value());
    }
  }
}

TEST_F(SnapshotTest, ReadingFailsIfTheFilesChangeAllTheTime) {
  int changes = 0;
  while_looking_ = [&] { Put("ids", absl::StrCat("a", ++changes, "\n")); };
  EXPECT_EQ(
      source_.Read(ConfigFiles::kReloaded).status(),
      absl::AbortedError(absl::StrCat(PathOf("f"), ": the config or its files change faster than they can be read")));
}

class ReloadingSnapshotTest : public SnapshotTest {
 protected:
  ReloadingSnapshotTest() {
    Read(ConfigFiles::kAll);
    source_.SetInForce();
    ReadWhole();
    source_.SetInForce();
  }
};

TEST_F(ReloadingSnapshotTest, AHalfWrittenOrganizationsFileHoldsNoSnapshot) {
  const ConfigSnapshot::Digest whole = Read().snapshot->digest;
  WriteInPlace("ids", "");
  ConfigSource::Reading reading = Read();
  EXPECT_NE(reading.snapshot->digest, whole) << "otherwise nobody would count the grants whose file is held";
  EXPECT_EQ(reading.wait, seconds(2));
  ASSERT_EQ(reading.held.size(), 1u);
  EXPECT_FALSE(reading.held[0].shrank);
  reading = ReadAfter(seconds(2));
  // The file is still, but it has lost all its bytes.
  EXPECT_EQ(reading.wait, seconds(28));
  ASSERT_EQ(reading.held.size(), 1u);
  EXPECT_TRUE(reading.held[0].shrank);
  EXPECT_EQ(reading.held[0].path, PathOf("ids"));
  EXPECT_EQ(reading.held[0].former_bytes, 2);
  EXPECT_EQ(reading.held[0].bytes, 0);
  ASSERT_TRUE(reading.snapshot.has_value());
  EXPECT_TRUE(Has(*reading.snapshot, "a"));
  EXPECT_TRUE(reading.snapshot->organizations.at(PathOf("ids")).is_held);
}

TEST_F(ReloadingSnapshotTest, TheOtherFilesAreUsedTogether) {
  Put("f", absl::StrCat(kText, "# 1\n"));
  Read();
  WriteInPlace("main.key", KeyText(2));
  ConfigSource::Reading reading = ReadAfter(seconds(2));
  ASSERT_EQ(reading.held.size(), 1u);
  EXPECT_FALSE(reading.snapshot.has_value()) << "the config is whole, but its key is not";
  WriteInPlace("main.key", absl::StrCat(KeyText(2), "\n"));
  EXPECT_FALSE(ReadAfter(milliseconds(1000)).snapshot.has_value());
  EXPECT_FALSE(ReadAfter(milliseconds(1999)).snapshot.has_value());
  reading = ReadAfter(milliseconds(1));
  EXPECT_EQ(Text(*reading.snapshot), absl::StrCat(kText, "# 1\n"));
  EXPECT_EQ(reading.snapshot->contents.Secret(PathOf("main.key"))->text(), absl::StrCat(KeyText(2), "\n"));
}

TEST_F(ReloadingSnapshotTest, AChangedConfigWaitsTenSecondsForAnOrganizationsFile) {
  Put("f", absl::StrCat(kText, "# 1\n"));
  Read();
  const SettledFile::Time ready = now_ + seconds(2);
  int writes = 0;
  while (now_ < ready + ConfigSource::kMostWait - milliseconds(500)) {
    WriteInPlace("ids", absl::StrCat("b", ++writes, "\n"));
    const ConfigSource::Reading reading = ReadAfter(milliseconds(500));
    EXPECT_FALSE(reading.snapshot.has_value());
    EXPECT_GT(reading.wait.count(), 0);
  }
  WriteInPlace("ids", absl::StrCat("b", ++writes, "\n"));
  const ConfigSource::Reading reading = ReadAfter(milliseconds(500));
  EXPECT_EQ(Text(*reading.snapshot), absl::StrCat(kText, "# 1\n"));
  EXPECT_TRUE(Has(*reading.snapshot, "a"));
  EXPECT_TRUE(reading.snapshot->organizations.at(PathOf("ids")).is_held);
}

TEST_F(ReloadingSnapshotTest, AFileThatIsNamedAnewMustBeStill) {
  Put("more", "b\n");
  const std::string with_more = absl::StrReplaceAll(kText, {{"file: ids", "file: more"}});
  Put("f", with_more);
  Read();
  ConfigSource::Reading reading = ReadAfter(seconds(2));
  EXPECT_FALSE(reading.snapshot.has_value());
  EXPECT_EQ(reading.wait, seconds(2));
  reading = ReadAfter(seconds(2));
  EXPECT_EQ(Text(*reading.snapshot), with_more);
  EXPECT_TRUE((*reading.snapshot->organizations.at(PathOf("more")).ids)->Contains("b"));
}

// A faulty config must not make the gateway forget the files that are in force.
TEST_F(ReloadingSnapshotTest, FilesInForceAreKnownAlsoAfterAConfigThatDoesNotNameThem) {
  const std::string faulty(std::string(kText).size(), '#');
  Put("f", faulty);
  Read();
  EXPECT_EQ(Text(*ReadAfter(seconds(2)).snapshot), faulty);
  Put("f", kText);
  Read();
  const ConfigSource::Reading reading = ReadAfter(seconds(2));
  EXPECT_EQ(Text(*reading.snapshot), kText);
  EXPECT_EQ(reading.wait.count(), 0) << "they need not be still again";
}

}  // namespace
}  // namespace stampgate
