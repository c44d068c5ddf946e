#include "gateway/config/rules/webhook_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gateway/config/config.h"
#include "gateway/config/testing.h"
#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;

constexpr char kPath[] = "/0123456789abcdefghijklm";  // the shortest valid path

constexpr char kRule[] = "must be '/' and at least 23 letters, digits, '-', '_', '.', '~' and '/', chosen at random";

// Returns the result for a config at `file` whose `webhooks` has `members`, from column 12 of line 4, and that is
// otherwise valid.
absl::StatusOr<ParsedConfig> ParseWebhooks(absl::string_view members, const std::string& file = "f",
                                           absl::string_view events = "file: events.db",
                                           ConfigFiles files = ConfigFiles::kAll) {
  return ParseConfig(TestSnapshot(absl::StrCat("upstream: {base_url: https://host}\n"
                                               "keys: [{name: a, file: a.key, all_organizations: true}]\n"
                                               "events: {",
                                               events, "}\nwebhooks: {", members,
                                               "}\n"
                                               "callers: [{name: c, loopback: true}]\n"),
                                  file, files));
}

std::string ReportOf(absl::string_view members, const std::string& file = "f",
                     absl::string_view events = "file: events.db") {
  return std::string(ParseWebhooks(members, file, events).status().message());
}

// Returns the faults of a config with a `paths_file` of this content. The path of the folder is left out.
std::string FileReport(absl::string_view content) {
  const std::string folder = NewTestFolder();
  PutTestFile(folder + "/paths", content);
  return absl::StrReplaceAll(ReportOf("listen_address: '0.0.0.0:8080', paths_file: paths", folder + "/f"),
                             {{folder + "/", ""}});
}

TEST(WebhookRulesTest, WebhooksNeedAnAddressAndAPathThatCannotBeGuessed) {
  const std::string path = kPath;
  for (const char* good : {"0.0.0.0:8080", "127.0.0.1:0", "[::]:1", "localhost:65535", "10.1.2.3:80"}) {
    EXPECT_EQ(ReportOf(absl::StrCat("paths: [", path, "], listen_address: '", good, "'")), "") << good;
  }
  for (const char* bad : {"host:80", "0.0.0.0", ":80", "1.2.3:80", "0.0.0.0:65536", "::1:80"}) {
    EXPECT_EQ(ReportOf(absl::StrCat("listen_address: '", bad, "', paths: [", path, "]")),
              "f:4:28: webhooks.listen_address: must be address:port, such as 0.0.0.0:8080")
        << bad;
  }
  EXPECT_EQ(ReportOf("listen_address: '0.0.0.0:1'"),
            "f:4:11: webhooks.paths: is required with listen_address, unless paths_file is given");
  EXPECT_EQ(ReportOf(absl::StrCat("listen_address: '0.0.0.0:1', paths: [", path, "]"), "f", ""),
            "f:1:1: store: is required with webhooks.listen_address");

  for (const std::string& bad : {path.substr(0, 23), path.substr(1) + "n", path + "?a", path + " ", path + "%41",
                                 path + "é", std::string("'/'")}) {
    EXPECT_EQ(ReportOf(absl::StrCat("paths: [\"", bad, "\"]")), "f:4:20: webhooks.paths[0]: " + std::string(kRule))
        << bad;
  }
  EXPECT_EQ(ReportOf(absl::StrCat("paths: ['/", std::string(256, 'a'), "']")),
            "f:4:20: webhooks.paths[0]: must be no longer than 256 bytes");
  EXPECT_EQ(ReportOf(absl::StrCat("paths: [", path, ", ", path, "]")), "f:4:46: webhooks.paths[1]: is given twice");
  std::string nine;
  for (int i = 0; i < 9; ++i) absl::StrAppend(&nine, path, i, ", ");
  EXPECT_EQ(ReportOf(absl::StrCat("paths: [", nine, "]")), "f:4:19: webhooks.paths: must be no more than 8");

  EXPECT_EQ(ReportOf("tls_certificate_file: a.pem"),
            "f:4:11: webhooks.tls_private_key_file: is required: tls_certificate_file and tls_private_key_file must be "
            "given together");
  EXPECT_EQ(ReportOf("tls_private_key_file: a.pem"),
            "f:4:11: webhooks.tls_certificate_file: is required: tls_certificate_file and tls_private_key_file must be "
            "given together");
  EXPECT_EQ(ReportOf("tls_certificate_file: missing.pem, tls_private_key_file: missing.key"),
            "f:4:34: webhooks.tls_certificate_file: cannot be used: missing.pem: it cannot be opened: No such file or "
            "directory");
  EXPECT_EQ(ReportOf("proxy_protocol_from: [10.0.0.0/8, '2001:db8::7']"), "");
  EXPECT_EQ(ReportOf("proxy_protocol_from: [10.0.0.0/8, 10.0.0.1/8]"),
            "f:4:46: webhooks.proxy_protocol_from[1]: must have an address whose bits after the prefix are 0, such as "
            "10.0.0.0/8");
  EXPECT_EQ(ReportOf("max_body_bytes: 65535"), "f:4:28: webhooks.max_body_bytes: must be from 65536 to 16777216");
  EXPECT_EQ(ReportOf("max_connections: 7"), "f:4:29: webhooks.max_connections: must be from 8 to 10000");
  EXPECT_EQ(ReportOf("max_bytes: 33554432"), "");
  EXPECT_EQ(ReportOf("max_bytes: 33554431"), "f:4:23: webhooks.max_bytes: must be at least eight times max_body_bytes");
  EXPECT_EQ(ReportOf("max_bytes: 4194304, max_body_bytes: 65536"), "");
  EXPECT_EQ(ReportOf("max_bytes: 4194303, max_body_bytes: 65536"),
            "f:4:23: webhooks.max_bytes: must be from 4194304 to 1073741824");
  EXPECT_EQ(ReportOf("max_bytes: 1073741824"), "");
  EXPECT_EQ(ReportOf("max_bytes: 1073741825"), "f:4:23: webhooks.max_bytes: must be from 4194304 to 1073741824");
  // The default follows the largest body.
  EXPECT_EQ(ReportOf("max_body_bytes: 16777216"), "");
  for (const char* name : {"request_timeout", "idle_timeout", "min_key_set_interval"}) {
    EXPECT_THAT(ReportOf(absl::StrCat(name, ": 99ms")), EndsWith(absl::StrCat(name, ": must be from 100ms to 10m")));
    EXPECT_THAT(ReportOf(absl::StrCat(name, ": 601s")), EndsWith(absl::StrCat(name, ": must be from 100ms to 10m")));
  }
  EXPECT_THAT(ReportOf("max_timestamp_age: 999ms"), EndsWith("max_timestamp_age: must be from 1s to 10m"));
}

TEST(WebhookRulesTest, AFileListsPathsAndEmptyLinesAndCommentsHaveNoMeaning) {
  const std::string folder = NewTestFolder();
  const std::string first = absl::StrCat(kPath, "1");
  const std::string second = absl::StrCat(kPath, "2");
  for (const std::string& content :
       {first + "\n" + second + "\n", first + "\n" + second,
        "# old\r\n" + first + "\r\n\r\n  # new\r\n" + second + "\r\n", "\n\n " + first + "\n\t" + second + " \n\n"}) {
    PutTestFile(folder + "/paths", content);
    for (const ConfigFiles files : {ConfigFiles::kAll, ConfigFiles::kReloaded}) {
      const absl::StatusOr<ParsedConfig> parsed =
          ParseWebhooks("listen_address: '0.0.0.0:8080', paths_file: paths", folder + "/f", "file: events.db", files);
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_THAT(parsed->config->webhooks().paths(), ElementsAre(first, second)) << content;
    }
  }
}

TEST(WebhookRulesTest, AFaultInAFileNamesTheFileAndTheLineButNotThePath) {
  const std::string path = kPath;
  EXPECT_EQ(FileReport(path), "");
  const std::string place = "f:4:56: webhooks.paths_file: paths";
  for (const std::string& bad : {path.substr(0, 23), path.substr(1) + "n", path + "?a", path + " a", path + "%41",
                                 path + "é", path + ", " + path, std::string("/"), "- " + path, "'" + path + "'"}) {
    EXPECT_EQ(FileReport(absl::StrCat("# comment\n", path, "n\n", bad, "\n")), absl::StrCat(place, ":3: ", kRule))
        << bad;
  }
  EXPECT_EQ(FileReport("/" + std::string(255, 'a')), "");
  EXPECT_EQ(FileReport("/" + std::string(256, 'a')), place + ":1: must be no longer than 256 bytes");
  EXPECT_EQ(FileReport(path + "\n\n" + path), place + ":3: is given twice");
  EXPECT_EQ(FileReport("# none\n\n"), place + ": lists no path");
  std::string paths;
  for (int i = 0; i < 8; ++i) absl::StrAppend(&paths, path, i, "\n");
  EXPECT_EQ(FileReport(paths), "");
  EXPECT_EQ(FileReport(paths + path), place + ": must list no more than 8 paths");
}

TEST(WebhookRulesTest, AFileThatOtherUsersMayReadIsRefused) {
  const std::string folder = NewTestFolder();
  PutTestFile(folder + "/paths", kPath);
  const auto report = [&folder] { return ReportOf("paths_file: paths", folder + "/f"); };
  EXPECT_EQ(report(), "");
  ASSERT_EQ(chmod((folder + "/paths").c_str(), 0640), 0) << "the group may read it, as in Kubernetes";
  EXPECT_EQ(report(), "");
  ASSERT_EQ(chmod((folder + "/paths").c_str(), 0644), 0);
  EXPECT_THAT(report(), ::testing::HasSubstr("f:4:24: webhooks.paths_file: "));
}

// Somebody can give a path in place of the name of its file.
TEST(WebhookRulesTest, AFaultDoesNotQuoteTheNameOfAFileThatCannotBeRead) {
  EXPECT_EQ(ReportOf(absl::StrCat("paths_file: ", kPath)),
            "f:4:24: webhooks.paths_file: it cannot be opened: No such file or directory");
}

TEST(WebhookRulesTest, PathsAreEitherInTheConfigOrInAFile) {
  const std::string folder = NewTestFolder();
  PutTestFile(folder + "/paths", absl::StrCat(kPath, "1"));
  EXPECT_EQ(ReportOf(absl::StrCat("paths: [", kPath, "], paths_file: paths"), folder + "/f"),
            absl::StrCat(folder, "/f:4:59: webhooks.paths_file: must not be given together with paths"));
  EXPECT_THAT(ReportOf("paths_file: ''"), EndsWith("must not be empty: omit it to use its default"));
}

TEST(WebhookRulesTest, AReviewOfAPolicyReadsNoPaths) {
  const absl::StatusOr<ParsedConfig> parsed = ParseWebhooks("listen_address: '0.0.0.0:8080', paths_file: missing", "f",
                                                            "file: events.db", ConfigFiles::kPolicy);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed->config->webhooks().paths().empty());
}

}  // namespace
}  // namespace stampgate
