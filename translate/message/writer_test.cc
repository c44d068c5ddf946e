#include "translate/message/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/json_dom.h"
#include "translate/testing/messages.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/testing.pb.h"

namespace stampgate {
namespace {

using ::stampgate::testing::Everything;
using ::stampgate::testing::JsonOf;
using ::stampgate::testing::Proto;

std::string Write(const google::protobuf::Message& message) {
  std::string out;
  AppendJsonMembers(*testing::Parsed(message), /*left_out=*/nullptr, /*names_as_of=*/"", out);
  return absl::StrCat("{", out, "}");
}

// Returns the JSON of an Everything with the fields of `text_proto`.
std::string WriteEverything(const std::string& text_proto) { return Write(Proto<Everything>(text_proto)); }

struct FormCase {
  const char* name;
  const char* text_proto;
  const char* json;
};

class MessageWriterFormTest : public ::testing::TestWithParam<FormCase> {};

TEST_P(MessageWriterFormTest, WritesTheValueInItsJsonForm) {
  EXPECT_EQ(Write(Proto<Everything>(GetParam().text_proto)), GetParam().json);
}

INSTANTIATE_TEST_SUITE_P(
    All, MessageWriterFormTest,
    ::testing::Values(
        FormCase{"String", R"(text: "a")", R"({"text":"a","requiredTexts":[]})"},
        FormCase{"Bool", "flag: true", R"({"flag":true,"requiredTexts":[]})"},
        FormCase{"Uint64", "big: 18446744073709551615", R"({"big":"18446744073709551615","requiredTexts":[]})"},
        FormCase{"Int64", "signed_big: -9223372036854775808",
                 R"({"signedBig":"-9223372036854775808","requiredTexts":[]})"},
        FormCase{"Uint32", "small: 4294967295", R"({"small":4294967295,"requiredTexts":[]})"},
        FormCase{"Int32", "signed_small: -2147483648", R"({"signedSmall":-2147483648,"requiredTexts":[]})"},
        FormCase{"Enum", "color: COLOR_RED", R"({"color":"COLOR_RED","requiredTexts":[]})"},
        FormCase{"EnumWithJsonName", "color: COLOR_GREEN", R"({"color":"green:2","requiredTexts":[]})"},
        FormCase{"Timestamp", "time { seconds: 1 nanos: 20 }",
                 R"({"time":{"seconds":"1","nanos":"20"},"requiredTexts":[]})"},
        FormCase{"TimestampBefore1970", "time { seconds: -1 nanos: 999999999 }",
                 R"({"time":{"seconds":"-1","nanos":"999999999"},"requiredTexts":[]})"},
        FormCase{"EmptyTimestamp", "time {}", R"({"time":{"seconds":"0","nanos":"0"},"requiredTexts":[]})"},
        FormCase{"Message", R"(inner { text: "b" })",
                 R"({"inner":{"text":"b","requiredTexts":[]},"requiredTexts":[]})"},
        FormCase{"JsonText", R"(json: " {\"n\": 1.00} \n")", R"({"json":{"n": 1.00},"requiredTexts":[]})"},
        FormCase{"Bytes", R"(data: "\373\377\000")", R"({"requiredTexts":[],"data":"+/8A"})"},
        FormCase{"BytesWithPadding", R"(data: "f")", R"({"requiredTexts":[],"data":"Zg=="})"},
        FormCase{"ListOfBytes", R"(datas: "" datas: "fo")", R"({"requiredTexts":[],"datas":["","Zm8="]})"},
        FormCase{"Map", R"(labels { key: "b" value: "" } labels { key: "a\"" value: "\n" })",
                 R"({"requiredTexts":[],"labels":{"a\"":"\n","b":""}})"},
        FormCase{"MapWithAnEmptyKey", "labels {}", R"({"requiredTexts":[],"labels":{"":""}})"},
        FormCase{"OneofMember", "choice_small: 0", R"({"choiceSmall":0,"requiredTexts":[]})"},
        FormCase{"RenamedMember", R"(renamed: "r")", R"({"requiredTexts":[],"service_a/b~\"c":"r"})"},
        FormCase{"Strings", R"(texts: "" texts: "b")", R"({"texts":["","b"],"requiredTexts":[]})"},
        FormCase{"Bools", "flags: [ true, false ]", R"({"flags":[true,false],"requiredTexts":[]})"},
        FormCase{"Uint64s", "bigs: [ 0, 1 ]", R"({"bigs":["0","1"],"requiredTexts":[]})"},
        FormCase{"Int64s", "signed_bigs: [ -1, 1 ]", R"({"signedBigs":["-1","1"],"requiredTexts":[]})"},
        FormCase{"Uint32s", "smalls: [ 0, 1 ]", R"({"smalls":[0,1],"requiredTexts":[]})"},
        FormCase{"Int32s", "signed_smalls: [ -1, 1 ]", R"({"signedSmalls":[-1,1],"requiredTexts":[]})"},
        FormCase{"Enums", "colors: [ COLOR_GREEN, COLOR_RED ]",
                 R"({"colors":["green:2","COLOR_RED"],"requiredTexts":[]})"},
        FormCase{"Timestamps", "times {} times { seconds: 5 }",
                 R"({"times":[{"seconds":"0","nanos":"0"},{"seconds":"5","nanos":"0"}],"requiredTexts":[]})"},
        FormCase{"Messages", "inners {} inners { flag: true }",
                 R"({"inners":[{"requiredTexts":[]},{"flag":true,"requiredTexts":[]}],"requiredTexts":[]})"},
        FormCase{"JsonTexts", R"(jsons: "null" jsons: "[1 ]")", R"({"jsons":[null,[1 ]],"requiredTexts":[]})"}),
    [](const auto& info) { return info.param.name; });

TEST(MessageWriterTest, AnAbsentValueIsOmittedButEmptyAndZeroAreWritten) {
  EXPECT_EQ(WriteEverything(""), R"({"requiredTexts":[]})");
  EXPECT_EQ(WriteEverything(R"(optional_text: "" optional_flag: false optional_big: 0 optional_signed_big: 0
                               optional_small: 0 optional_signed_small: 0 noted: "" optional_data: "")"),
            R"({"optionalText":"","optionalFlag":false,"optionalBig":"0","optionalSignedBig":"0",)"
            R"("optionalSmall":0,"optionalSignedSmall":0,"requiredTexts":[],"noted":"","optionalData":""})");
}

TEST(MessageWriterTest, AnEmptyListIsWrittenOnlyIfItIsRequired) {
  EXPECT_EQ(Write(*testing::NewMessage("stampgate.v1.CreatePoliciesParameters")), R"({"policies":[]})");
  EXPECT_EQ(Write(*testing::NewMessage("stampgate.v1.CreatePoliciesResult")), "{}");
}

TEST(MessageWriterTest, AnEmptyMapIsWrittenOnlyIfItIsRequired) {
  EXPECT_EQ(Write(testing::Labeled()), R"({"labels":{}})");
}

TEST(MessageWriterTest, TheMembersOfAMapAreOrderedByTheBytesOfTheirNames) {
  EXPECT_EQ(WriteEverything(R"(labels { key: "é" value: "5" } labels { key: "b" value: "4" }
                               labels { key: "aa" value: "3" } labels { key: "a" value: "2" }
                               labels { key: "B" value: "1" })"),
            R"({"requiredTexts":[],"labels":{"B":"1","a":"2","aa":"3","b":"4","é":"5"}})");
}

TEST(MessageWriterTest, WritesMembersInTheOrderOfTheirFieldNumbersWithoutWhiteSpace) {
  EXPECT_EQ(WriteEverything(R"(noted: "4" flag: true texts: "3" text: "2" optional_text: "1")"),
            R"({"optionalText":"1","text":"2","texts":["3"],"flag":true,"requiredTexts":[],"noted":"4"})");
}

TEST(MessageWriterTest, TheUnrecognizedMapIsNotWritten) {
  EXPECT_EQ(WriteEverything(R"(unrecognized { key: "/x" value: "1" })"), R"({"requiredTexts":[]})");
}

TEST(MessageWriterTest, ACharacterIsEscapedOnlyIfJsonRequiresIt) {
  for (int c = 0; c < 0x80; ++c) {
    Everything message;
    message.set_text(std::string("a") + static_cast<char>(c) + "b");
    const std::string json = Write(message);
    EXPECT_EQ(JsonOf(json).members.at("text").text, message.text()) << c;
    const bool must_escape = c < 0x20 || c == '"' || c == '\\';
    EXPECT_EQ(json.find("\"a" + std::string(1, static_cast<char>(c)) + "b\"") == std::string::npos, must_escape) << c;
  }
}

TEST(MessageWriterTest, NonAsciiTextIsWrittenUnchanged) {
  Everything message;
  message.set_text("é ß \xe2\x80\xa8 \xef\xbf\xbf 😀 </script> &");
  EXPECT_EQ(Write(message), absl::StrCat("{\"text\":\"", message.text(), "\",\"requiredTexts\":[]}"));
}

TEST(MessageWriterTest, TheLeftOutFieldAndThePathAreNotWritten) {
  const Operation& submit = testing::OperationOf("SubmitOperation");
  auto request = testing::RequestOf(
      submit, R"pb(timestamp_ms: 1 organization_id: "o" parameters: "{}" path: "p" activity_type: "T")pb");
  std::string out;
  AppendJsonMembers(*testing::Parsed(*request, *submit.request), submit.timestamp_ms, /*names_as_of=*/"", out);
  EXPECT_EQ(out, R"("organizationId":"o","parameters":{},"type":"T")");
}

TEST(MessageWriterTest, TheMembersOfTheParametersAreWrittenBesideTheOtherFields) {
  const Operation& query = testing::OperationOf("QueryOperation");
  struct Row {
    const char* parameters;
    const char* json;
  };
  for (const Row& row : {Row{"{\"a\":1,\"b\":[ ]}", R"("organizationId":"o","a":1,"b":[ ])"},
                         Row{" \n{ \"a\" : 1 } ", R"("organizationId":"o","a" : 1)"},
                         Row{"{}", R"("organizationId":"o")"}, Row{" { \t } ", R"("organizationId":"o")"}}) {
    std::unique_ptr<google::protobuf::Message> request =
        testing::RequestOf(query, R"pb(organization_id: "o" path: "p")pb");
    request->GetReflection()->SetString(request.get(), query.request->Find("parameters")->field, row.parameters);
    std::string out;
    AppendJsonMembers(*testing::Parsed(*request, *query.request), /*left_out=*/nullptr, /*names_as_of=*/"", out);
    EXPECT_EQ(out, row.json);
  }
}

TEST(MessageWriterTest, ARequiredTextWithoutPresenceIsWrittenEvenIfItIsEmpty) {
  EXPECT_EQ(Write(Proto<testing::WithoutPresence>("")), R"({"text":"","data":""})");
  EXPECT_EQ(Write(Proto<testing::WithoutPresence>(R"(text: "" data: "f")")), R"({"text":"","data":"Zg=="})");
}

TEST(MessageWriterTest, EqualMessagesGiveEqualBytes) {
  testing::Random random(7);
  for (int i = 0; i < 500; ++i) {
    Everything message;
    testing::FillRandomly(message, testing::PlanOf(message), random);
    Everything copy;
    ASSERT_TRUE(copy.ParseFromString(message.SerializeAsString()));
    EXPECT_EQ(Write(copy), Write(message));
  }
}

}  // namespace
}  // namespace stampgate
