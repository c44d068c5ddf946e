#include "translate/general_operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"

namespace stampgate {
namespace {

using ::stampgate::testing::OperationOf;
using ::stampgate::testing::Operations;
using ::stampgate::testing::RequestOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Found = std::vector<std::pair<std::string, std::string>>;  // the field path and the description of each violation

constexpr char kListed[] = "belongs to an operation that has a method of its own: call that method";
constexpr char kPathForm[] = "must be 1 to 64 characters of a-z, 0-9 and _";
constexpr char kTypeForm[] = "must be ACTIVITY_TYPE_ and 1 to 80 characters of A-Z, 0-9 and _";

Found Check(absl::string_view method, const google::protobuf::Message& request) {
  Violations violations;
  const Operation& operation = OperationOf(method);
  const auto parsed = testing::Parsed(request, *operation.request);
  CheckGeneralOperation(Operations(), operation, *parsed, FindCarried(Operations(), operation, *parsed), violations);
  Found found;
  for (const Violation& violation : violations.kept()) found.emplace_back(violation.field, violation.description);
  return found;
}

// Returns the text proto of a string field with the value `value`.
std::string Field(absl::string_view name, absl::string_view value) {
  return absl::StrCat(name, ": '", absl::CEscape(value), "' ");
}

Found CheckSubmit(const std::string& path, const std::string& type) {
  return Check("SubmitOperation", *RequestOf(OperationOf("SubmitOperation"),
                                             absl::StrCat("organization_id: 'o' parameters: '{}' ", Field("path", path),
                                                          Field("activity_type", type))));
}

Found CheckQuery(const std::string& path, const std::string& parameters) {
  return Check("QueryOperation",
               *RequestOf(OperationOf("QueryOperation"),
                          absl::StrCat("organization_id: 'o' ", Field("path", path), Field("parameters", parameters))));
}

// Returns the last segment of an operation's path.
std::string SegmentOf(const Operation& operation) { return operation.path.substr(operation.path.rfind('/') + 1); }

// Returns an activity type without its version.
std::string Plain(std::string type) {
  const size_t version = type.rfind("_V");
  const bool has_version = version != std::string::npos && version + 2 < type.size() &&
                           type.find_first_not_of("0123456789", version + 2) == std::string::npos;
  return has_version ? type.substr(0, version) : type;
}

TEST(GeneralOperationTest, AcceptsAnOperationThatHasNoMethodOfItsOwn) {
  EXPECT_THAT(CheckSubmit("brew_tea", "ACTIVITY_TYPE_BREW_TEA"), IsEmpty());
  EXPECT_THAT(CheckSubmit("brew_tea", "ACTIVITY_TYPE_BREW_TEA_V2"), IsEmpty());
  EXPECT_THAT(CheckQuery("find_teapot", "{\"teapotId\":\"t\"}"), IsEmpty());
}

// The operations that the specification names without describing them were called through GeneralService in earlier
// releases.
TEST(GeneralOperationTest, CarriesAnOperationThatHadNoMethodInEarlierReleases) {
  EXPECT_THAT(CheckSubmit("init_otp", "ACTIVITY_TYPE_INIT_OTP_V3"), IsEmpty());
  EXPECT_THAT(CheckSubmit("otp_login", "ACTIVITY_TYPE_OTP_LOGIN_V2"), IsEmpty());
  EXPECT_THAT(CheckSubmit("oauth_login", "ACTIVITY_TYPE_OAUTH_LOGIN"), IsEmpty());
  EXPECT_THAT(CheckSubmit("create_sub_organization", "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8"), IsEmpty());
  EXPECT_THAT(CheckQuery("list_earn_positions", "{}"), IsEmpty());
  EXPECT_THAT(CheckQuery("get_earn_withdraw_status", "{}"), IsEmpty());
}

TEST(GeneralOperationTest, CarriesExactlyTheOperationsThatWereAddedLater) {
  int carried = 0;
  for (const Operation& typed : Operations().operations()) {
    if (typed.general || typed.kind == v1::OPERATION_KIND_DISCOVERY) continue;
    const Operation& general = OperationOf(typed.is_submit() ? "SubmitOperation" : "QueryOperation");
    const Operation* found = FindCarried(Operations(), general, SegmentOf(typed), typed.activity_type);
    EXPECT_EQ(found, typed.since.empty() ? nullptr : &typed) << typed.full_name;
    carried += found != nullptr ? 1 : 0;
  }
  EXPECT_GT(carried, 100);
}

TEST(GeneralOperationTest, RefusesThePathsOfTypedOperationsWithOtherTypes) {
  for (const Operation& operation : Operations().operations()) {
    if (operation.general) continue;
    const std::string segment = SegmentOf(operation);
    EXPECT_THAT(CheckSubmit(segment, "ACTIVITY_TYPE_UNLISTED"), ElementsAre(Pair("path", kListed))) << segment;
    if (operation.since.empty() || operation.is_submit()) {
      EXPECT_THAT(CheckQuery(segment, "{}"), ElementsAre(Pair("path", kListed))) << segment;
    }
  }
}

TEST(GeneralOperationTest, RefusesTheTypesOfTypedOperationsInAnyOtherVersion) {
  std::set<std::string> typed;
  for (const Operation& operation : Operations().operations()) typed.insert(operation.activity_type);
  for (const Operation& operation : Operations().operations()) {
    if (operation.activity_type.empty()) continue;
    const std::string type = Plain(operation.activity_type);
    for (const char* version : {"", "_V1", "_V2", "_V17", "_V00"}) {
      EXPECT_THAT(CheckSubmit("unlisted", type + version), ElementsAre(Pair("activity_type", kListed)))
          << type << version;
      if (typed.contains(type + version)) continue;
      EXPECT_THAT(CheckSubmit(SegmentOf(operation), type + version),
                  ElementsAre(Pair("path", kListed), Pair("activity_type", kListed)))
          << type << version;
    }
  }
}

TEST(GeneralOperationTest, RejectsAPathSegmentOfInvalidForm) {
  const std::string type = "ACTIVITY_TYPE_UNLISTED";
  for (const std::string& path : {std::string("a"), std::string("a1_"), std::string("_"), std::string(64, 'z')}) {
    EXPECT_THAT(CheckSubmit(path, type), IsEmpty()) << path;
    EXPECT_THAT(CheckQuery(path, "{}"), IsEmpty()) << path;
  }
  for (const std::string& path :
       {std::string(65, 'z'), std::string("../query/whoami"), std::string("a/b"), std::string("."), std::string(".."),
        std::string("a?b"), std::string("a#b"), std::string("a%2fb"), std::string("A"), std::string("a b"),
        std::string("a\n"), std::string("a\0b", 3), std::string("é"), std::string("a-b"), std::string("/a"),
        std::string("a/"), std::string("a;b"), std::string("a\\b")}) {
    EXPECT_THAT(CheckSubmit(path, type), ElementsAre(Pair("path", kPathForm))) << path;
    EXPECT_THAT(CheckQuery(path, "{}"), ElementsAre(Pair("path", kPathForm))) << path;
  }
}

TEST(GeneralOperationTest, RejectsAnActivityTypeOfInvalidForm) {
  for (const std::string& type :
       {std::string("ACTIVITY_TYPE_A"), std::string("ACTIVITY_TYPE_9_"), "ACTIVITY_TYPE_" + std::string(80, 'Z')}) {
    EXPECT_THAT(CheckSubmit("unlisted", type), IsEmpty()) << type;
  }
  for (const std::string& type :
       {std::string("ACTIVITY_TYPE_"), "ACTIVITY_TYPE_" + std::string(81, 'Z'), std::string("A"),
        std::string("ACTIVITY_TYPE_a"), std::string("activity_type_a"), std::string(" ACTIVITY_TYPE_OAUTH"),
        std::string("ACTIVITY_TYPE_OAUTH "), std::string("ACTIVITY_TYPE_A\"B"), std::string("ACTIVITY_TYPE_A-B"),
        std::string("ACTIVITY_TYPE_A\0", 16), std::string("ACTIVITY_TYPE_É")}) {
    EXPECT_THAT(CheckSubmit("unlisted", type), ElementsAre(Pair("activity_type", kTypeForm))) << type;
  }
}

TEST(GeneralOperationTest, IgnoresAMissingPathOrTypeWhichTheValidatorReports) {
  EXPECT_THAT(CheckSubmit("", ""), IsEmpty());
  EXPECT_THAT(CheckQuery("", "{}"), IsEmpty());
}

TEST(GeneralOperationTest, RefusesAQueryThatCouldBeASubmit) {
  for (const char* name : {"organizationId", "type", "timestampMs", "parameters", "organization_id", "timestamp_ms",
                           "Type", "TIMESTAMPMS", "_parameters_"}) {
    const std::string fault = absl::StrCat("must not have a top-level member ", name);
    EXPECT_THAT(CheckQuery("unlisted", absl::StrCat("{\"a\":1,\"", name, "\":null}")),
                ElementsAre(Pair("parameters", fault)));
    EXPECT_THAT(CheckQuery("unlisted", absl::StrCat("{\"a\":{\"", name, "\":1},\"b\":[{\"", name, "\":1}]}")),
                IsEmpty());
    // The same name is also rejected if its first letter is escaped.
    EXPECT_THAT(CheckQuery("unlisted", absl::StrCat("{\"\\u00", absl::Hex(name[0]), name + 1, "\":1}")),
                ElementsAre(Pair("parameters", fault)));
  }
  EXPECT_THAT(CheckQuery("unlisted", "{\"\\u0074ype\":1}"),
              ElementsAre(Pair("parameters", "must not have a top-level member type")));
  EXPECT_THAT(CheckQuery("unlisted", "{\"type\":1,\"timestampMs\":\"1\",\"parameters\":{},\"organizationId\":\"x\"}"),
              ::testing::SizeIs(4));
  EXPECT_THAT(CheckQuery("unlisted", "{\"types\":1,\" type\":1}"), IsEmpty());
}

TEST(GeneralOperationTest, RefusesTopLevelNamesThatAreNotAscii) {
  const Found fault = {{"parameters", "must not have a top-level member whose name is not ASCII"}};
  // A parser that ignores case may read U+017F as s and U+212A as k. Then the first two names are "parameters" and
  // "timestampMs".
  for (const char* name : {"parameter\u017f", "time\u017ftampM\u017f", "\u212aey", "é", "aé", "😀", "\x7f\xc2\x80"}) {
    EXPECT_EQ(CheckQuery("unlisted", absl::StrCat("{\"a\":1,\"", name, "\":null}")), fault) << name;
    EXPECT_THAT(CheckQuery("unlisted", absl::StrCat("{\"a\":{\"", name, "\":1}}")), IsEmpty()) << name;
  }
  for (const char* escaped : {"parameter\\u017f", "\\u212aey", "\\u00e9", "\\ud83d\\ude00", "\\ud800", "a\\udc00"}) {
    EXPECT_EQ(CheckQuery("unlisted", absl::StrCat("{\"", escaped, "\":1}")), fault) << escaped;
  }
  EXPECT_THAT(CheckQuery("unlisted", R"({"\u007f":1,"plain":"é"})"), IsEmpty());
}

TEST(GeneralOperationTest, OneCheckReportsAllFaults) {
  EXPECT_THAT(CheckSubmit("oauth", "x"), ElementsAre(Pair("path", kListed), Pair("activity_type", kTypeForm)));
  EXPECT_THAT(CheckQuery("X", "{\"type\":1}"),
              ElementsAre(Pair("path", kPathForm), Pair("parameters", "must not have a top-level member type")));
}

}  // namespace
}  // namespace stampgate
