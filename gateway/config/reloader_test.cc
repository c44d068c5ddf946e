#include "gateway/config/reloader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/http/test_certificates.h"
#include "base/loop/event_loops.h"
#include "base/threads/mutex.h"
#include "gateway/config/config_metrics.h"
#include "gateway/config/loader.h"
#include "gateway/metrics/registry.h"
#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kHang(60);

// Captures the lines of the process's log, which the process writes to standard error.
class CapturedLog {
 public:
  CapturedLog() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    end_ = ends[0];
  }

  // Waits for the next line of the log, and returns the line.
  std::string Next() {
    for (;;) {
      if (const size_t line_end = text_.find('\n'); line_end != std::string::npos) {
        std::string line = text_.substr(0, line_end);
        text_.erase(0, line_end + 1);
        return line;
      }
      pollfd wanted{end_, POLLIN, 0};
      if (poll(&wanted, 1, static_cast<int>(std::chrono::milliseconds(kHang).count())) != 1)
        return "nothing was logged";
      char chunk[4096];
      const ssize_t size = read(end_, chunk, sizeof(chunk));
      text_.append(chunk, size > 0 ? size : 0);
    }
  }

 private:
  int end_ = -1;
  std::string text_;
};

// The process has only one standard error, so all tests share one CapturedLog.
CapturedLog& TheLog() {
  static auto& log = *new CapturedLog();
  return log;
}

std::string ConfigText(absl::string_view caller, absl::string_view interval = "10m", absl::string_view more = "") {
  return absl::StrCat("upstream: {base_url: https://host}\nreload_interval: ", interval,
                      "\nkeys: [{name: main, file: main.key, all_organizations: true}]\ncallers: [{name: ", caller,
                      ", loopback: true, grants: [{methods: [PolicyService/GetPolicy], organizations_file: ids}]}]\n",
                      more);
}

class ReloaderTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { TheLog(); }

  static MountedFolder::Files Files(const std::string& config, int key = 1, const std::string& ids = "a\n") {
    return {{"f", config}, {"main.key", KeyText(key)}, {"ids", ids}};
  }

  void Start(const std::string& config) {
    folder_ = std::make_unique<MountedFolder>(Files(config));
    Watch();
  }

  void Watch() {
    ConfigSource source(folder_->PathOf("f"), {.steady_now = [this] { return steady_now_.load(); }});
    absl::StatusOr<Loaded> loaded = Load(source, token_keys_);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    source.SetInForce();
    access_ = std::make_unique<CurrentAccess>(loaded->access);
    reloader_ =
        std::make_unique<Reloader>(Reloader::Options{.source = std::move(source),
                                                     .config = loaded->config,
                                                     .token_keys = token_keys_,
                                                     .metrics = metrics_,
                                                     .reload_more =
                                                         [this](bool) {
                                                           MutexLock lock(mutex_);
                                                           ++looks_;
                                                           looked_.WakeAll();
                                                           return ReloadedMore{more_};
                                                         },
                                                     .prepare = [this](const Access&) { return prepared_; },
                                                     .now = [this] { return absl::FromUnixSeconds(now_seconds_); }},
                                   *access_);
  }

  // Waits until the reloader has checked the files `looks` times in all. Returns false if it hangs.
  bool WaitForLooks(int looks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (looks_ < looks && !looked_.WaitUntil(mutex_, deadline)) {
    }
    return looks_ >= looks;
  }

  // Waits until the reloader has checked the files at its interval, after this function was called.
  void WaitForLook() {
    MutexLock lock(mutex_);
    const int before = looks_;
    ASSERT_TRUE(WaitForLooks(before + 2));
  }

  // Makes the reloader check the files, as an operator does, and waits until it has checked them.
  void Look() {
    MutexLock lock(mutex_);
    const int before = looks_;
    reloader_->Wake();
    ASSERT_TRUE(WaitForLooks(before + 1));
  }
  void LookAt(const MountedFolder::Files& files) {
    folder_->Swap(files);
    Look();
  }

  // Returns the name of the only caller.
  static std::string CallerOf(const Access& access) {
    Peer loopback;
    loopback.plaintext_loopback = true;
    const CallerDirectory::Callers callers = access.callers.Find(loopback);
    return callers.size() == 1 ? callers.front()->name() : "";
  }
  std::string Caller() const { return CallerOf(*access_->Get()); }
  static std::string PublicKey(const Access& access) {
    return std::string(access.keys.Find("a", "")->signer->public_key_hex());
  }
  static bool MayRead(const Access& access, absl::string_view organization_id) {
    Question question;
    question.method = "/stampgate.v1.PolicyService/GetPolicy";
    question.organization_id = organization_id;
    return access.callers.Find(Peer{.plaintext_loopback = true, .spiffe_id = {}, .dns_names = {}})[0]
        ->Decide(question)
        .allowed;
  }

  Mutex mutex_;
  Condition looked_;
  int looks_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status more_ ABSL_GUARDED_BY(mutex_);
  absl::Status prepared_;

  // Writes the config file itself, and leaves the links to it unchanged.
  void WriteInPlace(const std::string& config) { WriteInPlace("f", config); }
  void WriteInPlace(const std::string& name, const std::string& content) {
    std::ofstream(folder_->PathOf(name), std::ios::trunc) << content;
  }

  void LookAfter(std::chrono::milliseconds time) {
    steady_now_ = steady_now_.load() + time;
    Look();
  }

  MetricRegistry registry_;
  ConfigMetrics metrics_{registry_};
  std::atomic<int64_t> now_seconds_ = 1767323045;
  std::atomic<SettledFile::Time> steady_now_ = SettledFile::Time();

  TokenKeyPool token_keys_{std::make_shared<EventLoops>(1)};
  std::unique_ptr<MountedFolder> folder_;
  std::unique_ptr<CurrentAccess> access_;
  std::unique_ptr<Reloader> reloader_;
};

TEST_F(ReloaderTest, AChangedConfigIsAppliedAndLogged) {
  Start(ConfigText("c"));
  LookAt(Files(ConfigText("d")));
  EXPECT_EQ(Caller(), "d");
  EXPECT_THAT(
      TheLog().Next(),
      AllOf(HasSubstr(R"("severity":"INFO","event":"reloaded","policy_version":")"),
            HasSubstr(absl::StrCat("\"", access_->Get()->version, R"(","keys":1,"callers":1,"operations_sha256":")"))));
}

TEST_F(ReloaderTest, AConfigWithoutAChangeIsNotAppliedAgain) {
  Start(ConfigText("c"));
  const std::shared_ptr<const Access> first = access_->Get();
  Look();
  LookAt(Files(absl::StrCat("# a comment\n", ConfigText("c"))));
  EXPECT_EQ(access_->Get(), first);
  // The next line of the log is about the following change, so the checks above have logged nothing.
  LookAt(Files(ConfigText("e")));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

TEST_F(ReloaderTest, WarningsAreLoggedWhenTheyChange) {
  const auto text = [](const char* caller, const char* more) {
    return absl::StrReplaceAll(ConfigText(caller), {{"ids}]}", absl::StrCat("ids}]}", more)}});
  };
  constexpr char kIdle[] = ", {name: i, dns_names: [i]}";
  constexpr char kTwoIdle[] = ", {name: i, dns_names: [i]}, {name: j, dns_names: [j]}";
  const auto reloaded = HasSubstr("\"event\":\"reloaded\"");
  Start(ConfigText("c"));
  LookAt(Files(text("c", kIdle)));
  EXPECT_THAT(TheLog().Next(), reloaded);
  EXPECT_THAT(TheLog().Next(), AllOf(HasSubstr(R"("severity":"WARNING","event":"config_warnings","warnings":1,)"),
                                     HasSubstr("callers[1]: has no grants")));
  LookAt(Files(text("d", kIdle)));
  EXPECT_THAT(TheLog().Next(), reloaded);
  LookAt(Files(text("d", kTwoIdle)));
  EXPECT_THAT(TheLog().Next(), reloaded);
  EXPECT_THAT(TheLog().Next(), AllOf(HasSubstr("\"warnings\":2,"), HasSubstr("; "), HasSubstr("callers[2]: has no")));
  LookAt(Files(ConfigText("d")));
  EXPECT_THAT(TheLog().Next(), reloaded);
  LookAt(Files(ConfigText("e")));  // no line says that there are no warnings
  EXPECT_THAT(TheLog().Next(), reloaded);
}

TEST_F(ReloaderTest, AConfigWithAFaultIsNotAppliedAndItsFaultIsLoggedOnce) {
  Start(ConfigText("c"));
  const std::shared_ptr<const Access> first = access_->Get();
  const std::string broken = absl::StrCat(ConfigText("d"), "nonsense: 1\nmore: 2\n");
  LookAt(Files(broken));
  EXPECT_EQ(access_->Get(), first);
  // One line of the log contains both faults.
  EXPECT_THAT(TheLog().Next(),
              AllOf(HasSubstr(R"("severity":"WARNING","event":"reload_failed","message":")"),
                    HasSubstr("f:5:1: nonsense: unknown key"), HasSubstr("; "), HasSubstr("f:6:1: more: unknown key")));
  for (int i = 0; i < 3; ++i) Look();
  LookAt(Files(broken));
  EXPECT_EQ(access_->Get(), first);
  // The reloader logs a different fault. When the first fault returns, the reloader logs the first fault again.
  MountedFolder::Files bad_key = Files(ConfigText("d"));
  bad_key["main.key"] = "garbage";
  LookAt(bad_key);
  EXPECT_THAT(TheLog().Next(), HasSubstr("keys[0].file: "));
  LookAt(Files(broken));
  EXPECT_THAT(TheLog().Next(), HasSubstr("nonsense: unknown key"));
  LookAt(Files(ConfigText("c")));  // the gateway already uses this config, so nothing changes
  EXPECT_EQ(access_->Get(), first);
  LookAt(Files(broken));
  EXPECT_THAT(TheLog().Next(), HasSubstr("nonsense: unknown key"));
  LookAt(Files(ConfigText("d")));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
  EXPECT_EQ(Caller(), "d");
}

TEST_F(ReloaderTest, AConfigForWhichTheGatewayCannotPrepareIsNotAppliedAndIsTriedAgain) {
  constexpr char kName[] = "stampgate_reloads_total{result=\"failed\",what=\"config\"} ";
  Start(ConfigText("c"));
  prepared_ = absl::FailedPreconditionError("two fields are assigned");
  LookAt(Files(ConfigText("d")));
  EXPECT_EQ(Caller(), "c");
  EXPECT_THAT(TheLog().Next(), AllOf(HasSubstr("reload_failed"), HasSubstr("two fields are assigned")));
  Look();
  EXPECT_THAT(registry_.Render(), HasSubstr(absl::StrCat(kName, 2)));
  prepared_ = absl::OkStatus();
  Look();
  EXPECT_EQ(Caller(), "d");
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

TEST_F(ReloaderTest, AFaultIsCountedAtEachCheck) {
  constexpr char kName[] = "stampgate_reloads_total{result=\"failed\",what=\"config\"} ";
  Start(ConfigText("c"));
  LookAt(Files("callers: []"));
  EXPECT_THAT(registry_.Render(), HasSubstr(absl::StrCat(kName, 1)));
  Look();
  Look();
  EXPECT_THAT(registry_.Render(), HasSubstr(absl::StrCat(kName, 3)));
  EXPECT_THAT(TheLog().Next(), HasSubstr("reload_failed"));
  // A good config counts as no failure. A return to the config in use counts as no failure either.
  LookAt(Files(ConfigText("c")));
  Look();
  EXPECT_THAT(registry_.Render(), HasSubstr(absl::StrCat(kName, 3)));
}

TEST_F(ReloaderTest, NoPartOfAStateWithAFaultIsApplied) {
  Start(ConfigText("c"));
  const std::shared_ptr<const Access> first = access_->Get();
  // The first state has good callers and an invalid key. The second state has a good key and no callers.
  MountedFolder::Files files = Files(ConfigText("d"), 2, "b\n");
  files["main.key"] = "garbage";
  LookAt(files);
  EXPECT_EQ(access_->Get(), first);
  EXPECT_THAT(TheLog().Next(), AllOf(HasSubstr("reload_failed"), HasSubstr("keys[0].file")));
  LookAt(Files("callers: []", 2, "b\n"));
  EXPECT_EQ(access_->Get(), first);
  EXPECT_EQ(PublicKey(*first), kPointOfOne);
  EXPECT_THAT(TheLog().Next(), HasSubstr("reload_failed"));
  LookAt({});
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"config_changed\""));
  LookAfter(std::chrono::milliseconds(2000));
  EXPECT_EQ(access_->Get(), first);
  EXPECT_THAT(TheLog().Next(), AllOf(HasSubstr("reload_failed"), HasSubstr("No such file or directory")));
}

TEST_F(ReloaderTest, OrganizationsAreAddedAndRemovedWithTheLinesOfTheirFile) {
  Start(ConfigText("c"));
  EXPECT_TRUE(MayRead(*access_->Get(), "a"));
  EXPECT_FALSE(MayRead(*access_->Get(), "b"));
  LookAt(Files(ConfigText("c"), 1, "a\nb\n"));
  EXPECT_TRUE(MayRead(*access_->Get(), "b"));
  LookAt(Files(ConfigText("c"), 1, "b\n"));
  EXPECT_FALSE(MayRead(*access_->Get(), "a"));
  LookAt(Files(ConfigText("c"), 1, "# no organizations\n"));
  EXPECT_FALSE(MayRead(*access_->Get(), "b"));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

TEST_F(ReloaderTest, AKeyIsReplacedWhenItsMountChangesAndWipedWhenItsLastCallEnds) {
  Start(ConfigText("c"));
  std::shared_ptr<const Access> call = access_->Get();
  const std::weak_ptr<const Signer> former = call->keys.Find("a", "")->signer;
  LookAt(Files(ConfigText("c"), 2));
  EXPECT_EQ(PublicKey(*access_->Get()), kPointOfTwo);
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
  EXPECT_EQ(PublicKey(*call), kPointOfOne);
  EXPECT_FALSE(former.expired());
  call.reset();
  Look();  // waits for the end of the check that replaced the key, because that check holds the former key
  EXPECT_TRUE(former.expired());
}

TEST_F(ReloaderTest, ACallKeepsTheStateWithWhichItBegan) {
  Start(ConfigText("c"));
  const std::shared_ptr<const Access> call = access_->Get();
  for (int key = 2; key <= 5; ++key) LookAt(Files(ConfigText("d"), key, absl::StrCat("o", key, "\n")));
  EXPECT_EQ(PublicKey(*call), kPointOfOne);
  EXPECT_TRUE(MayRead(*call, "a"));
  EXPECT_FALSE(MayRead(*call, "o5"));
  EXPECT_EQ(CallerOf(*call), "c");
  EXPECT_TRUE(MayRead(*access_->Get(), "o5"));
  for (int key = 2; key <= 5; ++key) EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

TEST_F(ReloaderTest, WebhookPathsChangeWithTheirFileAndWithTheConfig) {
  const auto path = [](int number) { return absl::StrCat("/0123456789abcdefghijklm", number); };
  const auto state = [](const std::string& webhooks, const std::string& paths) {
    MountedFolder::Files files = Files(ConfigText("c", "10m", absl::StrCat("webhooks: {", webhooks, "}\n")));
    files["paths"] = paths;
    return files;
  };
  const auto paths = [this] { return access_->Get()->settings.webhooks().paths(); };
  folder_ = std::make_unique<MountedFolder>(state("paths_file: paths", path(1)));
  Watch();
  EXPECT_THAT(paths(), ElementsAre(path(1)));
  LookAt(state("paths_file: paths", path(1) + "\n" + path(2)));
  EXPECT_THAT(paths(), ElementsAre(path(1), path(2)));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
  LookAt(state("paths_file: paths", path(2) + "?"));
  EXPECT_THAT(paths(), ElementsAre(path(1), path(2)));
  EXPECT_THAT(TheLog().Next(),
              AllOf(HasSubstr("\"event\":\"reload_failed\""), HasSubstr("/paths:1: must be"), Not(HasSubstr(path(2)))));
  LookAt(state(absl::StrCat("paths: [", path(3), "]"), path(1)));
  EXPECT_THAT(paths(), ElementsAre(path(3)));
  // No restart is needed.
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
  LookAt(state(absl::StrCat("paths: [", path(4), "]"), path(1)));
  EXPECT_THAT(paths(), ElementsAre(path(4)));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

TEST_F(ReloaderTest, ChangesThatNeedARestartAreLoggedOnce) {
  Start(ConfigText("c"));
  const std::string changed = ConfigText("d", "10m", "operator_name: Other\n");
  LookAt(Files(changed));
  EXPECT_EQ(Caller(), "d");
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
  EXPECT_THAT(TheLog().Next(),
              AllOf(HasSubstr("\"event\":\"restart_needed\""), HasSubstr("settings other than keys, ")));
  Look();
  Look();
  LookAt(Files(ConfigText("d")));
  LookAt(Files(changed));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"restart_needed\""));
}

TEST_F(ReloaderTest, AFaultInAFileThatOnlyTheStartReadsPreventsNoRevocation) {
  const TestAuthority authority("test");
  const TestIdentity server = authority.IssueServer();
  const MountedFolder::Files good = {{"tls.crt", server.certificate},
                                     {"tls.key", server.key},
                                     {"ca.crt", authority.certificate()},
                                     {"audit.key", std::string(64, 'a')}};
  const auto state = [&good](const char* caller) {
    MountedFolder::Files files =
        Files(ConfigText(caller, "10m",
                         "tls: {certificate_file: tls.crt, private_key_file: tls.key, client_ca_file: ca.crt}\n"
                         "webhooks: {tls_certificate_file: tls.crt, tls_private_key_file: tls.key}\n"
                         "audit: {file: audit.log, key_file: audit.key}\n"));
    files.insert(good.begin(), good.end());
    return files;
  };
  folder_ = std::make_unique<MountedFolder>(state("c"));
  Watch();
  const char* const names[] = {"d", "e"};
  int number = 0;
  for (const auto& [file, content] : good) {
    for (const std::string& bad : {std::string("garbage"), authority.IssueServer().certificate}) {
      const char* const caller = names[number++ % 2];
      MountedFolder::Files files = state(caller);
      files[file] = bad;
      LookAt(files);
      EXPECT_EQ(Caller(), caller) << file;
      EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\"")) << file;
      // The gateway does not start if one of these files is bad. There is one exception: it starts if ca.crt contains
      // any valid certificate, even one that has signed no client's certificate.
      if (file != "ca.crt" || bad == "garbage") {
        ConfigSource source(folder_->PathOf("f"));
        EXPECT_FALSE(Load(source, token_keys_).ok()) << file;
      }
    }
  }
}

TEST_F(ReloaderTest, AFailureOfReloadMoreIsLoggedOnceAndPreventsNoReload) {
  Start(ConfigText("c"));
  {
    MutexLock lock(mutex_);
    more_ = absl::InvalidArgumentError("no good certificate");
  }
  Look();
  EXPECT_THAT(TheLog().Next(),
              AllOf(HasSubstr("\"event\":\"certificate_reload_failed\""), HasSubstr("no good certificate")));
  Look();
  LookAt(Files(ConfigText("d")));
  EXPECT_EQ(Caller(), "d");
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

std::string LimitedConfigText(absl::string_view caller) {
  return absl::StrCat(
      "upstream: {base_url: https://host}\nreload_interval: 10m\n",
      "keys: [{name: main, file: main.key, all_organizations: true}]\ncallers:\n  - name: ", caller,
      "\n    loopback: true\n    grants:\n      - classes: [query, dangerous]\n",
      "        organizations_file: ids\n        amount_limits: [{chain: 'eip155:1', max_amount: 1000}]\n");
}

// If the text is cut before amount_limits, the rest is a valid config without limits.
TEST_F(ReloaderTest, AConfigThatIsWrittenInPlaceIsNotAppliedWhileItIsHalfWritten) {
  Start(LimitedConfigText("c"));
  const std::shared_ptr<const Access> first = access_->Get();
  const std::string whole = LimitedConfigText("d");
  const std::string cut = whole.substr(0, whole.find("        amount_limits"));
  ASSERT_NE(cut, whole);
  WriteInPlace(cut);
  Look();  // not even Wake() may apply the config
  EXPECT_THAT(TheLog().Next(), HasSubstr(R"("severity":"INFO","event":"config_changed")"));
  LookAfter(std::chrono::milliseconds(1999));
  EXPECT_EQ(access_->Get(), first);
  WriteInPlace(whole);
  // The reloader looks by itself too, so it can detect the change before the next line advances the clock.
  LookAfter(std::chrono::milliseconds(1));
  LookAfter(std::chrono::milliseconds(1998));
  EXPECT_EQ(access_->Get(), first);
  LookAfter(std::chrono::milliseconds(2));
  EXPECT_EQ(Caller(), "d");
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

// Shows that the test above would detect a config that is applied too early: without a further write, the reloader
// applies the half-written config, because an operator asks for it.
TEST_F(ReloaderTest, AHalfWrittenConfigIsAppliedIfItIsStillAndAnOperatorAsks) {
  Start(LimitedConfigText("c"));
  const std::string whole = LimitedConfigText("d");
  WriteInPlace(whole.substr(0, whole.find("        amount_limits")));
  Look();
  LookAfter(std::chrono::milliseconds(2000));
  EXPECT_EQ(Caller(), "d");
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"config_changed\""));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

// The writer has stopped, so the config stays as it is.
TEST_F(ReloaderTest, AHalfWrittenConfigThatHasBecomeMuchShorterIsNotAppliedForThirtySeconds) {
  Start(absl::StrReplaceAll(LimitedConfigText("c"), {{"10m", "100ms"}}));
  const std::shared_ptr<const Access> first = access_->Get();
  const std::string whole = absl::StrReplaceAll(LimitedConfigText("d"), {{"10m", "100ms"}});
  const std::string cut = whole.substr(0, whole.find("        amount_limits"));
  WriteInPlace(cut);
  EXPECT_THAT(TheLog().Next(), AllOf(HasSubstr("\"event\":\"config_changed\""), HasSubstr(folder_->PathOf("f"))));
  steady_now_ = steady_now_.load() + std::chrono::seconds(2);
  EXPECT_THAT(TheLog().Next(),
              AllOf(HasSubstr("\"severity\":\"WARNING\",\"event\":\"file_shrank\""), HasSubstr(folder_->PathOf("f")),
                    HasSubstr(absl::StrCat("\"former_bytes\":", whole.size(), ",\"bytes\":", cut.size()))));
  steady_now_ = steady_now_.load() + std::chrono::milliseconds(27'999);
  for (int i = 0; i < 3; ++i) WaitForLook();
  EXPECT_EQ(access_->Get(), first);
  steady_now_ = steady_now_.load() + std::chrono::milliseconds(1);
  WaitForLook();
  EXPECT_EQ(Caller(), "d");
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

// The finding was a gateway that refused 96 of 328 permitted calls during one rewrite of 8 seconds.
TEST_F(ReloaderTest, NoOrganizationIsDeniedWhileTheirFileIsWrittenInPlace) {
  Start(ConfigText("c"));
  std::string text = "a\n";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, "o", i, "\n");
  LookAt(Files(ConfigText("c"), 1, text));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
  const std::string longer = absl::StrCat(text, "new\n");
  const auto expect_all = [this] {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(MayRead(*access_->Get(), absl::StrCat("o", i)));
  };
  for (size_t size = 0; size < longer.size(); size += longer.size() / 16) {
    WriteInPlace("ids", longer.substr(0, size));
    LookAfter(std::chrono::milliseconds(500));
    expect_all();
  }
  WriteInPlace("ids", longer);
  LookAfter(std::chrono::milliseconds(0));
  LookAfter(std::chrono::milliseconds(2000));
  expect_all();
  EXPECT_TRUE(MayRead(*access_->Get(), "new"));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"config_changed\""));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

TEST_F(ReloaderTest, AnEmptiedOrganizationsFileIsNoOrderToRefuseEverything) {
  constexpr char kGauge[] = "\nstampgate_grants_without_their_file ";
  Start(ConfigText("c"));
  LookAt(Files(ConfigText("c"), 1, ""));
  EXPECT_TRUE(MayRead(*access_->Get(), "a"));
  EXPECT_THAT(TheLog().Next(), AllOf(HasSubstr("\"event\":\"organizations_not_applied\""),
                                     HasSubstr("must have the line '# no organizations'"),
                                     HasSubstr("the earlier organizations stay in force")));
  EXPECT_THAT(registry_.Render(), HasSubstr(absl::StrCat(kGauge, 1)));
  for (int i = 0; i < 3; ++i) Look();
  LookAt(Files(ConfigText("c"), 1, "b\n"));
  EXPECT_FALSE(MayRead(*access_->Get(), "a"));
  EXPECT_TRUE(MayRead(*access_->Get(), "b"));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
  EXPECT_THAT(registry_.Render(), HasSubstr(absl::StrCat(kGauge, 0)));
}

// A caller with a file, and one that can be removed.
std::string TwoCallers(bool with_second) {
  return absl::StrCat(
      "upstream: {base_url: https://host}\nreload_interval: 10m\n"
      "keys: [{name: main, file: main.key, all_organizations: true}]\ncallers:\n"
      "  - {name: c, loopback: true, grants: [{methods: [PolicyService/GetPolicy], organizations_file: ids}]}\n",
      with_second ? "  - {name: leaving, dns_names: [leaving], grants: [{methods: [PolicyService/GetPolicy], "
                    "all_organizations: true}]}\n"
                  : "");
}

TEST_F(ReloaderTest, AnOrganizationsFileThatCannotBeUsedBlocksNoRevocation) {
  const auto has_second = [this] {
    return !access_->Get()
                ->callers.Find(Peer{.plaintext_loopback = false, .spiffe_id = {}, .dns_names = {"leaving"}})
                .empty();
  };
  const std::function<void()> faults[] = {
      [this] { WriteInPlace("ids", "not an id\n"); },
      [this] { std::filesystem::resize_file(folder_->PathOf("ids"), (int64_t{512} << 20) + 1); },
      [this] { std::filesystem::remove(folder_->PathOf("ids")); },
  };
  for (const std::function<void()>& fault : faults) {
    Start(TwoCallers(true));
    ASSERT_TRUE(has_second());
    fault();
    Look();
    LookAfter(std::chrono::milliseconds(2000));
    EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"config_changed\""));
    EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"organizations_not_applied\""));
    WriteInPlace("f", TwoCallers(false));
    Look();
    LookAfter(std::chrono::milliseconds(2000));
    EXPECT_FALSE(has_second());
    EXPECT_TRUE(MayRead(*access_->Get(), "a"));
    EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"config_changed\""));
    EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
    reloader_.reset();
  }
}

// The reload interval is ten minutes, so it cannot be the cause of the second check.
TEST_F(ReloaderTest, ChecksAgainAsSoonAsAChangedConfigMayBeRead) {
  Start(ConfigText("c"));
  WriteInPlace(ConfigText("d"));
  Look();
  {
    MutexLock lock(mutex_);
    const int before = looks_;
    steady_now_ = steady_now_.load() + std::chrono::seconds(2);
    ASSERT_TRUE(WaitForLooks(before + 1));
  }
  EXPECT_EQ(Caller(), "d");
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"config_changed\""));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
}

TEST_F(ReloaderTest, ReportsWhenTheLastGoodConfigWasApplied) {
  constexpr char kName[] = "\nstampgate_config_last_reload_success_timestamp_seconds ";
  Start(ConfigText("c"));
  EXPECT_THAT(registry_.Render(), HasSubstr(absl::StrCat(kName, "1767323045\n")));
  now_seconds_ = 1767323100;
  LookAt(Files(ConfigText("d")));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
  now_seconds_ = 1767323200;
  LookAt(Files("callers: []"));
  EXPECT_THAT(TheLog().Next(), AllOf(HasSubstr("\"event\":\"reload_failed\""),
                                     HasSubstr("\"last_good_config\":\"2026-01-02T03:05:00.000Z\"")));
  EXPECT_THAT(registry_.Render(), HasSubstr(absl::StrCat(kName, "1767323100\n")));
}

TEST_F(ReloaderTest, ChecksTheConfigAtItsInterval) {
  Start(ConfigText("c", "100ms"));
  {
    MutexLock lock(mutex_);
    const int before = looks_;
    ASSERT_TRUE(WaitForLooks(before + 2));
  }
  folder_->Swap(Files(ConfigText("d", "100ms")));
  EXPECT_THAT(TheLog().Next(), HasSubstr("\"event\":\"reloaded\""));
  EXPECT_EQ(Caller(), "d");
}

TEST_F(ReloaderTest, CanBeDestroyedWhileACheckIsRequested) {
  for (int i = 0; i < 20; ++i) {
    Start(ConfigText("c"));
    for (int n = 0; n < 3; ++n) reloader_->Wake();
    reloader_.reset();
  }
}

}  // namespace
}  // namespace stampgate
