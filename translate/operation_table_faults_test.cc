// Tests the errors for faulty services.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "translate/operation_table.h"
#include "translate/testing/extended_set.h"
#include "translate/testing/faulty_services.pb.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::StatusIs;
using ::testing::Eq;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Returns the set of the program's operations and those of faulty_services.proto.
const OperationSet::Shared& Set() {
  static const auto& set = *new OperationSet::Shared(testing::SetWith(*testing::StampedRequest::descriptor()->file()));
  return set;
}

ApiMethod Method(const std::string& name) { return *Set()->FindMethod("/stampgate.testing.FaultyService/" + name); }

struct FaultCase {
  const char* method;
  const char* fault;
};

class FaultyOperationTest : public ::testing::TestWithParam<FaultCase> {};

TEST_P(FaultyOperationTest, TheErrorNamesTheFaultyMethod) {
  EXPECT_THAT(OperationTable::Create("Service", Set(), {Method("Sound"), Method(GetParam().method)}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       Eq(std::string("stampgate.testing.FaultyService.") + GetParam().method + GetParam().fault)));
}

constexpr char kPath[] =
    " must have a path that begins with a slash, and that ends in a slash if the method is general but not otherwise";
constexpr char kType[] = " must have an activity type if it is a submit that is not general, and otherwise none";
constexpr char kOrganization[] = " needs a required string organization_id in its request";
constexpr char kTime[] = " needs an optional uint64 timestamp_ms in its request";
constexpr char kKey[] =
    " needs an optional string idempotency_key = 14 in its request, with the role of an idempotency key";
constexpr char kWait[] =
    " can wait for its activity only if it is a submit, with an optional WaitUntil wait_until = 13";
constexpr char kClientStamp[] = " needs a ClientStamp client_stamp = 15 in its request";
constexpr char kGeneral[] = " must have the fields of a general operation if it is general, and otherwise none of them";

constexpr char kTypeMember[] = " must not have a field with the JSON name \"type\", which a typed submit already has";

INSTANTIATE_TEST_SUITE_P(
    All, FaultyOperationTest,
    ::testing::Values(
        FaultCase{"NoKind", " must have a kind"},
        FaultCase{"DiscoveryStampedByClient", " must not be stamped by clients, because a discovery has no stamp"},
        FaultCase{"ServerStream", " must not be streaming"}, FaultCase{"ClientStream", " must not be streaming"},
        FaultCase{"NoPath", kPath}, FaultCase{"PathWithoutSlash", kPath}, FaultCase{"OpenPath", kPath},
        FaultCase{"GeneralWithClosedPath", kPath}, FaultCase{"SubmitWithoutType", kType},
        FaultCase{"QueryWithType", kType}, FaultCase{"GeneralSubmitWithType", kType},
        FaultCase{"SamePath", " has the path of another operation"}, FaultCase{"NoOrganization", kOrganization},
        FaultCase{"OrganizationNotRequired", kOrganization}, FaultCase{"OrganizationIsNumber", kOrganization},
        FaultCase{"ManyOrganizations", kOrganization}, FaultCase{"EmptyOrganization", kOrganization},
        FaultCase{"NoTime", kTime}, FaultCase{"TimeWithoutPresence", kTime}, FaultCase{"TimeIsText", kTime},
        FaultCase{"NoKey", kKey}, FaultCase{"KeyOfAnotherNumber", kKey}, FaultCase{"KeyWithoutRole", kKey},
        FaultCase{"KeyWithoutPresence", kKey}, FaultCase{"WaitOfAnotherNumber", kWait},
        FaultCase{"WaitWithoutPresence", kWait}, FaultCase{"QueryThatWaits", kWait},
        FaultCase{"NoClientStamp", kClientStamp}, FaultCase{"ClientStampOfAnotherNumber", kClientStamp},
        FaultCase{"ClientStampOfAnotherName", kClientStamp}, FaultCase{"ClientStampOfAnotherType", kClientStamp},
        FaultCase{"GeneralWithoutSegment", kGeneral},
        FaultCase{"GeneralWithOptionalSegment", " must require its field \"path\" and must not allow it to be empty"},
        FaultCase{"GeneralSubmitWithoutTypeField", kGeneral}, FaultCase{"SegmentWithoutGeneral", kGeneral},
        FaultCase{"PathThatCannotBeSent", " must have a path that can be sent without escaping"},
        FaultCase{"ForgetfulAnswer", " needs a map<string, string> unrecognized in its response"},
        FaultCase{"TypeOfItsOwn", kTypeMember}, FaultCase{"TypeInCapitals", kTypeMember},
        FaultCase{"UndatedName", " has a newer name of a field whose `since`, May, is no day"},
        FaultCase{"TwoTimes", " must have only one name of timestamp_ms"},
        FaultCase{"TwoActivities", " must not have two activities in its response"}),
    [](const auto& info) { return info.param.method; });

TEST(FaultyOperationsTest, AnOperationWithAFaultyRequestOrResponseMessageIsRejected) {
  EXPECT_THAT(OperationTable::Create("Service", Set(), {Method("FaultyRequest")}),
              StatusIs(absl::StatusCode::kFailedPrecondition, StartsWith("stampgate.testing.DoubleRequest.value ")));
  EXPECT_THAT(OperationTable::Create("Service", Set(), {Method("FaultyResponse")}),
              StatusIs(absl::StatusCode::kFailedPrecondition, StartsWith("stampgate.testing.DoubleResponse.value ")));
}

TEST(FaultyOperationsTest, OnlyTheRequestOfAGeneralOperationWritesAnyMembers) {
  for (const auto& [method, field] :
       {std::pair("MembersInside", "Members.members"), std::pair("MembersOfTyped", "MembersRequest.members")}) {
    EXPECT_THAT(OperationTable::Create("Service", Set(), {Method(method)}),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         Eq(absl::StrCat("stampgate.testing.", field,
                                         " must not have the text form of JSON members, which only the request of a "
                                         "general operation has"))));
  }
}

TEST(FaultyOperationsTest, AnOperationWithoutAPolicyClassIsDangerous) {
  auto table = OperationTable::Create("Service", Set(), {Method("Sound")});
  ASSERT_THAT(table, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ((*table)->operations().front().policy_class, v1::POLICY_CLASS_DANGEROUS);
}

TEST(FaultyOperationsTest, ALocalMethodIsNotAnOperation) {
  ApiMethod method = Method("Sound");
  method.kind = v1::OPERATION_KIND_LOCAL;
  auto table = OperationTable::Create("Service", Set(), {method});
  ASSERT_THAT(table, StatusIs(absl::StatusCode::kOk));
  EXPECT_THAT((*table)->operations(), SizeIs(0));
}

TEST(FaultyOperationsTest, TheSetContainsExactlyTheMethodsWithTheOperationOption) {
  std::map<std::string, bool> streams;
  for (const ApiMethod& method : Set()->methods()) {
    if (method.method->service()->name() == "FaultyService") streams[method.full_name] = method.streams;
  }
  EXPECT_TRUE(streams.contains("/stampgate.testing.FaultyService/Sound"));
  EXPECT_FALSE(streams.contains("/stampgate.testing.FaultyService/Plain"));
  EXPECT_FALSE(streams["/stampgate.testing.FaultyService/Sound"]);
  EXPECT_FALSE(streams["/stampgate.testing.FaultyService/ClientStream"]);
  EXPECT_TRUE(streams["/stampgate.testing.FaultyService/ServerStream"]);
}

TEST(FaultyOperationsTest, CreateFailsIfAnyServiceOfTheSetIsFaulty) {
  EXPECT_THAT(OperationTable::Create("Service", Set()),
              StatusIs(absl::StatusCode::kFailedPrecondition, StartsWith("stampgate.testing.FaultyService.")));
}

}  // namespace
}  // namespace stampgate
