#include "translate/operation_set/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "stampgate/v1/options.pb.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using google::protobuf::FileDescriptorSet;
using google::protobuf::TextFormat;
using ::stampgate::testing::StatusIs;
using ::testing::Eq;

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

// Returns a set of these files, and of the files that they import.
OperationSet::Shared SetOf(const std::vector<std::string>& files) {
  FileDescriptorSet set;
  for (const char* imported : {"google/protobuf/descriptor.proto", "stampgate/v1/options.proto"}) {
    EXPECT_TRUE(set.add_file()->ParseFromString(std::string(OperationSet::BuiltIn()->files().at(imported))));
  }
  for (const std::string& file : files) EXPECT_TRUE(TextFormat::ParseFromString(file, set.add_file())) << file;
  absl::StatusOr<OperationSet::Shared> created = OperationSet::Create(set.SerializeAsString());
  EXPECT_TRUE(created.ok()) << created.status();
  return created.value_or(OperationSet::BuiltIn());
}

// What a newer kettle.proto adds: text that is replaced, and its replacement.
struct Change {
  const char* text;
  const char* replacement;
};

class ExtensionTest : public ::testing::TestWithParam<Change> {
 protected:
  const OperationSet::Shared older_ = SetOf({kKettle});
  const OperationSet::Shared newer_ = SetOf({KettleWith(GetParam().text, GetParam().replacement)});
};

TEST_P(ExtensionTest, AnAddedFileThatExtendsAnotherReplacesIt) {
  const absl::StatusOr<OperationSet::Shared> merged = MergeOperationSets(older_, newer_);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ((*merged)->files().at("kettle.proto"), newer_->files().at("kettle.proto"));
}

TEST_P(ExtensionTest, AnOlderFileAddsNothing) {
  const absl::StatusOr<OperationSet::Shared> merged = MergeOperationSets(newer_, older_);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ((*merged)->files().at("kettle.proto"), newer_->files().at("kettle.proto"));
}

INSTANTIATE_TEST_SUITE_P(
    All, ExtensionTest,
    ::testing::Values(
        Change{"nested_type {",
               "field { name: 'brand' number: 3 label: LABEL_OPTIONAL type: TYPE_STRING } nested_type {"},
        Change{"nested_type {", "nested_type { name: 'Handle' } nested_type {"},
        Change{"enum_type {", "message_type { name: 'Pot' } enum_type {"},
        Change{"name: \"LARGE\" number: 1", "name: 'LARGE' number: 1 } value { name: 'HUGE' number: 2"},
        Change{"method {",
               "method { name: 'Cool' input_type: '.kitchen.Kettle' output_type: '.kitchen.Kettle' } method {"},
        Change{"service {", "service { name: 'PotService' } service {"}));

TEST(OperationSetMergeTest, ANewOneofBeforeAnotherIsAnExtension) {
  const std::string newer = absl::StrReplaceAll(
      kKettle,
      {{"oneof_index: 0", "oneof_index: 1"},
       {"oneof_decl {", "oneof_decl { name: 'use' } oneof_decl {"},
       {"nested_type {",
        "field { name: 'tea' number: 3 label: LABEL_OPTIONAL type: TYPE_BOOL oneof_index: 0 } nested_type {"}});
  EXPECT_TRUE(CheckExtends(*SetOf({newer}), *SetOf({kKettle})).ok());
}

TEST(OperationSetMergeTest, AFieldThatUpstreamHasRemovedIsReserved) {
  const std::string newer = absl::StrReplaceAll(
      kKettle,
      {{"field { name: \"size\" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: \".kitchen.Size\" }",
        "reserved_range { start: 2 end: 3 } reserved_name: 'size'"}});
  EXPECT_TRUE(CheckExtends(*SetOf({newer}), *SetOf({kKettle})).ok());
}

TEST(OperationSetMergeTest, ASetWithoutCommentsRemovesNoneFromTheSameElements) {
  const OperationSet::Shared commented =
      SetOf({KettleWith("syntax:", "source_code_info { location { span: 1 } } syntax:")});
  const absl::StatusOr<OperationSet::Shared> merged = MergeOperationSets(commented, SetOf({kKettle}));
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ((*merged)->files().at("kettle.proto"), commented->files().at("kettle.proto"));
}

TEST(OperationSetMergeTest, AnOperationOfANewFileIsAdded) {
  const absl::StatusOr<OperationSet::Shared> merged = MergeOperationSets(OperationSet::BuiltIn(), SetOf({kKettle}));
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_NE((*merged)->FindMethod("/kitchen.KettleService/Boil"), nullptr);
  EXPECT_NE((*merged)->FindMethod("/stampgate.v1.PolicyService/GetPolicy"), nullptr);
}

struct Fault {
  const char* text;
  const char* replacement;
  const char* message;
};

class ChangedFileTest : public ::testing::TestWithParam<Fault> {};

TEST_P(ChangedFileTest, TheErrorNamesTheElement) {
  // The new message keeps the newer file from being an older one, of which the file in `base` is an extension.
  const std::string newer =
      absl::StrCat(KettleWith(GetParam().text, GetParam().replacement), "message_type { name: 'X' }");
  EXPECT_THAT(MergeOperationSets(SetOf({kKettle}), SetOf({newer})),
              StatusIs(absl::StatusCode::kInvalidArgument, Eq(GetParam().message)));
}

constexpr char kNotReserved[] = "kitchen.Kettle.size is missing, and its number and name are not reserved";

INSTANTIATE_TEST_SUITE_P(
    All, ChangedFileTest,
    ::testing::Values(
        Fault{"name: \"Lid\"", "name: 'Cap'", "kitchen.Kettle.Lid is missing"},
        Fault{"name: \"size\"", "name: 'litres'", "kitchen.Kettle.size has another name, type or option"},
        Fault{"number: 2", "number: 3", kNotReserved},
        Fault{"TYPE_BOOL", "TYPE_UINT32", "kitchen.Kettle.Lid.closed has another name, type or option"},
        Fault{"max_bytes: 8", "max_bytes: 9", "kitchen.Kettle.color has another name, type or option"},
        Fault{"max_bytes: 8", "max_bytes: 8 secret: true", "kitchen.Kettle.color has another name, type or option"},
        Fault{"name: \"size\"", "name: 'size' oneof_index: 0", "kitchen.Kettle.size has another name, type or option"},
        Fault{"name: \"look\"", "name: 'view'", "kitchen.Kettle.color has another name, type or option"},
        Fault{"nested_type {",
              "field { name: 'brand' number: 3 label: LABEL_OPTIONAL type: TYPE_STRING options { [stampgate.v1.field] "
              "{ required: true } } } nested_type {",
              "kitchen.Kettle.brand is a new field, so it must not be required"},
        Fault{"name: \"LARGE\"", "name: 'BIG'", "kitchen.LARGE has another name or option"},
        Fault{"name: \"LARGE\" number: 1", "name: 'LARGE' number: 2",
              "kitchen.LARGE is missing, and its number and name are not reserved"},
        Fault{"name: \"KettleService\"", "name: 'PotService'", "kitchen.KettleService is missing"},
        Fault{"name: \"Boil\"", "name: 'Heat'", "kitchen.KettleService.Boil is missing"},
        Fault{"input_type: \".kitchen.Kettle\"", "input_type: '.kitchen.Kettle.Lid'",
              "kitchen.KettleService.Boil has another request or response"},
        Fault{"/submit/boil", "/submit/heat", "kitchen.KettleService.Boil has other options"},
        Fault{"ACTIVITY_TYPE_BOIL", "ACTIVITY_TYPE_HEAT", "kitchen.KettleService.Boil has other options"},
        Fault{"POLICY_CLASS_DANGEROUS", "POLICY_CLASS_WRITE", "kitchen.KettleService.Boil has other options"}));

}  // namespace
}  // namespace stampgate
