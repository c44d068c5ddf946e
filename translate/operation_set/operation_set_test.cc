#include "translate/operation_set/operation_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.pb.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using ::stampgate::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;

FileDescriptorProto FileOf(const std::string& name) {
  FileDescriptorProto file;
  EXPECT_TRUE(file.ParseFromString(std::string(OperationSet::BuiltIn()->files().at(name))));
  return file;
}

absl::Status CreateFails(const FileDescriptorSet& files) {
  return OperationSet::Create(files.SerializeAsString()).status();
}

TEST(OperationSetTest, ListsTheMethodsInTheOrderOfTheirFiles) {
  std::vector<std::string> files;
  std::vector<std::string> policies;
  for (const ApiMethod& method : OperationSet::BuiltIn()->methods()) {
    files.emplace_back(method.method->file()->name());
    if (files.back() == "stampgate/v1/policy_service.proto") policies.push_back(method.full_name);
  }
  EXPECT_TRUE(std::is_sorted(files.begin(), files.end()));
  // The proto lists the queries before the submits.
  EXPECT_THAT(policies,
              ElementsAre("/stampgate.v1.PolicyService/GetActivePolicies", "/stampgate.v1.PolicyService/GetPolicy",
                          "/stampgate.v1.PolicyService/ListPolicies", "/stampgate.v1.PolicyService/CreatePolicies",
                          "/stampgate.v1.PolicyService/CreatePolicy", "/stampgate.v1.PolicyService/DeletePolicies",
                          "/stampgate.v1.PolicyService/DeletePolicy", "/stampgate.v1.PolicyService/UpdatePolicy"));
}

TEST(OperationSetTest, FindsEachMethodByItsFullName) {
  const OperationSet& set = *OperationSet::BuiltIn();
  for (const ApiMethod& method : set.methods()) EXPECT_EQ(set.FindMethod(method.full_name), &method);
  for (const char* name : {"", "/", "PolicyService/GetPolicy", "stampgate.v1.PolicyService/GetPolicy",
                           "/stampgate.v1.PolicyService/GetPolicy/", "/stampgate.v1.PolicyService/getPolicy"}) {
    EXPECT_EQ(set.FindMethod(name), nullptr) << name;
  }
}

TEST(OperationSetTest, AMethodHasTheValuesOfItsOptions) {
  const OperationSet& set = *OperationSet::BuiltIn();
  const ApiMethod* query = set.FindMethod("/stampgate.v1.PolicyService/GetPolicy");
  ASSERT_NE(query, nullptr);
  EXPECT_EQ(query->kind, v1::OPERATION_KIND_QUERY);
  EXPECT_EQ(query->policy_class, v1::POLICY_CLASS_QUERY);
  EXPECT_FALSE(query->general);
  EXPECT_FALSE(query->streams);
  const ApiMethod* general = set.FindMethod("/stampgate.v1.GeneralService/SubmitOperation");
  ASSERT_NE(general, nullptr);
  EXPECT_EQ(general->kind, v1::OPERATION_KIND_SUBMIT);
  EXPECT_TRUE(general->general);
  const ApiMethod* events = set.FindMethod("/stampgate.v1.EventService/Subscribe");
  ASSERT_NE(events, nullptr);
  EXPECT_TRUE(events->streams);
}

TEST(OperationSetTest, ListsTheServicesInAlphabeticalOrder) {
  const std::vector<std::string>& services = OperationSet::BuiltIn()->services();
  EXPECT_TRUE(std::is_sorted(services.begin(), services.end()));
  EXPECT_THAT(
      (std::vector<std::string>{"grpc.health.v1.Health", "stampgate.v1.PolicyService", "stampgate.v1.StampService"}),
      IsSubsetOf(services));
}

TEST(OperationSetTest, OnlyTheBytesOfTheFilesHaveComments) {
  const std::string name = "stampgate/v1/policy_service.proto";
  EXPECT_GT(FileOf(name).source_code_info().location_size(), 0);
  google::protobuf::SourceLocation location;
  const auto* file = OperationSet::BuiltIn()->pool().FindFileByName(name);
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(file->service(0)->GetSourceLocation(&location));
}

TEST(OperationSetTest, BytesThatAreNoFileDescriptorSetAreAnError) {
  EXPECT_THAT(OperationSet::Create("\xff"),
              StatusIs(absl::StatusCode::kInvalidArgument, Eq("is not a serialized FileDescriptorSet")));
}

TEST(OperationSetTest, AMissingImportIsAnErrorThatNamesBothFiles) {
  FileDescriptorSet files;
  files.add_file()->set_name("a.proto");
  files.mutable_file(0)->add_dependency("b.proto");
  EXPECT_THAT(CreateFails(files),
              StatusIs(absl::StatusCode::kInvalidArgument, Eq("a.proto imports b.proto, which is missing")));
}

TEST(OperationSetTest, FilesThatImportEachOtherAreAnError) {
  FileDescriptorSet files;
  for (const auto& [name, dependency] : {std::pair("a.proto", "b.proto"), std::pair("b.proto", "a.proto")}) {
    FileDescriptorProto& file = *files.add_file();
    file.set_name(name);
    file.add_dependency(dependency);
  }
  EXPECT_THAT(CreateFails(files), StatusIs(absl::StatusCode::kInvalidArgument, Eq("a.proto imports itself")));
}

TEST(OperationSetTest, TooManyFilesAreAnError) {
  FileDescriptorSet files;
  for (int i = 0; i <= 1000; ++i) files.add_file()->set_name(std::to_string(i));
  EXPECT_THAT(CreateFails(files),
              StatusIs(absl::StatusCode::kInvalidArgument, Eq("contains more than 1000 proto files")));
}

TEST(OperationSetTest, AFaultIsAnErrorThatNamesTheFileAndTheElement) {
  FileDescriptorSet files;
  FileDescriptorProto& file = *files.add_file();
  file.set_name("a.proto");
  file.add_message_type()->set_name("Twice");
  file.add_message_type()->set_name("Twice");
  EXPECT_THAT(CreateFails(files),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("a.proto"), HasSubstr("Twice"))));
}

}  // namespace
}  // namespace stampgate
