#include "translate/operation_set/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "stampgate/v1/options.pb.h"
#include "translate/testing/small_set.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptorProto;
using ::stampgate::testing::SetOfTexts;
using ::stampgate::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::NotNull;

constexpr char kKettle[] = R"pb(
  name: "kettle.proto"
  package: "kitchen"
  dependency: "stampgate/v1/options.proto"
  syntax: "proto3"
  message_type {
    name: "Kettle"
    field {
      name: "color"
      number: 1
      label: LABEL_OPTIONAL
      type: TYPE_STRING
      oneof_index: 0
      options {
        [stampgate.v1.field] { max_bytes: 8 }
      }
    }
    field { name: "size" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".kitchen.Size" }
    nested_type {
      name: "Lid"
      field { name: "closed" number: 1 label: LABEL_OPTIONAL type: TYPE_BOOL }
    }
    oneof_decl { name: "look" }
  }
  enum_type {
    name: "Size"
    value { name: "SMALL" number: 0 }
    value { name: "LARGE" number: 1 }
  }
  service {
    name: "KettleService"
    method {
      name: "Boil"
      input_type: ".kitchen.Kettle"
      output_type: ".kitchen.Kettle"
      options {
        [stampgate.v1.operation] {
          kind: OPERATION_KIND_SUBMIT
          path: "/submit/boil"
          activity_type: "ACTIVITY_TYPE_BOIL"
          policy_class: POLICY_CLASS_DANGEROUS
        }
      }
    }
  }
)pb";

// Returns kKettle with `replacement` for `text`, which must occur in it.
std::string KettleWith(const std::string& text, const std::string& replacement) {
  const std::string kettle = kKettle;
  EXPECT_NE(kettle.find(text), std::string::npos) << text;
  return absl::StrReplaceAll(kettle, {{text, replacement}});
}

// Returns the operations of both sets. Fails the test if they cannot be merged.
MergedOperations Merged(const OperationSet::Shared& base, const OperationSet::Shared& added) {
  absl::StatusOr<MergedOperations> merged = MergeOperationSets(base, added);
  EXPECT_TRUE(merged.ok()) << merged.status();
  return merged.ok() ? *std::move(merged) : MergedOperations{base, {}, {}};
}

FileDescriptorProto KettleFileOf(const OperationSet& set) {
  FileDescriptorProto file;
  EXPECT_TRUE(file.ParseFromString(std::string(set.files().at("kettle.proto"))));
  return file;
}

std::vector<std::string> CommentsOf(const FileDescriptorProto& file) {
  std::vector<std::string> comments;
  for (const auto& location : file.source_code_info().location()) {
    comments.push_back(absl::StrCat(absl::StrJoin(location.path(), "."), " ", location.leading_comments()));
  }
  return comments;
}

// What a newer kettle.proto adds: text that is replaced, its replacement, and the full name of the new element.
struct Change {
  const char* text;
  const char* replacement;
  const char* added;
};

class ExtensionTest : public ::testing::TestWithParam<Change> {
 protected:
  static bool Has(const OperationSet& set, const std::string& name) {
    const auto& pool = set.pool();
    return pool.FindMessageTypeByName(name) != nullptr || pool.FindFieldByName(name) != nullptr ||
           pool.FindEnumValueByName(name) != nullptr || pool.FindMethodByName(name) != nullptr ||
           pool.FindServiceByName(name) != nullptr || pool.FindEnumTypeByName(name) != nullptr ||
           pool.FindOneofByName(name) != nullptr || pool.FindExtensionByName(name) != nullptr;
  }

  const OperationSet::Shared older_ = SetOfTexts({kKettle});
  const OperationSet::Shared newer_ = SetOfTexts({KettleWith(GetParam().text, GetParam().replacement)});
};

TEST_P(ExtensionTest, AnAddedFileAddsItsElements) {
  const MergedOperations merged = Merged(older_, newer_);
  EXPECT_FALSE(Has(*older_, GetParam().added));
  EXPECT_TRUE(Has(*merged.set, GetParam().added));
  EXPECT_THAT(merged.unused_options, IsEmpty());
  EXPECT_THAT(merged.conflicts, IsEmpty());
  EXPECT_EQ(&merged.set->origin(), &*older_);
}

TEST_P(ExtensionTest, AnOlderFileAddsNothing) { EXPECT_EQ(Merged(newer_, older_).set, newer_); }

TEST_P(ExtensionTest, AFileThatIsOlderAndNewerAddsOnlyItsOwnElements) {
  const OperationSet::Shared both = SetOfTexts({absl::StrCat(kKettle, "message_type { name: 'Mug' }")});
  const MergedOperations merged = Merged(newer_, both);
  EXPECT_TRUE(Has(*merged.set, GetParam().added));
  EXPECT_TRUE(Has(*merged.set, "kitchen.Mug"));
  EXPECT_EQ(merged.set->IsBuiltIn(*merged.set->pool().FindMessageTypeByName("kitchen.Kettle")), true);
  EXPECT_EQ(merged.set->IsBuiltIn(*merged.set->pool().FindMessageTypeByName("kitchen.Mug")), false);
}

INSTANTIATE_TEST_SUITE_P(
    All, ExtensionTest,
    ::testing::Values(
        Change{"nested_type {",
               "field { name: 'brand' number: 3 label: LABEL_OPTIONAL type: TYPE_STRING } nested_type {",
               "kitchen.Kettle.brand"},
        Change{"nested_type {", "nested_type { name: 'Handle' } nested_type {", "kitchen.Kettle.Handle"},
        Change{"nested_type {", "enum_type { name: 'Use' value { name: 'TEA' number: 0 } } nested_type {",
               "kitchen.Kettle.Use"},
        Change{"type: TYPE_BOOL }",
               "type: TYPE_BOOL } field { name: 'thick' number: 2 label: LABEL_OPTIONAL type: "
               "TYPE_BOOL }",
               "kitchen.Kettle.Lid.thick"},
        Change{"enum_type {", "message_type { name: 'Pot' } enum_type {", "kitchen.Pot"},
        Change{"enum_type {", "enum_type { name: 'Shape' value { name: 'ROUND' number: 0 } } enum_type {",
               "kitchen.Shape"},
        Change{"name: \"LARGE\" number: 1", "name: 'LARGE' number: 1 } value { name: 'HUGE' number: 2", "kitchen.HUGE"},
        Change{"method {",
               "method { name: 'Cool' input_type: '.kitchen.Kettle' output_type: '.kitchen.Kettle' } method {",
               "kitchen.KettleService.Cool"},
        Change{"service {", "service { name: 'PotService' } service {", "kitchen.PotService"},
        Change{"service {",
               "dependency: 'google/protobuf/descriptor.proto' extension { name: 'note' number: 1000 label: "
               "LABEL_OPTIONAL type: TYPE_STRING extendee: "
               "'.google.protobuf.FieldOptions' } service {",
               "kitchen.note"}));

TEST(OperationSetMergeTest, NewFieldsAndNewOneofsChangeNoneOfTheMessage) {
  const std::string older = absl::StrReplaceAll(
      kKettle, {{"oneof_decl { name: \"look\" }", "oneof_decl { name: 'look' } oneof_decl { name: '_full' }"},
                {"nested_type {",
                 "field { name: 'full' number: 4 label: LABEL_OPTIONAL type: TYPE_BOOL oneof_index: 1 "
                 "proto3_optional: true } nested_type {"}});
  const std::string newer = absl::StrReplaceAll(
      kKettle,
      {{"oneof_index: 0", "oneof_index: 1"},
       {"field { name: \"size\"",
        "field { name: 'shade' number: 6 label: LABEL_OPTIONAL type: TYPE_BOOL oneof_index: 1 } field { name: "
        "\"size\""},
       {"oneof_decl { name: \"look\" }",
        "oneof_decl { name: 'use' } oneof_decl { name: 'look' } oneof_decl { name: '_hot' }"},
       {"nested_type {",
        "field { name: 'tea' number: 3 label: LABEL_OPTIONAL type: TYPE_BOOL oneof_index: 0 }"
        "field { name: 'hot' number: 5 label: LABEL_OPTIONAL type: TYPE_BOOL oneof_index: 2 proto3_optional: true } "
        "nested_type {"}});
  const MergedOperations merged = Merged(SetOfTexts({older}), SetOfTexts({newer}));
  const Descriptor* kettle = merged.set->pool().FindMessageTypeByName("kitchen.Kettle");
  ASSERT_THAT(kettle, NotNull());
  const auto oneof_of = [&](const char* name) {
    const FieldDescriptor* field = kettle->FindFieldByName(name);
    return field->real_containing_oneof() == nullptr ? std::string()
                                                     : std::string(field->real_containing_oneof()->name());
  };
  EXPECT_EQ(oneof_of("color"), "look");
  EXPECT_EQ(oneof_of("shade"), "look");
  EXPECT_EQ(oneof_of("tea"), "use");
  EXPECT_EQ(oneof_of("full"), "");
  EXPECT_EQ(oneof_of("hot"), "");
  EXPECT_TRUE(kettle->FindFieldByName("full")->has_presence());
  EXPECT_TRUE(kettle->FindFieldByName("hot")->has_presence());
}

constexpr char kSize[] =
    "field { name: \"size\" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: \".kitchen.Size\" }";

TEST(OperationSetMergeTest, AFieldThatTheAddedFileHasRemovedOrLacksStays) {
  for (const char* instead : {"reserved_range { start: 2 end: 3 } reserved_name: 'size'", ""}) {
    const OperationSet::Shared base = SetOfTexts({kKettle});
    const std::string added = absl::StrCat(KettleWith(kSize, instead), "message_type { name: 'X' }");
    const MergedOperations merged = Merged(base, SetOfTexts({added}));
    EXPECT_THAT(merged.set->pool().FindFieldByName("kitchen.Kettle.size"), NotNull()) << instead;
    EXPECT_THAT(merged.set->pool().FindMessageTypeByName("kitchen.X"), NotNull());
  }
}

TEST(OperationSetMergeTest, AFieldThatTheBaseHasRemovedIsNotAddedAgain) {
  const OperationSet::Shared base =
      SetOfTexts({KettleWith(kSize, "reserved_range { start: 2 end: 3 } reserved_name: 'size'")});
  EXPECT_EQ(Merged(base, SetOfTexts({kKettle})).set, base);
}

TEST(OperationSetMergeTest, AValueThatTheBaseHasRemovedIsNotAddedAgain) {
  const OperationSet::Shared base = SetOfTexts(
      {KettleWith("value { name: \"LARGE\" number: 1 }", "reserved_range { start: 1 end: 1 } reserved_name: 'LARGE'")});
  EXPECT_EQ(Merged(base, SetOfTexts({kKettle})).set, base);
}

TEST(OperationSetMergeTest, ANewFileWithElementsOfAnotherFileAddsOnlyItsOwn) {
  const std::string pot = absl::StrCat(KettleWith("kettle.proto", "pot.proto"), "message_type { name: 'Pot' }");
  const MergedOperations merged = Merged(SetOfTexts({kKettle}), SetOfTexts({pot}));
  const auto file_of = [&](const char* message) {
    const Descriptor* found = merged.set->pool().FindMessageTypeByName(message);
    return found == nullptr ? "" : std::string(found->file()->name());
  };
  EXPECT_EQ(file_of("kitchen.Kettle"), "kettle.proto");
  EXPECT_EQ(file_of("kitchen.Pot"), "pot.proto");
}

TEST(OperationSetMergeTest, ANestedElementIsNoElementOfAFile) {
  const OperationSet::Shared base = SetOfTexts(
      {KettleWith("nested_type {", "enum_type { name: 'Use' value { name: 'TEA' number: 0 } } nested_type {")});
  const auto conflicts_of = [&](const char* element) {
    const std::string added = absl::StrCat("name: 'lid.proto' package: 'kitchen.Kettle' syntax: 'proto3' ", element);
    MergedOperations merged = Merged(base, SetOfTexts({added}));
    EXPECT_EQ(merged.set, base);
    return merged.conflicts;
  };
  EXPECT_THAT(conflicts_of("message_type { name: 'Lid' }"),
              ElementsAre("kitchen.Kettle.Lid is a message inside another one; it stays as it is"));
  EXPECT_THAT(conflicts_of("enum_type { name: 'Use' value { name: 'TEA' number: 0 } }"),
              ElementsAre("kitchen.Kettle.Use is an enum inside a message; it stays as it is"));
}

// A later release can define a message in another file than a file of the operator does.
TEST(OperationSetMergeTest, AnElementImportsTheFilesInWhichTheBaseDefinesItsTypes) {
  const std::string pot = "message_type { name: 'Pot' } enum_type { name: 'Lid' value { name: 'FLAT' number: 0 } }";
  const auto file = [](const std::string& name, const std::string& content, const std::string& imports = "") {
    return absl::StrCat("name: '", name, "' package: 'kitchen' syntax: 'proto3' ",
                        "dependency: 'stampgate/v1/options.proto' ", imports, content);
  };
  const std::string service =
      "service { name: 'PotService' method { name: '%s' input_type: '.kitchen.Pot' output_type: '.kitchen.Pot' "
      "options { [stampgate.v1.operation] { kind: OPERATION_KIND_QUERY path: '/query/%s' } } } }";
  const auto methods = [&](const char* name) { return absl::StrReplaceAll(service, {{"%s", name}}); };
  const OperationSet::Shared base =
      SetOfTexts({file("pots.proto", pot), file("service.proto", methods("boil"), "dependency: 'pots.proto' "),
                  file("tray.proto", "message_type { name: 'Tray' }")});
  const std::string lids =
      "message_type { name: 'Tray' field { name: 'lid' number: 1 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: "
      "'.kitchen.Lid' } field { name: 'cup' number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: "
      "'.kitchen.Cup' } } message_type { name: 'Cup' nested_type { name: 'Ear' field { name: 'pot' number: 1 label: "
      "LABEL_OPTIONAL type: TYPE_MESSAGE type_name: '.kitchen.Pot' } } }";
  const OperationSet::Shared own = SetOfTexts({file("service.proto", absl::StrCat(pot, methods("pour"), lids))});
  const MergedOperations merged = Merged(base, own);
  EXPECT_THAT(merged.conflicts, IsEmpty());
  for (const char* method : {"/kitchen.PotService/boil", "/kitchen.PotService/pour"}) {
    EXPECT_THAT(merged.set->FindMethod(method), NotNull()) << method;
  }
  const auto& tray = *merged.set->pool().FindMessageTypeByName("kitchen.Tray");
  EXPECT_EQ(tray.field_count(), 2);
  EXPECT_EQ(tray.file()->name(), "tray.proto");
}

TEST(OperationSetMergeTest, AnExtensionStaysTheSame) {
  const auto with = [](const char* number, const char* extended) {
    return SetOfTexts({absl::StrCat(
        kKettle, "dependency: 'google/protobuf/descriptor.proto' extension { name: 'note' number: ", number,
        " label: LABEL_OPTIONAL type: TYPE_STRING extendee: '.google.protobuf.", extended, "' }")});
  };
  const OperationSet::Shared base = with("1000", "FieldOptions");
  EXPECT_EQ(Merged(base, with("1000", "FieldOptions")).set, base);
  for (const auto& [number, extended] : {std::pair("1001", "FieldOptions"), std::pair("1000", "MessageOptions")}) {
    const MergedOperations merged = Merged(base, with(number, extended));
    EXPECT_EQ(merged.set, base);
    EXPECT_THAT(merged.conflicts, ElementsAre("kitchen.note has another number or type; it stays as it is"));
  }
}

TEST(OperationSetMergeTest, TheOptionsOfTheBaseAreUsedAndTheDifferencesAreNamed) {
  struct Option {
    const char* text;
    const char* replacement;
    const char* element;
  };
  const OperationSet::Shared base = SetOfTexts({kKettle});
  for (const Option& option : {
           Option{"max_bytes: 8", "max_bytes: 9", "kitchen.Kettle.color"},
           Option{"max_bytes: 8", "max_bytes: 8 secret: true", "kitchen.Kettle.color"},
           Option{"max_bytes: 8", "json_name: 'hue'", "kitchen.Kettle.color"},
           Option{"name: \"closed\"", "name: 'closed' options { [stampgate.v1.field] { required: true } }",
                  "kitchen.Kettle.Lid.closed"},
           Option{"name: \"LARGE\"", "name: 'LARGE' options { [stampgate.v1.enum_value] { json_name: 'L' } }",
                  "kitchen.LARGE"},
           Option{"name: \"Lid\"", "name: 'Lid' options { [stampgate.v1.message] { at_most_one: 'closed' } }",
                  "kitchen.Kettle.Lid"},
           Option{"/submit/boil", "/submit/heat", "kitchen.KettleService.Boil"},
           Option{"ACTIVITY_TYPE_BOIL", "ACTIVITY_TYPE_HEAT", "kitchen.KettleService.Boil"},
           Option{"POLICY_CLASS_DANGEROUS", "POLICY_CLASS_WRITE", "kitchen.KettleService.Boil"},
       }) {
    const std::string added = absl::StrCat(KettleWith(option.text, option.replacement), "message_type { name: 'X' }");
    const MergedOperations merged = Merged(base, SetOfTexts({added}));
    EXPECT_THAT(merged.unused_options, ElementsAre(option.element)) << option.replacement;
    FileDescriptorProto file = KettleFileOf(*merged.set);
    file.mutable_message_type()->RemoveLast();
    EXPECT_EQ(file.SerializeAsString(), KettleFileOf(*base).SerializeAsString()) << option.replacement;
  }
}

TEST(OperationSetMergeTest, AnElementMayBeDeprecated) {
  const std::string added = KettleWith("max_bytes: 8 }", "max_bytes: 8 } deprecated: true");
  EXPECT_THAT(Merged(SetOfTexts({kKettle}), SetOfTexts({added})).unused_options, IsEmpty());
}

TEST(OperationSetMergeTest, ASetWithoutCommentsRemovesNoneFromTheSameElements) {
  const OperationSet::Shared commented =
      SetOfTexts({KettleWith("syntax:", "source_code_info { location { span: 1 } } syntax:")});
  EXPECT_EQ(Merged(commented, SetOfTexts({kKettle})).set, commented);
}

TEST(OperationSetMergeTest, NewElementsKeepTheirCommentsAtTheirNewPlaces) {
  const OperationSet::Shared base =
      SetOfTexts({absl::StrCat(kKettle,
                               "source_code_info { location { path: [4, 0] span: 1 leading_comments: 'old' }"
                               " location { path: [4, 0, 2, 1, 3] span: 1 leading_comments: 'size' } }")});
  // The new message is the first one of its file, and becomes the second one. The first new field is before the others,
  // and becomes the last one. The second new field joins a oneof, and moves the old field "size".
  const std::string added = absl::StrCat(
      absl::StrReplaceAll(kKettle,
                          {{"message_type {",
                            "message_type { name: 'Pot' field { name: 'a' number: 1 type: TYPE_BOOL label: "
                            "LABEL_OPTIONAL } } message_type {"},
                           {"field {\n      name: \"color\"",
                            "field { name: 'brand' number: 3 label: LABEL_OPTIONAL type: TYPE_STRING } field { name: "
                            "'shade' number: 4 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0 } field { name: "
                            "\"color\""}}),
      "source_code_info { location { path: [4, 0] span: 1 leading_comments: 'pot' }"
      " location { path: [4, 0, 2, 0] span: 1 leading_comments: 'a' }"
      " location { path: [4, 1] span: 1 leading_comments: 'new' }"
      " location { path: [4, 1, 2, 0, 1] span: 1 leading_comments: 'brand' }"
      " location { path: [4, 1, 2, 1] span: 1 leading_comments: 'shade' } }");
  const FileDescriptorProto file = KettleFileOf(*Merged(base, SetOfTexts({added})).set);
  EXPECT_THAT(CommentsOf(file),
              ElementsAre("4.0 old", "4.0.2.2.3 size", "4.1 pot", "4.1.2.0 a", "4.0.2.3.1 brand", "4.0.2.1 shade"));
  EXPECT_EQ(file.message_type(1).name(), "Pot");
  EXPECT_EQ(file.message_type(0).field(1).name(), "shade");
  EXPECT_EQ(file.message_type(0).field(2).name(), "size");
  EXPECT_EQ(file.message_type(0).field(3).name(), "brand");
}

TEST(OperationSetMergeTest, AnOperationOfANewFileIsAdded) {
  const MergedOperations merged = Merged(OperationSet::BuiltIn(), SetOfTexts({kKettle}));
  const ApiMethod* added = merged.set->FindMethod("/kitchen.KettleService/Boil");
  ASSERT_THAT(added, NotNull());
  EXPECT_FALSE(added->built_in);
  const ApiMethod* built_in = merged.set->FindMethod("/stampgate.v1.PolicyService/GetPolicy");
  ASSERT_THAT(built_in, NotNull());
  EXPECT_TRUE(built_in->built_in);
}

TEST(OperationSetMergeTest, AMethodOfAFileIsAfterTheBuiltInOnesOnlyByALaterDay) {
  const std::string& newest = OperationSet::BuiltIn()->newest_since();
  for (const auto& [since, is_after] :
       {std::pair<std::string, bool>("", false), {"2020-01-01", false}, {newest, false}, {"2100-01-01", true}}) {
    const OperationSet::Shared added =
        SetOfTexts({KettleWith("policy_class:", absl::StrCat("since: '", since, "' policy_class:"))});
    const MergedOperations merged = Merged(OperationSet::BuiltIn(), added);
    EXPECT_EQ(merged.set->FindMethod("/kitchen.KettleService/Boil")->is_after_built_in, is_after) << since;
  }
}

TEST(OperationSetMergeTest, WhatAFirstFileAddsIsNotBuiltInForASecondOne) {
  const MergedOperations first = Merged(OperationSet::BuiltIn(), SetOfTexts({kKettle}));
  const MergedOperations second =
      Merged(first.set, SetOfTexts({KettleWith("service {", "service { name: 'PotService' } service {")}));
  EXPECT_EQ(&second.set->origin(), &*OperationSet::BuiltIn());
  EXPECT_FALSE(second.set->FindMethod("/kitchen.KettleService/Boil")->built_in);
}

// Returns the API of a release.
OperationSet::Shared Released(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return OperationSet::Create(std::string(std::istreambuf_iterator(file), {})).value();
}

TEST(OperationSetMergeTest, TheApiOfAReleaseChangesNothing) {
  const OperationSet& built_in = *OperationSet::BuiltIn();
  int releases = 0;
  for (const auto& entry : std::filesystem::directory_iterator("proto/releases")) {
    const MergedOperations merged = Merged(OperationSet::BuiltIn(), Released(entry.path()));
    for (const auto& [name, bytes] : built_in.files()) EXPECT_EQ(merged.set->files().at(name), bytes) << entry << name;
    EXPECT_EQ(merged.set->methods().size(), built_in.methods().size()) << entry;
    ++releases;
  }
  EXPECT_GE(releases, 2);
}

// Since 0.1.0, options of its fields and methods have changed, and messages have moved to other files.
TEST(OperationSetMergeTest, OptionsOfTheFirstReleaseAreNotUsed) {
  const MergedOperations merged = Merged(OperationSet::BuiltIn(), Released("proto/releases/0.1.0.binpb"));
  EXPECT_THAT(merged.unused_options,
              ::testing::UnorderedElementsAre(
                  "stampgate.v1.ACTIVITY_STATUS_COMPLETED", "stampgate.v1.ACTIVITY_STATUS_FAILED",
                  "stampgate.v1.ACTIVITY_STATUS_REJECTED", "stampgate.v1.EarnWithdrawParameters.sign_with",
                  "stampgate.v1.GetEventRequest.event_id", "stampgate.v1.ReadEventBodyRequest.event_id",
                  "stampgate.v1.StampLoginParameters.public_key", "stampgate.v1.TransactionStatusChange.activity_id",
                  "stampgate.v1.WalletService.ExportWalletAccount"));
}

// A gateway of an earlier release reads the API of this one.
TEST(OperationSetMergeTest, AnEarlierReleaseTakesEachOperationOfThisOne) {
  for (const auto& entry : std::filesystem::directory_iterator("proto/releases")) {
    const OperationSet::Shared released = Released(entry.path());
    const MergedOperations merged = Merged(released, OperationSet::BuiltIn());
    EXPECT_THAT(merged.conflicts, IsEmpty()) << entry;
    for (const ApiMethod& method : OperationSet::BuiltIn()->methods()) {
      EXPECT_THAT(merged.set->FindMethod(method.full_name), NotNull()) << entry << method.full_name;
    }
  }
}

// Otherwise an upgrade from 0.1.0 would give callers with grants of classes new rights. The methods of
// SubscriptionService need no day: they serve a caller only if a subscription of the config names the caller.
TEST(OperationSetMergeTest, OnlyTheMethodsOfTheFirstReleaseHaveNoDay) {
  std::vector<std::string> first;
  const OperationSet::Shared released = Released("proto/releases/0.1.0.binpb");
  for (const ApiMethod& method : released->methods()) first.push_back(method.full_name);
  std::vector<std::string> without_day;
  for (const ApiMethod& method : OperationSet::BuiltIn()->methods()) {
    const bool names_callers = method.method->service()->name() == "SubscriptionService";
    if (method.since.empty() && !names_callers) without_day.push_back(method.full_name);
  }
  EXPECT_THAT(without_day, ::testing::UnorderedElementsAreArray(first));
}

// What a newer kettle.proto defines otherwise: text that is replaced, its replacement, and the sentence about it.
struct Fault {
  const char* text;
  const char* replacement;
  const char* sentence;
};

class ChangedFileTest : public ::testing::TestWithParam<Fault> {
 protected:
  const OperationSet::Shared base_ = SetOfTexts({kKettle});
  const std::string newer_ = KettleWith(GetParam().text, GetParam().replacement);
};

TEST_P(ChangedFileTest, TheElementStaysAsItIs) {
  const MergedOperations merged = Merged(base_, SetOfTexts({newer_}));
  EXPECT_THAT(merged.conflicts, Contains(GetParam().sentence));
  EXPECT_EQ(merged.set, base_);
}

TEST_P(ChangedFileTest, AnotherFileTakesEffect) {
  const OperationSet::Shared added = SetOfTexts({newer_, R"pb(
                                                   name: "pot.proto"
                                                   package: "pots"
                                                   syntax: "proto3"
                                                   dependency: "stampgate/v1/options.proto"
                                                   message_type { name: "Pot" }
                                                   service {
                                                     name: "PotService"
                                                     method {
                                                       name: "Fill"
                                                       input_type: ".pots.Pot"
                                                       output_type: ".pots.Pot"
                                                       options {
                                                         [stampgate.v1.operation] { kind: OPERATION_KIND_QUERY }
                                                       }
                                                     }
                                                   })pb"});
  const MergedOperations merged = Merged(base_, added);
  EXPECT_THAT(merged.set->FindMethod("/pots.PotService/Fill"), NotNull());
  EXPECT_EQ(merged.set->files().at("kettle.proto"), base_->files().at("kettle.proto"));
  // The same file again changes nothing.
  const MergedOperations again = Merged(merged.set, added);
  EXPECT_EQ(again.set, merged.set);
  EXPECT_EQ(again.conflicts, merged.conflicts);
}

constexpr char kOtherSize[] = "kitchen.Kettle.size has another name, number, type, list or oneof; it stays as it is";

INSTANTIATE_TEST_SUITE_P(
    All, ChangedFileTest,
    ::testing::Values(
        Fault{"name: \"size\"", "name: 'litres'", kOtherSize}, Fault{"number: 2", "number: 3", kOtherSize},
        Fault{"LABEL_OPTIONAL type: TYPE_ENUM", "LABEL_REPEATED type: TYPE_ENUM", kOtherSize},
        Fault{"type: TYPE_ENUM type_name: \".kitchen.Size\"", "type: TYPE_INT32", kOtherSize},
        Fault{"type: TYPE_ENUM type_name: \".kitchen.Size\"", "type: TYPE_ENUM type_name: '.stampgate.v1.PolicyClass'",
              kOtherSize},
        Fault{"TYPE_BOOL", "TYPE_UINT32",
              "kitchen.Kettle.Lid.closed has another name, number, type, list or oneof; it stays as it is"},
        Fault{"name: \"size\"", "name: 'size' oneof_index: 0", kOtherSize},
        Fault{"name: \"look\"", "name: 'view'",
              "kitchen.Kettle.color has another name, number, type, list or oneof; it stays as it is"},
        Fault{"nested_type {",
              "field { name: 'brand' number: 3 label: LABEL_OPTIONAL type: TYPE_STRING options { [stampgate.v1.field] "
              "{ required: true } } } nested_type {",
              "kitchen.Kettle.brand is a new field, so it must not be required; it is left out"},
        Fault{"nested_type {",
              "field { name: 'brands' number: 3 label: LABEL_REPEATED type: TYPE_STRING options { [stampgate.v1.field] "
              "{ min_elements: 1 } } } nested_type {",
              "kitchen.Kettle.brands is a new field, so it must not be required; it is left out"},
        Fault{"nested_type {",
              "field { name: 'brand' number: 3 label: LABEL_OPTIONAL type: TYPE_STRING options { [stampgate.v1.field] "
              "{ text_form: TEXT_FORM_JSON_MEMBERS } } } nested_type {",
              "kitchen.Kettle.brand is a new field, so its members must not be written beside those of other fields; "
              "it is left out"},
        Fault{"name: \"LARGE\"", "name: 'BIG'", "kitchen.LARGE has another name or number; it stays as it is"},
        Fault{"name: \"LARGE\" number: 1", "name: 'LARGE' number: 2",
              "kitchen.LARGE has another name or number; it stays as it is"},
        Fault{"input_type: \".kitchen.Kettle\"", "input_type: '.kitchen.Kettle.Lid'",
              "kitchen.KettleService.Boil has another request or response; it stays as it is"},
        Fault{"name: \"Boil\"", "name: 'Boil' server_streaming: true",
              "kitchen.KettleService.Boil has another request or response; it stays as it is"},
        Fault{"output_type: \".kitchen.Kettle\"", "output_type: '.kitchen.Kettle.Lid'",
              "kitchen.KettleService.Boil has another request or response; it stays as it is"},
        Fault{"name: \"Boil\"", "name: 'Boil' client_streaming: true",
              "kitchen.KettleService.Boil has another request or response; it stays as it is"},
        Fault{"kitchen", "pantry", "kettle.proto has another package or syntax; it stays as it is"},
        Fault{"syntax: \"proto3\"", "syntax: 'proto2'",
              "kettle.proto has another package or syntax; it stays as it is"}));

TEST(OperationSetMergeTest, AFieldWithTheJsonNameOfAnotherOneIsLeftOut) {
  const std::string added =
      KettleWith(kSize,
                 "field { name: 'Size' number: 3 label: LABEL_OPTIONAL type: TYPE_STRING json_name: 'size' } "
                 "reserved_range { start: 2 end: 3 } reserved_name: 'size'");
  const OperationSet::Shared base = SetOfTexts({kKettle});
  const MergedOperations merged = Merged(base, SetOfTexts({added}));
  EXPECT_EQ(merged.set, base);
  EXPECT_THAT(merged.conflicts,
              ElementsAre("kitchen.Kettle.Size has the JSON name of kitchen.Kettle.size; it is left out"));
}

TEST(OperationSetMergeTest, AFileThatNoSetCanHaveIsAnError) {
  const std::string added = "name: 'lid.proto' package: 'kitchen.Kettle' syntax: 'proto3' message_type { name: 'X' }";
  EXPECT_THAT(MergeOperationSets(SetOfTexts({kKettle}), SetOfTexts({added})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is already defined")));
}

// What a later release of kettle.proto adds to the one that renames `color`.
constexpr char kNewOperations[] = R"pb(
  message_type {
    name: "CoolRequest"
    field { name: "kettle" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".kitchen.Kettle" }
  }
  message_type { name: "CoolResponse" }
  message_type {
    name: "StirRequest"
    field { name: "n" number: 1 label: LABEL_OPTIONAL type: TYPE_BOOL }
  }
  message_type { name: "StirResponse" }
  service {
    name: "NewService"
    method {
      name: "Cool"
      input_type: ".kitchen.CoolRequest"
      output_type: ".kitchen.CoolResponse"
      options {
        [stampgate.v1.operation] { kind: OPERATION_KIND_QUERY since: "2100-01-01" }
      }
    }
    method {
      name: "Stir"
      input_type: ".kitchen.StirRequest"
      output_type: ".kitchen.StirResponse"
      options {
        [stampgate.v1.operation] { kind: OPERATION_KIND_QUERY since: "2100-01-01" }
      }
    }
  }
  source_code_info {
    location {
      path: [ 6, 1 ]
      span: 1
      leading_comments: "service"
    }
    location {
      path: [ 6, 1, 2, 0 ]
      span: 1
      leading_comments: "cool"
    }
    location {
      path: [ 6, 1, 2, 1 ]
      span: 1
      leading_comments: "stir"
    }
    location {
      path: [ 4, 1 ]
      span: 1
      leading_comments: "request of cool"
    }
    location {
      path: [ 4, 3 ]
      span: 1
      leading_comments: "request of stir"
    }
  }
)pb";

constexpr char kCoolIsLeftOut[] = "kitchen.NewService.Cool is left out, because it needs kitchen.Kettle";
constexpr char kColorStays[] = "kitchen.Kettle.color has another name, number, type, list or oneof; it stays as it is";

std::string RenamedKettle() { return absl::StrCat(KettleWith("name: \"color\"", "name: 'hue'"), kNewOperations); }

TEST(OperationSetMergeTest, NewOperationsTakeEffectBesideAChangedMessage) {
  const OperationSet::Shared base = SetOfTexts({kKettle});
  const MergedOperations merged = Merged(base, SetOfTexts({RenamedKettle()}));
  EXPECT_THAT(merged.conflicts, ElementsAre(kColorStays, kCoolIsLeftOut));
  EXPECT_THAT(merged.set->FindMethod("/kitchen.NewService/Stir"), NotNull());
  EXPECT_EQ(merged.set->FindMethod("/kitchen.NewService/Cool"), nullptr);
  EXPECT_EQ(merged.set->pool().FindMessageTypeByName("kitchen.CoolRequest"), nullptr);
  EXPECT_EQ(merged.set->pool().FindMessageTypeByName("kitchen.CoolResponse"), nullptr);
  EXPECT_THAT(merged.set->pool().FindFieldByName("kitchen.Kettle.color"), NotNull());
  EXPECT_EQ(merged.set->pool().FindFieldByName("kitchen.Kettle.hue"), nullptr);
  EXPECT_THAT(CommentsOf(KettleFileOf(*merged.set)), ElementsAre("6.1 service", "6.1.2.0 stir", "4.1 request of stir"));
}

TEST(OperationSetMergeTest, TheSameFileAgainChangesNothing) {
  const OperationSet::Shared added = SetOfTexts({RenamedKettle()});
  const MergedOperations once = Merged(SetOfTexts({kKettle}), added);
  const MergedOperations twice = Merged(once.set, added);
  EXPECT_EQ(twice.set, once.set);
  EXPECT_EQ(twice.conflicts, once.conflicts);
  EXPECT_EQ(twice.unused_options, once.unused_options);
}

TEST(OperationSetMergeTest, ASecondFileCanConflictWithTheFirstOne) {
  const auto with_pot = [](const char* field) {
    return SetOfTexts({absl::StrCat(kKettle, "message_type { name: 'Pot' field { name: '", field,
                                    "' number: 1 label: LABEL_OPTIONAL type: TYPE_BOOL } }")});
  };
  const MergedOperations first = Merged(SetOfTexts({kKettle}), with_pot("deep"));
  EXPECT_THAT(first.conflicts, IsEmpty());
  const MergedOperations second = Merged(first.set, with_pot("flat"));
  EXPECT_EQ(second.set, first.set);
  EXPECT_THAT(second.conflicts,
              ElementsAre("kitchen.Pot.deep has another name, number, type, list or oneof; it stays as it is"));
}

// The files of the service and of the messages are new, and one of them is left out as a whole.
TEST(OperationSetMergeTest, AFileThatAnotherOneImportsCanBeLeftOut) {
  const std::string request = R"pb(
    name: "request.proto"
    package: "shop"
    syntax: "proto3"
    dependency: "kettle.proto"
    message_type {
      name: "Request"
      field { name: "kettle" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".kitchen.Kettle" }
    })pb";
  const std::string service = R"pb(
    name: "service.proto"
    package: "shop"
    syntax: "proto3"
    dependency: "request.proto"
    dependency: "stampgate/v1/options.proto"
    message_type { name: "Nothing" }
    service {
      name: "ShopService"
      method {
        name: "Buy"
        input_type: ".shop.Request"
        output_type: ".shop.Nothing"
        options {
          [stampgate.v1.operation] { kind: OPERATION_KIND_QUERY }
        }
      }
      method {
        name: "Look"
        input_type: ".shop.Nothing"
        output_type: ".shop.Nothing"
        options {
          [stampgate.v1.operation] { kind: OPERATION_KIND_QUERY }
        }
      }
    })pb";
  const OperationSet::Shared added = SetOfTexts({RenamedKettle(), request, service});
  const MergedOperations merged = Merged(SetOfTexts({kKettle}), added);
  EXPECT_THAT(merged.set->FindMethod("/shop.ShopService/Look"), NotNull());
  EXPECT_EQ(merged.set->FindMethod("/shop.ShopService/Buy"), nullptr);
  EXPECT_EQ(merged.set->pool().FindMessageTypeByName("shop.Request"), nullptr);
  EXPECT_EQ(Merged(merged.set, added).set, merged.set);
}

// A kettle.proto with an operation of a later day, in which `color` has the rule `rule`.
OperationSet::Shared Later(const std::string& rule, const std::string& since = "2100-01-01") {
  return SetOfTexts({absl::StrReplaceAll(
      kKettle, {{"max_bytes: 8", rule},
                {"service {",
                 absl::StrCat("service { name: 'PotService' method { name: 'Fill' input_type: '.kitchen.Kettle.Lid' "
                              "output_type: '.kitchen.Kettle.Lid' options { [stampgate.v1.operation] { kind: "
                              "OPERATION_KIND_QUERY since: '",
                              since, "' } } } } service {")}})});
}

v1::FieldRule ColorRuleOf(const OperationSet& set) {
  return set.pool().FindFieldByName("kitchen.Kettle.color")->options().GetExtension(v1::field);
}

TEST(OperationSetMergeTest, AFieldOfALaterReleaseAcceptsMore) {
  const OperationSet::Shared base = SetOfTexts({KettleWith("max_bytes: 8", "max_bytes: 8 required: true")});
  const MergedOperations merged = Merged(base, Later("max_bytes: 9"));
  EXPECT_THAT(merged.unused_options, IsEmpty());
  EXPECT_EQ(ColorRuleOf(*merged.set).max_bytes(), 9u);
  EXPECT_FALSE(ColorRuleOf(*merged.set).required());
  EXPECT_EQ(Merged(merged.set, Later("max_bytes: 9")).set, merged.set);
  // Nothing but this rule changes.
  FileDescriptorProto file = KettleFileOf(*merged.set);
  *file.mutable_message_type(0)->mutable_field(0) = KettleFileOf(*base).message_type(0).field(0);
  file.mutable_service()->RemoveLast();
  EXPECT_EQ(file.SerializeAsString(), KettleFileOf(*base).SerializeAsString());
}

TEST(OperationSetMergeTest, OtherChangesOfARuleOfALaterReleaseAreNotUsed) {
  const MergedOperations merged = Merged(SetOfTexts({kKettle}), Later("max_bytes: 9 secret: true required: true"));
  EXPECT_THAT(merged.unused_options, ElementsAre("kitchen.Kettle.color"));
  EXPECT_EQ(ColorRuleOf(*merged.set).max_bytes(), 9u);
  EXPECT_FALSE(ColorRuleOf(*merged.set).secret());
  EXPECT_FALSE(ColorRuleOf(*merged.set).required());
}

TEST(OperationSetMergeTest, AFileThatIsNoLaterReleaseLoosensNoRule) {
  const OperationSet::Shared base = SetOfTexts({kKettle});
  std::vector<OperationSet::Shared> others = {Later("max_bytes: 9", ""), SetOfTexts({KettleWith("8", "9")})};
  // A file of one's own with an operation of a late day, and with protos that lack an operation of the program.
  others.push_back(
      SetOfTexts({absl::StrReplaceAll(kKettle, {{"max_bytes: 8", "max_bytes: 9"},
                                                {"\"Boil\"", "'Own'"},
                                                {"boil\"", "own\""},
                                                {"ACTIVITY_TYPE_BOIL", "ACTIVITY_TYPE_OWN"},
                                                {"policy_class:", "since: '2100-01-01' policy_class:"}})}));
  for (const OperationSet::Shared& other : others) {
    const MergedOperations merged = Merged(base, other);
    EXPECT_EQ(ColorRuleOf(*merged.set).max_bytes(), 8u);
    EXPECT_THAT(merged.unused_options, ElementsAre("kitchen.Kettle.color"));
  }
}

TEST(OperationSetMergeTest, ARequestThatTheGatewayCarriesOutKeepsItsRules) {
  const OperationSet::Shared base =
      SetOfTexts({absl::StrReplaceAll(kKettle, {{"kind: OPERATION_KIND_SUBMIT", "kind: OPERATION_KIND_LOCAL"}})});
  EXPECT_EQ(ColorRuleOf(*Merged(base, Later("max_bytes: 9")).set).max_bytes(), 8u);
}

TEST(OperationSetMergeTest, AChangedMessageKeepsAllItsRules) {
  std::string added = RenamedKettle();
  added = absl::StrReplaceAll(added, {{"{ name: \"closed\"", "{ name: 'shut'"},
                                      {"name: 'hue'", "name: \"color\""},
                                      {"max_bytes: 8", "max_bytes: 9"},
                                      {"name: \"size\"", "name: 'litres'"}});
  const MergedOperations merged = Merged(SetOfTexts({kKettle}), SetOfTexts({added}));
  EXPECT_EQ(ColorRuleOf(*merged.set).max_bytes(), 8u);
  EXPECT_THAT(merged.unused_options, ElementsAre("kitchen.Kettle.color"));
}

}  // namespace
}  // namespace stampgate
