#include "gateway/config/rules/grant_organizations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kConfig[] =
    "callers {name: 'a' spiffe_ids: 'spiffe://e/a'"
    "  grants {classes: POLICY_CLASS_QUERY organizations_file: 'f'} grants {organizations: 'listed'}}"
    "callers {name: 'b' spiffe_ids: 'spiffe://e/b'"
    "  grants {classes: POLICY_CLASS_QUERY organizations_file: 'g'}}";

std::shared_ptr<const OrganizationIds> Ids(absl::string_view id) {
  return std::make_shared<const OrganizationIds>(std::vector<absl::string_view>{id});
}

class GrantOrganizationsTest : public ::testing::Test {
 protected:
  GrantOrganizationsTest() {
    files_["f"] = {Ids("f1"), false};
    files_["g"] = {Ids("g1"), false};
    in_force_ = Find(OrganizationsUse::kStart);
  }

  GrantOrganizations Find(OrganizationsUse use, const std::string& config = kConfig) {
    ConfigReport report("c", {}, {});
    const auto parsed = testing::Proto<config::v1::Config>(config);
    GrantOrganizations found = FindGrantOrganizations(parsed, files_, use, {&config_, &in_force_.ids}, report);
    faults_ = std::string(report.ToStatus().message());
    return found;
  }
  GrantOrganizations Reload(const std::string& config = kConfig) { return Find(OrganizationsUse::kReload, config); }

  const config::v1::Config config_ = testing::Proto<config::v1::Config>(kConfig);
  OrganizationsFiles files_;
  GrantOrganizations in_force_;
  std::string faults_;
};

TEST_F(GrantOrganizationsTest, AGrantHasTheIdsOfItsFile) {
  EXPECT_EQ(faults_, "");
  EXPECT_TRUE(in_force_.ids[0][0]->Contains("f1"));
  EXPECT_EQ(in_force_.ids[0][1], nullptr);
  EXPECT_TRUE(in_force_.ids[1][0]->Contains("g1"));
  files_["f"] = {Ids("f2"), false};
  EXPECT_TRUE(Reload().ids[0][0]->Contains("f2"));
}

TEST_F(GrantOrganizationsTest, AtTheStartAFileThatCannotBeUsedIsAFault) {
  files_["f"] = {absl::UnavailableError("it is too large"), false};
  files_["g"] = {absl::InvalidArgumentError("line 7"), false};
  Find(OrganizationsUse::kStart);
  EXPECT_THAT(faults_, HasSubstr("callers[0].grants[0].organizations_file: it is too large"));
  EXPECT_THAT(faults_, HasSubstr("callers[1].grants[0].organizations_file: line 7"));
  // A reviewer has perhaps only the config.
  const GrantOrganizations review = Find(OrganizationsUse::kReview);
  ASSERT_EQ(review.unread.size(), 1u);
  EXPECT_EQ(review.unread[0].why, "it is too large");
  EXPECT_EQ(review.ids[0][0], nullptr);
  EXPECT_THAT(faults_, HasSubstr("line 7"));
}

TEST_F(GrantOrganizationsTest, AReloadKeepsTheOrganizationsOfAnUnchangedGrantAndAppliesTheOtherFiles) {
  for (const absl::Status& fault : {absl::UnavailableError("it is too large"), absl::InvalidArgumentError("line 7")}) {
    files_["f"] = {fault, false};
    files_["g"] = {Ids("g2"), false};
    const GrantOrganizations found = Reload();
    EXPECT_EQ(faults_, "");
    EXPECT_TRUE(found.ids[0][0]->Contains("f1"));
    EXPECT_TRUE(found.ids[1][0]->Contains("g2"));
    EXPECT_THAT(found.not_applied,
                ElementsAre(absl::StrCat("callers[0].grants[0].organizations_file: ", fault.message(),
                                         "; the earlier organizations stay in force")));
  }
}

TEST_F(GrantOrganizationsTest, AFileThatIsBeingWrittenIsCountedButReportedOnlyIfTheGrantHasChanged) {
  files_["f"].is_held = true;
  const GrantOrganizations found = Reload();
  EXPECT_TRUE(found.ids[0][0]->Contains("f1"));
  EXPECT_THAT(found.not_applied, IsEmpty());
  EXPECT_EQ(found.held, 1);
}

// With its earlier organizations, such a grant could allow more than the operator has ever written down.
TEST_F(GrantOrganizationsTest, AChangedGrantAllowsNoOrganizationUntilItsFileCanBeUsed) {
  files_["f"] = {absl::InvalidArgumentError("line 7"), false};
  const std::string changed_grant =
      "callers {name: 'a' spiffe_ids: 'spiffe://e/a'"
      "  grants {classes: POLICY_CLASS_DANGEROUS organizations_file: 'f'}}";
  const std::string other_caller =
      "callers {name: 'a' spiffe_ids: 'spiffe://e/x' grants {classes: POLICY_CLASS_QUERY organizations_file: 'f'}}";
  const std::string new_caller =
      "callers {name: 'new' spiffe_ids: 'spiffe://e/a' grants {classes: POLICY_CLASS_QUERY organizations_file: 'f'}}";
  for (const bool is_held : {false, true}) {
    if (is_held) files_["f"] = {Ids("f1"), true};
    for (const std::string& config : {changed_grant, other_caller, new_caller}) {
      const GrantOrganizations found = Reload(config);
      EXPECT_EQ(faults_, "");
      EXPECT_TRUE(found.ids[0][0]->empty()) << config;
      ASSERT_EQ(found.not_applied.size(), 1u);
      EXPECT_THAT(found.not_applied[0], HasSubstr("until then, the grant allows no organization"));
    }
  }
  for (const char* more : {"class_grants_as_of: '2026-09-22'", "operations: 'o'", "keys {name: 'k' file: 'k'}"}) {
    EXPECT_TRUE(Reload(absl::StrCat(kConfig, more)).ids[0][0]->empty()) << more;
  }
  EXPECT_TRUE(Reload(absl::StrCat(kConfig, "token_issuers {name: 'i'}")).ids[0][0]->Contains("f1"));
  // Another file has no earlier content at all.
  files_["h"] = {absl::UnavailableError("it is being written"), true};
  EXPECT_TRUE(Reload("callers {name: 'a' spiffe_ids: 'spiffe://e/a'"
                     "  grants {classes: POLICY_CLASS_QUERY organizations_file: 'h'}}")
                  .ids[0][0]
                  ->empty());
}

TEST_F(GrantOrganizationsTest, OnlyTheKeyAndTheIssuerOfAGrantBelongToIt) {
  constexpr char kGrant[] =
      "callers {name: 'a' loopback: true token {issuer: 'i' subjects: 's'}"
      "  grants {methods: 'm' key: 'k' organizations_file: 'f'}}";
  const auto keeps = [&](const char* before, const char* after) {
    const auto config = testing::Proto<config::v1::Config>(absl::StrCat(kGrant, before));
    files_["f"] = {Ids("f1"), false};
    const GrantOrganizations in_force = Reload(absl::StrCat(kGrant, before));
    files_["f"] = {absl::InvalidArgumentError("line 7"), false};
    ConfigReport report("c", {}, {});
    const auto changed = testing::Proto<config::v1::Config>(absl::StrCat(kGrant, after));
    const GrantOrganizations found =
        FindGrantOrganizations(changed, files_, OrganizationsUse::kReload, {&config, &in_force.ids}, report);
    return found.ids[0][0]->Contains("f1");
  };
  EXPECT_FALSE(keeps("keys {name: 'k' file: '1'}", "keys {name: 'k' file: '2'}"));
  EXPECT_TRUE(keeps("keys {name: 'k' file: '1'}", "keys {name: 'k' file: '1'} keys {name: 'other' file: '2'}"));
  EXPECT_FALSE(keeps("token_issuers {name: 'i' issuer: '1'}", "token_issuers {name: 'i' issuer: '2'}"));
  EXPECT_TRUE(keeps("token_issuers {name: 'i' issuer: '1'}",
                    "token_issuers {name: 'other' issuer: '2'} token_issuers {name: 'i' issuer: '1'}"));
}

TEST_F(GrantOrganizationsTest, AGrantThatAllowsNoOrganizationStaysSoUntilItsFileCanBeUsed) {
  files_["f"] = {absl::InvalidArgumentError("line 7"), false};
  const std::string changed =
      "callers {name: 'a' spiffe_ids: 'spiffe://e/a' grants {classes: POLICY_CLASS_LOGIN organizations_file: 'f'}}";
  const auto config = testing::Proto<config::v1::Config>(changed);
  const GrantOrganizations first = Reload(changed);
  ConfigReport report("c", {}, {});
  const OrganizationsInForce in_force{&config, &first.ids};
  const GrantOrganizations second = FindGrantOrganizations(config, files_, OrganizationsUse::kReload, in_force, report);
  EXPECT_TRUE(second.ids[0][0]->empty());
  EXPECT_EQ(second.not_applied, first.not_applied);
  files_["f"] = {Ids("f3"), false};
  EXPECT_TRUE(
      FindGrantOrganizations(config, files_, OrganizationsUse::kReload, in_force, report).ids[0][0]->Contains("f3"));
}

TEST_F(GrantOrganizationsTest, AnUnchangedGrantIsFoundWhereverItStands) {
  files_["f"] = {absl::InvalidArgumentError("line 7"), false};
  const GrantOrganizations found = Reload(
      "callers {name: 'c' loopback: true grants {all_organizations: true}}"
      "callers {name: 'a' spiffe_ids: 'spiffe://e/a' grants {organizations: 'x'}"
      "  grants {classes: POLICY_CLASS_QUERY organizations_file: 'f'}}");
  EXPECT_TRUE(found.ids[1][1]->Contains("f1"));
}

}  // namespace
}  // namespace stampgate
