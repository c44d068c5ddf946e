#include "translate/testing/small_set.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate::testing {

using google::protobuf::FileDescriptorProto;

OperationSet::Shared SetOfFiles(const std::vector<FileDescriptorProto>& files) {
  google::protobuf::FileDescriptorSet set;
  for (const char* imported : {"google/protobuf/descriptor.proto", "stampgate/v1/options.proto"}) {
    const absl::string_view bytes = OperationSet::BuiltIn()->files().at(imported);
    EXPECT_TRUE(set.add_file()->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  }
  for (const FileDescriptorProto& file : files) *set.add_file() = file;
  absl::StatusOr<OperationSet::Shared> created = OperationSet::Create(set.SerializeAsString());
  EXPECT_TRUE(created.ok()) << created.status();
  return created.value_or(OperationSet::BuiltIn());
}

OperationSet::Shared SetOfTexts(const std::vector<std::string>& files) {
  std::vector<FileDescriptorProto> parsed;
  for (const std::string& file : files) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(file, &parsed.emplace_back())) << file;
  }
  return SetOfFiles(parsed);
}

}  // namespace stampgate::testing
