#include "translate/testing/extended_set.h"

#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include "google/protobuf/descriptor.pb.h"

namespace stampgate::testing {
namespace {

using google::protobuf::FileDescriptor;

// Appends `file` and the files that it imports to `set`, except the files in `present`.
// NOLINTNEXTLINE(misc-no-recursion): a file cannot import itself
void Append(const FileDescriptor& file, std::set<std::string>& present, google::protobuf::FileDescriptorSet& set) {
  if (!present.insert(std::string(file.name())).second) return;
  file.CopyTo(set.add_file());
  for (int i = 0; i < file.dependency_count(); ++i) Append(*file.dependency(i), present, set);
}

}  // namespace

OperationSet::Shared SetWith(const FileDescriptor& file) {
  google::protobuf::FileDescriptorSet files;
  std::set<std::string> present;
  for (const auto& [name, bytes] : OperationSet::BuiltIn()->files()) {
    present.insert(name);
    if (!files.add_file()->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) std::abort();
  }
  Append(file, present, files);
  absl::StatusOr<OperationSet::Shared> set = OperationSet::Create(files.SerializeAsString());
  if (!set.ok()) {
    std::cerr << set.status() << std::endl;
    std::abort();
  }
  return *std::move(set);
}

}  // namespace stampgate::testing
