#include "translate/testing/renamed_member.h"

#include <cstdlib>
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

OperationSet::Shared Renamed() {
  google::protobuf::FileDescriptorSet files;
  for (const auto& [name, bytes] : OperationSet::BuiltIn()->files()) {
    FileDescriptorProto& file = *files.add_file();
    if (!file.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) std::abort();
    for (DescriptorProto& message : *file.mutable_message_type()) {
      if (file.package() != "stampgate.v1" || message.name() != "EarnWithdrawParameters") continue;
      AddNewerName("caip2", 100, "chain_caip2", kCaip2Day, message);
      AddNewerName("signer", 101, "sign_with", kSignerDay, message);
    }
  }
  absl::StatusOr<OperationSet::Shared> set = OperationSet::Create(files.SerializeAsString());
  if (!set.ok()) {
    std::cerr << set.status() << std::endl;
    std::abort();
  }
  return *std::move(set);
}

}  // namespace

const OperationSet::Shared& OperationsWithRenamedMembers() {
  static const auto& set = *new OperationSet::Shared(Renamed());
  return set;
}

}  // namespace stampgate::testing
