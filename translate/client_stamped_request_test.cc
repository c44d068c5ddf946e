#include "translate/client_stamped_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/util/message_differencer.h"
#include "translate/request_translator.h"
#include "translate/testing/json_dom.h"
#include "translate/testing/messages.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/rendering.h"
#include "translate/testing/status.h"
#include "translate/testing/testing.pb.h"
#include "translate/validator.h"

namespace stampgate {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::util::MessageDifferencer;
using ::stampgate::testing::CheckAndRender;
using ::stampgate::testing::CheckAndRenderUnstamped;
using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::Operations;
using ::stampgate::testing::RequestOf;
using ::stampgate::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Code = absl::StatusCode;

v1::ClientStamp StampOver(std::string body) {
  v1::ClientStamp stamp;
  stamp.set_body(std::move(body));
  stamp.set_api_key("a-stamp");
  return stamp;
}

std::unique_ptr<Message> Stamped(const Operation& operation, std::string body) {
  std::unique_ptr<Message> request = testing::NewRequest(operation);
  EXPECT_TRUE(request->GetReflection()
                  ->MutableMessage(request.get(), operation.request->client_stamp->field)
                  ->ParseFromString(StampOver(std::move(body)).SerializeAsString()));
  return request;
}

// Checks and renders a request of `method` that contains the stamped body `body`. Sets `*request` to the request as
// filled from the body.
absl::StatusOr<RenderedRequest> Translate(absl::string_view method, std::string body,
                                          std::unique_ptr<Message>* request = nullptr) {
  const Operation& operation = OperationOf(method);
  std::unique_ptr<Message> stamped = Stamped(operation, std::move(body));
  absl::StatusOr<RenderedRequest> rendered = CheckAndRender(operation, *stamped);
  if (request != nullptr) *request = testing::StampedRequestIn(operation, *stamped);
  return rendered;
}

std::vector<std::pair<std::string, std::string>> ViolationsOf(absl::string_view method, std::string body) {
  const absl::Status status = Translate(method, std::move(body)).status();
  EXPECT_THAT(status, StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
  return DetailsOf(status).violations;
}

void DropNulls(testing::Json& json) {
  for (auto member = json.members.begin(); member != json.members.end();) {
    DropNulls(member->second);
    member = member->second.kind == testing::Json::Kind::kNull ? json.members.erase(member) : std::next(member);
  }
  for (testing::Json& element : json.elements) DropNulls(element);
}

constexpr char kLogin[] = R"({"type":"ACTIVITY_TYPE_STAMP_LOGIN","timestampMs":"1755500000000","organizationId":"o",)"
                          R"("parameters":{"publicKey":"02ab"}})";

// Returns kLogin with `piece` replaced by `other`.
std::string LoginWith(absl::string_view piece, absl::string_view other) {
  EXPECT_THAT(kLogin, HasSubstr(std::string(piece)));
  return absl::StrReplaceAll(kLogin, {{piece, other}});
}

constexpr char kHold[] = "must not have a value that the request's fields cannot hold exactly: ";

TEST(ClientStampedRequestTest, TheBodyIsSentUnchangedAndFillsTheRequest) {
  // The gateway would render this body differently: with another order of members, without white space, without the
  // escape, and without the members that are null.
  const std::string body =
      "\n{ \"parameters\" : {\"invalidateExisting\":null,\n\"publicKey\":\"0\\u0032ab\", \"expirationSeconds\":\"900\"}"
      ",\"organizationId\":\"o\" , \"generateAppProofs\":null,\"timestampMs\":\"1755500000000\""
      ",\t\"type\":\"ACTIVITY_TYPE_STAMP_LOGIN\"}\r\n";
  std::unique_ptr<Message> request;
  auto rendered = Translate("StampLogin", body, &request);
  ASSERT_THAT(rendered, StatusIs(Code::kOk));
  ASSERT_TRUE(rendered->client_stamp.has_value());
  EXPECT_EQ(rendered->client_stamp->api_key(), "a-stamp");
  EXPECT_EQ(rendered->SubmitBody(7), body);
  EXPECT_EQ(rendered->timestamp_ms, 1755500000000u);
  EXPECT_EQ(rendered->path, "/public/v1/submit/stamp_login");
  EXPECT_TRUE(MessageDifferencer::Equals(
      *request,
      *RequestOf(OperationOf("StampLogin"), R"pb(timestamp_ms: 1755500000000
                                                 organization_id: "o"
                                                 parameters { public_key: "02ab" expiration_seconds: 900 })pb")))
      << request->DebugString();
}

TEST(ClientStampedRequestTest, AStampedRequestRendersLikeTheSameRequestWithoutAStamp) {
  // The two rendered requests differ only in the stamp. The allocator of timestamps must regard both requests as equal,
  // because it guarantees different timestamps only to equal requests. With the same timestamp, upstream would regard
  // the second request as a repetition of the first.
  auto stamped = Translate("StampLogin", kLogin);
  ASSERT_THAT(stamped, StatusIs(Code::kOk));
  const Operation& operation = OperationOf("StampLogin");
  auto plain = CheckAndRenderUnstamped(operation, *RequestOf(operation, R"pb(organization_id: "o"
                                                                             parameters { public_key: "02ab" })pb"));
  ASSERT_THAT(plain, StatusIs(Code::kOk));
  EXPECT_EQ(stamped->type_member, plain->type_member);
  EXPECT_EQ(stamped->members, plain->members);
  EXPECT_FALSE(plain->client_stamp.has_value());
  EXPECT_EQ(plain->SubmitBody(1755500000000), kLogin);
}

TEST(ClientStampedRequestTest, TheBodyOfAQueryFillsTheFieldsOfTheRequest) {
  const std::string body = R"({"paginationOptions":{"limit":"5"},"walletId":null,"organizationId":"o"})";
  std::unique_ptr<Message> request;
  auto rendered = Translate("ListWalletAccounts", body, &request);
  ASSERT_THAT(rendered, StatusIs(Code::kOk));
  EXPECT_EQ(rendered->QueryBody(), body);
  EXPECT_TRUE(MessageDifferencer::Equals(*request, *RequestOf(OperationOf("ListWalletAccounts"),
                                                              R"pb(organization_id: "o"
                                                                   pagination_options { limit: 5 })pb")));
}

TEST(ClientStampedRequestTest, ARequestWithoutAStampIsNotRead) {
  const auto has_stamp = [](absl::string_view method, const std::string& text_proto) {
    const Operation& operation = OperationOf(method);
    testing::Parsed request(operation, text_proto);
    Violations violations;
    const bool read = ReadClientStampedRequest(operation, *request, request.memory(), violations).has_value();
    EXPECT_TRUE(violations.empty());
    return read;
  };
  EXPECT_FALSE(has_stamp("GetPolicy", R"pb(organization_id: "o" policy_id: "p")pb"));
  // A request type that has no field client_stamp never contains a stamp.
  EXPECT_FALSE(has_stamp("GetWebhookKeySet", ""));
}

TEST(ClientStampedRequestTest, AStampThatIsNotAMessageIsAViolation) {
  const Operation& operation = OperationOf("GetPolicy");
  const std::string bytes = "\x7a\x03\x0a\x05x";  // client_stamp, whose body ends too early
  RequestMemory memory;
  const ParsedMessage* request = ParseMessage(*operation.request, bytes, memory).value();
  ASSERT_NE(request, nullptr);
  const absl::Status status = CheckedRequest::Check(Operations(), operation, *request, memory).status();
  EXPECT_THAT(DetailsOf(status).violations, ElementsAre(Pair("client_stamp", "must be a ClientStamp message")));
}

// Renders a request of every operation, and parses the rendered body as if a client had stamped it. The result must be
// the same request.
TEST(ClientStampedRequestTest, AStampHasABoundBesideItsBody) {
  const Operation& operation = OperationOf("StampLogin");
  const auto violations = [&](size_t stamp_bytes) {
    auto request = Stamped(operation, kLogin);
    auto* stamp = request->GetReflection()->MutableMessage(request.get(), operation.request->client_stamp->field);
    v1::ClientStamp large;
    large.set_body(kLogin);
    large.set_web_authn(std::string(stamp_bytes, 'x'));
    EXPECT_TRUE(stamp->ParseFromString(large.SerializeAsString()));
    return CheckAndRender(operation, *request).status();
  };
  EXPECT_THAT(violations(16380), StatusIs(Code::kOk));
  EXPECT_THAT(violations(16384), StatusIs(Code::kInvalidArgument,
                                          HasSubstr("client_stamp must have at most 16384 bytes beside its body")));
}

TEST(ClientStampedRequestTest, ABodyThatTheGatewayRenderedParsesToTheSameRequest) {
  testing::Random random(4);
  for (const Operation& operation : Operations().operations()) {
    if (operation.kind == v1::OPERATION_KIND_DISCOVERY) continue;
    SCOPED_TRACE(operation.full_name);
    for (int round = 0; round < 30; ++round) {
      std::unique_ptr<Message> request = testing::NewRequest(operation);
      testing::FillFully(*request, *operation.request, round);
      // Uses random values instead if they break no rule.
      std::unique_ptr<Message> varied(request->New());
      testing::FillRandomly(*varied, *operation.request, random);
      std::unique_ptr<Message> merged(request->New());
      merged->CopyFrom(*varied);
      if (absl::StatusOr<RenderedRequest> valid = CheckAndRenderUnstamped(operation, *merged); valid.ok()) {
        request->CopyFrom(*varied);
      }
      if (operation.timestamp_ms != nullptr) {
        request->GetReflection()->SetUInt64(request.get(), operation.timestamp_ms->field, 1755500000000 + round);
      }
      auto rendered = CheckAndRenderUnstamped(operation, *request);
      ASSERT_THAT(rendered, StatusIs(Code::kOk));
      const std::string members = rendered->members;
      const std::string body =
          operation.is_submit() ? rendered->SubmitBody(*rendered->timestamp_ms) : rendered->QueryBody();

      std::unique_ptr<Message> stamped = Stamped(operation, body);
      if (operation.general) {
        const FieldDescriptor* path = operation.path_segment->field;
        stamped->GetReflection()->SetString(stamped.get(), path, request->GetReflection()->GetString(*request, path));
      }
      auto again = CheckAndRender(operation, *stamped);
      ASSERT_THAT(again, StatusIs(Code::kOk)) << body;
      EXPECT_EQ(operation.is_submit() ? again->SubmitBody(1) : again->QueryBody(), body);
      EXPECT_EQ(again->path, rendered->path);
      EXPECT_EQ(again->timestamp_ms, rendered->timestamp_ms);
      EXPECT_EQ(again->members, members);
      if (operation.request->json_members == nullptr) {
        EXPECT_EQ(testing::StampedRequestIn(operation, *stamped)->SerializeAsString(), request->SerializeAsString());
      }
    }
  }
}

// Tests of requests that are rejected.

TEST(ClientStampedRequestTest, AFieldThatIsSetBesideTheStampIsRejected) {
  const Operation& operation = OperationOf("StampLogin");
  auto request = Stamped(operation, kLogin);
  request->MergeFrom(*RequestOf(operation, R"pb(timestamp_ms: 0
                                                organization_id: "o"
                                                parameters {}
                                                generate_app_proofs: false
                                                idempotency_key: "k")pb"));
  const absl::Status status = CheckAndRender(operation, *request).status();
  constexpr char kBeside[] = "must not be set together with client_stamp";
  EXPECT_THAT(status, StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(DetailsOf(status).violations,
              ElementsAre(Pair("timestamp_ms", kBeside), Pair("organization_id", kBeside), Pair("parameters", kBeside),
                          Pair("generate_app_proofs", kBeside), Pair("idempotency_key", kBeside)));
}

TEST(ClientStampedRequestTest, AFieldThatTheProtoDoesNotDefineIsRejected) {
  const Operation& operation = OperationOf("StampLogin");
  auto request = Stamped(operation, kLogin);
  Message* stamp = request->GetReflection()->MutableMessage(request.get(), operation.request->client_stamp->field);
  stamp->GetReflection()->MutableUnknownFields(stamp)->AddVarint(5, 1);
  request->GetReflection()->MutableUnknownFields(request.get())->AddVarint(99, 1);
  const absl::Status status = CheckAndRender(operation, *request).status();
  EXPECT_THAT(DetailsOf(status).violations,
              ElementsAre(Pair("", "holds field number 99, which this gateway does not know"),
                          Pair("client_stamp", "holds field number 5, which this gateway does not know")));
}

// Upstream logs in the owner of the key that stamps. If the gateway's key stamped a login, the caller would get the
// permissions of the gateway's key.
TEST(ClientStampedRequestTest, ALoginWithoutAClientStampIsRefused) {
  int operations = 0;
  for (const Operation& operation : Operations().operations()) {
    if (!operation.stamped_by_client) continue;
    ++operations;
    std::unique_ptr<Message> request = testing::NewRequest(operation);
    testing::FillFully(*request, *operation.request, 1);
    ASSERT_THAT(CheckAndRenderUnstamped(operation, *request), StatusIs(Code::kOk));
    const absl::Status status = CheckAndRender(operation, *request).status();
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument)) << operation.full_name;
    EXPECT_THAT(DetailsOf(status).violations,
                ElementsAre(Pair("client_stamp", "is required: upstream acts for the party that stamps this")));
  }
  EXPECT_EQ(operations, 4);
  for (const char* method : {"StampLogin", "CreateReadOnlySession", "CreateReadWriteSession", "RecoverUser"}) {
    EXPECT_TRUE(OperationOf(method).stamped_by_client) << method;
  }
}

TEST(ClientStampedRequestTest, AClientStampWithABodyButNoStampIsRejected) {
  const Operation& operation = OperationOf("StampLogin");
  auto request = Stamped(operation, kLogin);
  Message* stamp = request->GetReflection()->MutableMessage(request.get(), operation.request->client_stamp->field);
  stamp->GetReflection()->ClearOneof(stamp, stamp->GetDescriptor()->FindOneofByName("stamp"));
  const absl::Status status = CheckAndRender(operation, *request).status();
  EXPECT_THAT(DetailsOf(status).violations,
              ElementsAre(Pair("client_stamp", "must hold a stamp: api_key, web_authn or attested")));
}

TEST(ClientStampedRequestTest, AClientStampWithAStampButNoBodyIsRejected) {
  EXPECT_THAT(ViolationsOf("StampLogin", ""),
              ElementsAre(Pair("client_stamp.body", StartsWith("must be the JSON text of an object: "))));
}

TEST(ClientStampedRequestTest, TextThatIsNotStrictJsonIsRefused) {
  for (const std::string& body :
       {std::string("null"), std::string("[]"), std::string("{"), absl::StrCat(kLogin, "{}"), absl::StrCat(kLogin, ","),
        absl::StrCat("\xef\xbb\xbf", kLogin), LoginWith("02ab", "\x01"), LoginWith("02ab", "\xff"),
        LoginWith("\"o\"", "'o'"), LoginWith("\"o\"", "\"o\",\"organizationId\":\"o\""),
        LoginWith("\"02ab\"", "\"02ab\",\"public\\u004bey\":\"02ab\""), LoginWith("\"o\"", "\"o\",\"type\":\"x\""),
        absl::StrCat(std::string(1000, '{'))}) {
    EXPECT_THAT(ViolationsOf("StampLogin", body),
                Contains(Pair("client_stamp.body", StartsWith("must be the JSON text of an object: "))))
        << body;
  }
}

TEST(ClientStampedRequestTest, ABodyOfAnotherOperationIsRefused) {
  constexpr char kType[] = "must have the type ACTIVITY_TYPE_STAMP_LOGIN";
  for (const char* type : {"\"ACTIVITY_TYPE_OAUTH\"", "\"ACTIVITY_TYPE_STAMP_LOGIN_V2\"",
                           "\"activity_type_stamp_login\"", "\"\"", "null", "1", "[\"ACTIVITY_TYPE_STAMP_LOGIN\"]",
                           // Upstream would accept this escaped spelling of the type, but no client writes it.
                           "\"\\u0041CTIVITY_TYPE_STAMP_LOGIN\""}) {
    EXPECT_THAT(ViolationsOf("StampLogin", LoginWith("\"ACTIVITY_TYPE_STAMP_LOGIN\"", type)),
                Contains(Pair("client_stamp.body", kType)))
        << type;
  }
  EXPECT_THAT(ViolationsOf("StampLogin", LoginWith("\"type\":\"ACTIVITY_TYPE_STAMP_LOGIN\",", "")),
              ElementsAre(Pair("client_stamp.body", kType)));
  // The gateway rejects a query whose stamped body is that of a submit. The stamp does not cover the path, so the
  // stamped body would be valid for the submit too.
  EXPECT_THAT(ViolationsOf("GetPolicy", R"({"type":"ACTIVITY_TYPE_OAUTH","timestampMs":"1","organizationId":"o",)"
                                        R"("policyId":"p","parameters":{}})"),
              ElementsAre(Pair("client_stamp.body", absl::StrCat(kHold, "/type")),
                          Pair("client_stamp.body", absl::StrCat(kHold, "/timestampMs")),
                          Pair("client_stamp.body", absl::StrCat(kHold, "/parameters"))));
}

TEST(ClientStampedRequestTest, TheTimestampOfASubmitMustBeDecimalDigits) {
  EXPECT_THAT(ViolationsOf("StampLogin", LoginWith("\"timestampMs\":\"1755500000000\",", "")),
              ElementsAre(Pair("client_stamp.body", "must have a timestampMs")));
  EXPECT_THAT(ViolationsOf("StampLogin", LoginWith("\"1755500000000\"", "null")),
              ElementsAre(Pair("client_stamp.body", "must have a timestampMs")));
  for (const char* time : {"1755500000000", "\"01755500000000\"", "\"1755500000000.0\"", "\"-1\"", "\"\"", "\"soon\"",
                           "\"18446744073709551616\"", "\" 1755500000000\"", "1.7555e12", "{}", "true"}) {
    EXPECT_THAT(ViolationsOf("StampLogin", LoginWith("\"1755500000000\"", time)),
                Contains(Pair("client_stamp.body", absl::StrCat(kHold, "/timestampMs"))))
        << time;
  }
}

TEST(ClientStampedRequestTest, ABodyWithAnIdempotencyKeyIsRefused) {
  const Operation& operation = OperationOf("DeleteSubOrganization");
  auto request = Stamped(operation, R"({"type":"ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION","timestampMs":"5",)"
                                    R"("organizationId":"o","parameters":{},"idempotencyKey":"k"})");
  const absl::Status status = CheckAndRender(operation, *request).status();
  EXPECT_THAT(
      DetailsOf(status).violations,
      ElementsAre(Pair("client_stamp.body",
                       "must not have a value that the request's fields cannot hold exactly: /idempotencyKey")));
}

TEST(ClientStampedRequestTest, AValueThatNoFieldCanHoldExactlyIsRejectedAtEveryDepth) {
  struct Row {
    const char* method;
    const char* parameters;
    const char* pointer;
  };
  for (const Row& row : {
           Row{"CreatePolicies", R"({"policies":[],"more":1})", "/parameters/more"},
           Row{"CreatePolicies", R"({"policies":[{"policyName":"n","effect":"EFFECT_ALLOW","notes":"","a/b":null}]})",
               "/parameters/policies/0/a~1b"},
           Row{"CreatePolicies", R"({"policies":[{"policy_name":"n","effect":"EFFECT_ALLOW","notes":""}]})",
               "/parameters/policies/0/policy_name"},
           Row{"CreatePolicies", R"({"policies":[{"policyName":"n","effect":"EFFECT_BOTH","notes":""}]})",
               "/parameters/policies/0/effect"},
           Row{"CreatePolicies", R"({"policies":[{"policyName":"n","effect":1,"notes":""}]})",
               "/parameters/policies/0/effect"},
           Row{"CreatePolicies", R"({"policies":[null]})", "/parameters/policies/0"},
           Row{"CreatePolicies", R"({"policies":{}})", "/parameters/policies"},
           Row{"CreatePolicies", R"("text")", "/parameters"},
           Row{"CreatePolicies", R"({"policies":[{"policyName":"\ud800","effect":"EFFECT_ALLOW","notes":""}]})",
               "/parameters/policies/0/policyName"},
           Row{"VerifyOtp", R"({"otpId":"i","encryptedOtpBundle":"b","expirationSeconds":900})",
               "/parameters/expirationSeconds"},
           Row{"VerifyOtp", R"({"otpId":"i","encryptedOtpBundle":"b","expirationSeconds":"0900"})",
               "/parameters/expirationSeconds"},
           Row{"UpdateMfaPolicy", R"({"userId":"u","mfaPolicyId":"m","order":1.0})", "/parameters/order"},
           Row{"UpdateMfaPolicy", R"({"userId":"u","mfaPolicyId":"m","order":"1"})", "/parameters/order"},
           Row{"Oauth", R"({"oidcToken":"t","targetPublicKey":"k","invalidateExisting":"true"})",
               "/parameters/invalidateExisting"},
           // In "parameters", generateAppProofs is accepted only as a boolean or null, and never deeper in the body.
           Row{"Oauth", R"({"oidcToken":"t","targetPublicKey":"k","generateAppProofs":"false"})",
               "/parameters/generateAppProofs"},
           Row{"Oauth", R"({"oidcToken":"t","targetPublicKey":"k","generateAppProofs":{}})",
               "/parameters/generateAppProofs"},
           Row{"CreatePolicies",
               R"({"policies":[{"policyName":"n","effect":"EFFECT_ALLOW","notes":"","generateAppProofs":true}]})",
               "/parameters/policies/0/generateAppProofs"},
           // A JSON Pointer cannot contain this member name, so the violation names the object that has the member.
           Row{"Oauth", R"({"oidcToken":"t","targetPublicKey":"k","\ud800":1})", "/parameters"},
       }) {
    const Operation& operation = OperationOf(row.method);
    const std::string body =
        absl::StrCat(R"({"type":")", operation.activity_type,
                     R"(","timestampMs":"1","organizationId":"o","parameters":)", row.parameters, "}");
    EXPECT_THAT(ViolationsOf(row.method, body), Contains(Pair("client_stamp.body", absl::StrCat(kHold, row.pointer))))
        << body;
  }
  for (const char* member :
       {"clientStamp", "client_stamp", "organization_id", "OrganizationId", "organizationID", ""}) {
    EXPECT_THAT(ViolationsOf("StampLogin", LoginWith("\"o\"", absl::StrCat("\"o\",\"", member, "\":\"o\""))),
                ElementsAre(Pair("client_stamp.body", absl::StrCat(kHold, "/", member))));
  }
}

// Upstream's client libraries write generateAppProofs inside "parameters", either in addition to the member beside
// "parameters" or instead of that member.
TEST(ClientStampedRequestTest, TheParametersMayContainGenerateAppProofs) {
  for (const Operation& operation : Operations().operations()) {
    if (!operation.is_submit() || operation.general) continue;
    SCOPED_TRACE(operation.full_name);
    std::unique_ptr<Message> plain = testing::NewRequest(operation);
    testing::FillFully(*plain, *operation.request, 1);
    const std::string body = CheckAndRenderUnstamped(operation, *plain)->SubmitBody(1);
    for (const char* flag : {"true", "false", "null"}) {
      const std::string stamped_body = absl::StrReplaceAll(
          body, {{"\"parameters\":{}", absl::StrCat("\"parameters\":{\"generateAppProofs\":", flag, "}")},
                 {"\"parameters\":{\"", absl::StrCat("\"parameters\":{\"generateAppProofs\":", flag, ",\"")}});
      ASSERT_NE(stamped_body, body);
      std::unique_ptr<Message> request = Stamped(operation, stamped_body);
      auto rendered = CheckAndRender(operation, *request);
      ASSERT_THAT(rendered, StatusIs(Code::kOk));
      EXPECT_EQ(rendered->SubmitBody(7), stamped_body);
      plain->GetReflection()->SetUInt64(plain.get(), operation.timestamp_ms->field, 1);
      EXPECT_TRUE(MessageDifferencer::Equals(*testing::StampedRequestIn(operation, *request), *plain))
          << request->DebugString();
    }
  }
  EXPECT_THAT(ViolationsOf("GetPolicy", R"({"organizationId":"o","policyId":"p","generateAppProofs":true})"),
              ElementsAre(Pair("client_stamp.body", absl::StrCat(kHold, "/generateAppProofs"))));
}

TEST(ClientStampedRequestTest, ARequiredListMustBeInTheBodyAndMayBeEmpty) {
  constexpr char kList[] = "must have the list, map or text, which may be empty: ";
  struct Row {
    const char* method;
    const char* parameters;  // the test replaces % by the JSON of the list
    const char* pointer;
  };
  for (const Row& row :
       {Row{"CreatePolicies", R"({%})", "/parameters/policies"},
        Row{"CreateOauthProviders", R"({"userId":"u"%})", "/parameters/oauthProviders"},
        Row{"DeleteOauthProviders", R"({"userId":"u"%})", "/parameters/providerIds"},
        Row{"UpdateMfaPolicy", R"({"userId":"u","mfaPolicyId":"m","requiredAuthenticationMethods":[{"any":[]},{%}]})",
            "/parameters/requiredAuthenticationMethods/1/any"}}) {
    SCOPED_TRACE(row.pointer);
    const std::string pointer = row.pointer;
    const std::string name = pointer.substr(pointer.rfind('/') + 1);
    const auto body = [&](const char* value) {
      std::string list = value == nullptr ? "" : absl::StrCat("\"", name, "\":", value);
      const std::string parameters = row.parameters;
      if (value != nullptr && parameters[parameters.find('%') - 1] != '{') list = "," + list;
      return absl::StrCat(R"({"type":")", OperationOf(row.method).activity_type,
                          R"(","timestampMs":"1","organizationId":"o","parameters":)",
                          absl::StrReplaceAll(parameters, {{"%", list}}), "}");
    };
    for (const char* value : {static_cast<const char*>(nullptr), "null"}) {
      EXPECT_THAT(ViolationsOf(row.method, body(value)),
                  ElementsAre(Pair("client_stamp.body", absl::StrCat(kList, row.pointer))));
    }
    EXPECT_THAT(ViolationsOf(row.method, body("{}")),
                ElementsAre(Pair("client_stamp.body", absl::StrCat(kHold, row.pointer))));
    EXPECT_THAT(Translate(row.method, body("[]")), StatusIs(Code::kOk));
  }
  // A list that needs elements is a violation of its field.
  EXPECT_THAT(ViolationsOf("DeleteSecrets", R"({"type":"ACTIVITY_TYPE_DELETE_SECRETS","timestampMs":"1",)"
                                            R"("organizationId":"o","parameters":{}})"),
              ElementsAre(Pair("parameters.secret_ids", "must have at least 1 element, not 0")));
  // If an object is absent, the violation names the object and not the required lists inside it.
  EXPECT_THAT(ViolationsOf("CreatePolicies", R"({"type":"ACTIVITY_TYPE_CREATE_POLICIES","timestampMs":"1",)"
                                             R"("organizationId":"o"})"),
              ElementsAre(Pair("parameters", "is required")));
}

// Tests of bytes and maps. No typed operation has fields of these forms, so a query with a message of the tests has
// them.

class LabeledRequest {
 public:
  explicit LabeledRequest(std::string body) {
    testing::Labeled request;
    const MessagePlan& plan = testing::PlanOf(request);
    operation_.kind = v1::OPERATION_KIND_QUERY;
    operation_.request = &plan;
    *request.mutable_client_stamp() = StampOver(std::move(body));
    parsed_ = std::make_unique<testing::Parsed>(request, plan);
    read_ = ReadClientStampedRequest(operation_, **parsed_, parsed_->memory(), violations_);
  }

  testing::Labeled Message() const {
    testing::Labeled message;
    EXPECT_TRUE(message.ParseFromString(SerializeDeterministically(read_->request)));
    return message;
  }

  std::vector<std::string> Violated() const {
    std::vector<std::string> descriptions;
    for (const Violation& violation : violations_.kept()) descriptions.push_back(violation.description);
    return descriptions;
  }

 private:
  Operation operation_;
  Violations violations_;
  std::unique_ptr<testing::Parsed> parsed_;
  std::optional<ClientStampedRequest> read_;
};

TEST(ClientStampedRequestTest, BytesAndMapsInTheBodyFillTheRequest) {
  const LabeledRequest request(R"({"datas":["","Zg=="],"data":"+/8=","labels":{"b":"1","a":""}})");
  EXPECT_THAT(request.Violated(), ElementsAre());
  EXPECT_TRUE(
      MessageDifferencer::Equals(request.Message(), testing::Proto<testing::Labeled>(R"pb(labels { key: "a" value: "" }
                                                                                          labels { key: "b" value: "1" }
                                                                                          data: "\373\377"
                                                                                          datas: [ "", "f" ])pb")));
}

TEST(ClientStampedRequestTest, BytesInAnotherSpellingAndMembersThatAreNotStringsAreRejected) {
  for (const char* data : {"-_8=", "+/8", "Z", "Zh==", "Zg\\n=="}) {
    EXPECT_THAT(LabeledRequest(absl::StrCat(R"({"labels":{},"data":")", data, "\"}")).Violated(),
                ElementsAre(absl::StrCat(kHold, "/data")));
  }
  for (const char* value : {"1", "null", "{}", "\"\\ud800\""}) {
    EXPECT_THAT(LabeledRequest(absl::StrCat(R"({"labels":{"a/b":)", value, "}}")).Violated(),
                ElementsAre(absl::StrCat(kHold, "/labels/a~1b")));
  }
  EXPECT_THAT(LabeledRequest(R"({"labels":[]})").Violated(), ElementsAre(absl::StrCat(kHold, "/labels")));
}

TEST(ClientStampedRequestTest, ARequiredMapMustBeInTheBodyAndMayBeEmpty) {
  for (const char* body : {"{}", R"({"labels":null})"}) {
    EXPECT_THAT(LabeledRequest(body).Violated(),
                ElementsAre("must have the list, map or text, which may be empty: /labels"));
  }
  EXPECT_THAT(LabeledRequest(R"({"labels":{}})").Violated(), ElementsAre());
}

TEST(ClientStampedRequestTest, TheBodyMustFollowTheRulesOfTheMessage) {
  EXPECT_THAT(
      ViolationsOf("CreatePolicies", R"({"type":"ACTIVITY_TYPE_CREATE_POLICIES","timestampMs":"1",)"
                                     R"("parameters":{"policies":[{"effect":"EFFECT_DENY","notes":null}]}})"),
      ElementsAre(Pair("organization_id", "is required"), Pair("parameters.policies[0].policy_name", "is required"),
                  Pair("parameters.policies[0].notes", "is required (it may be empty, but must be set)")));
  EXPECT_THAT(ViolationsOf("StampLogin", LoginWith("\"o\"", "\"\"")),
              ElementsAre(Pair("organization_id", "is required")));
  EXPECT_THAT(ViolationsOf("ListWalletAccounts", R"({"organizationId":"o","paginationOptions":{"limit":"101"}})"),
              ElementsAre(Pair("pagination_options.limit", "must be at most 100")));
}

TEST(ClientStampedRequestTest, TheValidatorRejectsAMessageThatStillContainsAStamp) {
  const Operation& operation = OperationOf("GetWalletAccount");
  Violations violations;
  Validate(*testing::Parsed(*Stamped(operation, R"({"organizationId":"o","walletId":"w"})"), *operation.request),
           violations);
  ASSERT_FALSE(violations.empty());
  EXPECT_EQ(violations.kept().front().description, "must not hold client_stamp here");
}

TEST(ClientStampedRequestTest, ErrorsAreSmallAndQuoteNoValue) {
  const std::string secret = "hush-hush-hush";
  std::string parameters;
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&parameters, i > 0 ? "," : "", "\"", std::string(200, 'n'), i, "\":\"", secret, "\"");
  }
  const std::string body = LoginWith("\"publicKey\":\"02ab\"", parameters);
  const absl::Status status = Translate("StampLogin", body).status();
  EXPECT_THAT(status, StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(status.ToString(), Not(HasSubstr(secret)));
  EXPECT_LE(DetailsOf(status).violations.size(), Violations::kKept);
  EXPECT_THAT(DetailsOf(status).violations, Not(SizeIs(0)));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("a-stamp")));
}

// Tests of general operations.

TEST(ClientStampedRequestTest, ThePathOfAGeneralSubmitIsSetBesideTheStamp) {
  const Operation& operation = OperationOf("SubmitOperation");
  const std::string body = R"({"type":"ACTIVITY_TYPE_BREW_TEA_V3","timestampMs":"5","organizationId":"o",)"
                           R"("parameters":{"cups": 6.0},"generateAppProofs":true})";
  auto request = Stamped(operation, body);
  request->MergeFrom(*RequestOf(operation, R"pb(path: "brew_tea")pb"));
  auto rendered = CheckAndRender(operation, *request);
  ASSERT_THAT(rendered, StatusIs(Code::kOk));
  EXPECT_EQ(rendered->path, "/public/v1/submit/brew_tea");
  EXPECT_EQ(rendered->SubmitBody(6), body);
  EXPECT_EQ(rendered->timestamp_ms, 5u);
  EXPECT_TRUE(MessageDifferencer::Equals(*testing::StampedRequestIn(operation, *request), *RequestOf(operation, R"pb(
    timestamp_ms: 5
    organization_id: "o"
    parameters: "{\"cups\": 6.0}"
    generate_app_proofs: true
    path: "brew_tea"
    activity_type: "ACTIVITY_TYPE_BREW_TEA_V3"
  )pb")))
      << request->DebugString();
}

TEST(ClientStampedRequestTest, MembersWithoutAFieldAreTheParametersOfAGeneralQuery) {
  const Operation& operation = OperationOf("QueryOperation");
  const std::string body = R"( {"filter" : [1e2,{"a": "\u0041"}] ,"organizationId":"o","a\"b":null} )";
  auto request = Stamped(operation, body);
  request->MergeFrom(*RequestOf(operation, R"pb(path: "list_teapots")pb"));
  auto rendered = CheckAndRender(operation, *request);
  ASSERT_THAT(rendered, StatusIs(Code::kOk));
  EXPECT_EQ(rendered->path, "/public/v1/query/list_teapots");
  EXPECT_EQ(rendered->QueryBody(), body);
  EXPECT_EQ(rendered->members, R"("organizationId":"o","filter":[1e2,{"a": "\u0041"}],"a\"b":null)");
  // If the request message has a field for each member of the body, the field `parameters` stays unset.
  request = Stamped(operation, R"({"organizationId":"o"})");
  request->MergeFrom(*RequestOf(operation, R"pb(path: "find_teapot")pb"));
  ASSERT_THAT(CheckAndRender(operation, *request), StatusIs(Code::kOk));
  EXPECT_TRUE(MessageDifferencer::Equals(*testing::StampedRequestIn(operation, *request),
                                         *RequestOf(operation, R"pb(organization_id: "o" path: "find_teapot")pb")));
}

TEST(ClientStampedRequestTest, AGeneralOperationCannotReplaceATypedOne) {
  struct Row {
    const char* method;
    const char* path;
    const char* body;
    const char* field;
  };
  for (const Row& row : {
           Row{"SubmitOperation", "init_otp",
               R"({"type":"ACTIVITY_TYPE_OAUTH","timestampMs":"5","organizationId":"o","parameters":{}})",
               "activity_type"},
           Row{"SubmitOperation", "oauth",
               R"({"type":"ACTIVITY_TYPE_X","timestampMs":"5","organizationId":"o","parameters":{}})", "path"},
           Row{"SubmitOperation", "",
               R"({"type":"ACTIVITY_TYPE_X","timestampMs":"5","organizationId":"o","parameters":{}})", "path"},
           Row{"SubmitOperation", "init_otp", R"({"timestampMs":"5","organizationId":"o","parameters":{}})",
               "activity_type"},
           Row{"SubmitOperation", "init_otp",
               R"({"type":"ACTIVITY_TYPE_X","timestampMs":"5","organizationId":"o","parameters":null})", "parameters"},
           Row{"SubmitOperation", "init_otp",
               R"({"type":"ACTIVITY_TYPE_X","timestampMs":"5","organizationId":"o","parameters":{},"path":"p"})",
               "client_stamp.body"},
           // A body that is stamped for a submit must not be accepted as a query.
           Row{"QueryOperation", "whoami", R"({"organizationId":"o","type":"ACTIVITY_TYPE_OAUTH"})", "parameters"},
           Row{"QueryOperation", "whoami", R"({"organizationId":"o","timestampMs":"1"})", "parameters"},
           Row{"QueryOperation", "whoami", R"({"organizationId":"o","parameters":{}})", "parameters"},
           Row{"QueryOperation", "whoami", R"({"organizationId":"o","organization_id":"p"})", "parameters"},
           Row{"QueryOperation", "whoami", R"({"organizationId":"o","ORGANIZATIONID":"p"})", "parameters"},
           Row{"QueryOperation", "whoami", R"({"organizationId":null,"a":1})", "organization_id"},
           Row{"QueryOperation", "get_policy", R"({"organizationId":"o"})", "path"},
       }) {
    const Operation& operation = OperationOf(row.method);
    auto request = Stamped(operation, row.body);
    request->GetReflection()->SetString(request.get(), operation.path_segment->field, row.path);
    const absl::Status status = CheckAndRender(operation, *request).status();
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument)) << row.body;
    EXPECT_THAT(DetailsOf(status).violations, Contains(Pair(row.field, ::testing::_))) << row.body;
  }
}

// A test of bodies that are changed at random.

// Changes a body at random. The gateway must either reject the changed body, or send it unchanged and fill the message
// with exactly its values.
TEST(ClientStampedRequestTest, AChangedBodyIsRejectedOrMatchesTheMessage) {
  testing::Random random(5);
  const Operation& operation = OperationOf("CreatePolicies");
  const std::string sound =
      R"({"type":"ACTIVITY_TYPE_CREATE_POLICIES","timestampMs":"17","organizationId":"o","parameters":{"policies":)"
      R"([{"policyName":"a","effect":"EFFECT_ALLOW","condition":"x","notes":""},{"policyName":"b","effect":)"
      R"("EFFECT_DENY","notes":"n"}]},"generateAppProofs":true})";
  const std::string pieces[] = {"null", "\"\"", "{}", "[]",       ",",        ":", "\"",
                                "\\",   " ",    "0",  "\"a\":1,", "\xc3\xa9", "}"};
  int taken = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string body = sound;
    for (size_t n = 1 + testing::Below(random, 2); n > 0; --n) {
      const size_t at = testing::Below(random, body.size());
      switch (testing::Below(random, 3)) {
        case 0:
          body[at] = static_cast<char>(testing::Below(random, 256));
          break;
        case 1:
          body.erase(at, 1 + testing::Below(random, 12));
          break;
        default:
          body.insert(at, pieces[testing::Below(random, std::size(pieces))]);
      }
    }
    std::unique_ptr<Message> request = Stamped(operation, body);
    auto rendered = CheckAndRender(operation, *request);
    if (!rendered.ok()) {
      EXPECT_THAT(rendered, StatusIs(Code::kInvalidArgument));
      continue;
    }
    ++taken;
    RenderedRequest own = *rendered;
    EXPECT_EQ(rendered->SubmitBody(1), body);
    // The sent body must equal the JSON that the gateway would render for the message, except for members that are
    // null.
    testing::Json sent = testing::JsonOf(body);
    own.client_stamp.reset();
    testing::Json checked = testing::JsonOf(own.SubmitBody(*rendered->timestamp_ms));
    DropNulls(sent);
    EXPECT_EQ(sent, checked) << body;
  }
  EXPECT_GT(taken, 100);
}

}  // namespace
}  // namespace stampgate
