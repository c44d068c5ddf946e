#include "translate/validator.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "translate/testing/messages.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/testing.pb.h"

namespace stampgate {
namespace {

using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::stampgate::testing::Everything;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::Operations;
using ::stampgate::testing::Proto;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Found = std::vector<std::pair<std::string, std::string>>;  // the field path and the description of each violation

Found Violated(const Message& message, const MessagePlan& plan) {
  Violations violations;
  Validate(*testing::Parsed(message, plan), violations);
  Found found;
  for (const Violation& violation : violations.kept()) found.emplace_back(violation.field, violation.description);
  return found;
}

Found ViolatedBy(absl::string_view method, const std::string& text_proto) {
  const Operation& operation = OperationOf(method);
  return Violated(*testing::RequestOf(operation, text_proto), *operation.request);
}

const MessagePlan& EverythingPlan() {
  static auto* const plans = new MessagePlans("Service");
  return **plans->Compile(Everything::descriptor());
}

// Returns the violations of an Everything that is valid except for the fields of `text_proto`.
Found ViolatedByEverything(const std::string& text_proto) {
  return Violated(Proto<Everything>(absl::StrCat("text: \"t\" noted: \"\" ", text_proto)), EverythingPlan());
}

// Tests of the rules of every field, with a request of every operation in which all fields are set.

// The path of a message inside a request: the fields that lead to the message. For a list, the path leads through its
// first element.
using Steps = std::vector<const FieldPlan*>;

Message& At(Message& root, const Steps& steps) {
  Message* message = &root;
  for (const FieldPlan* step : steps) {
    const Reflection& reflection = *message->GetReflection();
    message = step->field->is_repeated() ? reflection.MutableRepeatedMessage(message, step->field, 0)
                                         : reflection.MutableMessage(message, step->field);
  }
  return *message;
}

std::string Path(const Steps& steps) {
  std::string path;
  for (const FieldPlan* step : steps) {
    absl::StrAppend(&path, path.empty() ? "" : ".", step->field->name(), step->field->is_repeated() ? "[0]" : "");
  }
  return path;
}

std::string Path(const Steps& steps, const FieldPlan& field) {
  return absl::StrCat(Path(steps), steps.empty() ? "" : ".", field.field->name());
}

void ForEachMessage(Message& root, const MessagePlan& plan, Steps& steps,
                    const std::function<void(const Steps&, const MessagePlan&)>& visit) {
  visit(steps, plan);
  for (const FieldPlan& field : plan.fields) {
    const Message& message = At(root, steps);
    if (field.form != JsonForm::kMessage) continue;
    if (field.field->is_repeated() ? message.GetReflection()->FieldSize(message, field.field) == 0
                                   : !message.GetReflection()->HasField(message, field.field)) {
      continue;
    }
    steps.push_back(&field);
    ForEachMessage(root, *field.message, steps, visit);
    steps.pop_back();
  }
}

// Fills two valid requests of every operation, with different choices of mutually exclusive fields. For each message
// inside a request, calls `visit` with a new copy of the request and the path and plan of the message.
void ForEachMessageOfEveryRequest(
    const std::function<void(Message&, const Operation&, const Steps&, const MessagePlan&)>& visit) {
  for (const Operation& operation : Operations().operations()) {
    SCOPED_TRACE(operation.full_name);
    for (int choice : {0, 1}) {
      std::unique_ptr<Message> full = testing::NewRequest(operation);
      testing::FillFully(*full, *operation.request, choice);
      Steps steps;
      ForEachMessage(*full, *operation.request, steps, [&](const Steps& at, const MessagePlan& plan) {
        std::unique_ptr<Message> request(full->New());
        request->CopyFrom(*full);
        visit(*request, operation, at, plan);
      });
    }
  }
}

TEST(ValidatorTest, AFullRequestOfEveryOperationIsValid) {
  int messages = 0;
  ForEachMessageOfEveryRequest([&](Message& request, const Operation& operation, const Steps&, const MessagePlan&) {
    EXPECT_THAT(Violated(request, *operation.request), IsEmpty());
    ++messages;
  });
  EXPECT_GT(messages, 2 * 25);
}

TEST(ValidatorTest, EveryMissingRequiredFieldGivesOneViolation) {
  int fields = 0;
  ForEachMessageOfEveryRequest([&](Message& request, const Operation& operation, const Steps& steps,
                                   const MessagePlan& plan) {
    for (const FieldPlan& field : plan.fields) {
      Message& message = At(request, steps);
      std::unique_ptr<Message> whole(message.New());
      whole->CopyFrom(message);
      message.GetReflection()->ClearField(&message, field.field);
      const bool needs_elements = field.min_elements > 0;
      if (needs_elements || (field.required && !field.written_if_unset)) {
        ++fields;
        EXPECT_THAT(
            Violated(request, *operation.request),
            ElementsAre(Pair(Path(steps, field), StartsWith(needs_elements ? "must have at least" : "is required"))));
      } else {
        EXPECT_THAT(Violated(request, *operation.request), IsEmpty()) << Path(steps, field);
      }
      message.CopyFrom(*whole);
    }
  });
  EXPECT_GT(fields, 100);
}

TEST(ValidatorTest, ARequiredTextMayBeEmptyOnlyIfItHasTheOptionMayBeEmpty) {
  ForEachMessageOfEveryRequest(
      [&](Message& request, const Operation& operation, const Steps& steps, const MessagePlan& plan) {
        for (const FieldPlan& field : plan.fields) {
          if (field.form != JsonForm::kString || field.field->is_repeated() || !field.required) continue;
          Message& message = At(request, steps);
          const std::string value = message.GetReflection()->GetString(message, field.field);
          message.GetReflection()->SetString(&message, field.field, "");
          EXPECT_THAT(Violated(request, *operation.request), SizeIs(field.may_be_empty ? 0 : 1)) << Path(steps, field);
          message.GetReflection()->SetString(&message, field.field, value);
        }
      });
}

TEST(ValidatorTest, AnEnumMustBeAListedValue) {
  // The required enums and the lists of enums, in the operations of the first release and in the others.
  struct Counts {
    int enums = 0;
    int lists = 0;
  };
  Counts first;
  Counts others;
  ForEachMessageOfEveryRequest([&](Message& request, const Operation& operation, const Steps& steps,
                                   const MessagePlan& plan) {
    Counts& counts = operation.since.empty() ? first : others;
    for (const FieldPlan& field : plan.fields) {
      if (field.form != JsonForm::kEnum) continue;
      Message& message = At(request, steps);
      if (field.field->is_repeated()) {
        ++counts.lists;
        for (const int unknown : {0, -1, 12345}) {
          message.GetReflection()->AddEnumValue(&message, field.field, unknown);
          const std::string path =
              absl::StrCat(Path(steps, field), "[", message.GetReflection()->FieldSize(message, field.field) - 1, "]");
          EXPECT_THAT(Violated(request, *operation.request),
                      ElementsAre(Pair(path, StartsWith("must be one of the listed values"))));
          message.GetReflection()->RemoveLast(&message, field.field);
        }
        continue;
      }
      if (field.required) ++counts.enums;
      const char* const unset =
          field.required ? "is required" : "must be one of the listed values, not the unspecified one";
      const int value = message.GetReflection()->GetEnumValue(message, field.field);
      message.GetReflection()->SetEnumValue(&message, field.field, 0);
      EXPECT_THAT(Violated(request, *operation.request), ElementsAre(Pair(Path(steps, field), unset)));
      for (int unknown : {-1, 12345}) {
        message.GetReflection()->SetEnumValue(&message, field.field, unknown);
        EXPECT_THAT(Violated(request, *operation.request),
                    ElementsAre(Pair(Path(steps, field),
                                     absl::StrCat("must be one of the listed values, not number ", unknown))));
      }
      message.GetReflection()->SetEnumValue(&message, field.field, value);
    }
  });
  // The requests of the first release contain five required enums: effect, chain_caip2, the interface's type, provider,
  // and the authentication type. Each is visited twice, because ForEachMessageOfEveryRequest fills two requests of each
  // operation.
  EXPECT_EQ(first.enums, 2 * 5);
  EXPECT_EQ(first.lists, 0);
  EXPECT_GT(others.enums, 2 * 40);
  EXPECT_GT(others.lists, 2 * 5);
}

TEST(ValidatorTest, FieldsThatTheProtoDoesNotDefineAreViolationsAtEveryLevel) {
  ForEachMessageOfEveryRequest(
      [&](Message& request, const Operation& operation, const Steps& steps, const MessagePlan&) {
        Message& message = At(request, steps);
        message.GetReflection()->MutableUnknownFields(&message)->AddVarint(4711, 1);
        EXPECT_THAT(Violated(request, *operation.request),
                    ElementsAre(Pair(Path(steps), "holds field number 4711, which this gateway does not know")));
      });
}

// Tests of single rules.

TEST(ValidatorTest, TheMinimumAndTheMaximumAreStillValid) {
  struct Row {
    const char* method;
    const char* path;
    const char* description;  // of the violation; empty if the value is valid
    std::string fields;       // in text format; merged into a complete request
  };
  auto interface_of = [](size_t count, const char* character) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += character;
    return absl::StrCat("parameters {smart_contract_interface: '", text, "'}");
  };
  auto page = [](uint64_t limit) { return absl::StrCat("pagination_options {limit: ", limit, "}"); };
  auto seconds = [](uint64_t seconds) { return absl::StrCat("parameters {expiration_seconds: ", seconds, "}"); };
  const char* kInterface = "parameters.smart_contract_interface";
  const char* kLimit = "pagination_options.limit";
  const char* kSeconds = "parameters.expiration_seconds";
  const Row rows[] = {
      {"CreateSmartContractInterface", kInterface, "", interface_of(400000, "x")},
      {"CreateSmartContractInterface", kInterface, "must be at most 400000 characters long, not 400001",
       interface_of(400001, "x")},
      // A character counts as one, whether it has one or four bytes.
      {"CreateSmartContractInterface", kInterface, "", interface_of(400000, "é")},
      {"CreateSmartContractInterface", kInterface, "", interface_of(400000, "€")},
      {"CreateSmartContractInterface", kInterface, "", interface_of(400000, "😀")},
      {"CreateSmartContractInterface", kInterface, "must be at most 400000 characters long, not 400001",
       interface_of(400001, "😀")},
      {"ListWalletAccounts", kLimit, "must be at least 1", page(0)},
      {"ListWalletAccounts", kLimit, "", page(1)},
      {"ListWalletAccounts", kLimit, "", page(100)},
      {"ListWalletAccounts", kLimit, "must be at most 100", page(101)},
      {"ListWalletAccounts", kLimit, "must be at most 100", page(18446744073709551615u)},
      {"VerifyOtp", kSeconds, "", seconds(0)},
      {"VerifyOtp", kSeconds, "", seconds(86400)},
      {"VerifyOtp", kSeconds, "must be at most 86400", seconds(86401)},
  };
  for (const Row& row : rows) {
    const Operation& operation = OperationOf(row.method);
    std::unique_ptr<Message> request = testing::NewRequest(operation);
    testing::FillFully(*request, *operation.request);
    ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(row.fields, request.get()));
    const Found expected = *row.description == 0 ? Found{} : Found{{row.path, row.description}};
    EXPECT_EQ(Violated(*request, *operation.request), expected);
  }
}

TEST(ValidatorTest, AnAmountMustBeDecimalDigitsOrMax) {
  const auto found = [](const std::string& amount) {
    return ViolatedBy("EarnWithdraw", absl::StrCat(R"pb(organization_id: "o"
                                                        parameters { wrapper_address: "w" sign_with: "s"
                                                                     chain_caip2: EARN_CHAIN_EIP155_1
                                                                     amount_value: ")pb",
                                                   amount, "\" }"));
  };
  for (const std::string& amount : {std::string("MAX"), std::string("0"), std::string("1"), std::string(78, '9')}) {
    EXPECT_THAT(found(amount), IsEmpty()) << amount;
  }
  for (const std::string& amount : {std::string("max"), std::string("1.5"), std::string("-1"), std::string(" 1"),
                                    std::string("1 "), std::string("+1"), std::string("1e3"), std::string("0x1"),
                                    std::string("007"), std::string("1,000"), std::string(79, '1')}) {
    EXPECT_THAT(found(amount),
                ElementsAre(Pair("parameters.amount_value",
                                 "must be an amount: 1 to 78 decimal digits without a leading zero, or MAX")))
        << amount;
  }
  EXPECT_THAT(found(""), ElementsAre(Pair("parameters.amount_value", "is required")));
}

TEST(ValidatorTest, AnIdempotencyKeyMustBeOneTo128VisibleAsciiCharacters) {
  const Found fault = {{"idempotency_key", "must be 1 to 128 visible ASCII characters"}};
  for (const Operation& operation : Operations().operations()) {
    if (!operation.is_submit()) continue;
    SCOPED_TRACE(operation.full_name);
    const auto violated = [&operation](const std::string& key) {
      std::unique_ptr<Message> request = testing::NewRequest(operation);
      testing::FillFully(*request, *operation.request);
      request->GetReflection()->SetString(request.get(), operation.idempotency_key->field, key);
      return Violated(*request, *operation.request);
    };
    for (const std::string& key : {std::string("!"), std::string(128, '~'), std::string("9f2c-\"\\/{}")}) {
      EXPECT_EQ(violated(key), Found{}) << key;
    }
    for (const std::string& key : {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\tb"),
                                   std::string("\x7f"), std::string("a\0b", 3), std::string("\303\251")}) {
      EXPECT_EQ(violated(key), fault) << key;
    }
  }
}

TEST(ValidatorTest, RulesHoldForElementsAndMaxBytesCountsBytes) {
  EXPECT_THAT(ViolatedByEverything(R"(short_text: "\303\251\303\251")"), IsEmpty());
  EXPECT_THAT(ViolatedByEverything(R"(short_text: "\303\251\303\251x")"),
              ElementsAre(Pair("short_text", "must be at most 4 bytes long, not 5")));
  EXPECT_THAT(ViolatedByEverything("optional_small: 4294967294"), IsEmpty());
  EXPECT_THAT(ViolatedByEverything("optional_small: 4294967295"),
              ElementsAre(Pair("optional_small", "must be at most 4294967294")));
  EXPECT_THAT(ViolatedByEverything("colors: [ COLOR_RED, COLOR_UNSPECIFIED ]"),
              ElementsAre(Pair("colors[1]", "must be one of the listed values, not the unspecified one")));
}

TEST(ValidatorTest, MaxBytesCountsTheBytesOfABytesField) {
  EXPECT_THAT(ViolatedByEverything(R"(optional_data: "\377\377\377\377")"), IsEmpty());
  EXPECT_THAT(ViolatedByEverything(R"(optional_data: "\377\377\377\377\377")"),
              ElementsAre(Pair("optional_data", "must be at most 4 bytes long, not 5")));
}

TEST(ValidatorTest, ASignedIntegerHasLimits) {
  const auto violated = [](const std::string& text_proto) {
    const auto message = Proto<testing::Limited>(absl::StrCat("texts: 't' ", text_proto));
    return Violated(message, testing::PlanOf(message));
  };
  for (const char* allowed : {"", "signed_small: 6", "signed_small: 9", "signed_big: -1", "signed_big: 9"}) {
    EXPECT_THAT(violated(allowed), IsEmpty()) << allowed;
  }
  for (const char* low : {"signed_small: 5", "signed_small: 0", "signed_small: -1", "signed_small: -2147483648"}) {
    EXPECT_THAT(violated(low), ElementsAre(Pair("signed_small", "must be at least 6"))) << low;
  }
  EXPECT_THAT(violated("signed_small: 10"), ElementsAre(Pair("signed_small", "must be at most 9")));
  EXPECT_THAT(violated("signed_big: 10"), ElementsAre(Pair("signed_big", "must be at most 9")));
}

TEST(ValidatorTest, AListHasLimitsOfItsElements) {
  const auto violated = [](const std::string& text_proto) {
    const auto message = Proto<testing::Limited>(text_proto);
    return Violated(message, testing::PlanOf(message));
  };
  EXPECT_THAT(violated(""), ElementsAre(Pair("texts", "must have at least 1 element, not 0")));
  EXPECT_THAT(violated("texts: 'a'"), IsEmpty());
  EXPECT_THAT(violated("texts: [ 'a', 'b' ]"), IsEmpty());
  EXPECT_THAT(violated("texts: [ 'a', 'b', 'c' ]"), ElementsAre(Pair("texts", "must have at most 2 elements, not 3")));
}

TEST(ValidatorTest, AListOrMapWithoutALimitOfItsOwnHasTheGeneralOne) {
  testing::Everything list;
  testing::Everything map;
  for (uint32_t i = 0; i < kMaxElements; ++i) {
    list.add_bigs(i);
    (*map.mutable_labels())[absl::StrCat(i)] = "v";
  }
  const auto only = [](const testing::Everything& message, absl::string_view field) {
    const std::string bytes = message.SerializeAsString();
    RequestMemory memory(4 << 20);
    Violations violations;
    Validate(**ParseMessage(testing::PlanOf(message), bytes, memory), violations);
    std::vector<std::string> descriptions;
    for (const Violation& violation : violations.kept()) {
      if (violation.field == field) descriptions.push_back(violation.description);
    }
    return descriptions;
  };
  EXPECT_THAT(only(list, "bigs"), IsEmpty());
  EXPECT_THAT(only(map, "labels"), IsEmpty());
  list.add_bigs(1);
  (*map.mutable_labels())["another"] = "v";
  EXPECT_THAT(only(list, "bigs"), ElementsAre("must have at most 10000 elements, not 10001"));
  EXPECT_THAT(only(map, "labels"), ElementsAre("must have at most 10000 elements, not 10001"));
}

TEST(ValidatorTest, UnknownFieldsThatAreNotStoredAreCounted) {
  std::string bytes;
  for (int i = 0; i < 50; ++i) bytes += "\xc0\x3e\x01";
  RequestMemory memory;
  const auto message = ParseMessage(testing::PlanOf(testing::Labeled()), bytes, memory);
  ASSERT_TRUE(message.ok());
  Violations violations;
  CheckUnknownFields(**message, violations);
  EXPECT_EQ(violations.count(), 50u);
  EXPECT_THAT(violations.kept(), SizeIs(Violations::kKept));
}

TEST(ValidatorTest, RequiredBytesMustBeSetAndARequiredMapMayBeEmpty) {
  const auto violated = [](const std::string& text_proto) {
    const auto message = Proto<testing::Labeled>(text_proto);
    return Violated(message, testing::PlanOf(message));
  };
  EXPECT_THAT(violated(""), ElementsAre(Pair("data", "is required")));
  EXPECT_THAT(violated(R"(data: "\377")"), IsEmpty());
  EXPECT_THAT(violated(R"(data: "d" datas: "" labels {} labels { key: "a" value: "b" })"), IsEmpty());
}

TEST(ValidatorTest, AnEntryOfAMapMustNotHoldAFieldThatTheProtoDoesNotDefine) {
  RequestMemory memory;
  const std::string bytes(
      "\x0a\x03\x0a\x01x"
      "\x0a\x05\x0a\x01y\x18\x05"
      "\x12\x01"
      "d");
  const ParsedMessage* message = ParseMessage(testing::PlanOf(testing::Labeled()), bytes, memory).value_or(nullptr);
  ASSERT_NE(message, nullptr);
  Violations violations;
  Validate(*message, violations);
  ASSERT_THAT(violations.kept(), SizeIs(1));
  EXPECT_EQ(violations.kept()[0].field, "labels[1]");
  EXPECT_EQ(violations.kept()[0].description, "holds field number 3, which this gateway does not know");
}

TEST(ValidatorTest, MutuallyExclusiveFieldsMustNotBothBeSet) {
  EXPECT_THAT(
      ViolatedBy("CreateOauthProviders", R"pb(
        organization_id: "o"
        parameters {
          user_id: "u"
          oauth_providers { provider_name: "neither" }
          oauth_providers { provider_name: "token" oidc_token: "t" }
          oauth_providers {
            provider_name: "claims"
            oidc_claims { iss: "i" sub: "s" aud: "a" }
          }
          oauth_providers {
            provider_name: "both"
            oidc_token: ""
            oidc_claims { iss: "i" sub: "s" aud: "a" }
          }
        }
      )pb"),
      ElementsAre(Pair("parameters.oauth_providers[3]", "must hold at most one of oidc_token and oidc_claims")));
}

Found ViolatedByStated(const std::string& text_proto) {
  static auto* const plans = new MessagePlans("Service");
  return Violated(Proto<testing::Stated>(text_proto), **plans->Compile(testing::Stated::descriptor()));
}

TEST(ValidatorTest, SingleFieldsThatStateTheSameThingMustBeEqual) {
  const auto pair = [](const std::string& first, const std::string& second) {
    return Found{{first, absl::StrCat("must be equal to ", second, ", which states the same thing")}};
  };
  EXPECT_EQ(ViolatedByStated("amount: '1' other_amount: '2'"), pair("amount", "other_amount"));
  EXPECT_EQ(ViolatedByStated("amount: '1' other_amount: 'MAX'"), pair("amount", "other_amount"));
  EXPECT_EQ(ViolatedByStated("network: NETWORK_MAIN network_text: 'eip155:2'"), pair("network", "network_text"));
  EXPECT_EQ(ViolatedByStated("network: NETWORK_MAIN network_text: ''"), pair("network", "network_text"));
  EXPECT_EQ(ViolatedByStated("network: NETWORK_MAIN network_text: 'EIP155:1'"), pair("network", "network_text"));
  EXPECT_EQ(ViolatedByStated("contract: '0xaB' other_contract: '0xAC'"), pair("contract", "other_contract"));
  EXPECT_EQ(ViolatedByStated("key: '02' other_key: '03'"), pair("key", "other_key"));
  EXPECT_EQ(ViolatedByStated("inside {} inside {network: NETWORK_MAIN network_text: 'eip155:2'}"),
            pair("inside[1].network", "inside[1].network_text"));
}

TEST(ValidatorTest, EqualFieldsThatStateTheSameThingAreValid) {
  for (const char* text : {
           "amount: '1' other_amount: '1' network: NETWORK_SIDE network_text: 'eip155:2'",
           "contract: '0xaB' other_contract: '0xAb' key: '02aF' other_key: '02Af'",
           // One of them is not set, or they state different things.
           "amount: '1'",
           "other_amount: '1'",
           "network_text: 'eip155:2'",
           "to: 'a' other_to: 'b' note: 'a' other_note: 'b'",
           "network: NETWORK_MAIN inside {network: NETWORK_SIDE}",
           // The elements of a list state several things.
           "network: NETWORK_MAIN networks: ['eip155:2', 'eip155:3']",
       }) {
    EXPECT_EQ(ViolatedByStated(text), Found()) << text;
  }
}

TEST(ValidatorTest, JsonTextMustBeOneStrictObject) {
  for (const char* text : {"{}", " {\"a\":[1,{}]} \n"}) {
    Everything message = Proto<Everything>(R"pb(text: "t" noted: "")pb");
    message.set_json(text);
    message.add_jsons(text);
    EXPECT_THAT(Violated(message, EverythingPlan()), IsEmpty()) << text;
  }
  for (const char* text : {" ", "1", "[]", "null", "{", "{\"a\":1,\"a\":2}", "{} {}", "{a:1}", "{\"a\":01}"}) {
    Everything message = Proto<Everything>(R"pb(text: "t" noted: "")pb");
    message.set_json(text);
    message.add_jsons(text);
    EXPECT_THAT(Violated(message, EverythingPlan()),
                ElementsAre(Pair("json", StartsWith("must be the JSON text of an object: ")),
                            Pair("jsons[0]", StartsWith("must be the JSON text of an object: "))))
        << text;
  }
}

TEST(ValidatorTest, TheParametersOfGeneralOperationsMustBeJson) {
  const std::string submit = R"(organization_id: "o" path: "p" activity_type: "ACTIVITY_TYPE_P" )";
  EXPECT_THAT(ViolatedBy("SubmitOperation", submit), ElementsAre(Pair("parameters", "is required")));
  EXPECT_THAT(ViolatedBy("SubmitOperation", submit + R"(parameters: "[]")"),
              ElementsAre(Pair("parameters", StartsWith("must be the JSON text of an object"))));
  EXPECT_THAT(ViolatedBy("SubmitOperation", submit + R"(parameters: "{}")"), IsEmpty());

  const std::string query = R"(organization_id: "o" path: "p" )";
  EXPECT_THAT(ViolatedBy("QueryOperation", query), IsEmpty());
  EXPECT_THAT(ViolatedBy("QueryOperation", query + R"(parameters: "")"),
              ElementsAre(Pair("parameters", StartsWith("must be the JSON text of an object"))));
  EXPECT_THAT(ViolatedBy("QueryOperation", query + R"(parameters: "{}")"), IsEmpty());
}

TEST(ValidatorTest, ATimeMustBeRepresentableInJson) {
  for (const char* time :
       {"time { seconds: -62135596800 }", "time { seconds: 253402300799 nanos: 999999999 }", "time {}"}) {
    EXPECT_THAT(ViolatedByEverything(time), IsEmpty()) << time;
  }
  for (const char* time : {"time { seconds: -62135596801 }", "time { seconds: 253402300800 }", "time { nanos: -1 }",
                           "time { nanos: 1000000000 }"}) {
    EXPECT_THAT(ViolatedByEverything(time),
                ElementsAre(Pair("time", "must be a time of the years 1 to 9999 with 0 to 999999999 nanoseconds")))
        << time;
  }
  Everything message = Proto<Everything>(R"pb(text: "t"
                                              noted: ""
                                              times {}
                                              times {})pb");
  Message* time = message.mutable_times(1);
  time->GetReflection()->MutableUnknownFields(time)->AddVarint(3, 1);
  EXPECT_THAT(Violated(message, EverythingPlan()),
              ElementsAre(Pair("times[1]", "holds field number 3, which this gateway does not know")));
}

TEST(ValidatorTest, TheUnrecognizedMapOfARequestMustBeEmpty) {
  EXPECT_THAT(ViolatedByEverything(R"(unrecognized { key: "/a" value: "1" })"),
              ElementsAre(Pair("", "must not hold unrecognized, which is for responses")));
}

TEST(ValidatorTest, AllViolationsAreReportedWithTheirPaths) {
  EXPECT_THAT(ViolatedBy("UpdateMfaPolicy", R"pb(
                parameters {
                  user_id: "u"
                  required_authentication_methods {
                    any { type: AUTHENTICATION_TYPE_PASSKEY }
                    any {}
                  }
                  required_authentication_methods { any { type: 99 id: "" } }
                }
              )pb"),
              ElementsAre(Pair("organization_id", "is required"), Pair("parameters.mfa_policy_id", "is required"),
                          Pair("parameters.required_authentication_methods[0].any[1].type", "is required"),
                          Pair("parameters.required_authentication_methods[1].any[0].type",
                               "must be one of the listed values, not number 99")));
}

TEST(ValidatorTest, StoresTwentyViolationsAndCountsAll) {
  std::string policies;
  for (int i = 0; i < 1000; ++i) policies += "policies {policy_name: 'p' effect: EFFECT_ALLOW} ";
  const testing::Parsed request(OperationOf("CreatePolicies"),
                                absl::StrCat("organization_id: 'o' parameters {", policies, "}"));
  Violations violations;
  Validate(*request, violations);
  EXPECT_EQ(violations.count(), 1000u);
  ASSERT_THAT(violations.kept(), SizeIs(20));
  EXPECT_EQ(violations.kept().back().field, "parameters.policies[19].notes");
}

TEST(ValidatorTest, DescriptionsNeverQuoteAValue) {
  Everything message = Proto<Everything>(R"pb(text: "t"
                                              noted: ""
                                              short_text: "hush-hush"
                                              json: "{\"a\":hush}"
                                              optional_big: 777777
                                              signed_small: 777777)pb");
  const Found found = Violated(message, EverythingPlan());
  EXPECT_THAT(found, SizeIs(3));
  for (const auto& [path, description] : found) {
    EXPECT_THAT(description, Not(::testing::HasSubstr("hush")));
    EXPECT_THAT(description, Not(::testing::HasSubstr("777")));
  }
}

}  // namespace
}  // namespace stampgate
