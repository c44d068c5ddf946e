#include "translate/testing/renamed_member.h"

#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>

#include "google/protobuf/descriptor.pb.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate::testing {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;

void AddNewerName(const std::string& name, int number, const std::string& replaced, const std::string& day,
                  DescriptorProto& message) {
  FieldDescriptorProto& field = *message.add_field();
  field.set_name(name);
  field.set_number(number);
  field.set_label(FieldDescriptorProto::LABEL_OPTIONAL);
  field.set_type(FieldDescriptorProto::TYPE_STRING);
  v1::FieldRule& rule = *field.mutable_options()->MutableExtension(v1::field);
  rule.set_replaces(replaced);
  rule.set_since(day);
}

// Returns the operations of the program, after `change` has changed each message of stampgate.v1.
OperationSet::Shared Changed(const std::function<void(DescriptorProto&)>& change) {
  google::protobuf::FileDescriptorSet files;
  for (const auto& [name, bytes] : OperationSet::BuiltIn()->files()) {
    FileDescriptorProto& file = *files.add_file();
    if (!file.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) std::abort();
    if (file.package() != "stampgate.v1") continue;
    for (DescriptorProto& message : *file.mutable_message_type()) change(message);
  }
  absl::StatusOr<OperationSet::Shared> set = OperationSet::Create(files.SerializeAsString());
  if (!set.ok()) {
    std::cerr << set.status() << std::endl;
    std::abort();
  }
  return *std::move(set);
}

void AddSigner(DescriptorProto& message) {
  if (message.name() == "EarnWithdrawParameters") AddNewerName("signer", 101, "sign_with", kSignerDay, message);
}

void RemoveNewerNames(DescriptorProto& message) {
  auto& fields = *message.mutable_field();
  for (int i = fields.size() - 1; i >= 0; --i) {
    if (!fields[i].options().GetExtension(v1::field).replaces().empty()) fields.DeleteSubrange(i, 1);
  }
}

}  // namespace

const OperationSet::Shared& OperationsWithRenamedMembers() {
  static const auto& set = *new OperationSet::Shared(Changed(AddSigner));
  return set;
}

const OperationSet::Shared& OperationsWithoutRenamedMembers() {
  static const auto& set = *new OperationSet::Shared(Changed(RemoveNewerNames));
  return set;
}

}  // namespace stampgate::testing
