#include "gateway/policy/organization_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr char kUuid[] = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

std::vector<std::string> IdsOf(const OrganizationIds& ids) {
  std::vector<std::string> texts;
  ids.ForEach([&texts](absl::string_view id) { texts.emplace_back(id); });
  return texts;
}

TEST(OrganizationIdsTest, ContainsExactlyTheGivenIds) {
  const OrganizationIds ids({kUuid, "odd", kUuid, "odd", "Other.id:1"});
  EXPECT_EQ(ids.size(), 3u);
  for (const char* id : {kUuid, "odd", "Other.id:1"}) EXPECT_TRUE(ids.Contains(id)) << id;
  for (const std::string& id :
       {std::string(), std::string("od"), std::string("oddy"), std::string("ODD"), absl::AsciiStrToUpper(kUuid),
        std::string(kUuid).substr(1), absl::StrCat(kUuid, "0"), std::string("7c9e6679074250 40de-944b-e07fc1f90ae7"),
        std::string("7c9e6679-7425-40de-944b-e07fc1f90ae8")}) {
    EXPECT_FALSE(ids.Contains(id)) << id;
  }
  EXPECT_TRUE(OrganizationIds().empty());
  EXPECT_FALSE(OrganizationIds().Contains(""));
}

// A UUID in upper case is another id, because ids match exactly.
TEST(OrganizationIdsTest, OnlyAUuidInLowerCaseIsStoredAsOne) {
  EXPECT_TRUE(OrganizationIds::IsUuid(kUuid));
  const std::string upper = absl::AsciiStrToUpper(kUuid);
  for (const std::string& other : {upper, std::string(36, '-'), std::string(36, 'a'),
                                   std::string("7c9e66797-425-40de-944b-e07fc1f90ae7"), std::string(kUuid, 35)}) {
    EXPECT_FALSE(OrganizationIds::IsUuid(other)) << other;
  }
  EXPECT_TRUE(OrganizationIds({upper}).Contains(upper));
  EXPECT_FALSE(OrganizationIds({upper}).Contains(kUuid));
}

TEST(OrganizationIdsTest, IsTheSameAsASetOfTexts) {
  std::mt19937_64 random(20261126);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> texts;
    for (size_t i = random() % 60; i > 0; --i) {
      const uint64_t high = random() % 4 << 62 | random() % 3;
      const uint64_t low = random() % 3 << (random() % 61);
      switch (random() % 4) {
        case 0:
          texts.push_back(absl::StrCat("o", random() % 20));
          break;
        case 1:
          texts.push_back(absl::StrFormat("%08X-%04x-%04x-%04x-%012x", high >> 32, 0xABCD, 1, 2, 3));
          break;
        default:
          texts.push_back(absl::StrFormat("%08x-%04x-%04x-%04x-%012x", high >> 32, high >> 16 & 0xffff, high & 0xffff,
                                          low >> 48, low & 0xffffffffffff));
      }
    }
    const OrganizationIds ids(std::vector<absl::string_view>(texts.begin(), texts.end()));
    const std::set<std::string> expected(texts.begin(), texts.end());
    EXPECT_THAT(IdsOf(ids), ElementsAreArray(expected));
    EXPECT_EQ(ids.size(), expected.size());
    for (const std::string& text : texts) EXPECT_TRUE(ids.Contains(text)) << text;
    for (std::string text : texts) {
      text.back() = text.back() == '0' ? '1' : '0';
      EXPECT_EQ(ids.Contains(text), expected.contains(text)) << text;
    }
  }
}

TEST(OrganizationIdsTest, DigestsDifferIfAndOnlyIfTheSetsDiffer) {
  EXPECT_EQ(OrganizationIds({"a", kUuid, "b"}).digest(), OrganizationIds({"b", "a", "a", kUuid}).digest());
  std::set<std::array<uint8_t, 32>> digests;
  const std::vector<std::vector<absl::string_view>> sets = {{},    {"a"},      {"b"},   {"a", "b"},  {"ab"},
                                                            {"1"}, {"1", "1"}, {kUuid}, {kUuid, "a"}};
  for (const auto& set : sets) digests.insert(OrganizationIds(set).digest());
  EXPECT_EQ(digests.size(), sets.size() - 1) << "a repeated id changes nothing";
}

TEST(OrganizationSetTest, ContainsTheIdsOfItsParts) {
  OrganizationSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.Contains(""));
  set.parts.push_back(std::make_shared<const OrganizationIds>());
  EXPECT_TRUE(set.empty());
  set.parts.push_back(std::make_shared<const OrganizationIds>(std::vector<absl::string_view>{"a"}));
  set.parts.push_back(std::make_shared<const OrganizationIds>(std::vector<absl::string_view>{kUuid}));
  EXPECT_FALSE(set.empty());
  EXPECT_TRUE(set.Contains("a"));
  EXPECT_TRUE(set.Contains(kUuid));
  EXPECT_FALSE(set.Contains("b"));
  set.all = true;
  EXPECT_TRUE(set.Contains(""));
}

TEST(FileOrganizationsTest, AMissingElementIsNull) {
  const auto ids = std::make_shared<const OrganizationIds>();
  const FileOrganizations organizations = {{}, {nullptr, ids}};
  EXPECT_EQ(FindOrganizations(organizations, 1, 1), ids);
  for (const auto& [caller, grant] : {std::pair(0, 0), std::pair(1, 0), std::pair(1, 2), std::pair(2, 0)}) {
    EXPECT_EQ(FindOrganizations(organizations, caller, grant), nullptr);
  }
}

}  // namespace
}  // namespace stampgate
