#include "translate/operation_set/conflicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "translate/testing/small_set.h"

namespace stampgate {
namespace {

using ::stampgate::testing::SetOfTexts;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Boil writes a Kettle, and its response has an Activity, which has one of all kettles and pots. PourRequest contains a
// Kettle only in a Tray.
constexpr char kKitchen[] = R"pb(
  name: "kitchen.proto"
  package: "kitchen"
  dependency: "stampgate/v1/options.proto"
  syntax: "proto3"
  message_type {
    name: "Kettle"
    field { name: "color" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0 }
    field { name: "size" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".kitchen.Size" }
    reserved_range { start: 3 end: 4 }
    reserved_name: "weight"
    nested_type {
      name: "Lid"
      field { name: "closed" number: 1 label: LABEL_OPTIONAL type: TYPE_BOOL }
    }
    oneof_decl { name: "look" }
  }
  message_type {
    name: "Pot"
    field { name: "deep" number: 1 label: LABEL_OPTIONAL type: TYPE_BOOL }
  }
  message_type {
    name: "Tray"
    field { name: "kettle" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".kitchen.Kettle" }
  }
  message_type {
    name: "Activity"
    field {
      name: "kettle"
      number: 1
      label: LABEL_OPTIONAL
      type: TYPE_MESSAGE
      type_name: ".kitchen.Kettle"
      oneof_index: 0
    }
    field { name: "pot" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".kitchen.Pot" oneof_index: 0 }
    oneof_decl { name: "of" }
  }
  message_type {
    name: "PourRequest"
    field { name: "tray" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".kitchen.Tray" }
  }
  message_type {
    name: "PourResponse"
    field { name: "activity" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".kitchen.Activity" }
  }
  enum_type {
    name: "Size"
    value { name: "SMALL" number: 0 }
    value { name: "LARGE" number: 1 }
    reserved_range { start: 7 end: 7 }
    reserved_name: "TINY"
  }
  service {
    name: "KitchenService"
    method {
      name: "Pour"
      input_type: ".kitchen.PourRequest"
      output_type: ".kitchen.PourResponse"
      options {
        [stampgate.v1.operation] { kind: OPERATION_KIND_QUERY }
      }
    }
  }
)pb";

// Returns the definition of a method.
std::string Method(const std::string& name, const std::string& input, const std::string& output) {
  return absl::StrCat("method { name: '", name, "' input_type: '.kitchen.", input, "' output_type: '.kitchen.", output,
                      "' options { [stampgate.v1.operation] { kind: OPERATION_KIND_QUERY } } } ");
}

// Returns the definition of a field whose type is a message or a string.
std::string Field(const std::string& name, int number, const std::string& message = "", const std::string& rule = "") {
  return absl::StrCat(
      "field { name: '", name, "' number: ", number, " label: LABEL_OPTIONAL ",
      message.empty() ? "type: TYPE_STRING" : "type: TYPE_MESSAGE type_name: '.kitchen." + message + "'",
      " options { [stampgate.v1.field] { ", rule, " } } } ");
}

std::string Message(const std::string& name, const std::string& members) {
  return absl::StrCat("message_type { name: '", name, "' ", members, "} ");
}

constexpr char kColor[] = "name: \"color\" number: 1";
constexpr char kOtherColor[] = "name: 'hue' number: 1";
constexpr char kIsOther[] = "kitchen.Kettle.color has another name, number, type, list or oneof; it stays as it is";
constexpr char kNested[] = "nested_type {";
constexpr char kMethod[] = "method {";

class ConflictsTest : public ::testing::Test {
 protected:
  using Replacements = std::vector<std::pair<std::string, std::string>>;

  // Returns the conflicts of a later kitchen.proto, in which `replacements` are made and `more` is added.
  static Conflicts Of(const Replacements& replacements, const std::string& more = "") {
    return FindConflicts(*SetOfTexts({kKitchen}), *Later(replacements, more), {});
  }

  static OperationSet::Shared Later(const Replacements& replacements, const std::string& more = "") {
    std::string later = kKitchen;
    for (const auto& [text, replacement] : replacements) {
      EXPECT_NE(later.find(text), std::string::npos) << text;
      later = absl::StrReplaceAll(later, {{text, replacement}});
    }
    return SetOfTexts({later + more});
  }
};

TEST_F(ConflictsTest, EqualSetsHaveNone) {
  const Conflicts none = Of({});
  EXPECT_THAT(none.kept, IsEmpty());
  EXPECT_THAT(none.left_out, IsEmpty());
  EXPECT_THAT(none.sentences, IsEmpty());
}

TEST_F(ConflictsTest, AdditionsHaveNone) {
  const Conflicts none = Of({{kNested, absl::StrCat(Field("brand", 4), Field("pot", 5, "Pot"), kNested)},
                             {"name: \"LARGE\" number: 1", "name: 'LARGE' number: 1 } value { name: 'HUGE' number: 2"},
                             {kMethod, absl::StrCat(Method("Cool", "CoolRequest", "PourResponse"), kMethod)}},
                            Message("CoolRequest", Field("kettle", 1, "Kettle")));
  EXPECT_THAT(none.sentences, IsEmpty());
  EXPECT_THAT(none.left_out, IsEmpty());
}

TEST_F(ConflictsTest, AChangedFieldAndItsMessageAreKept) {
  const Conflicts conflicts = Of({{kColor, kOtherColor}});
  EXPECT_THAT(conflicts.sentences, ElementsAre(kIsOther));
  EXPECT_THAT(conflicts.kept, UnorderedElementsAre("kitchen.Kettle.color", "kitchen.Kettle"));
  EXPECT_THAT(conflicts.left_out, IsEmpty());
}

TEST_F(ConflictsTest, AnOperationWhoseRequestContainsTheChangedMessageIsLeftOutWithItsOwnMessages) {
  // In CoolRequest itself, in a message that both sets have, and at once.
  for (const char* in : {"CoolRequest", "Tray", "PourRequest", "Kettle"}) {
    const Conflicts conflicts =
        Of({{kColor, kOtherColor}, {kMethod, absl::StrCat(Method("Cool", in, "CoolResponse"), kMethod)}},
           absl::StrCat(Message("CoolRequest", Field("kettle", 1, "Kettle")),
                        Message("CoolResponse", Field("a", 1, "A")), Message("A", "")));
    EXPECT_THAT(conflicts.sentences,
                ElementsAre(kIsOther, "kitchen.KitchenService.Cool is left out, because it needs kitchen.Kettle"))
        << in;
    EXPECT_THAT(conflicts.left_out, UnorderedElementsAre("kitchen.KitchenService.Cool", "kitchen.CoolRequest",
                                                         "kitchen.CoolResponse", "kitchen.A"))
        << in;
  }
}

TEST_F(ConflictsTest, AnotherOperationIsAddedAlthoughItsActivityCouldHoldTheChangedMessage) {
  const Conflicts conflicts =
      Of({{kColor, kOtherColor}, {kMethod, absl::StrCat(Method("Stir", "StirRequest", "StirResponse"), kMethod)}},
         absl::StrCat(Message("StirRequest", Field("pot", 1, "Pot")),
                      Message("StirResponse", Field("activity", 1, "Activity"))));
  EXPECT_THAT(conflicts.sentences, ElementsAre(kIsOther));
  EXPECT_THAT(conflicts.left_out, IsEmpty());
}

TEST_F(ConflictsTest, AnOperationWhoseResponseIsOrContainsTheChangedMessageIsLeftOut) {
  for (const char* out : {"Kettle", "ShowResponse"}) {
    const Conflicts conflicts =
        Of({{kColor, kOtherColor}, {kMethod, absl::StrCat(Method("Show", "Pot", out), kMethod)}},
           Message("ShowResponse", Field("kettle", 1, "Kettle")));
    EXPECT_THAT(conflicts.sentences,
                ElementsAre(kIsOther, "kitchen.KitchenService.Show is left out, because it needs kitchen.Kettle"));
  }
}

TEST_F(ConflictsTest, NewFieldsOfTheChangedMessageAndOfItsTypeAreLeftOut) {
  const Conflicts conflicts =
      Of({{kColor, kOtherColor},
          {kNested, absl::StrCat(Field("brand", 4), kNested)},
          {"name: \"Pot\"",
           absl::StrCat("name: 'Pot' ", Field("near", 2, "Kettle"), Field("holder", 3, "Tray"), Field("grip", 4))},
          {"name: \"PourRequest\"", absl::StrCat("name: 'PourRequest' ", Field("pot", 2, "Pot"))}},
         "");
  EXPECT_THAT(conflicts.sentences,
              ElementsAre(kIsOther, "kitchen.Kettle.brand is left out, because it needs kitchen.Kettle",
                          "kitchen.Pot.near is left out, because it needs kitchen.Kettle",
                          "kitchen.Pot.holder is left out, because it needs kitchen.Kettle",
                          "kitchen.PourRequest.pot is left out, because it needs kitchen.Kettle"));
}

TEST_F(ConflictsTest, AServiceOfWhichNothingRemainsIsLeftOut) {
  const std::string service = absl::StrCat("service { name: 'CoolService' ", Method("Cool", "Kettle", "Pot"), "}");
  EXPECT_THAT(Of({{kColor, kOtherColor}}, service).left_out,
              UnorderedElementsAre("kitchen.CoolService.Cool", "kitchen.CoolService"));
  const std::string more = absl::StrCat("service { name: 'CoolService' ", Method("Cool", "Kettle", "Pot"),
                                        Method("Stir", "Pot", "Pot"), "}");
  EXPECT_THAT(Of({{kColor, kOtherColor}}, more).left_out, UnorderedElementsAre("kitchen.CoolService.Cool"));
  EXPECT_THAT(Of({{kColor, kOtherColor}}, "service { name: 'NoService' }").left_out, IsEmpty());
}

TEST_F(ConflictsTest, AMessageThatARemainingElementNeedsIsAdded) {
  const std::string messages = absl::StrCat(Message("CoolRequest", Field("kettle", 1, "Kettle")),
                                            Message("CoolResponse", Field("a", 1, "A") + Field("b", 2, "B")),
                                            Message("A", ""), Message("B", Field("self", 1, "B")));
  const Conflicts conflicts =
      Of({{kColor, kOtherColor},
          {kMethod, absl::StrCat(Method("Cool", "CoolRequest", "CoolResponse"), Method("Stir", "A", "Pot"), kMethod)}},
         messages);
  EXPECT_THAT(conflicts.left_out, UnorderedElementsAre("kitchen.KitchenService.Cool", "kitchen.CoolRequest",
                                                       "kitchen.CoolResponse", "kitchen.B"));
}

TEST_F(ConflictsTest, AChangedValueKeepsItsEnum) {
  const Conflicts conflicts =
      Of({{"name: \"LARGE\" number: 1", "name: 'BIG' number: 1 } value { name: 'HUGE' number: 2"},
          {kMethod, absl::StrCat(Method("Cool", "Kettle", "Pot"), kMethod)}});
  EXPECT_THAT(conflicts.sentences, ElementsAre("kitchen.LARGE has another name or number; it stays as it is",
                                               "kitchen.KitchenService.Cool is left out, because it needs kitchen.Size",
                                               "kitchen.HUGE is left out, because it needs kitchen.Size"));
  EXPECT_THAT(conflicts.kept, UnorderedElementsAre("kitchen.LARGE", "kitchen.Size"));
}

TEST_F(ConflictsTest, ANewFieldThatCallersWouldHaveToSetIsLeftOutAlone) {
  const std::pair<const char*, const char*> rules[] = {
      {"required: true", "is a new field, so it must not be required; it is left out"},
      {"text_form: TEXT_FORM_JSON_MEMBERS",
       "is a new field, so its members must not be written beside those of other fields; it is left out"}};
  for (const auto& [rule, why] : rules) {
    const Conflicts conflicts =
        Of({{kNested, absl::StrCat(Field("brand", 4, "", rule), Field("shop", 5), kNested)},
            {kMethod, absl::StrCat(Method("Cool", "Tray", "Pot"), Method("Stir", "Pot", "Pot"), kMethod)}});
    EXPECT_THAT(conflicts.sentences,
                ElementsAre(absl::StrCat("kitchen.Kettle.brand ", why),
                            "kitchen.KitchenService.Cool is left out, because it needs kitchen.Kettle"));
    EXPECT_THAT(conflicts.left_out, UnorderedElementsAre("kitchen.Kettle.brand", "kitchen.KitchenService.Cool"));
    EXPECT_THAT(conflicts.kept, IsEmpty());
  }
}

// The generator gives a field of another type a new number and name, and its JSON name.
TEST_F(ConflictsTest, ANewFieldWithTheJsonNameOfAnotherOneIsLeftOut) {
  for (const char* json : {"size", "SI_ZE"}) {
    const std::string retyped = Field("size_v2", 4, "Pot", absl::StrCat("json_name: '", json, "'"));
    const Conflicts conflicts = Of({{kNested, absl::StrCat(retyped, Field("shop", 5), kNested)},
                                    {"type_name: \".kitchen.Size\"", "type_name: '.kitchen.Size' json_name: 'sizes'"},
                                    {kMethod, absl::StrCat(Method("Cool", "Tray", "Pot"), kMethod)}});
    EXPECT_THAT(conflicts.sentences,
                ElementsAre("kitchen.Kettle.size_v2 has the JSON name of kitchen.Kettle.size; it is left out",
                            "kitchen.KitchenService.Cool is left out, because it needs kitchen.Kettle",
                            "kitchen.Kettle.shop is left out, because it needs kitchen.Kettle"));
  }
}

TEST_F(ConflictsTest, AnOperationThatWasWrittenForAnotherJsonFormIsLeftOut) {
  const std::string method = absl::StrCat(Method("Cool", "Tray", "Pot"), kMethod);
  constexpr char kCoolIsLeftOut[] = "kitchen.KitchenService.Cool is left out, because it needs ";
  for (const char* rule : {"json_name: 'hue'", "text_form: TEXT_FORM_JSON", "role: FIELD_ROLE_PATH"}) {
    const std::string options = absl::StrCat(" options { [stampgate.v1.field] { ", rule, " } }");
    EXPECT_THAT(Of({{kColor, kColor + options}, {kMethod, method}}).sentences,
                ElementsAre(absl::StrCat(kCoolIsLeftOut, "kitchen.Kettle")));
  }
  const std::string value = "name: 'LARGE' options { [stampgate.v1.enum_value] { json_name: 'big' } }";
  EXPECT_THAT(Of({{"name: \"LARGE\"", value}, {kMethod, method}}).sentences,
              ElementsAre(absl::StrCat(kCoolIsLeftOut, "kitchen.Size")));
  const std::string limit = " options { [stampgate.v1.field] { max_bytes: 8 secret: true } }";
  EXPECT_THAT(Of({{kColor, kColor + limit}, {kMethod, method}}).sentences, IsEmpty());
}

TEST_F(ConflictsTest, WhatTheBaseHasRemovedIsLeftOutWithoutASentence) {
  const Conflicts conflicts = Of({{"reserved_range { start: 3 end: 4 }", ""},
                                  {"reserved_name: \"weight\"", Field("weight", 3, "Gram")},
                                  {"reserved_range { start: 7 end: 7 }", ""},
                                  {"reserved_name: \"TINY\"", "value { name: 'TINY' number: 7 }"}},
                                 Message("Gram", ""));
  EXPECT_THAT(conflicts.sentences, IsEmpty());
  EXPECT_THAT(conflicts.left_out, UnorderedElementsAre("kitchen.Kettle.weight", "kitchen.TINY", "kitchen.Gram"));
}

TEST_F(ConflictsTest, OnlyTheNumberOrOnlyTheNameOfARemovedElementBelongsToNoOther) {
  const Conflicts conflicts = Of({{"reserved_range { start: 3 end: 4 }", Field("mass", 3)},
                                  {"reserved_name: \"weight\"", Field("weight", 9)},
                                  {"reserved_range { start: 7 end: 7 }", "value { name: 'MINI' number: 7 }"},
                                  {"reserved_name: \"TINY\"", "value { name: 'TINY' number: 8 }"}});
  EXPECT_THAT(
      conflicts.sentences,
      UnorderedElementsAre("kitchen.Kettle.mass has the number or the name of a removed field; it is left out",
                           "kitchen.Kettle.weight has the number or the name of a removed field; it is left out",
                           "kitchen.MINI has the number or the name of a removed value; it is left out",
                           "kitchen.TINY has the number or the name of a removed value; it is left out"));
}

TEST_F(ConflictsTest, ANewElementWithTheNameOfAnotherKindIsLeftOut) {
  const Conflicts conflicts = Of({{"name: \"Pot\"", "name: 'Pan'"},
                                  {"\".kitchen.Pot\"", "'.kitchen.Pan'"},
                                  {"name: \"Lid\"", "name: 'Top'"},
                                  {kNested, absl::StrCat(Field("Lid", 4), kNested)},
                                  {"name: \"LARGE\"", "name: 'Tray2'"}},
                                 "service { name: 'Pot' " + Method("Boil", "Pan", "Pan") + "}");
  EXPECT_THAT(conflicts.sentences,
              IsSupersetOf({"kitchen.Kettle.Lid has the name of another element, or its oneof has; it is left out",
                            "kitchen.Pot has the name of another element; it is left out",
                            "kitchen.Pot.Boil is left out, because it needs kitchen.Pot"}));
}

TEST_F(ConflictsTest, AChangedOperationKeepsItsMessages) {
  const Conflicts conflicts = Of({{"input_type: \".kitchen.PourRequest\"", "input_type: '.kitchen.PourRequestV2'"}},
                                 absl::StrCat(Message("PourRequestV2", Field("a", 1, "A")), Message("A", "")));
  EXPECT_THAT(conflicts.sentences,
              ElementsAre("kitchen.KitchenService.Pour has another request or response; it stays as it is"));
  EXPECT_THAT(conflicts.left_out, UnorderedElementsAre("kitchen.PourRequestV2", "kitchen.A"));
}

TEST_F(ConflictsTest, AFileOfAnotherSyntaxKeepsAllItsElements) {
  const Conflicts conflicts =
      Of({{"syntax: \"proto3\"", "syntax: 'proto2'"}, {kMethod, absl::StrCat(Method("Cool", "Pot", "New"), kMethod)}},
         Message("New", ""));
  EXPECT_THAT(conflicts.sentences,
              ElementsAre("kitchen.proto has another package or syntax; it stays as it is",
                          "kitchen.KitchenService.Cool is left out, because it needs kitchen.proto"));
  EXPECT_THAT(conflicts.kept, UnorderedElementsAre("kitchen.proto"));
  EXPECT_THAT(conflicts.left_out, UnorderedElementsAre("kitchen.KitchenService.Cool", "kitchen.New"));
}

TEST_F(ConflictsTest, AnotherFileThatNeedsAFileOfAnotherPackageIsLeftOutToo) {
  std::string pantry = absl::StrReplaceAll(kKitchen, {{"\"kitchen\"", "\"pantry\""}, {".kitchen.", ".pantry."}});
  const std::string shop =
      absl::StrReplaceAll(R"pb(
                            name: "shop.proto"
                            package: "shop"
                            dependency: "kitchen.proto"
                            dependency: "stampgate/v1/options.proto"
                            syntax: "proto3"
                            service { name: "ShopService" METHODS }
                          )pb",
                          {{"METHODS", absl::StrReplaceAll(Method("Buy", "Pot", "Pot"), {{".kitchen.", ".pantry."}})}});
  const Conflicts conflicts = FindConflicts(*SetOfTexts({kKitchen}), *SetOfTexts({pantry, shop}), {});
  EXPECT_THAT(conflicts.sentences, IsSupersetOf({"kitchen.proto has another package or syntax; it stays as it is",
                                                 "shop.ShopService.Buy is left out, because it needs kitchen.proto"}));
  EXPECT_THAT(conflicts.left_out, Contains("shop.ShopService"));
  EXPECT_THAT(conflicts.sentences, Not(Contains("kitchen.Pot")));
}

}  // namespace
}  // namespace stampgate
