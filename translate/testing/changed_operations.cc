#include "translate/testing/changed_operations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate::testing {
namespace {

using google::protobuf::FileDescriptorProto;
using google::protobuf::MethodDescriptorProto;
using google::protobuf::TextFormat;

// Applies each of `changes` that concerns a method of `file`. Returns how many these are.
size_t Change(FileDescriptorProto& file, const RuleChanges& changes) {
  size_t count = 0;
  for (auto& service : *file.mutable_service()) {
    for (MethodDescriptorProto& method : *service.mutable_method()) {
      const auto change = changes.find(absl::StrCat(service.name(), "/", method.name()));
      if (change == changes.end()) continue;
      ++count;
      v1::OperationRule* rule = method.mutable_options()->MutableExtension(v1::operation);
      EXPECT_TRUE(TextFormat::MergeFromString(change->second, rule)) << change->second;
    }
  }
  return count;
}

}  // namespace

absl::StatusOr<OperationSet::Shared> CreateChanged(const RuleChanges& changes) {
  google::protobuf::FileDescriptorSet set;
  size_t count = 0;
  for (const auto& [name, bytes] : OperationSet::BuiltIn()->files()) {
    FileDescriptorProto& file = *set.add_file();
    EXPECT_TRUE(file.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) << name;
    count += Change(file, changes);
  }
  EXPECT_EQ(count, changes.size()) << "a changed method does not exist";
  return OperationSet::Create(set.SerializeAsString());
}

OperationSet::Shared ChangedOperations(const RuleChanges& changes) {
  absl::StatusOr<OperationSet::Shared> set = CreateChanged(changes);
  if (!set.ok()) {
    std::cerr << set.status() << std::endl;
    std::abort();
  }
  return *std::move(set);
}

}  // namespace stampgate::testing
