// Each operation of the program can have another name: here a file has all of them in another package, with other names
// of methods and fields, and without a rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/descriptor.pb.h"
#include "stampgate/v1/options.pb.h"
#include "translate/operation_set/merge.h"
#include "translate/operation_table.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MethodDescriptorProto;
using google::protobuf::ServiceDescriptorProto;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::string_view kFolder = "stampgate/v1/";

// The messages that the gateway reads itself, so that no file can have its own.
bool IsOfTheGateway(absl::string_view file) {
  return !absl::StartsWith(file, kFolder) || file == "stampgate/v1/options.proto" ||
         file == "stampgate/v1/client_stamp.proto";
}

void RenameType(std::string& type) {
  if (type != ".stampgate.v1.ClientStamp") absl::StrReplaceAll({{".stampgate.v1.", ".own."}}, &type);
}

// Keeps what states the JSON and the role of the field, which are no rules.
void RemoveRules(FieldDescriptorProto& field) {
  const v1::FieldRule rule = field.options().GetExtension(v1::field);
  v1::FieldRule kept;
  kept.set_json_name(rule.json_name());
  kept.set_text_form(rule.text_form());
  kept.set_role(rule.role());
  kept.mutable_event_types()->CopyFrom(rule.event_types());
  field.clear_options();
  if (kept.ByteSizeLong() > 0) *field.mutable_options()->MutableExtension(v1::field) = kept;
}

void Rename(DescriptorProto& message) {
  for (FieldDescriptorProto& field : *message.mutable_field()) {
    if (field.has_type_name()) RenameType(*field.mutable_type_name());
    RemoveRules(field);
    // The compiler has written the JSON name. The name of a map must fit that of the message of its entries.
    const bool is_of_map = message.options().map_entry() || absl::EndsWith(field.type_name(), "Entry");
    if (!is_of_map) field.set_name(absl::StrCat("own_", field.name()));
  }
  message.mutable_options()->ClearExtension(v1::message);
  for (DescriptorProto& nested : *message.mutable_nested_type()) Rename(nested);
}

void Rename(ServiceDescriptorProto& service) {
  std::vector<MethodDescriptorProto> methods;
  for (MethodDescriptorProto& method : *service.mutable_method()) {
    const v1::OperationRule rule = method.options().GetExtension(v1::operation);
    if (rule.path().empty()) continue;
    v1::OperationRule kept;
    kept.set_kind(rule.kind());
    kept.set_path(rule.path());
    kept.set_activity_type(rule.activity_type());
    kept.set_general(rule.general());
    kept.set_stamped_by_client(rule.stamped_by_client());
    RenameType(*method.mutable_input_type());
    RenameType(*method.mutable_output_type());
    method.set_name(absl::StrCat("Own", method.name()));
    method.clear_options();
    *method.mutable_options()->MutableExtension(v1::operation) = kept;
    methods.push_back(method);
  }
  service.clear_method();
  for (const MethodDescriptorProto& method : methods) *service.add_method() = method;
}

void Rename(FileDescriptorProto& file) {
  file.clear_source_code_info();
  file.set_name(absl::StrCat("own/", file.name().substr(kFolder.size())));
  file.set_package("own");
  for (std::string& imported : *file.mutable_dependency()) {
    if (!IsOfTheGateway(imported)) imported = absl::StrCat("own/", imported.substr(kFolder.size()));
  }
  for (DescriptorProto& message : *file.mutable_message_type()) Rename(message);
  for (ServiceDescriptorProto& service : *file.mutable_service()) Rename(service);
}

OperationSet::Shared RenamedProgram() {
  FileDescriptorSet files;
  for (const auto& [name, bytes] : OperationSet::BuiltIn()->files()) {
    FileDescriptorProto& file = *files.add_file();
    EXPECT_TRUE(file.ParseFromString(std::string(bytes)));
    if (!IsOfTheGateway(name)) Rename(file);
  }
  absl::StatusOr<OperationSet::Shared> set = OperationSet::Create(files.SerializeAsString());
  EXPECT_TRUE(set.ok()) << set.status();
  return *set;
}

TEST(RenamedOperationsTest, EachOperationOfTheProgramCanHaveAnotherName) {
  const OperationSet::Shared& program = OperationSet::BuiltIn();
  const MergedOperations merged = MergeOperationSets(program, RenamedProgram()).value();
  // Of GeneralService.
  EXPECT_THAT(merged.conflicts, SizeIs(2));
  EXPECT_THAT(merged.conflicts, Each(HasSubstr("another kind, or is general; it is left out")));

  const auto table = OperationTable::Create("Example", merged.set);
  ASSERT_TRUE(table.ok()) << table.status();
  int names = 0;
  for (const Operation& operation : (*table)->operations()) {
    if (operation.other_name_of.empty()) continue;
    ++names;
    const Operation* same = (*table)->Find(operation.other_name_of);
    ASSERT_NE(same, nullptr);
    EXPECT_TRUE(operation.request == same->request && operation.response == same->response &&
                operation.path == same->path && operation.activity_type == same->activity_type &&
                operation.policy_class == same->policy_class && operation.since == same->since &&
                operation.internal == same->internal && operation.built_in &&
                operation.moves_unread_amount == same->moves_unread_amount &&
                operation.stamped_by_client == same->stamped_by_client)
        << operation.full_name;
  }
  EXPECT_EQ(names, std::count_if(program->methods().begin(), program->methods().end(), [](const ApiMethod& method) {
              return method.kind != v1::OPERATION_KIND_LOCAL && !method.general;
            }));
}

}  // namespace
}  // namespace stampgate
