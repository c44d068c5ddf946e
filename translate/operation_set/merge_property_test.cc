// Merges random changes of a random API. Whatever a file defines otherwise, the operations of the base stay as they
// are, and each new operation has the definition for which it was written. The checks compare descriptors, and know
// nothing of conflicts.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "stampgate/v1/options.pb.h"
#include "translate/operation_set/merge.h"
#include "translate/operation_set/nested_messages.h"
#include "translate/testing/small_set.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using ::testing::NotNull;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int Below(int count) { return static_cast<int>(engine_() % static_cast<uint64_t>(count)); }
  bool OneIn(int count) { return Below(count) == 0; }
  // Returns a name that nothing else has.
  std::string NewName(const char* prefix) { return absl::StrCat(prefix, ++names_); }

 private:
  std::mt19937_64 engine_;
  int names_ = 0;
};

void AddField(Random& random, const FileDescriptorProto& file, DescriptorProto& message) {
  FieldDescriptorProto& field = *message.add_field();
  field.set_name(random.NewName("f"));
  field.set_number(message.field_size() + 10 * random.Below(3) + 100 * message.field_size());
  field.set_label(random.OneIn(4) ? FieldDescriptorProto::LABEL_REPEATED : FieldDescriptorProto::LABEL_OPTIONAL);
  field.set_type(FieldDescriptorProto::TYPE_STRING);
  if (random.OneIn(2) && file.message_type_size() > 0) {
    field.set_type(FieldDescriptorProto::TYPE_MESSAGE);
    field.set_type_name(absl::StrCat(".api.", file.message_type(random.Below(file.message_type_size())).name()));
  } else if (random.OneIn(4)) {
    field.set_type(FieldDescriptorProto::TYPE_ENUM);
    field.set_type_name(absl::StrCat(".api.", file.enum_type(random.Below(file.enum_type_size())).name()));
  }
  v1::FieldRule& rule = *field.mutable_options()->MutableExtension(v1::field);
  rule.set_secret(random.OneIn(2));
}

void AddMessage(Random& random, FileDescriptorProto& file) {
  file.add_message_type()->set_name(random.NewName("M"));
  const int fields = random.Below(4);
  for (int i = 0; i < fields; ++i) AddField(random, file, *file.mutable_message_type(file.message_type_size() - 1));
}

std::string AnyMessage(Random& random, const FileDescriptorProto& file) {
  return absl::StrCat(".api.", file.message_type(random.Below(file.message_type_size())).name());
}

void AddMethod(Random& random, FileDescriptorProto& file) {
  if (random.OneIn(4)) file.add_service()->set_name(random.NewName("S"));
  auto& method = *file.mutable_service(random.Below(file.service_size()))->add_method();
  method.set_name(random.NewName("Do"));
  method.set_input_type(AnyMessage(random, file));
  method.set_output_type(AnyMessage(random, file));
  v1::OperationRule& rule = *method.mutable_options()->MutableExtension(v1::operation);
  rule.set_kind(v1::OPERATION_KIND_QUERY);
  if (random.OneIn(2)) rule.set_since("2100-01-01");
}

FileDescriptorProto RandomApi(Random& random) {
  FileDescriptorProto file;
  file.set_name("api.proto");
  file.set_package("api");
  file.set_syntax("proto3");
  file.add_dependency("stampgate/v1/options.proto");
  for (int i = 0; i < 2; ++i) {
    auto& type = *file.add_enum_type();
    type.set_name(random.NewName("E"));
    for (int n = 0; n < 3; ++n) {
      auto& value = *type.add_value();
      value.set_name(random.NewName("V"));
      value.set_number(n);
    }
  }
  for (int i = 0; i < 8; ++i) AddMessage(random, file);
  file.add_service()->set_name("Service");
  for (int i = 0; i < 4; ++i) AddMethod(random, file);
  return file;
}

// Changes a field of the API, if the message that is chosen has one.
void ChangeField(Random& random, FileDescriptorProto& file) {
  DescriptorProto& message = *file.mutable_message_type(random.Below(file.message_type_size()));
  if (message.field_size() == 0) return;
  const int index = random.Below(message.field_size());
  FieldDescriptorProto& field = *message.mutable_field(index);
  v1::FieldRule& rule = *field.mutable_options()->MutableExtension(v1::field);
  switch (random.Below(7)) {
    case 0:
      return field.set_name(random.NewName("renamed"));
    case 1:
      return field.set_number(5'000 + index);
    case 2:
      field.set_type(FieldDescriptorProto::TYPE_BYTES);
      return field.clear_type_name();
    case 3:
      return field.set_label(FieldDescriptorProto::LABEL_REPEATED);
    case 4:
      return rule.set_required(!rule.required());
    case 5:
      return rule.set_json_name(random.NewName("json"));
    default:
      message.mutable_field()->DeleteSubrange(index, 1);
  }
}

// Adds a field with the JSON name of another one, or one that is required.
void AddForbiddenField(Random& random, FileDescriptorProto& file) {
  DescriptorProto& message = *file.mutable_message_type(random.Below(file.message_type_size()));
  AddField(random, file, message);
  v1::FieldRule& rule =
      *message.mutable_field(message.field_size() - 1)->mutable_options()->MutableExtension(v1::field);
  rule.set_required(message.field_size() == 1 || random.OneIn(2));
  if (!rule.required()) rule.set_json_name(message.field(0).name());
}

FileDescriptorProto Changed(Random& random, FileDescriptorProto file) {
  const int changes = 1 + random.Below(8);
  for (int i = 0; i < changes; ++i) {
    switch (random.Below(8)) {
      case 0:
      case 1:
        ChangeField(random, file);
        break;
      case 2:
        AddMessage(random, file);
        break;
      case 3:
        AddField(random, file, *file.mutable_message_type(random.Below(file.message_type_size())));
        break;
      case 4:
        AddForbiddenField(random, file);
        break;
      case 5: {
        auto& value = *file.mutable_enum_type(random.Below(file.enum_type_size()))->mutable_value(random.Below(3));
        value.set_name(random.NewName("V"));
        break;
      }
      case 6:
        if (file.service(0).method_size() > 0) {
          file.mutable_service(0)->mutable_method(0)->set_input_type(AnyMessage(random, file));
        }
        break;
      default:
        AddMethod(random, file);
    }
  }
  AddMethod(random, file);
  return file;
}

// Returns the definition of `field`, without the member `required` of its rule.
std::string WithoutRequired(const FieldDescriptor& field) {
  FieldDescriptorProto proto;
  field.CopyTo(&proto);
  proto.mutable_options()->MutableExtension(v1::field)->clear_required();
  return proto.SerializeAsString();
}

// Expects that each field of `before` is in `after`, and that a field does not become required.
void ExpectInForce(const Descriptor& before, const Descriptor& after) {
  const auto is_required = [](const FieldDescriptor& field) {
    return field.options().GetExtension(v1::field).required();
  };
  for (int i = 0; i < before.field_count(); ++i) {
    const FieldDescriptor* field = after.FindFieldByName(before.field(i)->name());
    ASSERT_THAT(field, NotNull()) << before.field(i)->full_name();
    EXPECT_EQ(WithoutRequired(*field), WithoutRequired(*before.field(i))) << field->full_name();
    EXPECT_LE(is_required(*field), is_required(*before.field(i))) << field->full_name();
  }
  for (int i = 0; i < after.field_count(); ++i) {
    const bool is_new = before.FindFieldByName(after.field(i)->name()) == nullptr;
    EXPECT_FALSE(is_new && is_required(*after.field(i))) << after.field(i)->full_name();
  }
}

void ExpectInForce(const OperationSet& before, const OperationSet& after) {
  for (const ApiMethod& method : before.methods()) {
    const ApiMethod* now = after.FindMethod(method.full_name);
    ASSERT_THAT(now, NotNull()) << method.full_name;
    EXPECT_EQ(now->method->input_type()->full_name(), method.method->input_type()->full_name());
    EXPECT_EQ(now->method->output_type()->full_name(), method.method->output_type()->full_name());
    for (const Descriptor* message : WithNestedMessages({method.method->input_type(), method.method->output_type()})) {
      ExpectInForce(*message, *after.pool().FindMessageTypeByName(message->full_name()));
    }
  }
}

// Expects that a caller can use `wanted` as it is with the definitions of `set`.
void ExpectUsable(const Descriptor& wanted, const OperationSet& set) {
  const Descriptor* message = set.pool().FindMessageTypeByName(wanted.full_name());
  ASSERT_THAT(message, NotNull()) << wanted.full_name();
  for (int i = 0; i < wanted.field_count(); ++i) {
    const FieldDescriptor& field = *wanted.field(i);
    const FieldDescriptor* same = message->FindFieldByNumber(field.number());
    ASSERT_THAT(same, NotNull()) << field.full_name();
    EXPECT_EQ(same->name(), field.name());
    EXPECT_EQ(same->type(), field.type()) << field.full_name();
    EXPECT_EQ(same->is_repeated(), field.is_repeated()) << field.full_name();
    EXPECT_EQ(same->options().GetExtension(v1::field).json_name(), field.options().GetExtension(v1::field).json_name());
    const EnumDescriptor* values = field.enum_type();
    for (int n = 0; values != nullptr && n < values->value_count(); ++n) {
      const auto* value = same->enum_type()->FindValueByNumber(values->value(n)->number());
      ASSERT_THAT(value, NotNull()) << field.full_name();
      EXPECT_EQ(value->name(), values->value(n)->name());
    }
  }
}

struct Counts {
  int added = 0;
  int left_out = 0;
  int without_conflict = 0;
};

// Merges two random releases of a random API, one after another.
void Round(Random& random, Counts& counts) {
  const FileDescriptorProto file = RandomApi(random);
  const OperationSet::Shared base = testing::SetOfFiles({file});
  OperationSet::Shared set = base;
  for (int release = 0; release < 2; ++release) {
    const OperationSet::Shared added = testing::SetOfFiles({Changed(random, file)});
    const absl::StatusOr<MergedOperations> merged = MergeOperationSets(set, added);
    ASSERT_TRUE(merged.ok()) << merged.status();
    ExpectInForce(*set, *merged->set);
    ExpectInForce(*base, *merged->set);
    for (const ApiMethod& method : added->methods()) {
      if (set->FindMethod(method.full_name) != nullptr) continue;
      const bool is_added = merged->set->FindMethod(method.full_name) != nullptr;
      ++(is_added ? counts.added : counts.left_out);
      EXPECT_FALSE(!is_added && merged->conflicts.empty()) << method.full_name;
      if (!is_added) continue;
      for (const Descriptor* message : WithNestedMessages({method.method->input_type()})) {
        ExpectUsable(*message, *merged->set);
      }
      // In a response that the base has already, `unrecognized` keeps what its definition cannot hold.
      const Descriptor& response = *method.method->output_type();
      if (set->pool().FindMessageTypeByName(response.full_name()) == nullptr) ExpectUsable(response, *merged->set);
    }
    if (merged->conflicts.empty()) ++counts.without_conflict;

    const absl::StatusOr<MergedOperations> again = MergeOperationSets(merged->set, added);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->set, merged->set);
    EXPECT_EQ(again->conflicts, merged->conflicts);
    set = merged->set;
  }
}

TEST(MergePropertyTest, WhatIsInForceStaysAndNewOperationsMeanWhatTheirFileSays) {
#ifdef STAMPGATE_SANITIZED
  constexpr int kRounds = 20;
#else
  constexpr int kRounds = 300;
#endif
  Counts counts;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    Random random(20261128 + static_cast<uint64_t>(round));
    Round(random, counts);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
  // Otherwise a merge that adds everything or nothing would pass.
  EXPECT_GT(counts.added, kRounds / 4);
  EXPECT_GT(counts.left_out, kRounds / 4);
  EXPECT_GT(counts.without_conflict, kRounds / 20);
}

}  // namespace
}  // namespace stampgate
