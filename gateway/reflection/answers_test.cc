#include "gateway/reflection/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.pb.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptorProto;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::SizeIs;
using Code = absl::StatusCode;

// The services of the gateway.
const std::vector<std::string>& Services() {
  static const auto* const kServices = new std::vector<std::string>{
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "stampgate.v1.ActivityService",
      "stampgate.v1.AuthenticationService",
      "stampgate.v1.EarnService",
      "stampgate.v1.EventService",
      "stampgate.v1.GeneralService",
      "stampgate.v1.OnRampService",
      "stampgate.v1.OrganizationService",
      "stampgate.v1.PolicyService",
      "stampgate.v1.PrivateKeyService",
      "stampgate.v1.ProofService",
      "stampgate.v1.SecretService",
      "stampgate.v1.SigningService",
      "stampgate.v1.SmartContractService",
      "stampgate.v1.StampService",
      "stampgate.v1.SubscriptionService",
      "stampgate.v1.SwapService",
      "stampgate.v1.TagService",
      "stampgate.v1.TransactionService",
      "stampgate.v1.TvcService",
      "stampgate.v1.UserService",
      "stampgate.v1.VelocityControlService",
      "stampgate.v1.WalletService",
      "stampgate.v1.WebhookService",
  };
  return *kServices;
}

class AnswerReflectionTest : public ::testing::Test {
 protected:
  ServerReflectionResponse Symbol(const std::string& name) const {
    ServerReflectionRequest request;
    request.set_file_containing_symbol(name);
    return Answer(request);
  }

  ServerReflectionResponse Extension(const std::string& type, int number) const {
    ServerReflectionRequest request;
    request.mutable_file_containing_extension()->set_containing_type(type);
    request.mutable_file_containing_extension()->set_extension_number(number);
    return Answer(request);
  }

  // Returns the names of the files in `response`.
  static std::vector<std::string> FilesIn(const ServerReflectionResponse& response) {
    std::vector<std::string> names;
    for (const auto& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(bytes));
      names.emplace_back(file.name());
    }
    return names;
  }

  static Code ErrorIn(const ServerReflectionResponse& response) {
    EXPECT_TRUE(response.has_error_response());
    EXPECT_FALSE(response.error_response().error_message().empty());
    return static_cast<Code>(response.error_response().error_code());
  }

  static ServerReflectionResponse Answer(const ServerReflectionRequest& request) {
    return AnswerReflection(*OperationSet::BuiltIn(), request);
  }

  const int field_option_ = v1::kFieldFieldNumber;
};

TEST_F(AnswerReflectionTest, ListsTheServices) {
  ServerReflectionRequest request;
  request.set_list_services("");
  const ServerReflectionResponse response = Answer(request);
  std::vector<std::string> names;
  for (const auto& service : response.list_services_response().service()) names.emplace_back(service.name());
  EXPECT_THAT(names, ElementsAreArray(Services()));
}

TEST_F(AnswerReflectionTest, OneAnswerDescribesAListedServiceCompletely) {
  for (const std::string& service : Services()) {
    const ServerReflectionResponse response = Symbol(service);
    const auto& files = response.file_descriptor_response().file_descriptor_proto();
    ASSERT_FALSE(files.empty()) << service;
    // A pool accepts a file only after the files on which it depends. In the answer, a file precedes them.
    std::vector<FileDescriptorProto> left(static_cast<size_t>(files.size()));
    for (int i = 0; i < files.size(); ++i) ASSERT_TRUE(left[static_cast<size_t>(i)].ParseFromString(files[i]));
    DescriptorPool pool;
    while (!left.empty()) {
      const size_t built = std::erase_if(left, [&](const FileDescriptorProto& file) {
        for (const auto& name : file.dependency()) {
          if (pool.FindFileByName(name) == nullptr) return false;
        }
        return pool.BuildFile(file) != nullptr;
      });
      ASSERT_GT(built, 0u) << service << " depends on a file that is missing";
    }
    EXPECT_NE(pool.FindServiceByName(service), nullptr) << service;
  }
}

TEST_F(AnswerReflectionTest, ContainsEachFileOnce) {
  const std::vector<std::string> files = FilesIn(Symbol("stampgate.v1.WalletService"));
  EXPECT_EQ(files.front(), "stampgate/v1/wallet_service.proto");
  EXPECT_THAT(files, Contains("google/protobuf/descriptor.proto"));
  EXPECT_THAT(std::set<std::string>(files.begin(), files.end()), SizeIs(files.size()));
}

TEST_F(AnswerReflectionTest, FindsTheFileOfEachKindOfSymbol) {
  for (const char* symbol :
       {"grpc.health.v1.Health", "grpc.health.v1.Health.Check", "grpc.health.v1.HealthCheckRequest",
        "grpc.health.v1.HealthCheckRequest.service", "grpc.health.v1.HealthCheckResponse.ServingStatus",
        "grpc.health.v1.HealthCheckResponse.SERVING"}) {
    EXPECT_THAT(FilesIn(Symbol(symbol)), ElementsAreArray({"grpc/health/v1/health.proto"})) << symbol;
  }
  EXPECT_EQ(FilesIn(Symbol("stampgate.v1.field")).front(), "stampgate/v1/options.proto");
}

TEST_F(AnswerReflectionTest, FindsAFileByItsName) {
  ServerReflectionRequest request;
  request.set_file_by_filename("grpc/reflection/v1alpha/reflection.proto");
  EXPECT_THAT(FilesIn(Answer(request)), ElementsAreArray({"grpc/reflection/v1alpha/reflection.proto"}));
}

TEST_F(AnswerReflectionTest, FindsExtensions) {
  EXPECT_EQ(FilesIn(Extension("google.protobuf.FieldOptions", field_option_)).front(), "stampgate/v1/options.proto");
  ServerReflectionRequest request;
  request.set_all_extension_numbers_of_type("google.protobuf.FieldOptions");
  const ServerReflectionResponse response = Answer(request);
  EXPECT_EQ(response.all_extension_numbers_response().base_type_name(), "google.protobuf.FieldOptions");
  EXPECT_THAT(response.all_extension_numbers_response().extension_number(), Contains(field_option_));
}

TEST_F(AnswerReflectionTest, AMessageWithoutExtensionsHasNoNumbers) {
  ServerReflectionRequest request;
  request.set_all_extension_numbers_of_type("grpc.health.v1.HealthCheckRequest");
  const ServerReflectionResponse response = Answer(request);
  EXPECT_TRUE(response.has_all_extension_numbers_response());
  EXPECT_THAT(response.all_extension_numbers_response().extension_number(), SizeIs(0));
}

TEST_F(AnswerReflectionTest, AnUnknownElementIsNotFound) {
  for (const char* symbol : {"", "nothing", ".grpc.health.v1.Health", "stampgate.v1.NothingService"}) {
    EXPECT_EQ(ErrorIn(Symbol(symbol)), Code::kNotFound) << symbol;
  }
  EXPECT_EQ(ErrorIn(Extension("google.protobuf.FieldOptions", 1)), Code::kNotFound);
  EXPECT_EQ(ErrorIn(Extension("nothing", field_option_)), Code::kNotFound);
  ServerReflectionRequest request;
  request.set_file_by_filename("nothing.proto");
  EXPECT_EQ(ErrorIn(Answer(request)), Code::kNotFound);
  request.set_all_extension_numbers_of_type("nothing");
  EXPECT_EQ(ErrorIn(Answer(request)), Code::kNotFound);
}

TEST_F(AnswerReflectionTest, ARequestWithoutAQuestionIsInvalid) {
  EXPECT_EQ(ErrorIn(Answer({})), Code::kInvalidArgument);
}

TEST_F(AnswerReflectionTest, EachAnswerContainsTheRequestAndItsHost) {
  for (const char* symbol : {"grpc.health.v1.Health", "nothing"}) {
    ServerReflectionRequest request;
    request.set_host("gateway.example");
    request.set_file_containing_symbol(symbol);
    const ServerReflectionResponse response = Answer(request);
    EXPECT_EQ(response.valid_host(), "gateway.example");
    EXPECT_EQ(response.original_request().SerializeAsString(), request.SerializeAsString());
  }
}

TEST_F(AnswerReflectionTest, AFileHasTheCommentsOfItsProto) {
  FileDescriptorProto file;
  ASSERT_TRUE(
      file.ParseFromString(Symbol("stampgate.v1.WalletService").file_descriptor_response().file_descriptor_proto(0)));
  const auto& locations = file.source_code_info().location();
  EXPECT_TRUE(std::any_of(locations.begin(), locations.end(), [](const auto& location) {
    return absl::StrContains(location.leading_comments(), "wallet");
  }));
}

}  // namespace
}  // namespace stampgate
