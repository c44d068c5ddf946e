#include "gateway/operations/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stamp/request_body.h"
#include "stampgate/v1/client_stamp.pb.h"
#include "translate/answer_size.h"
#include "translate/request_translator.h"
#include "translate/testing/messages.h"
#include "translate/testing/operations.h"
#include "translate/testing/rendering.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::google::protobuf::Message;
using ::stampgate::testing::CheckAndRender;
using ::stampgate::testing::CheckAndRenderUnstamped;
using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::Operations;
using ::stampgate::testing::RequestOf;
using ::stampgate::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using Code = absl::StatusCode;

constexpr char kLogin[] = "AuthenticationService/StampLogin";

class PrepareTest : public ::testing::Test {
 protected:
  absl::StatusOr<v1::PrepareResponse> PrepareBytes(const std::string& method, const std::string& bytes) {
    v1::PrepareRequest request;
    request.set_method(method);
    request.set_request(bytes);
    const absl::StatusOr<const Operation*> operation = FindOperationOf(Operations(), request);
    if (!operation.ok()) return operation.status();
    RequestMemory memory;
    memory.Receive(request.ByteSizeLong());
    const absl::StatusOr<ParsedMessage> inner = ParsePreparedRequest(**operation, request, memory);
    if (!inner.ok()) return inner.status();
    absl::StatusOr<CheckedRequest> checked = CheckedRequest::CheckUnstamped(Operations(), **operation, *inner, memory);
    if (!checked.ok()) return checked.status();
    absl::StatusOr<PreparedBody> prepared =
        Prepare(**operation, (*std::move(checked)).Render().value(), timestamps_, now_);
    if (!prepared.ok()) return prepared.status();
    EXPECT_EQ(prepared->sha256, RequestBody(prepared->response.body()).sha256());
    return std::move(prepared->response);
  }

  absl::StatusOr<v1::PrepareResponse> PrepareText(const std::string& method, const std::string& text_proto) {
    const std::string name = method.substr(method.rfind('/') + 1);
    return PrepareBytes(method, RequestOf(OperationOf(name), text_proto)->SerializeAsString());
  }

  const absl::Time now_ = absl::FromUnixMillis(1755500000000);
  TimestampAllocator timestamps_{/*floor_ms=*/0, {0, 1}};
};

TEST_F(PrepareTest, TheBodyOfASubmitContainsTheTimestampOfTheResponse) {
  auto response = PrepareText(kLogin, R"pb(organization_id: "o"
                                           parameters { public_key: "02ab" })pb");
  ASSERT_THAT(response, StatusIs(Code::kOk));
  EXPECT_EQ(response->path(), "/public/v1/submit/stamp_login");
  EXPECT_EQ(response->timestamp_ms(), 1755500000000u);
  EXPECT_EQ(response->body(), R"({"type":"ACTIVITY_TYPE_STAMP_LOGIN","timestampMs":"1755500000000",)"
                              R"("organizationId":"o","parameters":{"publicKey":"02ab"}})");
  EXPECT_EQ(response->webauthn_challenge(), RequestBody(response->body()).HexDigest());
  // If the same request is prepared again, the result is another submit, with another timestamp.
  auto second = PrepareText(kLogin, R"pb(organization_id: "o"
                                         parameters { public_key: "02ab" })pb");
  ASSERT_THAT(second, StatusIs(Code::kOk));
  EXPECT_EQ(second->timestamp_ms(), 1755500000001u);
}

TEST_F(PrepareTest, ATimestampThatTheCallerHasSetIsKept) {
  auto response = PrepareText(kLogin, R"pb(timestamp_ms: 7
                                           organization_id: "o"
                                           parameters { public_key: "k" })pb");
  ASSERT_THAT(response, StatusIs(Code::kOk));
  EXPECT_EQ(response->timestamp_ms(), 7u);
  EXPECT_THAT(response->body(), HasSubstr(R"("timestampMs":"7")"));
}

TEST_F(PrepareTest, AQueryHasNoTimestamp) {
  auto response = PrepareText("PolicyService/GetPolicy", R"pb(organization_id: "o" policy_id: "p")pb");
  ASSERT_THAT(response, StatusIs(Code::kOk));
  EXPECT_FALSE(response->has_timestamp_ms());
  EXPECT_EQ(response->path(), "/public/v1/query/get_policy");
  EXPECT_EQ(response->body(), R"({"organizationId":"o","policyId":"p"})");
  EXPECT_EQ(response->webauthn_challenge(), RequestBody(response->body()).HexDigest());
}

TEST_F(PrepareTest, AMethodMayHaveItsShortOrItsFullName) {
  for (const char* method :
       {"PolicyService/GetPolicy", "stampgate.v1.PolicyService/GetPolicy", "/stampgate.v1.PolicyService/GetPolicy"}) {
    EXPECT_THAT(PrepareText(method, R"pb(organization_id: "o" policy_id: "p")pb"), StatusIs(Code::kOk)) << method;
  }
}

// A client can stamp a prepared body, and send the body and the stamp to the method of the operation. The gateway then
// forwards this body unchanged.
TEST_F(PrepareTest, EveryPreparedBodyCanBeSentWithAClientsStamp) {
  for (const Operation& operation : Operations().operations()) {
    if (operation.kind == v1::OPERATION_KIND_DISCOVERY) continue;
    SCOPED_TRACE(operation.full_name);
    std::unique_ptr<Message> request = testing::NewRequest(operation);
    testing::FillFully(*request, *operation.request);
    auto prepared = PrepareBytes(operation.full_name, request->SerializeAsString());
    ASSERT_THAT(prepared, StatusIs(Code::kOk));

    std::unique_ptr<Message> stamped(request->New());
    v1::ClientStamp stamp;
    stamp.set_body(prepared->body());
    stamp.set_web_authn("a stamp");
    EXPECT_TRUE(stamped->GetReflection()
                    ->MutableMessage(stamped.get(), operation.request->client_stamp->field)
                    ->ParseFromString(stamp.SerializeAsString()));
    if (operation.general) {
      stamped->GetReflection()->SetString(stamped.get(), operation.path_segment->field, "unlisted_path");
    }
    auto rendered = CheckAndRender(operation, *stamped);
    ASSERT_THAT(rendered, StatusIs(Code::kOk));
    EXPECT_EQ(rendered->path, prepared->path());
    EXPECT_EQ(operation.is_submit() ? rendered->SubmitBody(0) : rendered->QueryBody(), prepared->body());
    EXPECT_EQ(rendered->timestamp_ms.value_or(0), prepared->timestamp_ms());
  }
}

TEST_F(PrepareTest, ABodyThatIsTooLargeForClientsIsRefused) {
  const auto prepare = [&](size_t bytes) {
    const auto request =
        RequestOf(OperationOf("StampLogin"),
                  absl::StrCat("organization_id: 'o' parameters { public_key: '", std::string(bytes, '0'), "' }"));
    return PrepareBytes(kLogin, request->SerializeAsString());
  };
  const auto small = prepare(1000);
  ASSERT_THAT(small, StatusIs(Code::kOk));
  // In the larger response, the lengths of the fields need two more bytes.
  const size_t rest = small->ByteSizeLong() - 1000;
  EXPECT_THAT(prepare(kMaxAnswerBytes - rest - 2), StatusIs(Code::kOk));
  const absl::Status status = prepare(kMaxAnswerBytes - rest - 1).status();
  EXPECT_THAT(status, StatusIs(Code::kOutOfRange, HasSubstr("the body was prepared, but the response is too large")));
  EXPECT_EQ(DetailsOf(status).reason, "ANSWER_TOO_LARGE");
  EXPECT_EQ(DetailsOf(status).metadata.at("answer_bytes"), "4128769");
}

TEST_F(PrepareTest, AMethodWhoseRequestsAreNotStampedIsRefused) {
  for (const char* method : {"WebhookService/GetWebhookKeySet", "StampService/Prepare", "EventService/ListEvents",
                             "PolicyService", "PolicyService/getPolicy", "policyservice/GetPolicy", "GetPolicy",
                             "/PolicyService/GetPolicy", "//stampgate.v1.PolicyService/GetPolicy",
                             "stampgate.v1.PolicyService.GetPolicy", "hush", "grpc.health.v1.Health/Check"}) {
    const absl::Status status = PrepareBytes(method, "").status();
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument)) << method;
    EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
    EXPECT_THAT(DetailsOf(status).violations, ElementsAre(Pair("method", HasSubstr("whose requests are stamped"))))
        << method;
    EXPECT_THAT(status.ToString(), Not(HasSubstr("hush")));
  }
  EXPECT_THAT(DetailsOf(PrepareBytes("", "").status()).violations, ElementsAre(Pair("method", "is required")));
  EXPECT_THAT(DetailsOf(PrepareBytes(std::string(257, 'x'), "").status()).violations,
              ElementsAre(Pair("method", "must be at most 256 bytes long")));
}

TEST_F(PrepareTest, ARequestThatCannotBePreparedIsRefused) {
  EXPECT_THAT(DetailsOf(PrepareBytes(kLogin, "\xff\xff").status()).violations,
              ElementsAre(Pair("request", "must be a serialized stampgate.v1.StampLoginRequest")));
  EXPECT_THAT(
      DetailsOf(PrepareText(kLogin, R"pb(client_stamp { body: "{}" })pb").status()).violations,
      ElementsAre(Pair("request", "must have no client_stamp: the client makes it from the response to this call")));
  // The bytes contain field 99, which the message type does not have.
  EXPECT_THAT(DetailsOf(PrepareBytes("PolicyService/GetPolicy", "\x0a\x01o\x12\x01p\x98\x06\x01").status()).violations,
              ElementsAre(Pair("", "holds field number 99, which this gateway does not know")));
  EXPECT_THAT(DetailsOf(PrepareBytes(kLogin, "").status()).violations,
              ElementsAre(Pair("organization_id", "is required"), Pair("parameters", "is required")));
  v1::PrepareRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddVarint(9, 1);
  EXPECT_THAT(FindOperationOf(Operations(), request), StatusIs(Code::kInvalidArgument));
}

TEST_F(PrepareTest, TheRulesOfGeneralOperationsAreChecked) {
  const absl::Status status =
      PrepareText("GeneralService/QueryOperation", R"pb(organization_id: "o" path: "get_policy")pb").status();
  EXPECT_THAT(DetailsOf(status).violations, ElementsAre(Pair("path", HasSubstr("a method of its own"))));
}

TEST_F(PrepareTest, PreparationsUseUpTimestampsAsCallsDo) {
  const std::string login = R"pb(organization_id: "o"
                                 parameters { public_key: "k" })pb";
  for (int i = 0; i <= 1000; ++i) ASSERT_THAT(PrepareText(kLogin, login), StatusIs(Code::kOk)) << i;
  const absl::Status status = PrepareText(kLogin, login).status();
  EXPECT_THAT(status, StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(DetailsOf(status).reason, "TIMESTAMPS_EXHAUSTED");
  EXPECT_NE(DetailsOf(status).retry_delay, std::nullopt);
}

}  // namespace
}  // namespace stampgate
