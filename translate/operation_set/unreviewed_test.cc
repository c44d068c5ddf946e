#include "translate/operation_set/unreviewed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "translate/operation_set/merge.h"
#include "translate/testing/small_set.h"

namespace stampgate {
namespace {

using ::stampgate::testing::SetOfTexts;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Pay is guarded through Transfer. Note is inside Transfer, and Look has no guard, but contains Note too.
constexpr char kShop[] = R"pb(
  name: "shop.proto"
  package: "shop"
  dependency: "stampgate/v1/options.proto"
  syntax: "proto3"
  message_type {
    name: "Pay"
    field { name: "transfer" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".shop.Transfer" }
  }
  message_type {
    name: "Transfer"
    field {
      name: "amount"
      number: 1
      label: LABEL_OPTIONAL
      type: TYPE_STRING
      options {
        [stampgate.v1.field] { guard: FIELD_GUARD_AMOUNT }
      }
    }
    field { name: "note" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".shop.Note" }
    field { name: "back" number: 3 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".shop.Pay" }
  }
  message_type {
    name: "Note"
    field { name: "text" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
  }
  message_type {
    name: "Look"
    field { name: "id" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
  }
  service {
    name: "ShopService"
    method {
      name: "Pay"
      input_type: ".shop.Pay"
      output_type: ".shop.Look"
      options {
        [stampgate.v1.operation] { kind: OPERATION_KIND_SUBMIT }
      }
    }
    method {
      name: "Look"
      input_type: ".shop.Look"
      output_type: ".shop.Pay"
      options {
        [stampgate.v1.operation] { kind: OPERATION_KIND_QUERY }
      }
    }
  }
)pb";

std::string Field(const std::string& name, const std::string& guard = "", const std::string& type = "TYPE_STRING") {
  return absl::StrCat("field { name: '", name, "' number: 50 label: LABEL_OPTIONAL type: ", type,
                      " options { [stampgate.v1.field] { ", guard.empty() ? "" : "guard: ", guard, " } } } ");
}

// Returns the names of the unreviewed fields if a file has kShop with `replacement` for `text`.
std::vector<std::string> Unreviewed(const std::string& text, const std::string& replacement) {
  const std::string shop = kShop;
  EXPECT_NE(shop.find(text), std::string::npos) << text;
  const absl::StatusOr<MergedOperations> merged =
      MergeOperationSets(SetOfTexts({kShop}), SetOfTexts({absl::StrReplaceAll(shop, {{text, replacement}})}));
  EXPECT_TRUE(merged.ok()) << merged.status();
  std::vector<std::string> names;
  if (!merged.ok()) return names;
  for (const auto* field : UnreviewedFields(*merged->set)) names.emplace_back(field->full_name());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> AddedTo(const std::string& message, const std::string& field) {
  const std::string name = absl::StrCat("name: \"", message, "\"\n    field");
  return Unreviewed(name, absl::StrCat("name: '", message, "' ", field, " field"));
}

TEST(UnreviewedFieldsTest, TheFieldsOfTheProgramAreReviewed) {
  EXPECT_THAT(UnreviewedFields(*OperationSet::BuiltIn()), IsEmpty());
  EXPECT_THAT(UnreviewedFields(*SetOfTexts({kShop})), IsEmpty());
}

TEST(UnreviewedFieldsTest, AFieldBesideAroundOrInsideAGuardedMessageIsUnreviewed) {
  EXPECT_THAT(AddedTo("Transfer", Field("x")), ElementsAre("shop.Transfer.x"));
  EXPECT_THAT(AddedTo("Pay", Field("x")), ElementsAre("shop.Pay.x"));
  EXPECT_THAT(AddedTo("Note", Field("x")), ElementsAre("shop.Note.x"));
}

TEST(UnreviewedFieldsTest, AFieldOfARequestWithoutGuardsIsNotConcerned) {
  EXPECT_THAT(AddedTo("Look", Field("x")), IsEmpty());
}

TEST(UnreviewedFieldsTest, EveryGuardThatTheGatewayKnowsIsAReview) {
  for (int number = 1; v1::FieldGuard_IsValid(number); ++number) {
    EXPECT_THAT(AddedTo("Transfer", Field("x", v1::FieldGuard_Name(static_cast<v1::FieldGuard>(number)))), IsEmpty());
  }
  EXPECT_THAT(AddedTo("Transfer", Field("x", "99")), ElementsAre("shop.Transfer.x"));
}

TEST(UnreviewedFieldsTest, TheFieldsOfANewMessageInsideAReviewedFieldAreUnreviewed) {
  const std::string inside = Field("more", "FIELD_GUARD_NONE", "TYPE_MESSAGE type_name: '.shop.More'");
  const std::string more =
      absl::StrCat("message_type { name: 'More' ", Field("x"), " } message_type { name: 'Transfer' ", inside, " field");
  EXPECT_THAT(Unreviewed("message_type {\n    name: \"Transfer\"\n    field", more), ElementsAre("shop.More.x"));
}

TEST(UnreviewedFieldsTest, AGuardThatAFileAddsToARequestMakesItsOtherFieldsUnreviewed) {
  const std::string fields = absl::StrReplaceAll(absl::StrCat(Field("to", "FIELD_GUARD_DESTINATION"), Field("x")),
                                                 {{"'x' number: 50", "'x' number: 51"}});
  EXPECT_THAT(AddedTo("Look", fields), ElementsAre("shop.Look.x"));
}

TEST(UnreviewedFieldsTest, AFieldThatIsReviewedAndStatesNothingMakesNoOtherFieldUnreviewed) {
  const std::string fields = absl::StrReplaceAll(absl::StrCat(Field("note", "FIELD_GUARD_NONE"), Field("x")),
                                                 {{"'x' number: 50", "'x' number: 51"}});
  EXPECT_THAT(AddedTo("Look", fields), IsEmpty());
}

TEST(UnreviewedFieldsTest, TheFieldsOfAnOperationThatIsNotBuiltInAreThoseOfItsAuthor) {
  const std::string own =
      absl::StrCat("message_type { name: 'Own' ", Field("amount", "FIELD_GUARD_AMOUNT"),
                   " field { name: 'memo' number: 2 label: LABEL_OPTIONAL type: TYPE_STRING } } "
                   "service { name: 'OwnService' method { name: 'Do' input_type: '.shop.Own' output_type: '.shop.Look' "
                   "options { [stampgate.v1.operation] { kind: OPERATION_KIND_SUBMIT } } } } service {");
  EXPECT_THAT(Unreviewed("service {", own), IsEmpty());
}

TEST(UnreviewedFieldsTest, ABuiltInMessageInAnOperationThatIsNotBuiltInIsConcerned) {
  const std::string own = absl::StrCat(
      "message_type { name: 'Own' field { name: 'note' number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: "
      "'.shop.Look' } ",
      Field("amount", "FIELD_GUARD_AMOUNT"),
      " } service { name: 'OwnService' method { name: 'Do' input_type: '.shop.Own' output_type: '.shop.Look' "
      "options { [stampgate.v1.operation] { kind: OPERATION_KIND_SUBMIT } } } } message_type { name: 'Look' ",
      Field("x"), " field");
  EXPECT_THAT(Unreviewed("message_type {\n    name: \"Look\"\n    field", own), ElementsAre("shop.Look.x"));
}

}  // namespace
}  // namespace stampgate
