#include "gateway/config/caller_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gateway/config/testing.h"
#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHead[] = "where a grant names no key, its calls are signed with\n";

// Two keys for all organizations, and two keys for some organizations. The key files do not exist.
constexpr char kKeys[] =
    "keys:\n"
    "  - {name: main, file: none, all_organizations: true}\n"
    "  - {name: spare, file: none, all_organizations: true}\n"
    "  - {name: treasury, file: none, organizations: [t, u]}\n"
    "  - {name: later, file: none, organizations: [u, v]}\n";
constexpr char kFewKeys[] = "keys: [{name: treasury, file: none, organizations: [t]}]\n";

class CallerReportTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Describe(const std::string& text, absl::string_view name = "c") {
    const absl::StatusOr<ParsedConfig> parsed = ParseConfig(ReadTestSnapshot(
        absl::StrCat("upstream: {base_url: 'https://host'}\n", text), folder_ + "/f", ConfigFiles::kPolicy));
    if (!parsed.ok()) return parsed.status();
    return DescribeCaller(parsed->config, name);
  }
  std::string Grants(absl::string_view grants, absl::string_view keys = kKeys) {
    const absl::StatusOr<std::string> report =
        Describe(absl::StrCat(keys, "callers: [{name: c, loopback: true, grants: [", grants, "]}]\n"));
    return report.ok() ? *report : std::string(report.status().message());
  }
  // Returns the part of the report about keys, which is the last part.
  std::string Keys(absl::string_view grants, absl::string_view keys = kKeys) {
    const std::string report = Grants(grants, keys);
    const size_t at = report.find(kHead);
    return at == report.npos ? "" : report.substr(at + std::string(kHead).size());
  }

  const std::string folder_ = NewTestFolder();
};

TEST_F(CallerReportTest, ListsTheMethodsThatTheCallerMayCallAndTheKeys) {
  EXPECT_EQ(Grants("{methods: [PolicyService/GetPolicy], organizations: [t, x]}"),
            "c may call\n"
            "grant 1: t, x\n"
            "  PolicyService/GetPolicy (query)\n"
            "where a grant names no key, its calls are signed with\n"
            "  key main: x\n"
            "  key treasury: t\n");
}

TEST_F(CallerReportTest, ListsTheCertificatesOfTheCaller) {
  const auto report = Describe(absl::StrCat(
      kKeys,
      "callers: [{name: c, spiffe_ids: ['spiffe://a/b', 'spiffe://a/c'], dns_names: [d.example], grants: []}]\n"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(*report,
            "c connects with a client certificate that has\n"
            "  the only URI spiffe://a/b\n"
            "  the only URI spiffe://a/c\n"
            "  no URI, and the DNS name d.example\n"
            "a certificate of no caller is refused in the TLS handshake, with the alert bad certificate\n"
            "c may call\n"
            "nothing\n");
}

TEST_F(CallerReportTest, AnUnknownCallerIsAnError) {
  const absl::Status status = Describe(absl::StrCat(kKeys, "callers: [{name: c, loopback: true}]\n"), "d").status();
  EXPECT_EQ(status, absl::NotFoundError("no caller is called d"));
}

TEST_F(CallerReportTest, ListsTheOrganizationsForWhichEachKeySigns) {
  EXPECT_EQ(Keys("{classes: [query], all_organizations: true}"),
            "  key later: v\n  key main: all other organizations\n  key treasury: t, u\n");
  EXPECT_EQ(
      Keys("{classes: [query], all_organizations: true}", "keys: [{name: a, file: none, all_organizations: true}]\n"),
      "  key a: all organizations\n");
  EXPECT_EQ(Keys("{classes: [query], organizations: [v]}, {classes: [login], organizations: [u, t]}"),
            "  key later: v\n  key treasury: t, u\n");
  EXPECT_EQ(Keys("{general_operations: [{path: a}], organizations: [a, b, c, d, e, f, g]}"),
            "  key main: a, b, c, d, e and 2 more\n");
  EXPECT_EQ(Keys("{classes: [query], organizations: [t, x]}", kFewKeys), "  key treasury: t\n  no key: x\n");
  EXPECT_EQ(Keys("{classes: [query], all_organizations: true}", kFewKeys),
            "  key treasury: t\n  no key: all other organizations\n");
}

TEST_F(CallerReportTest, ListsNoKeysIfNoGrantNeedsADefaultKey) {
  for (const char* grants :
       {"", "{classes: [query], all_organizations: true, key: main}", "{classes: [events], all_organizations: true}",
        "{methods: [WebhookService/GetWebhookKeySet]}"}) {
    EXPECT_THAT(Grants(grants), Not(HasSubstr("names no key"))) << grants;
  }
}

TEST_F(CallerReportTest, ListsTheOrganizationsOfAFileThatCanBeRead) {
  PutTestFile(folder_ + "/ids", "t\nx\n");
  EXPECT_THAT(Grants("{classes: [query], organizations_file: ids}"), HasSubstr("grant 1: t, x\n"));
  EXPECT_EQ(Keys("{classes: [query], organizations_file: ids}"), "  key main: x\n  key treasury: t\n");
  PutTestFile(folder_ + "/ids", "t\n*\n");
  EXPECT_THAT(Grants("{classes: [query], organizations_file: ids}"), HasSubstr("line 2 is not an exact id"));
}

TEST_F(CallerReportTest, ListsTheOrganizationsFilesThatCannotBeRead) {
  // The organizations of grant 2 are unknown and can be any, so the report lists the keys for all organizations.
  EXPECT_EQ(Keys("{classes: [query], organizations: [t]}, {classes: [login], organizations_file: ids}"),
            absl::StrCat("  key later: v\n  key main: all other organizations\n  key treasury: t, u\n"
                         "cannot show the organizations of grant 2, which are in ",
                         folder_, "/ids: it cannot be opened: No such file or directory\n"));
}

TEST_F(CallerReportTest, OmitsUnreadFilesOfOtherCallers) {
  const absl::StatusOr<std::string> report =
      Describe(absl::StrCat(kKeys,
                            "callers:\n"
                            "  - {name: c, loopback: true, grants: [{classes: [query], organizations: [t]}]}\n"
                            "  - {name: d, dns_names: [d], grants: [{classes: [query], organizations_file: ids}]}\n"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(*report, Not(HasSubstr("cannot show")));
  EXPECT_THAT(*report, HasSubstr(absl::StrCat(kHead, "  key treasury: t\n")));
}

TEST_F(CallerReportTest, AFaultInTheConfigTextIsAnError) {
  EXPECT_THAT(Grants("{classes: [none], all_organizations: true}"), HasSubstr("callers[0].grants[0].classes[0]: "));
}

}  // namespace
}  // namespace stampgate
