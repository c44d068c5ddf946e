#include "translate/operation_set/looser_rule.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"
#include "translate/testing/small_set.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;
using ::stampgate::testing::SetOfTexts;
using ::testing::Eq;

// Returns a set whose only message has a field with `declaration` and `rule`.
OperationSet::Shared SetWithField(const std::string& declaration, const std::string& rule) {
  return SetOfTexts({absl::StrCat(
      "name: 'm.proto' package: 'p' syntax: 'proto3' dependency: 'stampgate/v1/options.proto' message_type { name: "
      "'M' ",
      "oneof_decl { name: 'x' } field { number: 1 ", declaration, " options { [stampgate.v1.field] { ", rule,
      " } } } field { number: 2 name: 'in_oneof' label: LABEL_OPTIONAL type: TYPE_BOOL oneof_index: 0 } }")});
}

constexpr char kText[] = "name: 'f' label: LABEL_OPTIONAL type: TYPE_STRING";

// Returns the looser one of two rules of a field, as text.
std::string Looser(const std::string& base, const std::string& added, const std::string& declaration = kText) {
  const OperationSet::Shared sets[] = {SetWithField(declaration, base), SetWithField(declaration, added)};
  const auto field_of = [](const OperationSet& set) -> const FieldDescriptor& {
    return *set.pool().FindMessageTypeByName("p.M")->FindFieldByNumber(1);
  };
  return LooserRule(field_of(*sets[0]), field_of(*sets[1])).ShortDebugString();
}

// Returns `rule` as Looser returns it.
std::string Text(const std::string& rule) {
  v1::FieldRule parsed;
  EXPECT_TRUE(TextFormat::ParseFromString(rule, &parsed)) << rule;
  return parsed.ShortDebugString();
}

TEST(LooserRuleTest, AFieldIsNoLongerRequired) {
  EXPECT_EQ(Looser("required: true", ""), Text(""));
  EXPECT_EQ(Looser("required: true", "may_be_empty: true"), Text(""));
  EXPECT_EQ(Looser("required: true", "required: true may_be_empty: true"), Text("required: true may_be_empty: true"));
}

TEST(LooserRuleTest, AFieldDoesNotBecomeRequired) {
  EXPECT_EQ(Looser("", "required: true"), Text(""));
  EXPECT_EQ(Looser("required: true may_be_empty: true", "required: true"), Text("required: true may_be_empty: true"));
}

// Without `required`, the gateway would send nothing instead of an empty value.
TEST(LooserRuleTest, WhatIsSentAsAnEmptyValueStaysRequired) {
  EXPECT_EQ(Looser("required: true may_be_empty: true", ""), Text("required: true may_be_empty: true"));
  EXPECT_EQ(Looser("required: true", "", "name: 'f' label: LABEL_REPEATED type: TYPE_STRING"), Text("required: true"));
}

TEST(LooserRuleTest, OnlyASingleTextMayBecomeEmpty) {
  const std::string both = "required: true may_be_empty: true";
  EXPECT_EQ(Looser("required: true", both, "name: 'f' label: LABEL_OPTIONAL type: TYPE_UINT64"),
            Text("required: true"));
  EXPECT_EQ(Looser("required: true", both, "name: 'f' label: LABEL_REPEATED type: TYPE_STRING"),
            Text("required: true"));
  EXPECT_EQ(Looser("required: true text_form: TEXT_FORM_JSON", both), Text("required: true text_form: TEXT_FORM_JSON"));
  EXPECT_EQ(Looser("", "may_be_empty: true"), Text(""));
}

TEST(LooserRuleTest, OfTwoLimitsTheLooserOneApplies) {
  EXPECT_EQ(Looser("minimum: 3 maximum: 8 max_bytes: 8 max_characters: 8 min_elements: 3 max_elements: 8",
                   "minimum: 2 maximum: 9 max_bytes: 9 max_characters: 9 min_elements: 2 max_elements: 9"),
            Text("minimum: 2 maximum: 9 max_bytes: 9 max_characters: 9 min_elements: 2 max_elements: 9"));
  const std::string limits = "minimum: 3 maximum: 8 max_bytes: 8 max_characters: 8 min_elements: 3 max_elements: 8";
  EXPECT_EQ(Looser(limits, "minimum: 4 maximum: 7 max_bytes: 7 max_characters: 7 min_elements: 4 max_elements: 7"),
            Text(limits));
}

TEST(LooserRuleTest, ALimitThatTheOtherRuleLacksStaysAndNoneIsAdded) {
  const std::string limits = "minimum: 3 maximum: 8 max_bytes: 8 max_characters: 8 min_elements: 3 max_elements: 8";
  EXPECT_EQ(Looser(limits, ""), Text(limits));
  EXPECT_EQ(Looser("", limits), Text(""));
}

TEST(LooserRuleTest, AListHasNeverMoreElementsThanTheGatewayReads) {
  EXPECT_EQ(Looser("max_elements: 8", "max_elements: 4000000000"), Text("max_elements: 10000"));
}

TEST(LooserRuleTest, EveryOtherMemberStays) {
  EXPECT_EQ(Looser("required: true secret: true json_name: 'a' text_form: TEXT_FORM_JSON guard: FIELD_GUARD_NONE",
                   "json_name: 'b' guard: FIELD_GUARD_AMOUNT role: FIELD_ROLE_PATH event_types: 'E'"),
            Text("secret: true json_name: 'a' text_form: TEXT_FORM_JSON guard: FIELD_GUARD_NONE"));
}

TEST(LooserRuleTest, AFieldByWhichTheGatewayDecidesKeepsItsRule) {
  for (const char* rule :
       {"guard: FIELD_GUARD_AMOUNT", "guard: FIELD_GUARD_CHAIN", "guard: FIELD_GUARD_CONTRACT",
        "guard: FIELD_GUARD_EXPORT_KEY", "guard: FIELD_GUARD_DANGEROUS", "guard: FIELD_GUARD_DESTINATION",
        "role: FIELD_ROLE_PATH", "role: FIELD_ROLE_ACTIVITY_TYPE", "role: FIELD_ROLE_IDEMPOTENCY_KEY"}) {
    const std::string all = absl::StrCat("required: true max_bytes: 8 ", rule);
    EXPECT_EQ(Looser(all, "max_bytes: 9"), Text(all));
  }
  EXPECT_EQ(
      Looser("required: true max_bytes: 8", "", "name: 'organization_id' label: LABEL_OPTIONAL type: TYPE_STRING"),
      Text("required: true max_bytes: 8"));
}

// Otherwise a request without the message would have none of the guarded fields inside it.
TEST(LooserRuleTest, AMessageStaysRequired) {
  for (const char* label : {"OPTIONAL", "REPEATED"}) {
    const std::string declaration =
        absl::StrCat("name: 'f' label: LABEL_", label, " type: TYPE_MESSAGE type_name: '.p.M'");
    EXPECT_EQ(Looser("required: true", "", declaration), Text("required: true")) << label;
  }
}

constexpr char kService[] = R"pb(
  name: "kettle.proto"
  package: "kitchen"
  syntax: "proto3"
  dependency: "stampgate/v1/options.proto"
  message_type {
    name: "Request"
    field { name: "inner" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".kitchen.Inner" }
  }
  message_type { name: "Inner" }
  message_type { name: "Response" }
  service {
    name: "S"
    method {
      name: "M"
      input_type: ".kitchen.Request"
      output_type: ".kitchen.Response"
      options {
        [stampgate.v1.operation] { RULE }
      }
    }
  }
)pb";

OperationSet::Shared SetWithRule(const std::string& rule, const std::string& method = "\"M\"") {
  std::string text = kService;
  text.replace(text.find("RULE"), 4, rule);
  text.replace(text.find("\"M\""), 3, method);
  return SetOfTexts({text});
}

TEST(LaterReleaseTest, HasAllOperationsOfTheProgramAndOneOfALaterDay) {
  const OperationSet::Shared base = SetWithRule("kind: OPERATION_KIND_QUERY since: '2026-01-01'");
  for (const auto& [since, method, is_later] : {std::tuple("2026-01-02", "\"M\"", true),
                                                {"2026-01-01", "\"M\"", false},
                                                {"2025-12-31", "\"M\"", false},
                                                {"2026-01-02", "'Other'", false}}) {
    const OperationSet::Shared added =
        SetWithRule(absl::StrCat("kind: OPERATION_KIND_QUERY since: '", since, "'"), method);
    EXPECT_THAT(IsLaterRelease(*base, *added), Eq(is_later)) << since << method;
  }
}

TEST(LaterReleaseTest, TheGatewayReliesOnTheRulesOfItsOwnRequests) {
  const auto sizes = [](const std::string& rule) { return MessagesOfTheGateway(*SetWithRule(rule)).size(); };
  EXPECT_EQ(sizes("kind: OPERATION_KIND_QUERY"), 0u);
  EXPECT_EQ(sizes("kind: OPERATION_KIND_SUBMIT general: true"), 2u);
  EXPECT_EQ(sizes("kind: OPERATION_KIND_LOCAL"), 2u);
  EXPECT_EQ(sizes(""), 2u);
}

}  // namespace
}  // namespace stampgate
