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

// Changes the methods of `file`. Returns how many of `changes` concern them.
size_t Change(FileDescriptorProto& file, const RuleChanges& changes) {
  size_t count = 0;
  for (auto& service : *file.mutable_service()) {
    for (MethodDescriptorProto& method : *service.mutable_method()) {
      if (!method.options().HasExtension(v1::operation)) continue;
      v1::OperationRule* rule = method.mutable_options()->MutableExtension(v1::operation);
      rule->clear_since();
      rule->clear_internal();
      rule->clear_moves_unread_amount();
      const auto change = changes.find(absl::StrCat(service.name(), "/", method.name()));
      if (change == changes.end()) continue;
      ++count;
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
