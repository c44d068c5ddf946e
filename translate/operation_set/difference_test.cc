#include "translate/operation_set/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "translate/operation_set/merge.h"
#include "translate/testing/small_set.h"

namespace stampgate {
namespace {

using ::stampgate::testing::SetOfTexts;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Tea contains Leaf. No call uses Settings.
constexpr char kTea[] = R"pb(
  name: "tea.proto"
  package: "tea"
  dependency: "stampgate/v1/options.proto"
  syntax: "proto3"
  message_type {
    name: "Tea"
    field {
      name: "name"
      number: 1
      label: LABEL_OPTIONAL
      type: TYPE_STRING
      options {
        [stampgate.v1.field] { required: true max_bytes: 32 }
      }
    }
    field {
      name: "leaves"
      number: 2
      label: LABEL_REPEATED
      type: TYPE_ENUM
      type_name: ".tea.Leaf"
      options {
        [stampgate.v1.field] { max_elements: 3 }
      }
    }
  }
  message_type {
    name: "Settings"
    field { name: "size" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
  }
  enum_type {
    name: "Leaf"
    value { name: "LEAF_UNSPECIFIED" number: 0 }
  }
  service {
    name: "TeaService"
    method {
      name: "Brew"
      input_type: ".tea.Tea"
      output_type: ".tea.Tea"
      options {
        [stampgate.v1.operation] { kind: OPERATION_KIND_SUBMIT path: "/brew" activity_type: "BREW" }
      }
    }
  }
)pb";

using Replacements = std::vector<std::pair<std::string, std::string>>;

// A new operation whose request is a new message.
const Replacements kPour = {
    {"service {", R"pb(
       message_type {
         name: "Pour"
         field { name: "cup" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
         field { name: "tea" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".tea.Tea" }
       }
       service {)pb"},
    {R"(name: "TeaService")", R"pb(
       name: "TeaService"
       method {
         name: "Pour"
         input_type: ".tea.Pour"
         output_type: ".tea.Tea"
         options {
           [stampgate.v1.operation] {
             kind: OPERATION_KIND_SUBMIT
             path: "/pour"
             activity_type: "POUR"
             since: "2026-09-22"
           }
         }
       })pb"}};

// Returns what kTea with `replacements` adds to and changes in kTea, one name after another.
std::vector<std::string> Found(const Replacements& replacements) {
  for (const auto& [text, replacement] : replacements) {
    EXPECT_NE(std::string(kTea).find(text), std::string::npos) << text;
  }
  const OperationSet::Shared base = SetOfTexts({kTea});
  const absl::StatusOr<MergedOperations> merged =
      MergeOperationSets(base, SetOfTexts({absl::StrReplaceAll(kTea, replacements)}));
  if (!merged.ok()) return {merged.status().ToString()};
  const Difference difference = FindDifference(*base, *merged->set);
  std::vector<std::string> found;
  for (const ApiMethod* operation : difference.operations) found.push_back(operation->full_name);
  for (const auto* field : difference.fields) found.emplace_back(field->full_name());
  for (const auto* value : difference.values) found.emplace_back(value->full_name());
  for (const Difference::LooserField& looser : difference.looser_fields) {
    found.push_back(absl::StrCat(looser.field->full_name(), ": ", absl::StrJoin(looser.changes, "; ")));
  }
  return found;
}

TEST(DifferenceTest, ASetHasNothingThatItselfLacks) { EXPECT_THAT(Found({}), IsEmpty()); }

TEST(DifferenceTest, NamesANewOperationButNotTheFieldsOfItsNewMessages) {
  EXPECT_THAT(Found(kPour), ElementsAre("/tea.TeaService/Pour"));
}

TEST(DifferenceTest, NamesNewFieldsAndValuesOfWhatBothHave) {
  EXPECT_THAT(Found({{R"(name: "Tea")",
                      R"(name: "Tea" field { name: "degrees" number: 3 label: LABEL_OPTIONAL type: TYPE_UINT32 })"},
                     {"number: 0 }", R"(number: 0 } value { name: "LEAF_GREEN" number: 1 })"}}),
              ElementsAre("tea.Tea.degrees", "tea.LEAF_GREEN"));
}

TEST(DifferenceTest, StatesWhatAFieldAcceptsMore) {
  Replacements changes = kPour;
  changes.emplace_back("required: true max_bytes: 32", "max_bytes: 64");
  changes.emplace_back("max_elements: 3", "max_elements: 5");
  EXPECT_THAT(Found(changes),
              ElementsAre("/tea.TeaService/Pour", "tea.Tea.name: no longer required; max_bytes 64, before 32",
                          "tea.Tea.leaves: max_elements 5, before 3"));
}

TEST(DifferenceTest, ARuleThatDoesNotTakeEffectIsNoDifference) {
  EXPECT_THAT(Found({{"max_bytes: 32", "max_bytes: 64"}}), IsEmpty());  // not of a later release
  Replacements changes = kPour;
  changes.emplace_back("max_bytes: 32", "max_bytes: 16");
  EXPECT_THAT(Found(changes), ElementsAre("/tea.TeaService/Pour"));
}

TEST(DifferenceTest, WhatNoCallUsesDoesNotCount) {
  EXPECT_THAT(Found({{R"(name: "Settings")",
                      R"(name: "Settings" field { name: "color" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING })"},
                     {"enum_type {", R"(message_type { name: "Unused" } enum_type {)"},
                     {R"(name: "TeaService")", R"pb(name: "TeaService"
                                                    method {
                                                      name: "Look"
                                                      input_type: ".tea.Tea"
                                                      output_type: ".tea.Tea"
                                                      options {
                                                        [stampgate.v1.operation] { kind: OPERATION_KIND_LOCAL }
                                                      }
                                                    })pb"}}),
              IsEmpty());
}

}  // namespace
}  // namespace stampgate
