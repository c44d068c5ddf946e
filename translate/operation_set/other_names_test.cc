#include "translate/operation_set/other_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "stampgate/v1/options.pb.h"
#include "translate/operation_set/merge.h"
#include "translate/testing/small_set.h"

namespace stampgate {
namespace {

using ::stampgate::testing::SetOfTexts;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// The operation of the release: its limits, its guards, and a secret in its response are reviewed.
constexpr char kRelease[] = R"pb(
  name: "tea.proto"
  package: "tea"
  dependency: "stampgate/v1/options.proto"
  syntax: "proto3"
  message_type {
    name: "BrewRequest"
    field { name: "organization_id" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
    field {
      name: "parameters"
      number: 2
      label: LABEL_OPTIONAL
      type: TYPE_MESSAGE
      type_name: ".tea.Parameters"
      options {
        [stampgate.v1.field] { required: true }
      }
    }
  }
  message_type {
    name: "Parameters"
    field {
      name: "amount"
      number: 1
      label: LABEL_OPTIONAL
      type: TYPE_STRING
      options {
        [stampgate.v1.field] { required: true guard: FIELD_GUARD_AMOUNT max_bytes: 8 }
      }
    }
    field { name: "leaf" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".tea.Leaf" }
    field {
      name: "note"
      number: 3
      label: LABEL_OPTIONAL
      type: TYPE_STRING
      proto3_optional: true
      oneof_index: 0
      options {
        [stampgate.v1.field] { may_be_empty: true }
      }
    }
    field { name: "hint" number: 4 label: LABEL_OPTIONAL type: TYPE_STRING proto3_optional: true oneof_index: 1 }
    field { name: "next" number: 5 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".tea.Parameters" }
    oneof_decl { name: "_note" }
    oneof_decl { name: "_hint" }
  }
  message_type {
    name: "BrewResponse"
    field {
      name: "recipe"
      number: 1
      label: LABEL_OPTIONAL
      type: TYPE_STRING
      options {
        [stampgate.v1.field] { secret: true }
      }
    }
    field { name: "strength" number: 2 label: LABEL_OPTIONAL type: TYPE_INT32 }
  }
  enum_type {
    name: "Leaf"
    value { name: "UNSPECIFIED" number: 0 }
    value { name: "GREEN" number: 1 }
    value { name: "BLACK" number: 2 }
  }
  service {
    name: "TeaService"
    method {
      name: "Brew"
      input_type: ".tea.BrewRequest"
      output_type: ".tea.BrewResponse"
      options {
        [stampgate.v1.operation] {
          kind: OPERATION_KIND_SUBMIT
          path: "/submit/brew"
          activity_type: "ACTIVITY_TYPE_BREW_V2"
          policy_class: POLICY_CLASS_WRITE
          since: "2026-10-01"
        }
      }
    }
    method {
      name: "Find"
      input_type: ".tea.Parameters"
      output_type: ".tea.BrewResponse"
      options {
        [stampgate.v1.operation] { kind: OPERATION_KIND_QUERY path: "/query/find" policy_class: POLICY_CLASS_QUERY }
      }
    }
  }
)pb";

// The same operation in a file of the operator, with other names, without a rule, and without the field `hint`.
constexpr char kOwn[] = R"pb(
  name: "own.proto"
  package: "own"
  dependency: "stampgate/v1/options.proto"
  syntax: "proto3"
  message_type {
    name: "Request"
    field { name: "organization_id" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
    field {
      name: "tea"
      number: 2
      json_name: "parameters"
      label: LABEL_OPTIONAL
      type: TYPE_MESSAGE
      type_name: ".own.Tea"
    }
  }
  message_type {
    name: "Tea"
    field {
      name: "sum"
      number: 1
      label: LABEL_OPTIONAL
      type: TYPE_STRING
      options {
        [stampgate.v1.field] { json_name: "amount" }
      }
    }
    field { name: "leaf" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".own.Leaf" }
    field { name: "note" number: 3 label: LABEL_OPTIONAL type: TYPE_STRING }
    field { name: "next" number: 5 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".own.Tea" }
  }
  message_type {
    name: "Response"
    field { name: "recipe" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
  }
  enum_type {
    name: "Leaf"
    value { name: "NO_LEAF" number: 0 }
    value {
      name: "DARK"
      number: 2
      options {
        [stampgate.v1.enum_value] { json_name: "BLACK" }
      }
    }
  }
  service {
    name: "Service"
    method {
      name: "Do"
      input_type: ".own.Request"
      output_type: ".own.Response"
      options {
        [stampgate.v1.operation] {
          kind: OPERATION_KIND_SUBMIT
          path: "/submit/brew"
          activity_type: "ACTIVITY_TYPE_BREW_V2"
          since: "2026-12-05"
        }
      }
    }
  }
)pb";

using Replacements = std::vector<std::pair<std::string, std::string>>;

OperationSet::Shared Release() { return SetOfTexts({kRelease}); }

// Returns the set of the operator's file in which `replacements` are made.
OperationSet::Shared Own(const Replacements& replacements = {}) {
  std::string own = kOwn;
  for (const auto& [text, replacement] : replacements) {
    EXPECT_NE(own.find(text), std::string::npos) << text;
    own = absl::StrReplaceAll(own, {{text, replacement}});
  }
  return SetOfTexts({own});
}

TEST(OtherNamesTest, AMethodWhoseBytesAreTheSameIsAnotherName) {
  const OtherNames names = FindOtherNames(*Release(), *Own());
  EXPECT_THAT(names.methods, UnorderedElementsAre(Pair("own.Service.Do", "tea.TeaService.Brew")));
  EXPECT_THAT(names.refused, IsEmpty());
}

struct Refusal {
  Replacements replacements;
  std::string reason;  // after "has the path of tea.TeaService.Brew, but "
};

class RefusedNameTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedNameTest, TheMethodIsLeftOutAlone) {
  const auto& [replacements, reason] = GetParam();
  const OperationSet::Shared own = Own(replacements);
  const OtherNames names = FindOtherNames(*Release(), *own);
  EXPECT_THAT(names.methods, IsEmpty());
  const std::string expected = absl::StrCat("has the path of tea.TeaService.Brew, but ", reason);
  ASSERT_THAT(names.refused, UnorderedElementsAre(Pair("own.Service.Do", StartsWith(expected))));

  const MergedOperations merged = MergeOperationSets(Release(), own).value();
  EXPECT_THAT(merged.conflicts,
              ElementsAre(absl::StrCat("own.Service.Do ", names.refused.at("own.Service.Do"), "; it is left out")));
  EXPECT_EQ(merged.set->FindMethod("/own.Service/Do"), nullptr);
  EXPECT_NE(merged.set->FindMethod("/tea.TeaService/Brew"), nullptr);
}

constexpr char kSumIs[] =
    "not its requests: own.Tea.sum has another type, list, oneof, JSON name, text form or role than "
    "tea.Parameters.amount";
constexpr char kSumBegins[] = "name: \"sum\"\n      number: 1\n      label: LABEL_OPTIONAL\n      type: TYPE_STRING";
constexpr char kJson[] = "{ json_name: \"amount\"";
constexpr char kType[] = "activity_type: \"ACTIVITY_TYPE_BREW_V2\"";
constexpr char kKind[] = "kind: OPERATION_KIND_SUBMIT";

INSTANTIATE_TEST_SUITE_P(
    OtherNamesTest, RefusedNameTest,
    ::testing::Values(
        Refusal{{{"number: 3", "number: 7"}},
                "not its requests: own.Tea.note has the number of no field of tea.Parameters"},
        Refusal{{{"name: \"note\" number: 3", "name: 'note' number: 4"}},
                "not its requests: own.Tea.note has another type"},
        Refusal{{{kSumBegins, "name: 'sum' number: 1 label: LABEL_OPTIONAL type: TYPE_BYTES"}}, kSumIs},
        Refusal{{{kSumBegins, "name: 'sum' number: 1 label: LABEL_REPEATED type: TYPE_STRING"}}, kSumIs},
        Refusal{{{kSumBegins, "name: 'sum' number: 1 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0"},
                 {"name: \"Tea\"", "name: 'Tea' oneof_decl { name: 'o' }"}},
                kSumIs},
        Refusal{{{kJson, "{ json_name: 'sum'"}}, kSumIs}, Refusal{{{kJson, "{ json_name: '{operator}Amount'"}}, kSumIs},
        Refusal{{{kJson, "{ json_name: 'amount' text_form: TEXT_FORM_JSON"}}, kSumIs},
        Refusal{{{kJson, "{ json_name: 'amount' role: FIELD_ROLE_PATH"}}, kSumIs},
        Refusal{{{"json_name: \"BLACK\"", "json_name: 'GREEN'"}},
                "not its requests: own.DARK has another number or JSON name than the values of tea.Leaf"},
        Refusal{{{"name: \"DARK\"\n      number: 2", "name: 'DARK' number: 3"}}, "not its requests: own.DARK has"},
        Refusal{{{"name: \"recipe\" number: 1", "name: 'recipe' number: 3"}},
                "not its responses: own.Response.recipe has the number of no field of tea.BrewResponse"},
        Refusal{{{"name: \"recipe\" number: 1", "name: 'recipe' number: 2"}},
                "not its responses: own.Response.recipe has another type"},
        Refusal{{{kType, "activity_type: 'ACTIVITY_TYPE_BREW'"}},
                "not its policy class, stamped_by_client, internal or moves_unread_amount: each version"},
        Refusal{{{kType, "activity_type: 'ACTIVITY_TYPE_STEW'"}}, "not its activity type"},
        Refusal{{{kType, ""}}, "not its activity type"},
        Refusal{{{kKind, "kind: OPERATION_KIND_SUBMIT general: true"}}, "another kind, or is general"},
        Refusal{{{kKind, "kind: OPERATION_KIND_QUERY"}}, "another kind, or is general"},
        Refusal{{{"input_type: \".own.Request\"", "input_type: '.own.Request' server_streaming: true"}},
                "another kind, or is general"},
        Refusal{{{kKind, "kind: OPERATION_KIND_SUBMIT stamped_by_client: true"}}, "not its stamped_by_client"}));

TEST(OtherNamesTest, ARequestMustHaveEachRequiredField) {
  const OperationSet::Shared own = Own({{".own.Tea\"", ".own.Less\""},
                                        {"enum_type",
                                         "message_type { name: 'Less' field { name: 'note' number: 3 "
                                         "label: LABEL_OPTIONAL type: TYPE_STRING } } enum_type"}});
  EXPECT_THAT(FindOtherNames(*Release(), *own).refused.at("own.Service.Do"),
              StartsWith("has the path of tea.TeaService.Brew, but not its requests: own.Less lacks the required field "
                         "tea.Parameters.amount"));
}

TEST(OtherNamesTest, AnActivityTypeHasOnePath) {
  const OperationSet::Shared own = Own({{"path: \"/submit/brew\"", "path: '/submit/stew'"}});
  EXPECT_THAT(
      FindOtherNames(*Release(), *own).refused,
      UnorderedElementsAre(Pair("own.Service.Do", "has the activity type of tea.TeaService.Brew, but another path")));
}

TEST(OtherNamesTest, AnotherVersionWithTheSameRulesIsAnOperationOfItsOwn) {
  const OperationSet::Shared own = Own({{"activity_type: \"ACTIVITY_TYPE_BREW_V2\"",
                                         "activity_type: 'ACTIVITY_TYPE_BREW_V3' policy_class: POLICY_CLASS_WRITE"}});
  const OtherNames names = FindOtherNames(*Release(), *own);
  EXPECT_THAT(names.methods, IsEmpty());
  EXPECT_THAT(names.refused, IsEmpty());
}

TEST(OtherNamesTest, AMethodThatTheGatewayCarriesOutItselfIsNoOtherName) {
  for (const char* path : {"/submit/brew", "/local"}) {
    const OperationSet::Shared own = Own({{kKind, "kind: OPERATION_KIND_LOCAL"}, {"/submit/brew", path}, {kType, ""}});
    EXPECT_THAT(FindOtherNames(*Release(), *own).refused, IsEmpty());
    EXPECT_THAT(FindOtherNames(*Release(), *own).methods, IsEmpty());
  }
}

TEST(OtherNamesTest, TheMergedSetCallsTheMethodOfTheReleaseUnderBothNames) {
  const MergedOperations merged = MergeOperationSets(Release(), Own()).value();
  EXPECT_THAT(merged.conflicts, IsEmpty());
  EXPECT_THAT(merged.unused_options, ElementsAre("own.Service.Do"));
  const ApiMethod* name = merged.set->FindMethod("/own.Service/Do");
  const ApiMethod* method = merged.set->FindMethod("/tea.TeaService/Brew");
  ASSERT_NE(name, nullptr);
  EXPECT_EQ(name->full_name, "/own.Service/Do");
  EXPECT_EQ(name->other_name_of, "/tea.TeaService/Brew");
  EXPECT_EQ(name->method, method->method);
  EXPECT_EQ(name->policy_class, v1::POLICY_CLASS_WRITE);
  EXPECT_EQ(name->since, "2026-10-01");
  EXPECT_TRUE(name->built_in);
  EXPECT_EQ(method->other_name_of, "");
  EXPECT_EQ(merged.set->FindPath("/submit/brew"), method);
  EXPECT_EQ(merged.set->FindActivityType("ACTIVITY_TYPE_BREW_V2"), method);
  EXPECT_EQ(merged.set->newest_since(), "2026-12-05");  // so the operator need not set class_grants_as_of back
}

TEST(OtherNamesTest, OneRequestCanBeThatOfTwoMethods) {
  const OperationSet::Shared own =
      Own({{"name: \"Service\"",
            "name: 'Service' method { name: 'Look' input_type: '.own.Tea' output_type: '.own.Response' options { "
            "[stampgate.v1.operation] { kind: OPERATION_KIND_QUERY path: '/query/find' } } } method { name: 'See' "
            "input_type: '.own.Tea' output_type: '.own.Response' options { [stampgate.v1.operation] { kind: "
            "OPERATION_KIND_QUERY path: '/query/find' } } }"}});
  EXPECT_THAT(FindOtherNames(*Release(), *own).methods,
              UnorderedElementsAre(Pair("own.Service.Do", "tea.TeaService.Brew"),
                                   Pair("own.Service.Look", "tea.TeaService.Find"),
                                   Pair("own.Service.See", "tea.TeaService.Find")));
}

TEST(OtherNamesTest, ASecondFileGivesAThirdNameOfTheOperationOfTheFirst) {
  const OperationSet::Shared first = MergeOperationSets(Release(), Own()).value().set;
  const OperationSet::Shared third = Own(
      {{".own.", ".mine."}, {"package: \"own\"", "package: 'mine'"}, {"name: \"own.proto\"", "name: 'mine.proto'"}});
  const OperationSet::Shared merged = MergeOperationSets(first, third).value().set;
  for (const char* name : {"/mine.Service/Do", "/own.Service/Do"}) {
    ASSERT_NE(merged->FindMethod(name), nullptr);
    EXPECT_EQ(merged->FindMethod(name)->other_name_of, "/tea.TeaService/Brew");
    EXPECT_EQ(merged->FindMethod(name)->method, merged->FindMethod("/tea.TeaService/Brew")->method);
  }
}

TEST(OtherNamesTest, AnotherNameOfAnOperationOfAFileIsNotBuiltIn) {
  const OperationSet::Shared first = MergeOperationSets(SetOfTexts({}), Release()).value().set;
  const OperationSet::Shared merged = MergeOperationSets(first, Own()).value().set;
  const ApiMethod* method = merged->FindMethod("/own.Service/Do");
  ASSERT_NE(method, nullptr);
  EXPECT_EQ(method->other_name_of, "/tea.TeaService/Brew");
  EXPECT_FALSE(method->built_in);
}

}  // namespace
}  // namespace stampgate
