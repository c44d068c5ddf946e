#include "gateway/config/operation_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/config/config.h"
#include "gateway/config/testing.h"
#include "google/protobuf/descriptor.pb.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {
namespace {

using google::protobuf::FileDescriptorSet;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns the serialized files of a set.
std::string BytesOf(const OperationSet& set) {
  FileDescriptorSet files;
  for (const auto& [name, bytes] : set.files()) EXPECT_TRUE(files.add_file()->ParseFromString(std::string(bytes)));
  return files.SerializeAsString();
}

// Returns the files of the program and a file with one more service.
FileDescriptorSet WithKettles() {
  FileDescriptorSet files;
  EXPECT_TRUE(files.ParseFromString(BytesOf(*OperationSet::BuiltIn())));
  auto& kettle = *files.add_file();
  kettle.set_name("kettle.proto");
  kettle.set_package("kitchen");
  kettle.add_service()->set_name("KettleService");
  return files;
}

class OperationFilesTest : public ::testing::Test {
 protected:
  // Parses a config that names a file with these bytes.
  absl::StatusOr<ParsedConfig> Parse(const std::string& bytes, const std::string& name = "added.binpb") {
    std::ofstream(folder_ + "added.binpb", std::ios::binary) << bytes;
    return ParseConfig(TestSnapshot(absl::StrCat("upstream: {base_url: 'https://host'}\n"
                                                 "keys: [{name: all, file: a.key, all_organizations: true}]\n"
                                                 "callers: [{name: c, loopback: true}]\n"
                                                 "operations: [",
                                                 name, "]\n"),
                                    folder_ + "f"));
  }

  std::string FaultOf(const std::string& bytes, const std::string& name = "added.binpb") {
    return std::string(Parse(bytes, name).status().message());
  }

  const std::string folder_ = ::testing::TempDir();
};

TEST_F(OperationFilesTest, AFileAddsItsServices) {
  const absl::StatusOr<ParsedConfig> parsed = Parse(WithKettles().SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_NE(parsed->config.operations()->set().pool().FindServiceByName("kitchen.KettleService"), nullptr);
  EXPECT_EQ(parsed->config.operations()->operations().size(),
            OperationTable::Create("Service", OperationSet::BuiltIn()).value()->operations().size());
}

TEST_F(OperationFilesTest, TheSameOperationsHaveTheSameDigest) {
  const absl::StatusOr<ParsedConfig> same = Parse(BytesOf(*OperationSet::BuiltIn()));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(DigestOf(same->config.operations()->set()), DigestOf(*OperationSet::BuiltIn()));
  const absl::StatusOr<ParsedConfig> more = Parse(WithKettles().SerializeAsString());
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_NE(DigestOf(more->config.operations()->set()), DigestOf(*OperationSet::BuiltIn()));
}

TEST_F(OperationFilesTest, TheTableIsMadeAgainOnlyIfAFileHasChanged) {
  const std::string kettles = WithKettles().SerializeAsString();
  const std::shared_ptr<const OperationTable> first = Parse(kettles)->config.operations();
  EXPECT_EQ(Parse(kettles)->config.operations(), first);
  EXPECT_NE(FaultOf("", "missing.binpb"), "");
  EXPECT_EQ(Parse(kettles)->config.operations(), first);
  const std::shared_ptr<const OperationTable> other = Parse(BytesOf(*OperationSet::BuiltIn()))->config.operations();
  EXPECT_NE(other, first);
  EXPECT_EQ(other->set().pool().FindServiceByName("kitchen.KettleService"), nullptr);
}

TEST_F(OperationFilesTest, AFileThatIsNoSetIsAFaultWithItsPlace) {
  EXPECT_THAT(FaultOf("\x0a"), HasSubstr("f:4:14: operations[0]: is not a serialized FileDescriptorSet"));
  EXPECT_THAT(FaultOf(""), HasSubstr("operations[0]: contains no proto file"));
}

TEST_F(OperationFilesTest, AMissingFileIsAFault) {
  EXPECT_THAT(FaultOf("", "missing.binpb"), HasSubstr("f:4:14: operations[0]: "));
}

TEST_F(OperationFilesTest, AFileThatChangesAnOperationIsAFaultThatNamesIt) {
  FileDescriptorSet files;
  ASSERT_TRUE(files.ParseFromString(BytesOf(*OperationSet::BuiltIn())));
  int changed = 0;
  for (auto& file : *files.mutable_file()) {
    if (file.name() != "stampgate/v1/policy_service.proto") continue;
    for (auto& method : *file.mutable_service(0)->mutable_method()) {
      if (method.name() != "GetPolicy") continue;
      method.mutable_options()->MutableExtension(v1::operation)->set_policy_class(v1::POLICY_CLASS_WRITE);
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1);
  EXPECT_THAT(FaultOf(files.SerializeAsString()),
              HasSubstr("operations[0]: stampgate.v1.PolicyService.GetPolicy has other options"));
}

TEST_F(OperationFilesTest, AFileWithAPathOfTheProgramIsAFault) {
  FileDescriptorSet files = WithKettles();
  auto& method = *files.mutable_file(files.file_size() - 1)->mutable_service(0)->add_method();
  method.set_name("Boil");
  method.set_input_type(".stampgate.v1.GetPolicyRequest");
  method.set_output_type(".stampgate.v1.GetPolicyResponse");
  auto& rule = *method.mutable_options()->MutableExtension(v1::operation);
  rule.set_kind(v1::OPERATION_KIND_QUERY);
  rule.set_path("/public/v1/query/get_policy");
  auto& kettle = *files.mutable_file(files.file_size() - 1);
  kettle.add_dependency("stampgate/v1/options.proto");
  kettle.add_dependency("stampgate/v1/policy_service.proto");
  const std::string fault = FaultOf(files.SerializeAsString());
  EXPECT_THAT(fault, HasSubstr("has the path of another operation"));
  EXPECT_THAT(fault, HasSubstr("operations[0]: "));
}

}  // namespace
}  // namespace stampgate
