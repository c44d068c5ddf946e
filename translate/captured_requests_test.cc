// For every operation of the specification, compares the body that upstream's own client sent with the body that the
// gateway renders for the same input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "stampgate/v1/client_stamp.pb.h"
#include "translate/request_translator.h"
#include "translate/testing/json_dom.h"
#include "translate/testing/operations.h"
#include "translate/testing/rendering.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::CheckAndRender;
using ::stampgate::testing::CheckAndRenderUnstamped;
using ::stampgate::testing::Json;
using ::stampgate::testing::JsonOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::Operations;
using ::stampgate::testing::RequestOf;
using ::stampgate::testing::StatusIs;

Json FileOf(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return JsonOf(text.str());
}

// Returns the bodies that upstream's own client sent, by path.
const std::map<std::string, std::string>& Captured() {
  static const auto* const captured = [] {
    auto* bodies = new std::map<std::string, std::string>;
    const Json vectors = FileOf("tests/vectors/sdk-requests.json");
    for (const Json& request : vectors.members.at("requests").elements) {
      const Json& sent = request.members.at("request");
      bodies->emplace(sent.members.at("path").text, sent.members.at("body").text);
    }
    return bodies;
  }();
  return *captured;
}

// A request that the gateway must render as the captured body for `path`.
struct Input {
  std::string method;
  std::string path;     // the path after "/public/v1/"
  std::string request;  // the whole request, in protobuf text format
};

// Returns the requests for which the bodies were captured. A file contains these requests, so that new captures can
// replace the bodies and the requests together.
const std::vector<Input>& Inputs() {
  static const auto* const inputs = [] {
    const Json file = FileOf("tests/vectors/sdk-inputs.json");
    const std::string& organization_id = file.members.at("organizationId").text;
    const std::string& timestamp_ms = file.members.at("timestampMs").text;
    auto* read = new std::vector<Input>;
    for (const Json& row : file.members.at("requests").elements) {
      const std::string& path = row.members.at("path").text;
      const std::string time = absl::StartsWith(path, "submit/") ? absl::StrCat("timestamp_ms: ", timestamp_ms) : "";
      read->push_back(
          {row.members.at("method").text, path,
           absl::StrCat("organization_id: \"", organization_id, "\" ", time, " ", row.members.at("request").text)});
    }
    return read;
  }();
  return *inputs;
}

class CapturedRequestTest : public ::testing::TestWithParam<Input> {};

TEST_P(CapturedRequestTest, TheGatewayRendersTheCapturedBody) {
  const Operation& operation = OperationOf(GetParam().method);
  auto request = RequestOf(operation, GetParam().request);

  absl::StatusOr<RenderedRequest> rendered = CheckAndRenderUnstamped(operation, *request);

  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->path, absl::StrCat("/public/v1/", GetParam().path));
  ASSERT_TRUE(Captured().count(rendered->path) == 1) << rendered->path;
  const std::string body =
      operation.is_submit() ? rendered->SubmitBody(*rendered->timestamp_ms) : rendered->QueryBody();
  EXPECT_EQ(JsonOf(body), JsonOf(Captured().at(rendered->path)));
}

TEST_P(CapturedRequestTest, ACapturedBodyThatAClientStampedParsesToTheSameRequest) {
  const Operation& operation = OperationOf(GetParam().method);
  auto expected = RequestOf(operation, GetParam().request);
  const std::string& body = Captured().at(absl::StrCat("/public/v1/", GetParam().path));
  v1::ClientStamp stamp;
  stamp.set_body(body);
  stamp.set_api_key("a stamp");
  std::unique_ptr<google::protobuf::Message> request = testing::NewRequest(operation);
  EXPECT_TRUE(request->GetReflection()
                  ->MutableMessage(request.get(), operation.request->client_stamp->field)
                  ->ParseFromString(stamp.SerializeAsString()));
  if (operation.general) {
    const auto* path = operation.path_segment->field;
    request->GetReflection()->SetString(request.get(), path, expected->GetReflection()->GetString(*expected, path));
  }

  absl::StatusOr<RenderedRequest> rendered = CheckAndRender(operation, *request);

  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(operation.is_submit() ? rendered->SubmitBody(0) : rendered->QueryBody(), body);
  EXPECT_EQ(testing::StampedRequestIn(operation, *request)->SerializeAsString(), expected->SerializeAsString())
      << request->DebugString();
}

INSTANTIATE_TEST_SUITE_P(All, CapturedRequestTest, ::testing::ValuesIn(Inputs()), [](const auto& info) {
  return absl::StrCat(info.param.method, "_", absl::StrReplaceAll(info.param.path, {{"/", "_"}}));
});

// The bodies were captured when the gateway had no method for the other operations.
TEST(CapturedRequestsTest, TheTestsCompareEverySpecifiedOperationAndEveryCapturedBody) {
  std::set<std::string> paths;
  std::set<std::string> methods;
  for (const Input& input : Inputs()) {
    paths.insert(absl::StrCat("/public/v1/", input.path));
    methods.insert(input.method);
  }
  for (const auto& [path, body] : Captured()) EXPECT_EQ(paths.count(path), 1u) << path;
  for (const Operation& operation : Operations().operations()) {
    if (operation.kind == v1::OPERATION_KIND_DISCOVERY || !operation.since.empty()) continue;
    EXPECT_EQ(methods.count(std::string(operation.method->name())), 1u) << operation.full_name;
  }
}

}  // namespace
}  // namespace stampgate
