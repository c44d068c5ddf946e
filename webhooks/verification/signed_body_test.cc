#include "webhooks/verification/signed_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SignedBody Read(absl::string_view body) {
  absl::StatusOr<SignedBody> read = ReadSignedBody(body);
  EXPECT_TRUE(read.ok()) << body << " " << read.status();
  return read.ok() ? *read : SignedBody{"ERROR", "ERROR", "ERROR"};
}

TEST(SignedBodyTest, ReadsABareActivity) {
  SignedBody body = Read(R"({"id":"act","organizationId":"org-1","status":"ACTIVITY_STATUS_COMPLETED",)"
                         R"("type":"ACTIVITY_TYPE_CREATE_WALLET","intent":{"organizationId":"x","type":"y"}})");
  EXPECT_EQ(body.organization_id, "org-1");
  EXPECT_EQ(body.parent_organization_id, "");
  EXPECT_EQ(body.event_type, "ACTIVITY_UPDATES");
}

TEST(SignedBodyTest, ReadsABalanceEvent) {
  SignedBody body = Read(R"({"type":"balances:confirmed","organizationId":"org-2","parentOrganizationId":"org-1",)"
                         R"("msg":{"operation":"deposit"}})");
  EXPECT_EQ(body.organization_id, "org-2");
  EXPECT_EQ(body.parent_organization_id, "org-1");
  EXPECT_EQ(body.event_type, "BALANCE_CONFIRMED_UPDATES");
}

TEST(SignedBodyTest, MapsTheTypeToUpstreamsEventType) {
  struct {
    const char *type, *event_type;
  } const cases[] = {
      {"ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", "ACTIVITY_UPDATES"},
      {"ACTIVITY_TYPE_", "ACTIVITY_UPDATES"},
      {"balances:confirmed", "BALANCE_CONFIRMED_UPDATES"},
      {"balances:finalized", "BALANCE_FINALIZED_UPDATES"},
      {"transaction:status", "SEND_TRANSACTION_STATUS_UPDATES"},
      // A future event type of upstream, and a type that only resembles a known one.
      {"policies:changed", "policies:changed"},
      {"activity.created", "activity.created"},
      {"ACTIVITY_TYPE", "ACTIVITY_TYPE"},
      {"activity_type_x", "activity_type_x"},
      {" balances:confirmed", " balances:confirmed"},
      {"BALANCES:CONFIRMED", "BALANCES:CONFIRMED"},
      {"", ""},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(Read(absl::StrCat(R"({"type":")", one.type, "\"}")).event_type, one.event_type);
  }
}

TEST(SignedBodyTest, ReadsOnlyMembersOfTheRootObject) {
  SignedBody body = Read(R"({"a":{"organizationId":"x","parentOrganizationId":"x","type":"x"},)"
                         R"("b":[{"organizationId":"x"}],"organizationid":"x","Type":"x","organizationId ":"x"})");
  EXPECT_EQ(body.organization_id, "");
  EXPECT_EQ(body.parent_organization_id, "");
  EXPECT_EQ(body.event_type, "");
}

TEST(SignedBodyTest, DecodesEscapesInNamesAndValues) {
  SignedBody body = Read(R"({"organizatio\u006eId":"\u006frg","type":"balances\u003aconfirmed"})");
  EXPECT_EQ(body.organization_id, "org");
  EXPECT_EQ(body.event_type, "BALANCE_CONFIRMED_UPDATES");
}

TEST(SignedBodyTest, IgnoresMembersThatAreNotText) {
  for (const char* value : {"1", "null", "true", "[\"x\"]", "{\"x\":1}", "\"\\ud800\"", "\"\""}) {
    SignedBody body = Read(
        absl::StrCat(R"({"organizationId":)", value, R"(,"parentOrganizationId":)", value, R"(,"type":)", value, "}"));
    EXPECT_EQ(body.organization_id, "") << value;
    EXPECT_EQ(body.parent_organization_id, "") << value;
    EXPECT_EQ(body.event_type, "") << value;
  }
}

TEST(SignedBodyTest, IgnoresTextThatIsTooLong) {
  auto with = [](const std::string& value) {
    return Read(absl::StrCat(R"({"organizationId":")", value, R"(","parentOrganizationId":")", value, R"(","type":")",
                             value, "\"}"));
  };
  const std::string fits(128, 'x');
  EXPECT_EQ(with(fits).organization_id, fits);
  EXPECT_EQ(with(fits).parent_organization_id, fits);
  EXPECT_EQ(with(fits).event_type, fits);
  EXPECT_EQ(with(fits + "x").organization_id, "");
  EXPECT_EQ(with(fits + "x").parent_organization_id, "");
  EXPECT_EQ(with(fits + "x").event_type, "");
  EXPECT_EQ(with(std::string(127, 'x') + "\xc3\xa9").organization_id, "") << "bytes, not characters";
  EXPECT_EQ(with("ACTIVITY_TYPE_" + fits).event_type, "");
}

TEST(SignedBodyTest, AcceptsOnlyOneWholeObject) {
  for (const char* body : {"{}", " \t\r\n{ } \n", R"({"a":{}})"}) EXPECT_TRUE(ReadSignedBody(body).ok()) << body;
  for (absl::string_view body : {"",
                                 " ",
                                 "null",
                                 "1",
                                 "\"{}\"",
                                 "[]",
                                 "[{}]",
                                 "{",
                                 "}",
                                 "{}{}",
                                 "{} {}",
                                 "{}x",
                                 "{},",
                                 "\xef\xbb\xbf{}",
                                 R"({"a":1,"a":2})",
                                 R"({"type":"x","type":"x"})",
                                 R"({"type":"x","\u0074ype":"x"})",
                                 R"({"a":{"b":1,"b":1}})",
                                 R"({"a":1,})",
                                 "{'a':1}",
                                 "{a:1}",
                                 R"({"a":NaN})",
                                 R"({"a":01})",
                                 "{\"a\":\"\xff\"}",
                                 "{\"a\":\"\n\"}",
                                 "{/**/}",
                                 "y.{}"}) {
    EXPECT_EQ(ReadSignedBody(body).status().code(), absl::StatusCode::kInvalidArgument) << body;
  }
  EXPECT_FALSE(ReadSignedBody(absl::string_view("{}\0", 3)).ok());
  EXPECT_FALSE(ReadSignedBody(absl::StrCat("{\"a\":", std::string(1'000'000, '['))).ok());
}

TEST(SignedBodyTest, ErrorsNeverContainTheBody) {
  for (const char* body : {"canary", R"({"canary":1,"canary":2})", R"({"a":"canary)", "{\"canary\xff\":1}"}) {
    EXPECT_THAT(std::string(ReadSignedBody(body).status().message()), Not(HasSubstr("canary"))) << body;
  }
}

}  // namespace
}  // namespace stampgate
