#include "base/http/current_tls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/http/test_certificates.h"

namespace stampgate {
namespace {

// Replaces the folder many times as Kubernetes does, while the files are read. All files of a snapshot must come from
// the same folder.
TEST(CurrentTlsTest, FilesOfTwoFoldersAreNeverServedTogether) {
  const TestFolder folder;
  const TestAuthority authorities[] = {TestAuthority("0"), TestAuthority("1")};
  const TestIdentity identities[] = {authorities[0].IssueServer(), authorities[1].IssueServer()};
  const auto swap_in = [&](int version) {
    const std::string name = absl::StrCat("v", version);
    std::filesystem::create_directory(folder.Path(name));
    folder.Write(name + "/tls.crt", identities[version % 2].certificate);
    folder.Write(name + "/tls.key", identities[version % 2].key);
    folder.Write(name + "/ca.crt", authorities[version % 2].certificate());
    std::filesystem::create_directory_symlink(name, folder.Path("next"));
    std::filesystem::rename(folder.Path("next"), folder.Path("..data"));
    std::filesystem::remove_all(folder.Path(absl::StrCat("v", version - 1)));
  };
  swap_in(0);
  const TlsFiles files{folder.Path("..data/tls.crt"), folder.Path("..data/tls.key"), folder.Path("..data/ca.crt")};
  std::atomic<bool> done = false;
  std::atomic<int> swaps = 0;
  std::thread swapper([&] {
    while (!done) swap_in(++swaps);
  });
  int loads = 0;
  while (swaps < 500 || loads < 100) {
    const auto tls = CurrentTls::Load(files, TlsProtocol::kHttp2, absl::Now());
    // A certificate of one folder with a key of another one would be a fault.
    EXPECT_TRUE(tls.ok() || absl::IsAborted(tls.status())) << tls.status();
    if (tls.ok()) ++loads;
  }
  const auto tls = CurrentTls::Load(files, TlsProtocol::kHttp2, absl::Now());
  for (int i = 0; tls.ok() && i < 100; ++i) {
    const absl::Status reloaded = (*tls)->Reload(absl::Now()).status();
    EXPECT_TRUE(reloaded.ok() || absl::IsAborted(reloaded)) << reloaded;
  }
  done = true;
  swapper.join();
}

// A list of authorities that is cut between two certificates is a valid, shorter list.
TEST(CurrentTlsTest, AHalfWrittenListOfAuthoritiesRefusesNobody) {
  const TestAuthority first("first");
  const TestAuthority second("second");
  const TestIdentity server = first.IssueServer();
  const TestFolder folder;
  const std::string whole = first.certificate() + second.certificate();
  const TlsFiles files{folder.Write("tls.crt", server.certificate), folder.Write("tls.key", server.key),
                       folder.Write("ca.crt", whole)};
  SettledFile::Time now{};
  std::vector<std::string> shrunk;
  const auto tls = CurrentTls::Load(
      files, TlsProtocol::kHttp2, absl::Now(),
      [&shrunk](const SettledFile& file) { shrunk.push_back(absl::StrCat(file.path(), " ", file.size())); },
      [&now] { return now; });
  ASSERT_TRUE(tls.ok()) << tls.status();
  const auto context = (*tls)->context();
  const auto reload = [&](std::chrono::milliseconds time, bool asked = false) {
    now += time;
    const absl::StatusOr<bool> changed = (*tls)->Reload(absl::Now(), asked);
    EXPECT_TRUE(changed.ok()) << changed.status();
    return changed.ok() && *changed;
  };
  std::ofstream(files.client_ca_file, std::ios::trunc) << first.certificate();
  EXPECT_FALSE(reload(std::chrono::milliseconds(0)));
  EXPECT_EQ((*tls)->wait(), std::chrono::seconds(2));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(reload(std::chrono::seconds(2)));
  EXPECT_EQ(shrunk, std::vector<std::string>{absl::StrCat(files.client_ca_file, " ", first.certificate().size())});
  std::ofstream(files.client_ca_file, std::ios::app) << second.certificate();
  EXPECT_FALSE(reload(std::chrono::milliseconds(0)));
  EXPECT_FALSE(reload(std::chrono::seconds(2))) << "the content is as before";
  EXPECT_EQ((*tls)->wait().count(), 0);
  EXPECT_EQ((*tls)->context(), context);
  // If somebody asks, the shorter list is meant.
  std::ofstream(files.client_ca_file, std::ios::trunc) << first.certificate();
  EXPECT_FALSE(reload(std::chrono::milliseconds(0), /*asked=*/true));
  EXPECT_TRUE(reload(std::chrono::seconds(2)));
}

TEST(CurrentTlsTest, ACertificateIsServedOnlyWithItsKey) {
  const TestAuthority authority("authority");
  const TestIdentity before = authority.IssueServer();
  const TestIdentity next = authority.IssueServer();
  const TestFolder folder;
  const TlsFiles files{folder.Write("tls.crt", before.certificate), folder.Write("tls.key", before.key)};
  SettledFile::Time now{};
  const auto tls = CurrentTls::Load(files, TlsProtocol::kHttp2, absl::Now(), nullptr, [&now] { return now; });
  ASSERT_TRUE(tls.ok()) << tls.status();
  const auto context = (*tls)->context();
  std::ofstream(files.certificate_file, std::ios::trunc) << next.certificate;
  EXPECT_FALSE((*tls)->Reload(absl::Now()).value());
  now += std::chrono::seconds(30);
  EXPECT_FALSE((*tls)->Reload(absl::Now()).ok()) << "the key belongs to the earlier certificate";
  EXPECT_EQ((*tls)->context(), context);
  std::ofstream(files.private_key_file, std::ios::trunc) << next.key;
  EXPECT_FALSE((*tls)->Reload(absl::Now()).value());
  now += std::chrono::seconds(30);
  EXPECT_TRUE((*tls)->Reload(absl::Now()).value());
}

}  // namespace
}  // namespace stampgate
