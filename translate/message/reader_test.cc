#include "translate/message/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/status.h"
#include "translate/testing/testing.pb.h"

namespace stampgate {
namespace {

using ::google::protobuf::Message;
using ::stampgate::testing::Everything;
using ::stampgate::testing::HasValueAt;
using ::stampgate::testing::MapIn;
using ::stampgate::testing::MessageOf;
using ::stampgate::testing::NewMessage;
using ::stampgate::testing::Proto;
using ::stampgate::testing::StatusIs;
using ::stampgate::testing::ValueAt;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;

absl::Status Read(std::string json, Message& message) {
  const absl::StatusOr<std::string> bytes = ReadJsonMessage(json, testing::PlanOf(message));
  if (!bytes.ok()) return bytes.status();
  EXPECT_TRUE(message.ParseFromString(*bytes)) << json;
  return absl::OkStatus();
}

template <typename T>
T ReadAs(const std::string& json) {
  T message;
  EXPECT_THAT(Read(json, message), StatusIs(absl::StatusCode::kOk)) << json;
  return message;
}
std::unique_ptr<Message> ReadAs(const std::string& type, const std::string& json) {
  std::unique_ptr<Message> message = NewMessage(type);
  EXPECT_THAT(Read(json, *message), StatusIs(absl::StatusCode::kOk)) << json;
  return message;
}

// Expect that `json` parses to the message that `text_proto` describes.
template <typename T>
void ExpectReads(const std::string& json, const std::string& text_proto) {
  EXPECT_EQ(ReadAs<T>(json).DebugString(), Proto<T>(text_proto).DebugString()) << json;
}
void ExpectReads(const std::string& type, const std::string& json, const std::string& text_proto) {
  EXPECT_EQ(ReadAs(type, json)->DebugString(), MessageOf(type, text_proto)->DebugString()) << json;
}

// Tests of responses of upstream.

TEST(MessageReaderTest, ReadsACompletedActivity) {
  ExpectReads("stampgate.v1.CreatePoliciesResponse",
              R"({"activity":{
           "id":"act-1", "organizationId":"org-1", "status":"ACTIVITY_STATUS_COMPLETED",
           "type":"ACTIVITY_TYPE_CREATE_POLICIES",
           "intent":{"createPoliciesIntent":{"policies":[{"policyName":"p","effect":"EFFECT_DENY","notes":""}]}},
           "result":{"createPoliciesResult":{"policyIds":["a","b"]}},
           "votes":[{"id":"v","userId":"u","user":{"userId":"u","apiKeys":[{"expirationSeconds":"18446744073709551615"}]},
                     "activityId":"act-1","selection":"VOTE_SELECTION_APPROVED","message":"{}","publicKey":"02",
                     "signature":"30","scheme":"SIGNATURE_SCHEME_TK_API_P256",
                     "createdAt":{"seconds":"1755500000","nanos":"0"}}],
           "appProofs":[], "fingerprint":"sha256:00", "canApprove":false, "canReject":true,
           "createdAt":{"seconds":"1755500000","nanos":"123456789"},
           "updatedAt":{"seconds":"1755500001","nanos":"5"},
           "failure":null}})",
              R"pb(activity {
                     id: "act-1"
                     organization_id: "org-1"
                     status: ACTIVITY_STATUS_COMPLETED
                     type: "ACTIVITY_TYPE_CREATE_POLICIES"
                     intent { create_policies_intent { policies { policy_name: "p" effect: EFFECT_DENY notes: "" } } }
                     result { create_policies_result { policy_ids: "a" policy_ids: "b" } }
                     votes {
                       id: "v"
                       user_id: "u"
                       user {
                         user_id: "u"
                         api_keys { expiration_seconds: 18446744073709551615 }
                       }
                       activity_id: "act-1"
                       selection: "VOTE_SELECTION_APPROVED"
                       message: "{}"
                       public_key: "02"
                       signature: "30"
                       scheme: "SIGNATURE_SCHEME_TK_API_P256"
                       created_at { seconds: 1755500000 }
                     }
                     fingerprint: "sha256:00"
                     can_reject: true
                     created_at { seconds: 1755500000 nanos: 123456789 }
                     updated_at { seconds: 1755500001 nanos: 5 }
                   })pb");
}

TEST(MessageReaderTest, ReadsEveryActivityStatus) {
  for (const char* status :
       {"CREATED", "PENDING", "COMPLETED", "FAILED", "CONSENSUS_NEEDED", "REJECTED", "AUTHENTICATORS_NEEDED"}) {
    ExpectReads("stampgate.v1.CreatePoliciesResponse",
                absl::StrCat("{\"activity\":{\"status\":\"ACTIVITY_STATUS_", status, "\"}}"),
                absl::StrCat("activity { status: ACTIVITY_STATUS_", status, " }"));
  }
}

TEST(MessageReaderTest, AnUnlistedStatusIsStoredInUnrecognized) {
  for (const char* status : {"\"ACTIVITY_STATUS_NEW\"", "\"ACTIVITY_STATUS_UNSPECIFIED\"", "\"COMPLETED\"", "3"}) {
    const std::unique_ptr<Message> response =
        ReadAs("stampgate.v1.CreatePoliciesResponse", absl::StrCat("{\"activity\":{\"status\":", status, "}}"));
    EXPECT_EQ(ValueAt(*response, "activity.status"), "ACTIVITY_STATUS_UNSPECIFIED");
    EXPECT_EQ(MapIn(*response, "unrecognized").at("/activity/status"), status);
  }
}

TEST(MessageReaderTest, AResultThatIsNullOrAbsentIsUnsetAndAnEmptyOneIsSet) {
  ExpectReads("stampgate.v1.CreatePoliciesResponse", R"({"activity":{"result":null}})", "activity {}");
  ExpectReads("stampgate.v1.CreatePoliciesResponse", R"({"activity":{}})", "activity {}");
  ExpectReads("stampgate.v1.CreatePoliciesResponse", R"({"activity":{"result":{}}})", "activity { result {} }");
  ExpectReads("stampgate.v1.CreatePoliciesResponse", R"({"activity":{"result":{"createPoliciesResult":{}}}})",
              "activity { result { create_policies_result {} } }");
  ExpectReads("stampgate.v1.CreatePoliciesResponse", R"({"activity":{"result":{"createPoliciesResult":null}}})",
              "activity { result {} }");
}

TEST(MessageReaderTest, ReadsTheDetailsOfAFailureAsJsonText) {
  ExpectReads("stampgate.v1.CreatePoliciesResponse",
              R"({"activity":{"status":"ACTIVITY_STATUS_FAILED","failure":{"code":-7,"message":"no",
          "details":[{"@type": "type.googleapis.com/errors.v1.X", "n":1.00}, null, "s"]}}})",
              R"pb(activity {
                     status: ACTIVITY_STATUS_FAILED
                     failure {
                       code: -7
                       message: "no"
                       details: "{\"@type\": \"type.googleapis.com/errors.v1.X\", \"n\":1.00}"
                       details: "null"
                       details: "\"s\""
                     }
                   })pb");
}

TEST(MessageReaderTest, AnUnlistedIntentIsStoredInUnrecognized) {
  ExpectReads("stampgate.v1.CreatePoliciesResponse",
              R"({"activity":{"type":"ACTIVITY_TYPE_NEW","intent":{"newIntent":{"a":[1]}},"result":{"newResult":{}}}})",
              R"pb(activity {
                     type: "ACTIVITY_TYPE_NEW"
                     intent {}
                     result {}
                   }
                   unrecognized { key: "/activity/intent/newIntent" value: "{\"a\":[1]}" }
                   unrecognized { key: "/activity/result/newResult" value: "{}" })pb");
}

TEST(MessageReaderTest, ASecondMemberOfAOneofIsStoredInUnrecognized) {
  ExpectReads("stampgate.v1.CreatePoliciesResponse",
              R"({"activity":{"intent":{"oauthIntent":{"oidcToken":"t"},"stampLoginIntent":{"publicKey":"k"}}}})",
              R"pb(activity { intent { oauth_intent { oidc_token: "t" } } }
                   unrecognized { key: "/activity/intent/stampLoginIntent" value: "{\"publicKey\":\"k\"}" })pb");
  // A member that is null counts as absent, so the oneof has only one member here.
  ExpectReads("stampgate.v1.CreatePoliciesResponse",
              R"({"activity":{"intent":{"oauthIntent":null,"stampLoginIntent":{},"verifyOtpIntentV2":null}}})",
              R"pb(activity { intent { stamp_login_intent {} } })pb");
}

TEST(MessageReaderTest, ReadsAKeySetWhoseMemberNamesContainTheOperatorsName) {
  ExpectReads("stampgate.v1.GetWebhookKeySetResponse",
              R"({"keys":[{"kid":"k1","kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","x":"AAAA",
          "service_signature_algorithm":"ed25519","service_signature_version":"v1","other_signature_version":"v9"}]})",
              R"pb(keys {
                     kid: "k1"
                     kty: "OKP"
                     crv: "Ed25519"
                     alg: "EdDSA"
                     use: "sig"
                     x: "AAAA"
                     signature_algorithm: "ed25519"
                     signature_version: "v1"
                   }
                   unrecognized { key: "/keys/0/other_signature_version" value: "\"v9\"" })pb");
}

TEST(MessageReaderTest, TheResponseOfAGeneralOperationIsTheJsonTextItself) {
  EXPECT_EQ(ValueAt(*ReadAs("stampgate.v1.QueryOperationResponse", " {\"a\": 1.0,\n\"b\":[null]} "), "answer"),
            "{\"a\": 1.0,\n\"b\":[null]}");
  EXPECT_EQ(ValueAt(*ReadAs("stampgate.v1.SubmitOperationResponse", "{\"activity\":{}}"), "answer"),
            "{\"activity\":{}}");
}

// Tests of timestamps.

TEST(MessageReaderTest, ReadsATimeFromAnObjectOfDecimalStrings) {
  ExpectReads<Everything>(R"({"time":{"nanos":"7","seconds":"-62135596800"}})",
                          "time { seconds: -62135596800 nanos: 7 }");
  ExpectReads<Everything>(R"({"time":{"seconds":"5","nanos":null}})", "time { seconds: 5 }");
  ExpectReads<Everything>(R"({"time":null})", "");
  ExpectReads<Everything>(R"({"times":[{"seconds":"1"},null]})",
                          R"(times { seconds: 1 } times {} unrecognized { key: "/times/1" value: "null" })");
}

TEST(MessageReaderTest, ATimeInRfc3339IsConvertedAndStoredInUnrecognized) {
  ExpectReads<Everything>(R"({"time":"2025-08-18T06:53:20.5Z"})",
                          R"(time { seconds: 1755500000 nanos: 500000000 }
                             unrecognized { key: "/time" value: "\"2025-08-18T06:53:20.5Z\"" })");
  ExpectReads<Everything>(R"({"time":"2025-08-18T08:53:20+02:00"})",
                          R"(time { seconds: 1755500000 }
                             unrecognized { key: "/time" value: "\"2025-08-18T08:53:20+02:00\"" })");
  ExpectReads<Everything>(R"({"time":"1969-12-31T23:59:59.25Z"})",
                          R"(time { seconds: -1 nanos: 250000000 }
                             unrecognized { key: "/time" value: "\"1969-12-31T23:59:59.25Z\"" })");
}

TEST(MessageReaderTest, AnInvalidTimeIsStoredInUnrecognized) {
  for (const char* time : {"\"yesterday\"", "\"\"", "\"infinite-future\"", "\"infinite-past\"", "1755500000", "[\"1\"]",
                           "true", "\"2025-08-18\"", "\"10000-01-01T00:00:00Z\"", "\"\\ud800\""}) {
    Everything message = ReadAs<Everything>(absl::StrCat("{\"time\":", time, "}"));
    EXPECT_FALSE(message.has_time()) << time;
    EXPECT_EQ(message.unrecognized().at("/time"), time);
  }
}

TEST(MessageReaderTest, AnObjectWithoutSecondsIsNoTimeAndIsStoredInUnrecognized) {
  for (const char* time : {"{}", R"({"seconds":null})", R"({"nanos":"5"})", R"({"nanos":null,"seconds":null})"}) {
    Everything message = ReadAs<Everything>(absl::StrCat("{\"time\":", time, "}"));
    EXPECT_FALSE(message.has_time()) << time;
    EXPECT_EQ(message.unrecognized().at("/time"), time);
  }
}

TEST(MessageReaderTest, AnInexactTimeIsConvertedAndStoredInUnrecognized) {
  for (const char* time :
       {R"({"seconds":5,"nanos":"5"})", R"({"seconds":"5","nanos":"0005"})", R"({"seconds":"5","nanos":5.0})",
        R"({"zone":"UTC","seconds":"5","nanos":"5"})", R"({"seconds":"5","nanos":"5","\ud800":1})"}) {
    Everything message = ReadAs<Everything>(absl::StrCat("{\"time\":", time, "}"));
    EXPECT_EQ(message.time().seconds(), 5) << time;
    EXPECT_EQ(message.time().nanos(), 5) << time;
    EXPECT_EQ(message.unrecognized().at("/time"), time);
    EXPECT_EQ(message.unrecognized_size(), 1) << time;
  }
}

TEST(MessageReaderTest, ATimeWithAnInvalidMemberIsOnlyStoredInUnrecognized) {
  for (const char* time : {R"({"seconds":"999999999999999","nanos":"0"})", R"({"seconds":"253402300800"})",
                           R"({"seconds":"1755500000","nanos":"1000000000"})", R"({"seconds":"5","nanos":"-1"})",
                           R"({"seconds":"soon","nanos":"5"})", R"({"seconds":[],"nanos":"5"})",
                           R"({"nanos":"5","seconds":"1.5"})", R"({"seconds":"-62135596801"})"}) {
    Everything message = ReadAs<Everything>(absl::StrCat("{\"time\":", time, "}"));
    EXPECT_FALSE(message.has_time()) << time;
    EXPECT_EQ(message.unrecognized().at("/time"), time);
    EXPECT_EQ(message.unrecognized_size(), 1) << time;
  }
  ExpectReads<Everything>(R"({"times":[{"seconds":"1"},{"seconds":"999999999999999"}]})",
                          R"(times { seconds: 1 } times {}
                             unrecognized { key: "/times/1" value: "{\"seconds\":\"999999999999999\"}" })");
}

// Tests of member names that are not Unicode.

TEST(MessageReaderTest, AnObjectWithANonUnicodeNameIsStoredWholeInUnrecognized) {
  // The object's other members still set their fields, or are stored in `unrecognized`.
  ExpectReads("stampgate.v1.CreatePoliciesResponse",
              R"({"activity":{"id":"a","\ud800":[1],"new":2,"failure":{"code":3,"x\udfff":null}}})",
              R"(activity { id: "a" failure { code: 3 } }
         unrecognized { key: "/activity/new" value: "2" }
         unrecognized { key: "/activity/failure" value: "{\"code\":3,\"x\\udfff\":null}" }
         unrecognized {
           key: "/activity"
           value: "{\"id\":\"a\",\"\\ud800\":[1],\"new\":2,\"failure\":{\"code\":3,\"x\\udfff\":null}}"
         })");
  ExpectReads("stampgate.v1.GetPolicyResponse", R"({"policy":{"policyId":"p"}, "\ud800":1} )",
              R"(policy { policy_id: "p" }
                                        unrecognized {
                                          key: ""
                                          value: "{\"policy\":{\"policyId\":\"p\"}, \"\\ud800\":1}"
                                        })");
}

// Tests of numbers.

struct NumberCase {
  const char* json;
  const char* text_proto;
  bool exact;
};

class MessageReaderNumberTest : public ::testing::TestWithParam<NumberCase> {};

TEST_P(MessageReaderNumberTest, ANumberIsConvertedIfPossibleAndStoredInUnrecognizedIfNotExact) {
  const std::string name =
      absl::StrCat("/", std::string(GetParam().json).substr(2, std::string(GetParam().json).find("\":") - 2));
  Everything message = ReadAs<Everything>(GetParam().json);
  EXPECT_EQ(message.unrecognized().count(name), GetParam().exact ? 0u : 1u);
  message.clear_unrecognized();
  EXPECT_EQ(message.DebugString(), Proto<Everything>(GetParam().text_proto).DebugString());
}

INSTANTIATE_TEST_SUITE_P(
    SixtyFourBitsAreStrings, MessageReaderNumberTest,
    ::testing::Values(NumberCase{R"({"big":"18446744073709551615"})", "big: 18446744073709551615", true},
                      NumberCase{R"({"big":"9007199254740993"})", "big: 9007199254740993", true},
                      NumberCase{R"({"optionalBig":"0"})", "optional_big: 0", true},
                      NumberCase{R"({"big":9007199254740993})", "big: 9007199254740993", false},
                      NumberCase{R"({"big":18446744073709551615})", "big: 18446744073709551615", false},
                      NumberCase{R"({"big":"18446744073709551616"})", "", false},
                      NumberCase{R"({"big":"-1"})", "", false}, NumberCase{R"({"big":"007"})", "big: 7", false},
                      NumberCase{R"({"big":"+7"})", "big: 7", false}, NumberCase{R"({"big":" 7 "})", "big: 7", false},
                      NumberCase{R"({"big":"7.0"})", "big: 7", false}, NumberCase{R"({"big":"7.5"})", "", false},
                      NumberCase{R"({"big":""})", "", false}, NumberCase{R"({"big":"0x7"})", "", false},
                      NumberCase{R"({"big":"inf"})", "", false}, NumberCase{R"({"big":"nan"})", "", false},
                      NumberCase{R"({"optionalBig":"-0"})", "optional_big: 0", false},
                      NumberCase{R"({"signedBig":"-9223372036854775808"})", "signed_big: -9223372036854775808", true},
                      NumberCase{R"({"signedBig":"9223372036854775807"})", "signed_big: 9223372036854775807", true},
                      NumberCase{R"({"signedBig":"9223372036854775808"})", "", false},
                      NumberCase{R"({"signedBig":-3})", "signed_big: -3", false}));

INSTANTIATE_TEST_SUITE_P(
    ThirtyTwoBitsAreNumbers, MessageReaderNumberTest,
    ::testing::Values(NumberCase{R"({"small":4294967295})", "small: 4294967295", true},
                      NumberCase{R"({"optionalSmall":0})", "optional_small: 0", true},
                      NumberCase{R"({"small":4294967296})", "", false}, NumberCase{R"({"small":-1})", "", false},
                      NumberCase{R"({"small":"7"})", "small: 7", false},
                      NumberCase{R"({"small":7.0})", "small: 7", false},
                      NumberCase{R"({"small":7e2})", "small: 700", false}, NumberCase{R"({"small":7.5})", "", false},
                      NumberCase{R"({"small":1e400})", "", false}, NumberCase{R"({"small":true})", "", false},
                      NumberCase{R"({"optionalSmall":-0})", "optional_small: 0", false},
                      NumberCase{R"({"signedSmall":-2147483648})", "signed_small: -2147483648", true},
                      NumberCase{R"({"signedSmall":-2147483649})", "", false},
                      NumberCase{R"({"signedSmall":-7.0e0})", "signed_small: -7", false}));

// Tests of bytes and maps.

TEST(MessageReaderTest, ReadsBytesFromBase64WithPadding) {
  ExpectReads<Everything>(R"({"data":"+/8A","optionalData":"","datas":["Zg==","","Zm9v"],"choiceData":"Zm8="})",
                          R"(data: "\373\377\000" optional_data: "" datas: [ "f", "", "foo" ] choice_data: "fo")");
  ExpectReads<Everything>(R"({"data":"Zm\u0038="})", R"(data: "fo")");
  ExpectReads<Everything>(R"({"data":null,"optionalData":null,"datas":null})", "");
}

TEST(MessageReaderTest, BytesInAnotherSpellingAreConvertedAndStoredInUnrecognized) {
  for (const char* text : {"+/8", "-_8=", "-_8", "+_8=="}) {
    Everything message = ReadAs<Everything>(absl::StrCat(R"({"data":")", text, "\"}"));
    EXPECT_EQ(message.data(), "\xfb\xff") << text;
    EXPECT_EQ(message.unrecognized().at("/data"), absl::StrCat("\"", text, "\""));
  }
}

TEST(MessageReaderTest, TextThatIsNotBase64IsOnlyStoredInUnrecognized) {
  for (const char* value : {R"("Z")", R"("Zh==")", R"("Zg\n==")", R"("Zm9v Zm9v")", R"("\ud800")", "1", "{}", "[1]"}) {
    ExpectReads<Everything>(
        absl::StrCat("{\"optionalData\":", value, ",\"datas\":[\"Zg==\",", value, "]}"),
        absl::StrCat(R"(datas: [ "f", "" ] unrecognized { key: "/optionalData" value: ")", absl::CEscape(value),
                     R"(" } unrecognized { key: "/datas/1" value: ")", absl::CEscape(value), "\" }"));
  }
}

TEST(MessageReaderTest, ReadsAMapFromAnObject) {
  ExpectReads<Everything>(
      R"({"labels":{"b":"1","":"2","a/~\n":"\u00e9","key":""},"other-labels":{"x":"y"},"inner":{"labels":{"z":"3"}}})",
      R"(labels { key: "b" value: "1" } labels { key: "" value: "2" } labels { key: "a/~\n" value: "é" }
         labels { key: "key" value: "" } other_labels { key: "x" value: "y" } inner { labels { key: "z" value: "3" } })");
  ExpectReads<Everything>(R"({"labels":{}})", "");
  ExpectReads<Everything>(R"({"labels":null})", "");
}

TEST(MessageReaderTest, AMemberOfAMapThatIsNotAStringIsOnlyStoredInUnrecognized) {
  ExpectReads<Everything>(
      R"({"labels":{"a":1,"b":"2","c/d":null,"":{"e":[ ]},"f":"\ud800"},"otherLabels":{},"other-labels":[]})",
      R"(labels { key: "b" value: "2" }
         unrecognized { key: "/labels/a" value: "1" }
         unrecognized { key: "/labels/c~1d" value: "null" }
         unrecognized { key: "/labels/" value: "{\"e\":[ ]}" }
         unrecognized { key: "/labels/f" value: "\"\\ud800\"" }
         unrecognized { key: "/otherLabels" value: "{}" }
         unrecognized { key: "/other-labels" value: "[]" })");
}

TEST(MessageReaderTest, AMapWithANonUnicodeNameIsStoredWholeInUnrecognized) {
  ExpectReads<Everything>(R"({"labels":{"a":"1","\udfff":"2","b":3}})",
                          R"(labels { key: "a" value: "1" }
                             unrecognized { key: "/labels/b" value: "3" }
                             unrecognized { key: "/labels" value: "{\"a\":\"1\",\"\\udfff\":\"2\",\"b\":3}" })");
}

TEST(MessageReaderTest, AKeyThatIsTwiceInAMapIsAnError) {
  Everything message;
  EXPECT_THAT(Read(R"({"labels":{"a":"1","\u0061":"1"}})", message), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Tests of values that their field cannot hold.

TEST(MessageReaderTest, AValueOfAnotherTypeIsStoredInUnrecognized) {
  struct Row {
    const char* name;
    const char* value;
  };
  for (const Row& row :
       {Row{"text", "1"}, Row{"text", "{}"}, Row{"text", "\"\\ud800\""}, Row{"flag", "\"true\""}, Row{"flag", "1"},
        Row{"color", "1"}, Row{"color", "\"COLOR_BLUE\""}, Row{"color", "\"COLOR_GREEN\""}, Row{"inner", "\"{}\""},
        Row{"inner", "[]"}, Row{"texts", "\"a\""}, Row{"texts", "{\"0\":\"a\"}"}, Row{"inners", "{}"},
        Row{"smalls", "1"}, Row{"big", "{\"low\":1}"}}) {
    Everything message = ReadAs<Everything>(absl::StrCat("{\"", row.name, "\":", row.value, "}"));
    EXPECT_EQ(message.unrecognized().at(absl::StrCat("/", row.name)), row.value);
    message.clear_unrecognized();
    EXPECT_EQ(message.ByteSizeLong(), 0u) << row.name << row.value;
  }
}

TEST(MessageReaderTest, AnElementThatCannotBeConvertedBecomesAnEmptyElement) {
  ExpectReads<Everything>(
      R"({"texts":["a",1,"b"],"flags":[true,"x"],"smalls":[1,"2",null,3],"bigs":["1",{}],"signedBigs":[2.0],
          "signedSmalls":[[]],"colors":["COLOR_RED","COLOR_NEW"],"inners":[{"text":"a"},7,{"text":"b"}],
          "jsons":[1,null,{"a":[ ]}]})",
      R"pb(texts: [ "a", "", "b" ]
           flags: [ true, false ]
           smalls: [ 1, 2, 0, 3 ]
           bigs: [ 1, 0 ]
           signed_bigs: [ 2 ]
           signed_smalls: [ 0 ]
           colors: [ COLOR_RED, COLOR_UNSPECIFIED ]
           inners { text: "a" }
           inners {}
           inners { text: "b" }
           jsons: [ "1", "null", "{\"a\":[ ]}" ]
           unrecognized { key: "/texts/1" value: "1" }
           unrecognized { key: "/flags/1" value: "\"x\"" }
           unrecognized { key: "/smalls/1" value: "\"2\"" }
           unrecognized { key: "/smalls/2" value: "null" }
           unrecognized { key: "/bigs/1" value: "{}" }
           unrecognized { key: "/signedBigs/0" value: "2.0" }
           unrecognized { key: "/signedSmalls/0" value: "[]" }
           unrecognized { key: "/colors/1" value: "\"COLOR_NEW\"" }
           unrecognized { key: "/inners/1" value: "7" })pb");
}

TEST(MessageReaderTest, ANullAndAnEmptyListSetNothing) {
  ExpectReads<Everything>(
      R"({"text":null,"texts":null,"flag":null,"big":null,"small":null,"color":null,"time":null,"inner":null,
          "inners":null,"jsons":null,"choiceText":null})",
      "");
  ExpectReads<Everything>(R"({"texts":[],"inners":[],"jsons":[],"requiredTexts":[]})", "");
}

TEST(MessageReaderTest, AnEmptyTextAndZeroCountAsPresent) {
  ExpectReads<Everything>(
      R"({"optionalText":"","optionalFlag":false,"optionalBig":"0","optionalSmall":0,"choiceSmall":0,"inner":{}})",
      R"(optional_text: "" optional_flag: false optional_big: 0 optional_small: 0 choice_small: 0 inner {})");
  EXPECT_FALSE(
      HasValueAt(*ReadAs("stampgate.v1.ListWalletAccountsResponse", R"({"accounts":[{}]})"), "accounts.0.name"));
  EXPECT_TRUE(HasValueAt(*ReadAs("stampgate.v1.ListWalletAccountsResponse", R"({"accounts":[{"name":""}]})"),
                         "accounts.0.name"));
}

// Tests of the JSON Pointers under which values are stored.

TEST(MessageReaderTest, UnknownMembersAreStoredInUnrecognizedAtAnyDepth) {
  const Everything message = ReadAs<Everything>(
      R"({"new":{"a":[1, 2]},"inner":{"":0,"inners":[{},{"deep":"x"}]},"m~n":1,"a/b":2,"~1":3,"\u00e9\n":4,"0":5})");
  std::map<std::string, std::string> kept(message.unrecognized().begin(), message.unrecognized().end());
  EXPECT_EQ(kept, (std::map<std::string, std::string>{{"/new", "{\"a\":[1, 2]}"},
                                                      {"/inner/", "0"},
                                                      {"/inner/inners/1/deep", "\"x\""},
                                                      {"/m~0n", "1"},
                                                      {"/a~1b", "2"},
                                                      {"/~01", "3"},
                                                      {"/é\n", "4"},
                                                      {"/0", "5"}}));
}

TEST(MessageReaderTest, ReadsMembersWithEscapedAndWithRenamedNames) {
  ExpectReads<Everything>(R"({"\u0074ext":"t","service_a\/b~\"c":"r"})", R"(text: "t" renamed: "r")");
  // The proto name of a field is not accepted in place of its JSON name.
  ExpectReads<Everything>(R"({"optional_text":"t"})", R"(unrecognized { key: "/optional_text" value: "\"t\"" })");
}

TEST(MessageReaderTest, AMemberNamedUnrecognizedIsAnUnknownMember) {
  ExpectReads<Everything>(R"({"unrecognized":{"/a":"1"}})",
                          R"(unrecognized { key: "/unrecognized" value: "{\"/a\":\"1\"}" })");
}

// Tests of errors.

TEST(MessageReaderTest, TextThatIsNotStrictJsonIsAnError) {
  for (const char* json :
       {"", "[]", "null", "{", "<html></html>", R"({"text":"a","text":"b"})", R"({"new":{"a":1,"a":2}})",
        R"({"inner":{"text":"a","\u0074ext":"b"}})", R"({"new":01})", R"({"text":"a"} x)", "{\"text\":\"\xff\"}",
        R"({"inners":[{"text":"a",}]})", R"({"time":{"seconds":"1","seconds":"2"}})"}) {
    Everything message;
    EXPECT_THAT(Read(std::string(json), message), StatusIs(absl::StatusCode::kInvalidArgument)) << json;
  }
}

TEST(MessageReaderTest, AnErrorQuotesNoValue) {
  Everything message;
  EXPECT_THAT(Read(std::string(R"({"text":"hush","new":hush})"), message),
              StatusIs(absl::StatusCode::kInvalidArgument, Not(HasSubstr("hush"))));
}

TEST(MessageReaderTest, UnknownMembersAreAnErrorIfTheMessageHasNoUnrecognizedMap) {
  struct Row {
    const char* json;
    const char* pointer;
  };
  for (const Row& row : {Row{R"({"organizationId":"o","policyId":"p","new":1})", "/new"},
                         Row{R"({"organizationId":7})", "/organizationId"}}) {
    const std::unique_ptr<Message> request = NewMessage("stampgate.v1.GetPolicyRequest");
    EXPECT_THAT(Read(std::string(row.json), *request),
                StatusIs(absl::StatusCode::kInvalidArgument, Eq(absl::StrCat("there is no field for ", row.pointer))));
  }
  const std::unique_ptr<Message> request = NewMessage("stampgate.v1.GetPolicyRequest");
  EXPECT_THAT(Read(std::string(R"({"organizationId":"o","policyId":"p"})"), *request), StatusIs(absl::StatusCode::kOk));
}

TEST(MessageReaderTest, TheNameOfAFieldThatIsNotInTheBodyIsAnUnknownMember) {
  for (const char* json : {R"({"path":"whoami"})", R"({"generateAppProofs":true,"path":"whoami"})"}) {
    const std::unique_ptr<Message> request = NewMessage("stampgate.v1.SubmitOperationRequest");
    EXPECT_THAT(Read(std::string(json), *request),
                StatusIs(absl::StatusCode::kInvalidArgument, Eq("there is no field for /path")));
  }
}

TEST(MessageReaderTest, TheOrderOfMembersDoesNotMatter) {
  ExpectReads<Everything>(R"({"noted":"n","text":"t","optionalText":"o","smalls":[1],"flag":true})",
                          R"(noted: "n" text: "t" optional_text: "o" smalls: 1 flag: true)");
}

}  // namespace
}  // namespace stampgate
