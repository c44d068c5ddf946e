#include "translate/message/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/small_set.h"
#include "translate/testing/status.h"
#include "translate/testing/testing.pb.h"

namespace stampgate {
namespace {

using ::google::protobuf::Descriptor;
using ::stampgate::testing::Everything;
using ::stampgate::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsNull;
using ::testing::NotNull;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const Descriptor* TypeOf(const std::string& name) { return testing::Pool().FindMessageTypeByName(name); }

class MessagePlanTest : public ::testing::Test {
 protected:
  const MessagePlan& PlanOf(const Descriptor* descriptor) {
    absl::StatusOr<const MessagePlan*> plan = plans_.Compile(descriptor);
    EXPECT_THAT(plan, StatusIs(absl::StatusCode::kOk));
    return **plan;
  }

  MessagePlans plans_{"Service"};
};

TEST_F(MessagePlanTest, EverySupportedProtoTypeHasItsJsonForm) {
  const MessagePlan& plan = PlanOf(Everything::descriptor());
  struct Row {
    const char* field;
    JsonForm form;
  };
  for (const Row& row : {Row{"text", JsonForm::kString},         Row{"texts", JsonForm::kString},
                         Row{"flag", JsonForm::kBool},           Row{"big", JsonForm::kUint64},
                         Row{"bigs", JsonForm::kUint64},         Row{"signed_big", JsonForm::kInt64},
                         Row{"small", JsonForm::kUint32},        Row{"signed_small", JsonForm::kInt32},
                         Row{"color", JsonForm::kEnum},          Row{"colors", JsonForm::kEnum},
                         Row{"time", JsonForm::kTimestamp},      Row{"times", JsonForm::kTimestamp},
                         Row{"inner", JsonForm::kMessage},       Row{"inners", JsonForm::kMessage},
                         Row{"json", JsonForm::kJsonText},       Row{"jsons", JsonForm::kJsonText},
                         Row{"choice_text", JsonForm::kString},  Row{"data", JsonForm::kBytes},
                         Row{"optional_data", JsonForm::kBytes}, Row{"datas", JsonForm::kBytes},
                         Row{"labels", JsonForm::kStringMap}}) {
    ASSERT_THAT(plan.Find(row.field), NotNull()) << row.field;
    EXPECT_EQ(plan.Find(row.field)->form, row.form) << row.field;
  }
}

TEST_F(MessagePlanTest, FieldsAreOrderedByNumber) {
  const MessagePlan& plan = PlanOf(Everything::descriptor());
  EXPECT_EQ(plan.fields[0].field->name(), "optional_text");
  EXPECT_EQ(plan.fields[1].field->name(), "text");
  for (size_t i = 1; i < plan.fields.size(); ++i) {
    EXPECT_LT(plan.fields[i - 1].field->number(), plan.fields[i].field->number());
  }
}

TEST_F(MessagePlanTest, TheOptionsCanChangeTheJsonNameOfAField) {
  const MessagePlan& policy = PlanOf(TypeOf("stampgate.v1.PolicyToCreate"));
  EXPECT_EQ(policy.Find("policy_name")->json_name, "policyName");
  EXPECT_EQ(policy.Find("policy_name")->json_key, "\"policyName\":");
  EXPECT_EQ(policy.by_json_name.at("policyName"), policy.Find("policy_name"));
  EXPECT_THAT(policy.Find("policyName"), IsNull());

  const MessagePlan& everything = PlanOf(Everything::descriptor());
  EXPECT_EQ(everything.Find("renamed")->json_name, "service_a/b~\"c");
  EXPECT_EQ(everything.Find("renamed")->json_key, "\"service_a/b~\\\"c\":");
}

TEST_F(MessagePlanTest, JsonNamesContainTheOperatorsNameInLowerCase) {
  MessagePlans plans("Some-Operator");
  const MessagePlan& key = **plans.Compile(TypeOf("stampgate.v1.WebhookKey"));
  EXPECT_EQ(key.Find("signature_algorithm")->json_name, "some-operator_signature_algorithm");
  EXPECT_EQ(key.Find("signature_version")->json_name, "some-operator_signature_version");
}

TEST_F(MessagePlanTest, EnumValuesExceptZeroHaveAJsonName) {
  const FieldPlan& chain = *PlanOf(TypeOf("stampgate.v1.EarnWithdrawParameters")).Find("chain_caip2");
  EXPECT_THAT(chain.values->numbers,
              UnorderedElementsAre(Pair("eip155:1", 1), Pair("eip155:8453", 2), Pair("eip155:42161", 3),
                                   Pair("eip155:137", 4), Pair("eip155:56", 5), Pair("eip155:4217", 6)));
  EXPECT_EQ(chain.values->json.at(2), "\"eip155:8453\"");

  const FieldPlan& effect = *PlanOf(TypeOf("stampgate.v1.PolicyToCreate")).Find("effect");
  EXPECT_THAT(effect.values->numbers, UnorderedElementsAre(Pair("EFFECT_ALLOW", 1), Pair("EFFECT_DENY", 2)));
}

TEST_F(MessagePlanTest, ThePlanContainsTheRulesOfEachField) {
  const MessagePlan& plan = PlanOf(Everything::descriptor());
  EXPECT_TRUE(plan.Find("text")->required);
  EXPECT_FALSE(plan.Find("flag")->required);
  EXPECT_TRUE(plan.Find("noted")->may_be_empty);
  EXPECT_TRUE(plan.Find("secrets")->secret);
  EXPECT_EQ(plan.Find("optional_big")->minimum, 10u);
  EXPECT_EQ(plan.Find("optional_big")->maximum, 20u);
  EXPECT_EQ(plan.Find("big")->minimum, std::nullopt);
  EXPECT_EQ(plan.Find("short_text")->max_bytes, 4u);
  EXPECT_THAT(plan.at_most_one, ElementsAre(plan.Find("optional_text"), plan.Find("optional_flag")));

  const MessagePlan& limited = PlanOf(testing::Limited::descriptor());
  EXPECT_EQ(limited.Find("signed_small")->minimum, 6u);
  EXPECT_EQ(limited.Find("texts")->min_elements, 1u);
  EXPECT_EQ(limited.Find("texts")->max_elements, 2u);
  EXPECT_EQ(plan.Find("texts")->max_elements, kMaxElements);
  EXPECT_EQ(plan.Find("labels")->max_elements, kMaxElements);
}

TEST_F(MessagePlanTest, TheUnrecognizedMapIsNotAMemberOfTheJson) {
  const MessagePlan& plan = PlanOf(Everything::descriptor());
  ASSERT_NE(plan.unrecognized, nullptr);
  EXPECT_EQ(plan.unrecognized->form, JsonForm::kOpaque);
  EXPECT_FALSE(plan.by_json_name.contains("unrecognized"));
  EXPECT_EQ(plan.unrecognized->field, Everything::descriptor()->FindFieldByName("unrecognized"));
  EXPECT_THAT(PlanOf(TypeOf("stampgate.v1.Policy")).unrecognized, IsNull());
}

TEST_F(MessagePlanTest, AMapHasThePlanOfItsEntries) {
  const FieldPlan& labels = *PlanOf(Everything::descriptor()).Find("labels");
  EXPECT_TRUE(labels.in_json);
  ASSERT_THAT(labels.message, NotNull());
  ASSERT_EQ(labels.message->fields.size(), 2u);
  EXPECT_EQ(labels.message->fields[0].field->name(), "key");
  EXPECT_EQ(labels.message->fields[1].field->name(), "value");
}

TEST_F(MessagePlanTest, RequiredMapsListsAndTextsWithoutPresenceCanBeMissing) {
  const MessagePlan& labeled = PlanOf(testing::Labeled::descriptor());
  EXPECT_THAT(labeled.required_empties, ElementsAre(labeled.Find("labels")));
  const MessagePlan& texts = PlanOf(testing::WithoutPresence::descriptor());
  EXPECT_THAT(texts.required_empties, ElementsAre(texts.Find("text"), texts.Find("data")));
  const MessagePlan& everything = PlanOf(Everything::descriptor());
  EXPECT_THAT(everything.required_empties, ElementsAre(everything.Find("required_texts")));
  EXPECT_FALSE(everything.Find("noted")->written_if_unset);
  EXPECT_FALSE(everything.Find("text")->written_if_unset);
}

TEST_F(MessagePlanTest, EachMessageIsCompiledOnceAndAMessageMayContainItself) {
  const MessagePlan& plan = PlanOf(Everything::descriptor());
  EXPECT_EQ(plan.Find("inner")->message, &plan);
  EXPECT_EQ(plan.Find("inners")->message, &plan);
  EXPECT_EQ(&PlanOf(Everything::descriptor()), &plan);
}

// Adds the messages M0, M1, ... to `pool`, each of which contains the next one in its field "next". The last one
// contains M0 if `is_cycle`.
void AddChain(int count, bool is_cycle, google::protobuf::DescriptorPool& pool) {
  google::protobuf::FileDescriptorProto file;
  file.set_name("chain.proto");
  file.set_syntax("proto3");
  for (int i = 0; i < count; ++i) {
    auto& message = *file.add_message_type();
    message.set_name(absl::StrCat("M", i));
    if (i + 1 == count && !is_cycle) break;
    auto& next = *message.add_field();
    next.set_name("next");
    next.set_number(1);
    next.set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
    next.set_type(google::protobuf::FieldDescriptorProto::TYPE_MESSAGE);
    next.set_type_name(absl::StrCat(".M", i + 1 == count ? 0 : i + 1));
  }
  ASSERT_THAT(pool.BuildFile(file), NotNull());
}

TEST(MessagePlanDepthTest, MessagesMayBeNested64LevelsDeep) {
  for (const int count : {kMaxNesting + 1, kMaxNesting + 2, 10'000}) {
    google::protobuf::DescriptorPool pool;
    AddChain(count, /*is_cycle=*/false, pool);
    MessagePlans plans("Service");
    const absl::StatusOr<const MessagePlan*> plan = plans.Compile(pool.FindMessageTypeByName("M0"));
    if (count == kMaxNesting + 1) {
      EXPECT_THAT(plan, StatusIs(absl::StatusCode::kOk));
    } else {
      EXPECT_THAT(plan, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 ::testing::Eq("M64.next nests messages deeper than 64 levels")));
    }
  }
}

TEST(MessagePlanDepthTest, ACycleOfMessagesMayBeOfAnyDepthUpToTheLimit) {
  google::protobuf::DescriptorPool pool;
  AddChain(kMaxNesting + 1, /*is_cycle=*/true, pool);
  MessagePlans plans("Service");
  const absl::StatusOr<const MessagePlan*> plan = plans.Compile(pool.FindMessageTypeByName("M0"));
  EXPECT_THAT(plan, StatusIs(absl::StatusCode::kFailedPrecondition));
  google::protobuf::DescriptorPool smaller;
  AddChain(kMaxNesting, /*is_cycle=*/true, smaller);
  MessagePlans others("Service");
  EXPECT_THAT(others.Compile(smaller.FindMessageTypeByName("M0")), StatusIs(absl::StatusCode::kOk));
}

struct FaultCase {
  const Descriptor* descriptor;
  const char* fault;
};

class FaultyMessageTest : public ::testing::TestWithParam<FaultCase> {};

TEST_P(FaultyMessageTest, TheErrorNamesTheFaultyField) {
  MessagePlans plans("Service");
  EXPECT_THAT(plans.Compile(GetParam().descriptor),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       ::testing::Eq(std::string("stampgate.testing.") + GetParam().fault)));
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultyMessageTest,
    ::testing::Values(
        FaultCase{testing::HasDouble::descriptor(), "HasDouble.value has type double, which has no JSON form here"},
        FaultCase{testing::HasFloat::descriptor(), "HasFloat.value has type float, which has no JSON form here"},
        FaultCase{testing::HasFixed64::descriptor(), "HasFixed64.value has type fixed64, which has no JSON form here"},
        FaultCase{testing::HasSint32::descriptor(), "HasSint32.value has type sint32, which has no JSON form here"},
        FaultCase{testing::HasMapOfNumbers::descriptor(),
                  "HasMapOfNumbers.values is a map, which has a JSON form only if its keys and values are strings"},
        FaultCase{testing::HasMapOfBytes::descriptor(),
                  "HasMapOfBytes.values is a map, which has a JSON form only if its keys and values are strings"},
        FaultCase{testing::HasMapOfMessages::descriptor(),
                  "HasMapOfMessages.values is a map, which has a JSON form only if its keys and values are strings"},
        FaultCase{
            testing::HasMapWithNumberKeys::descriptor(),
            "HasMapWithNumberKeys.values is a map, which has a JSON form only if its keys and values are strings"},
        FaultCase{testing::HasRoleOfBytes::descriptor(),
                  "HasRoleOfBytes.value has a role, so it must be a single string"},
        FaultCase{testing::HasTextFormOfBytes::descriptor(),
                  "HasTextFormOfBytes.value has a text form, so it must be a string"},
        FaultCase{testing::HasCharactersOfBytes::descriptor(),
                  "HasCharactersOfBytes.value has a maximum of characters, so it must be a string"},
        FaultCase{testing::HasLengthOfMap::descriptor(),
                  "HasLengthOfMap.values has a maximum length, so it must be a string or bytes"},
        FaultCase{testing::HasTextFormOfNumber::descriptor(),
                  "HasTextFormOfNumber.value has a text form, so it must be a string"},
        FaultCase{testing::HasRepeatedMembers::descriptor(), "HasRepeatedMembers.value must not be repeated"},
        FaultCase{testing::HasMembersTwice::descriptor(),
                  "HasMembersTwice.second is a second field whose text form is JSON members"},
        FaultCase{
            testing::HasNameTwice::descriptor(),
            "HasNameTwice.second has the JSON name of another field, which may differ in case and underscores: first"},
        FaultCase{testing::HasNameInOtherSpelling::descriptor(),
                  "HasNameInOtherSpelling.second has the JSON name of another field, which may differ in case and "
                  "underscores: First_Value"},
        FaultCase{testing::HasNameOfOtherLetters::descriptor(),
                  "HasNameOfOtherLetters.value has a JSON name that is not ASCII"},
        FaultCase{testing::HasRoleTwice::descriptor(), "HasRoleTwice.second has the role of another field"},
        FaultCase{testing::HasStampTwice::descriptor(), "HasStampTwice.other_stamp is a second ClientStamp"},
        FaultCase{testing::HasValueTwice::descriptor(), "TWICE_SECOND has the JSON name of another value: eip155:1"},
        FaultCase{testing::HasExclusionOfNothing::descriptor(),
                  "HasExclusionOfNothing: at_most_one names \"missing\", which is not a field with presence"},
        FaultCase{testing::HasExclusionWithoutPresence::descriptor(),
                  "HasExclusionWithoutPresence: at_most_one names \"value\", which is not a field with presence"},
        FaultCase{testing::HasEmptyWithoutPresence::descriptor(),
                  "HasEmptyWithoutPresence.value may be empty, so it must have presence or be a required text"},
        FaultCase{testing::HasRangeOfText::descriptor(),
                  "HasRangeOfText.value has a minimum or maximum, so it must be an integer"},
        FaultCase{testing::HasElementsOfText::descriptor(),
                  "HasElementsOfText.value has a number of elements, so it must be repeated"},
        FaultCase{testing::HasElementsOfMap::descriptor(),
                  "HasElementsOfMap.values has a number of elements, so it must be repeated"},
        FaultCase{
            testing::HasTooManyElements::descriptor(),
            "HasTooManyElements.values has numbers of elements that are not in order: min_elements, max_elements, "
            "10000"},
        FaultCase{testing::HasLengthOfNumber::descriptor(),
                  "HasLengthOfNumber.value has a maximum length, so it must be a string or bytes"},
        FaultCase{testing::HasRoleOfNumber::descriptor(),
                  "HasRoleOfNumber.value has a role, so it must be a single string"},
        FaultCase{testing::HasRepeatedRole::descriptor(),
                  "HasRepeatedRole.value has a role, so it must be a single string"},
        FaultCase{testing::HasFaultInside::descriptor(),
                  "HasDouble.value has type double, which has no JSON form here"}),
    [](const auto& info) { return std::string(info.param.descriptor->name()); });

// A message with the field `color` and `field`, and perhaps more.
struct NewerNameCase {
  const char* color;  // the rest of the field `color`
  const char* field;
  const char* fault;
};

class NewerNameTest : public ::testing::TestWithParam<NewerNameCase> {
 protected:
  static OperationSet::Shared SetOf(const std::string& color, const std::string& field) {
    return testing::SetOfTexts({absl::StrCat(
        R"(name: 'kettle.proto' package: 'kitchen' dependency: 'stampgate/v1/options.proto' syntax: 'proto3'
           enum_type { name: 'Size' value { name: 'NONE' number: 0 } value { name: 'SMALL' number: 1 } }
           message_type { name: 'Kettle' field { name: 'color' number: 1 )",
        color, " } ", field, " }")});
  }
};

constexpr char kText[] = "label: LABEL_OPTIONAL type: TYPE_STRING";
#define HUE(type, rule) "field { name: 'hue' number: 2 " type " options { [stampgate.v1.field] { " rule " } } }"

TEST_P(NewerNameTest, TheErrorNamesTheFaultyField) {
  const OperationSet::Shared set = SetOf(GetParam().color, GetParam().field);
  MessagePlans plans("Service");
  EXPECT_THAT(plans.Compile(set->pool().FindMessageTypeByName("kitchen.Kettle")),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::Eq(std::string(GetParam().fault))));
}

INSTANTIATE_TEST_SUITE_P(
    All, NewerNameTest,
    ::testing::Values(
        NewerNameCase{kText, HUE("label: LABEL_OPTIONAL type: TYPE_STRING", "replaces: 'color'"),
                      "kitchen.Kettle.hue must have both options `replaces` and `since`, or none of them"},
        NewerNameCase{kText, HUE("label: LABEL_OPTIONAL type: TYPE_STRING", "since: '2026-10-21'"),
                      "kitchen.Kettle.hue must have both options `replaces` and `since`, or none of them"},
        NewerNameCase{kText, HUE("label: LABEL_OPTIONAL type: TYPE_STRING", "replaces: 'size' since: '2026-10-21'"),
                      "kitchen.Kettle.hue must replace a field of its message that replaces no other one"},
        NewerNameCase{kText, HUE("label: LABEL_OPTIONAL type: TYPE_STRING", "replaces: 'hue' since: '2026-10-21'"),
                      "kitchen.Kettle.hue must replace a field of its message that replaces no other one"},
        NewerNameCase{
            kText,
            HUE("label: LABEL_OPTIONAL type: TYPE_STRING", "replaces: 'color' since: '2026-10-21' required: true"),
            "kitchen.Kettle.hue replaces another field, so it must have no rules of its own"},
        NewerNameCase{kText, HUE("label: LABEL_OPTIONAL type: TYPE_BYTES", "replaces: 'color' since: '2026-10-21'"),
                      "kitchen.Kettle.hue must have the type of color, which it replaces"},
        NewerNameCase{kText,
                      HUE("label: LABEL_OPTIONAL type: TYPE_ENUM type_name: '.kitchen.Size'",
                          "replaces: 'color' since: '2026-10-21'"),
                      "kitchen.Kettle.hue must have the type of color, which it replaces"},
        NewerNameCase{"label: LABEL_REPEATED type: TYPE_STRING",
                      HUE("label: LABEL_REPEATED type: TYPE_STRING", "replaces: 'color' since: '2026-10-21'"),
                      "kitchen.Kettle.hue and the field that it replaces must be single values without a role, and not "
                      "of a oneof"},
        NewerNameCase{"label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: '.kitchen.Kettle'",
                      HUE("label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: '.kitchen.Kettle'",
                          "replaces: 'color' since: '2026-10-21'"),
                      "kitchen.Kettle.hue and the field that it replaces must be single values without a role, and not "
                      "of a oneof"},
        NewerNameCase{"label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0",
                      HUE("label: LABEL_OPTIONAL type: TYPE_STRING",
                          "replaces: 'color' since: '2026-10-21'") " oneof_decl { name: 'look' }",
                      "kitchen.Kettle.hue and the field that it replaces must be single values without a role, and not "
                      "of a oneof"},
        NewerNameCase{"label: LABEL_OPTIONAL type: TYPE_STRING proto3_optional: true oneof_index: 0",
                      HUE("label: LABEL_OPTIONAL type: TYPE_STRING",
                          "replaces: 'color' since: '2026-10-21'") " oneof_decl { name: '_color' }",
                      "kitchen.Kettle.hue and the field that it replaces must both have presence, or neither"}));
#undef HUE

TEST_F(MessagePlanTest, AtMostOneMustNotNameANewerName) {
  static const auto& set = *new OperationSet::Shared(testing::SetOfTexts(
      {R"(name: 'kettle.proto' package: 'kitchen' dependency: 'stampgate/v1/options.proto' syntax: 'proto3'
          message_type {
            name: 'Kettle'
            field { name: 'color' number: 1 label: LABEL_OPTIONAL type: TYPE_STRING proto3_optional: true
                    oneof_index: 0 }
            field { name: 'hue' number: 2 label: LABEL_OPTIONAL type: TYPE_STRING proto3_optional: true
                    oneof_index: 1
                    options { [stampgate.v1.field] { replaces: 'color' since: '2026-10-21' } } }
            oneof_decl { name: '_color' } oneof_decl { name: '_hue' }
            options { [stampgate.v1.message] { at_most_one: 'hue' } }
          })"}));
  EXPECT_THAT(plans_.Compile(set->pool().FindMessageTypeByName("kitchen.Kettle")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       ::testing::Eq("kitchen.Kettle: at_most_one names \"hue\", which replaces another field")));
}

TEST_F(MessagePlanTest, NamedOnReturnsTheNewestNameOfADay) {
  static const auto& set = *new OperationSet::Shared(testing::SetOfTexts(
      {R"(name: 'kettle.proto' package: 'kitchen' dependency: 'stampgate/v1/options.proto' syntax: 'proto3'
          message_type {
            name: 'Kettle'
            field { name: 'tint' number: 1 label: LABEL_OPTIONAL type: TYPE_STRING
                    options { [stampgate.v1.field] { replaces: 'color' since: '2026-12-01' } } }
            field { name: 'color' number: 2 label: LABEL_OPTIONAL type: TYPE_STRING
                    options { [stampgate.v1.field] { secret: true } } }
            field { name: 'hue' number: 3 label: LABEL_OPTIONAL type: TYPE_STRING
                    options { [stampgate.v1.field] { replaces: 'color' since: '2026-10-21' } } }
          })"}));
  const MessagePlan& plan = PlanOf(set->pool().FindMessageTypeByName("kitchen.Kettle"));
  const FieldPlan& color = *plan.Find("color");
  EXPECT_EQ(&NamedOn(color, ""), &color);
  EXPECT_EQ(&NamedOn(color, "2026-10-20"), &color);
  EXPECT_EQ(&NamedOn(color, "2026-10-21"), plan.Find("hue"));
  EXPECT_EQ(&NamedOn(color, "2026-11-30"), plan.Find("hue"));
  EXPECT_EQ(&NamedOn(color, "2026-12-01"), plan.Find("tint"));
  EXPECT_EQ(plan.Find("hue")->replaced, &color);
  EXPECT_TRUE(plan.Find("hue")->secret);
  EXPECT_THAT(plan.successors, UnorderedElementsAre(plan.Find("hue"), plan.Find("tint")));
}

}  // namespace
}  // namespace stampgate
