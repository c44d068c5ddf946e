#include "gateway/config/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/loop/event_loops.h"
#include "gateway/config/snapshot.h"
#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;

constexpr char kConfig[] =
    "upstream: {base_url: https://host}\n"
    "keys: [{name: main, file: main.key, all_organizations: true}]\n"
    "callers: [{name: c, loopback: true, grants: [{classes: [query], organizations_file: ids}]}]\n";

absl::StatusOr<Loaded> LoadAt(const std::string& path, TokenKeyPool& token_keys) {
  ConfigSource source(path);
  return Load(source, token_keys);
}

class LoadingTest : public ::testing::Test {
 protected:
  LoadingTest() { Put(kConfig); }

  void Put(absl::string_view config, int key = 1, absl::string_view ids = "a\n") {
    PutTestFile(folder_ + "/main.key", KeyText(key));
    PutTestFile(folder_ + "/ids", ids);
    PutTestFile(folder_ + "/f", config);
  }
  // Writes the config, with the text `from` replaced by `to`.
  void PutChanged(absl::string_view from, absl::string_view to) {
    const std::string changed = absl::StrReplaceAll(kConfig, {{from, to}});
    ASSERT_NE(changed, kConfig);
    Put(changed);
  }
  absl::StatusOr<Loaded> LoadNow() { return LoadAt(folder_ + "/f", token_keys_); }
  std::string Fault() { return std::string(LoadNow().status().message()); }
  std::string Version() {
    const absl::StatusOr<Loaded> loaded = LoadNow();
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? loaded->access->version : "";
  }

  const std::string folder_ = NewTestFolder();
  TokenKeyPool token_keys_{std::make_shared<EventLoops>(1)};
};

TEST_F(LoadingTest, ReturnsTheKeysAndTheCallersOfTheConfig) {
  const absl::StatusOr<Loaded> loaded = LoadNow();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const NamedSigner* key = loaded->access->keys.Find("anybody", "");
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(key->name, "main");
  EXPECT_EQ(key->signer->public_key_hex(), kPointOfOne);
  Peer loopback;
  loopback.plaintext_loopback = true;
  const CallerDirectory::Callers callers = loaded->access->callers.Find(loopback);
  ASSERT_EQ(callers.size(), 1u);
  const Caller* caller = callers.front();
  EXPECT_EQ(caller->name(), "c");
  Question question;
  question.method = "/stampgate.v1.PolicyService/GetPolicy";
  question.organization_id = "a";
  EXPECT_TRUE(caller->Decide(question).allowed);
  question.organization_id = "b";
  EXPECT_FALSE(caller->Decide(question).allowed);
}

TEST_F(LoadingTest, TheStateHasTheSettingsThatAReloadApplies) {
  const absl::StatusOr<Loaded> loaded = LoadNow();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->access->settings.callers(0).weight(), 1u) << "with their defaults";
  EXPECT_FALSE(loaded->access->settings.has_upstream());
}

TEST_F(LoadingTest, TheVersionStaysIfNoKeyAndNoGrantChanges) {
  const std::string version = Version();
  EXPECT_EQ(version.size(), 16u);
  EXPECT_EQ(Version(), version);
  Put(absl::StrCat("# a comment\n\n", kConfig));
  EXPECT_EQ(Version(), version);
  Put(kConfig, 1, "# a comment\n\n  a\r\n");
  EXPECT_EQ(Version(), version);
  // The changed settings concern neither keys nor grants, so the version stays the same.
  PutChanged("https://host", "https://other");
  EXPECT_EQ(Version(), version);
  Put(absl::StrCat(kConfig, "reload_interval: 1s\n"));
  EXPECT_EQ(Version(), version);
}

TEST_F(LoadingTest, TheVersionChangesIfAKeyOrAGrantChanges) {
  std::set<std::string> versions = {Version()};
  const auto expect_new = [&](const std::string& what) { EXPECT_TRUE(versions.insert(Version()).second) << what; };
  Put(kConfig, 2);
  expect_new("the key in the file");
  Put(kConfig, 1, "a\nb\n");
  expect_new("an id more in the file");
  Put(kConfig, 1, "b\n");
  expect_new("another id in the file");
  Put(kConfig, 1, "# no organizations\n");
  expect_new("no id in the file");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"name: main", "name: other"},
           {"keys: [", "keys: [{name: first, file: main.key, all_organizations: true}, "},
           {"keys: [", "keys: [{name: first, file: main.key, organizations: [a]}, "},
           {"name: c", "name: d"},
           {"loopback: true", "dns_names: [a]"},
           {"loopback: true", "spiffe_ids: ['spiffe://e/a']"},
           {"loopback: true", "loopback: true, dns_names: [a]"},
           {"loopback: true", absl::StrCat("loopback: true, token_sha256: [", std::string(64, 'a'), "]")},
           {"loopback: true", absl::StrCat("loopback: true, token_sha256: [", std::string(64, 'b'), "]")},
           {"[query]", "[write]"},
           {"[query]", "[query, write]"},
           {"classes: [query]", "methods: [PolicyService/GetPolicy]"},
           {"classes: [query]", "general_operations: [{path: a}]"},
           {"organizations_file: ids", "all_organizations: true"},
           {"organizations_file: ids", "organizations: [z]"},
           {"organizations_file: ids", "organizations_file: ids, key: main"},
           {"organizations_file: ids", "organizations_file: ids, dangerous_fields: [delete_without_export]"},
           {"organizations_file: ids", "organizations_file: ids, amount_limits: [{chain: c}]"},
           {"organizations_file: ids", "organizations_file: ids, amount_limits: [{chain: c, max_amount: 1}]"},
           {"organizations_file: ids",
            absl::StrCat("organizations_file: ids, export_public_keys: ['", kPointOfOne, "']")},
           {"organizations_file: ids", "organizations_file: ids, destinations: [a]"},
           {"grants: [", "grants: [{classes: [login], all_organizations: true}, "},
           {"callers: [", "callers: [{name: x, dns_names: [x]}, "},
       }) {
    PutChanged(from, to);
    expect_new(to);
  }
}

TEST_F(LoadingTest, EveryFaultIsAnErrorThatNamesItsPlace) {
  PutChanged("[query]", "[none]");
  EXPECT_THAT(Fault(), HasSubstr("f:3:57: callers[0].grants[0].classes[0]: "));
  Put(kConfig, 1, "a b\n");
  EXPECT_THAT(Fault(), HasSubstr("organizations_file: line 1 is not an exact id"));
  Put(kConfig);
  PutTestFile(folder_ + "/main.key", "garbage");
  EXPECT_THAT(Fault(), HasSubstr("f:2:27: keys[0].file: "));
  std::filesystem::remove(folder_ + "/main.key");
  EXPECT_THAT(Fault(), HasSubstr("f:2:27: keys[0].file: "));
  std::filesystem::remove(folder_ + "/f");
  EXPECT_THAT(Fault(), HasSubstr("f: it cannot be opened: No such file or directory"));
}

// Returns a consistent set of files: `number` chooses the caller's name, the key and the organization.
MountedFolder::Files State(int number) {
  return {{"f", absl::StrReplaceAll(kConfig, {{"name: c", absl::StrCat("name: c", number)}})},
          {"main.key", KeyText(1 + number % 9)},
          {"ids", absl::StrCat("o", number, "\n")}};
}

// The test replaces all files at the same moment, but the loader reads them one after the other. If the loader read
// them only once, it could mix old rules with new keys.
TEST(LoadTest, OldAndNewFilesAreNeverMixed) {
  TokenKeyPool token_keys(std::make_shared<EventLoops>(1));
  std::vector<std::string> points;
  for (int number = 0; number < 9; ++number) {
    MountedFolder folder(State(number));
    const absl::StatusOr<Loaded> loaded = LoadAt(folder.PathOf("f"), token_keys);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    points.emplace_back(loaded->access->keys.Find("o", "")->signer->public_key_hex());
  }
  MountedFolder folder(State(0));
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  ASSERT_TRUE(LoadAt(folder.PathOf("f"), token_keys).ok());
  const auto usual = Clock::now() - begun;
  std::mt19937 random(20240705);
  for (int round = 1; round <= 300; ++round) {
    const auto delay = usual * (random() % 100) / 100;
    std::atomic<bool> loading = false;
    std::thread swapper([&folder, &loading, round, delay] {
      while (!loading) std::this_thread::yield();
      const auto end = Clock::now() + delay;
      while (Clock::now() < end) std::this_thread::yield();
      folder.Swap(State(round));
    });
    loading = true;
    const absl::StatusOr<Loaded> loaded = LoadAt(folder.PathOf("f"), token_keys);
    swapper.join();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const Access& access = *loaded->access;
    const std::string name = loaded->config->callers(0).name();
    const int number = std::stoi(name.substr(1));
    ASSERT_TRUE(number == round || number == round - 1) << name;
    ASSERT_EQ(access.keys.Find("o", "")->signer->public_key_hex(), points[number % 9]) << name;
    ASSERT_TRUE(loaded->config.organizations()[0][0]->Contains(absl::StrCat("o", number))) << name;
  }
}

// LoadSnapshot must parse the bytes in memory, because the files on the disk can change after the snapshot was read.
TEST(LoadTest, ASnapshotIsLoadedWithoutItsFiles) {
  TokenKeyPool token_keys(std::make_shared<EventLoops>(1));
  MountedFolder folder(State(3));
  const absl::StatusOr<ConfigSource::Reading> reading = ConfigSource(folder.PathOf("f")).Read(ConfigFiles::kReloaded);
  ASSERT_TRUE(reading.ok()) << reading.status();
  const std::string version = LoadAt(folder.PathOf("f"), token_keys)->access->version;
  folder.Swap({});
  const absl::StatusOr<Loaded> loaded = LoadSnapshot(*reading->snapshot, token_keys);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->access->version, version);
  EXPECT_FALSE(LoadAt(folder.PathOf("f"), token_keys).ok());
}

}  // namespace
}  // namespace stampgate
