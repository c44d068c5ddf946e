#include "gateway/policy/expected_rights.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "translate/testing/json_dom.h"

namespace stampgate {
namespace {

// The day of the methods that the file of rights does not name.
constexpr char kFirstDay[] = "2026-09-22";

testing::Json FileOf(absl::string_view name) {
  std::ifstream in(absl::StrCat("tests/vectors/", name));
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return testing::JsonOf(text);
}

std::map<std::string, ExpectedRights> ReadRights() {
  std::map<std::string, ExpectedRights> rights;
  const testing::Json classes = FileOf("policy_classes.json");
  for (const auto& [method, policy_class] : classes.members) {
    rights[method].policy_class = policy_class.text;
    rights[method].since = kFirstDay;
  }
  const testing::Json others = FileOf("method_rights.json");
  const auto set = [&](const testing::Json& methods, auto ExpectedRights::*right, const auto& value) {
    for (const testing::Json& method : methods.elements) {
      const auto found = rights.find(method.text);
      EXPECT_NE(found, rights.end()) << method.text << " has no class";
      if (found != rights.end()) found->second.*right = value;
    }
  };
  const auto mark = [&](const char* list, bool ExpectedRights::*right) { set(others.members.at(list), right, true); };
  set(others.members.at("always_covered"), &ExpectedRights::since, "");
  for (const auto& [day, methods] : others.members.at("since").members) set(methods, &ExpectedRights::since, day);
  mark("internal", &ExpectedRights::internal);
  mark("moves_unread_amount", &ExpectedRights::moves_unread_amount);
  mark("moves_to_unread_destination", &ExpectedRights::moves_to_unread_destination);
  EXPECT_FALSE(rights.empty());
  return rights;
}

}  // namespace

const std::map<std::string, ExpectedRights>& AllExpectedRights() {
  static const auto& rights = *new std::map<std::string, ExpectedRights>(ReadRights());
  return rights;
}

}  // namespace stampgate
