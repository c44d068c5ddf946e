// Tests members that upstream has renamed: what a caller sets under either name, what upstream receives, and what a
// response contains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "stampgate/v1/options.pb.h"
#include "translate/message/guarded_values.h"
#include "translate/message/reader.h"
#include "translate/message/writer.h"
#include "translate/operation_table.h"
#include "translate/request_body.h"
#include "translate/request_translator.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/parsed.h"
#include "translate/testing/renamed_member.h"
#include "translate/validator.h"
#include "translate/wire/fields.h"

namespace stampgate {
namespace {

using google::protobuf::Message;
using ::stampgate::testing::kCaip2Day;
using ::stampgate::testing::kSignerDay;
using ::stampgate::testing::Parsed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

// Returns the operations, where upstream receives the names of `day`.
const OperationTable& TableOf(const std::string& day) {
  static auto& tables = *new std::map<std::string, std::unique_ptr<const OperationTable>>;
  std::unique_ptr<const OperationTable>& table = tables[day];
  if (table == nullptr) {
    table = OperationTable::Create("Service", testing::OperationsWithRenamedMembers(), day).value();
  }
  return *table;
}

const Operation& WithdrawAsOf(const std::string& day) {
  return *TableOf(day).Find("/stampgate.v1.EarnService/EarnWithdraw");
}

// Returns a withdrawal with the fields that `named` adds to its parameters.
std::unique_ptr<Message> Withdrawal(const std::string& named) {
  std::unique_ptr<Message> request = testing::NewMessage(WithdrawAsOf("").method->input_type());
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("timestamp_ms: 1 organization_id: 'o' parameters { wrapper_address: '0xaa' amount_value: '5' ",
                   named, " }"),
      request.get()))
      << named;
  return request;
}

// Returns the body that upstream receives, or the violations.
std::string BodyOf(const std::string& named, const std::string& day = "") {
  const Operation& operation = WithdrawAsOf(day);
  Parsed request(*Withdrawal(named), *operation.request);
  absl::StatusOr<CheckedRequest> checked = CheckedRequest::Check(TableOf(day), operation, *request, request.memory());
  if (!checked.ok()) return std::string(checked.status().message());
  return (*std::move(checked)).Render().value().SubmitBody(1);
}

std::vector<std::pair<std::string, std::string>> ViolationsOf(const std::string& named) {
  Parsed request(*Withdrawal(named), *WithdrawAsOf("").request);
  Violations violations;
  Validate(*request, violations);
  std::vector<std::pair<std::string, std::string>> found;
  for (const Violation& violation : violations.kept()) found.emplace_back(violation.field, violation.description);
  return found;
}

constexpr char kOld[] = "chain_caip2: EARN_CHAIN_EIP155_1 sign_with: '0xbb'";

TEST(SuccessorsTest, UpstreamReceivesTheNameOfTheDayWhicheverNameTheCallerUses) {
  const auto body = [](const char* signer, const char* chain) {
    return absl::StrCat(R"({"type":"ACTIVITY_TYPE_EARN_WITHDRAW","timestampMs":"1","organizationId":"o","parameters":)",
                        R"({"wrapperAddress":"0xaa",")", signer, R"(":"0xbb",")", chain,
                        R"(":"eip155:1","amountValue":"5"}})");
  };
  for (const char* named : {kOld, "caip2: 'eip155:1' sign_with: '0xbb'", "caip2: 'eip155:1' signer: '0xbb'",
                            "chain_caip2: EARN_CHAIN_EIP155_1 signer: '0xbb'"}) {
    EXPECT_EQ(BodyOf(named), body("signWith", "chainCaip2")) << named;
    EXPECT_EQ(BodyOf(named, "2026-10-20"), body("signWith", "chainCaip2")) << named;
    EXPECT_EQ(BodyOf(named, kCaip2Day), body("signWith", "caip2")) << named;
    EXPECT_EQ(BodyOf(named, "2026-11-19"), body("signWith", "caip2")) << named;
    EXPECT_EQ(BodyOf(named, kSignerDay), body("signer", "caip2")) << named;
  }
}

TEST(SuccessorsTest, ARequestHasOneFormUnderAllNames) {
  const Operation& operation = WithdrawAsOf("");
  const std::string bytes = SerializeDeterministically(*Parsed(*Withdrawal(kOld), *operation.request));
  for (const char* named : {"caip2: 'eip155:1' sign_with: '0xbb'", "caip2: 'eip155:1' signer: '0xbb'"}) {
    EXPECT_EQ(SerializeDeterministically(*Parsed(*Withdrawal(named), *operation.request)), bytes) << named;
  }
}

TEST(SuccessorsTest, TheLastPartOfAMessageWinsUnderOneNameAndMayNotUseAnother) {
  const Operation& operation = WithdrawAsOf("");
  const auto parse = [&](const std::string& first, const std::string& second) {
    const std::string bytes = Withdrawal(first)->SerializeAsString() + Withdrawal(second)->SerializeAsString();
    RequestMemory memory;
    memory.Receive(bytes.size());
    const ParsedMessage& request = **ParseMessage(*operation.request, bytes, memory);
    Violations violations;
    Validate(request, violations);
    return violations.empty() ? SerializeDeterministically(request) : std::string("refused");
  };
  const std::string expected = SerializeDeterministically(*Parsed(*Withdrawal(kOld), *operation.request));
  const std::string base = "caip2: 'eip155:8453' sign_with: '0xbb'";
  EXPECT_EQ(parse(base, "caip2: 'eip155:1' sign_with: '0xbb'"), expected);
  EXPECT_EQ(parse(base, kOld), "refused");
  EXPECT_EQ(parse(kOld, base), "refused");
}

TEST(SuccessorsTest, AViolationHasTheNameThatTheCallerUsed) {
  const std::string used = "caip2: 'eip155:1' signer: '0xbb'";
  EXPECT_THAT(ViolationsOf(used), IsEmpty());
  EXPECT_THAT(ViolationsOf("caip2: 'eip155:1'"), ElementsAre(Pair("parameters.sign_with", "is required")));
  EXPECT_THAT(ViolationsOf("caip2: 'EIP155:1' signer: '0xbb'"),
              ElementsAre(Pair("parameters.caip2", "must be the text of a value that chain_caip2 lists")));
  EXPECT_THAT(ViolationsOf(absl::StrCat(kOld, " caip2: 'eip155:1'")),
              ElementsAre(Pair("parameters.caip2", "must not be set beside chain_caip2, which is the same value")));
  EXPECT_THAT(ViolationsOf(absl::StrCat(kOld, " signer: '0xcc'")),
              ElementsAre(Pair("parameters.signer", "must not be set beside sign_with, which is the same value")));
}

TEST(SuccessorsTest, TheGuardOfTheOlderFieldReadsTheValue) {
  const auto stated = [](const std::string& named, v1::FieldGuard guard) {
    const Operation& operation = WithdrawAsOf(kSignerDay);
    Parsed request(*Withdrawal(named), *operation.request);
    const FieldPlan& parameters = *operation.request->Find("parameters");
    std::vector<std::string> texts;
    for (const StatedValue& value : StatedValues(request->Values(parameters).front().message(), guard)) {
      texts.emplace_back(value.text);
    }
    return texts;
  };
  EXPECT_THAT(stated("caip2: 'eip155:8453'", v1::FIELD_GUARD_CHAIN), ElementsAre("eip155:8453"));
  EXPECT_THAT(stated("signer: '0xdd'", v1::FIELD_GUARD_DESTINATION), ElementsAre("0xdd"));
}

// The gateway does not write these bodies: clients stamp them, or GeneralService carries them.
TEST(SuccessorsTest, AFinishedBodyMustHaveTheNamesThatUpstreamReceivesAndNoOthers) {
  const auto read = [&](const std::string& day, const std::string& names) -> std::string {
    const Operation& operation = WithdrawAsOf(day);
    std::string body =
        absl::StrCat(R"({"type":"ACTIVITY_TYPE_EARN_WITHDRAW","timestampMs":"1","organizationId":"o","parameters":)",
                     R"({"wrapperAddress":"0xaa","amountValue":"5",)", names, "}}");
    RequestMemory memory;
    memory.Receive(body.size());
    Violations violations;
    const ParsedMessage* request = ReadRequestBody(operation, body, "", "client_stamp.body", memory, violations);
    if (violations.empty()) Validate(*request, violations);
    return violations.empty() ? SerializeDeterministically(*request) : violations.kept()[0].description;
  };
  const std::string expected = SerializeDeterministically(*Parsed(*Withdrawal(kOld), *WithdrawAsOf("").request));
  const std::string oldest = R"("chainCaip2":"eip155:1","signWith":"0xbb")";
  const std::string between = R"("caip2":"eip155:1","signWith":"0xbb")";
  const std::string newest = R"("caip2":"eip155:1","signer":"0xbb")";
  EXPECT_EQ(read("", oldest), expected);
  EXPECT_EQ(read(kCaip2Day, between), expected);
  EXPECT_EQ(read(kSignerDay, newest), expected);
  EXPECT_EQ(read("", between), "must have the member caip2 under the name chainCaip2, which upstream receives");
  EXPECT_EQ(read(kCaip2Day, newest), "must have the member signer under the name signWith, which upstream receives");
  EXPECT_EQ(read(kSignerDay, between), "must have the member signWith under the name signer, which upstream receives");

  const std::string second = "must not have a value that the request's fields cannot hold exactly: /parameters/";
  for (const char* value : {R"("0xbb")", R"("0xcc")", R"("")", "null", "0", "{}"}) {
    EXPECT_EQ(read("", absl::StrCat(oldest, R"(,"signer":)", value)), absl::StrCat(second, "signer")) << value;
    EXPECT_EQ(read(kSignerDay, absl::StrCat(newest, R"(,"signWith":)", value)), absl::StrCat(second, "signWith"))
        << value;
    EXPECT_EQ(read("", absl::StrCat(R"("signer":)", value, ",", oldest)).substr(0, second.size()), second) << value;
  }
}

class ResponseTest : public ::testing::Test {
 protected:
  // Returns the fields of the parameters in `json`, and the pointers of the values that no field holds.
  std::string Read(std::string json) {
    const FieldPlan& parameters = *WithdrawAsOf("").request->Find("parameters");
    std::string unrecognized;
    const absl::StatusOr<std::string> bytes = ReadJsonMessage(json, *parameters.message, /*most=*/1 << 20,
                                                              [&](const std::string& pointer, absl::string_view) {
                                                                absl::StrAppend(&unrecognized, " ", pointer);
                                                                return absl::OkStatus();
                                                              });
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    std::unique_ptr<Message> message = testing::NewMessage(parameters.message->descriptor);
    EXPECT_TRUE(message->ParseFromString(*bytes));
    google::protobuf::TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    std::string text;
    EXPECT_TRUE(printer.PrintToString(*message, &text));
    return text + unrecognized;
  }
};

TEST_F(ResponseTest, HasTheValueUnderEachName) {
  const std::string both = "sign_with: \"0xbb\" chain_caip2: EARN_CHAIN_EIP155_1 caip2: \"eip155:1\" signer: \"0xbb\" ";
  EXPECT_EQ(Read(R"({"chainCaip2":"eip155:1","signWith":"0xbb"})"), both);
  EXPECT_EQ(Read(R"({"caip2":"eip155:1","signer":"0xbb"})"), both);
  EXPECT_EQ(Read(R"({"caip2":null,"chainCaip2":"eip155:1","signer":"0xbb","signWith":null})"), both);
}

TEST_F(ResponseTest, KeepsTwoValuesThatDiffer) {
  const std::string expected =
      "sign_with: \"0xb\" chain_caip2: EARN_CHAIN_EIP155_1 caip2: \"eip155:8453\" signer: \"0xc\" ";
  EXPECT_EQ(Read(R"({"chainCaip2":"eip155:1","caip2":"eip155:8453","signer":"0xc","signWith":"0xb"})"), expected);
  EXPECT_EQ(Read(R"({"caip2":"eip155:8453","chainCaip2":"eip155:1","signWith":"0xb","signer":"0xc"})"), expected);
  EXPECT_EQ(Read(R"({"caip2":"eip155:1","chainCaip2":"eip155:999"})"), "caip2: \"eip155:1\"  /chainCaip2");
  EXPECT_EQ(Read(R"({"chainCaip2":"eip155:1","caip2":7})"), "chain_caip2: EARN_CHAIN_EIP155_1  /caip2");
  EXPECT_EQ(Read(R"({"signWith":"0xb","signer":""})"), "sign_with: \"0xb\" ");
  EXPECT_EQ(Read(R"({"signer":"","signWith":"0xb"})"), "sign_with: \"0xb\" ");
}

TEST_F(ResponseTest, ReportsAValueThatItsOwnNameCannotHoldOnce) {
  EXPECT_EQ(Read(R"({"caip2":"eip155:999"})"), "caip2: \"eip155:999\" ");
  EXPECT_EQ(Read(R"({"chainCaip2":"eip155:999"})"), "caip2: \"eip155:999\"  /chainCaip2");
  EXPECT_EQ(Read(R"({"chainCaip2":7})"), " /chainCaip2");
  EXPECT_EQ(Read(R"({"signer":{"a":1}})"), " /signer");
}

TEST(SuccessorsTest, AnOperationHasTheDaysOfItsNames) {
  EXPECT_THAT(WithdrawAsOf("").name_days, ElementsAre("", kCaip2Day, kSignerDay));
  EXPECT_THAT(TableOf("").Find("/stampgate.v1.EarnService/EarnDeposit")->name_days, ElementsAre("", kCaip2Day));
  EXPECT_THAT(TableOf("").Find("/stampgate.v1.EarnService/ClaimEarnFees")->name_days, ElementsAre(""));
  EXPECT_THAT(TableOf("").NameDays(), ElementsAre(kCaip2Day, kSignerDay));
}

}  // namespace
}  // namespace stampgate
