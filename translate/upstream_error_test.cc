#include "translate/upstream_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "translate/error.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::google::protobuf::Message;
using ::stampgate::testing::Details;
using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::Parsed;
using ::stampgate::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;
using Cause = TransportFailure::Cause;
using Code = absl::StatusCode;

enum class Kind { kSubmit, kQuery };
constexpr Kind kSubmit = Kind::kSubmit;
constexpr Kind kQuery = Kind::kQuery;

// Returns a submit (a login, whose token is secret) or a query (for a policy).
SentCall Call(Kind kind) {
  static const auto& login = *new Parsed(OperationOf("Oauth"), R"pb(
    organization_id: "org"
    parameters { oidc_token: "hush-hush-hush" target_public_key: "04ab" }
  )pb");
  static const auto& read = *new Parsed(OperationOf("GetPolicy"), R"pb(organization_id: "org" policy_id: "p")pb");
  if (kind == kSubmit) return {OperationOf("Oauth"), *login, 1755500000000, "sha256:0123"};
  return {OperationOf("GetPolicy"), *read, 0, ""};
}

absl::Status OfAnswer(Kind kind, int status, std::string body, std::optional<absl::Duration> retry_after = {}) {
  HttpAnswer answer{status, std::move(body), retry_after};
  return ErrorFromAnswer(answer, Call(kind));
}

void ExpectOutcomeUnknown(const absl::Status& status) {
  const Details details = DetailsOf(status);
  EXPECT_EQ(details.domain, "stampgate");
  EXPECT_EQ(details.reason, "OUTCOME_UNKNOWN");
  EXPECT_EQ(details.metadata.at("timestamp_ms"), "1755500000000");
  EXPECT_EQ(details.metadata.at("fingerprint"), "sha256:0123");
  EXPECT_EQ(details.retry_delay, std::nullopt);
  EXPECT_THAT(std::string(status.message()), HasSubstr("repeat it with timestamp_ms 1755500000000"));
}

TEST(OutcomeUnknownTest, TheMessageNamesTheIdempotencyKeyIfTheSubmitHasOne) {
  const Parsed keyed(OperationOf("CreatePolicies"),
                     R"pb(organization_id: "org" idempotency_key: "a-key-of-the-caller")pb");
  const absl::Status status = ErrorFromFailure({Cause::kTimeout, true, "", false},
                                               {OperationOf("CreatePolicies"), *keyed, 1755500000000, "sha256:0123"});
  EXPECT_EQ(DetailsOf(status).reason, "OUTCOME_UNKNOWN");
  EXPECT_THAT(std::string(status.message()), HasSubstr("repeat it with its idempotency_key to learn"));
}

// Tests of exchanges without a response.

struct FailureCase {
  Kind kind;
  Cause cause;
  bool body_sent;
  Code code;
  const char* reason;
  bool retry = false;
};

class TransportFailureTest : public ::testing::TestWithParam<FailureCase> {};

TEST_P(TransportFailureTest, GivesTheExpectedCodeAndReason) {
  const FailureCase& row = GetParam();
  const absl::Status status = ErrorFromFailure({row.cause, row.body_sent, "detail"}, Call(row.kind));
  EXPECT_THAT(status, StatusIs(row.code));
  const Details details = DetailsOf(status);
  EXPECT_EQ(details.domain, "stampgate");
  EXPECT_EQ(details.reason, row.reason);
  EXPECT_EQ(details.retry_delay, row.retry ? std::optional(absl::Seconds(1)) : std::nullopt);
  if (details.reason == "OUTCOME_UNKNOWN") ExpectOutcomeUnknown(status);
}

INSTANTIATE_TEST_SUITE_P(
    NoByteWasSent, TransportFailureTest,
    ::testing::Values(FailureCase{kSubmit, Cause::kNoSlot, false, Code::kResourceExhausted, "UPSTREAM_BUSY", true},
                      FailureCase{kSubmit, Cause::kUnreachable, false, Code::kUnavailable, "UPSTREAM_UNREACHABLE",
                                  true},
                      FailureCase{kSubmit, Cause::kTls, false, Code::kUnavailable, "UPSTREAM_UNREACHABLE", true},
                      FailureCase{kSubmit, Cause::kTimeout, false, Code::kDeadlineExceeded, "UPSTREAM_TIMEOUT"},
                      FailureCase{kSubmit, Cause::kCancelled, false, Code::kCancelled, "CANCELLED"},
                      FailureCase{kSubmit, Cause::kBroken, false, Code::kUnavailable, "UPSTREAM_UNREACHABLE", true},
                      FailureCase{kSubmit, Cause::kTooLarge, false, Code::kInternal, "UPSTREAM_ANSWER_UNREADABLE"},
                      FailureCase{kSubmit, Cause::kShutdown, false, Code::kUnavailable, "SHUTTING_DOWN"},
                      FailureCase{kQuery, Cause::kNoSlot, false, Code::kResourceExhausted, "UPSTREAM_BUSY", true},
                      FailureCase{kQuery, Cause::kUnreachable, false, Code::kUnavailable, "UPSTREAM_UNREACHABLE", true},
                      FailureCase{kQuery, Cause::kTls, false, Code::kUnavailable, "UPSTREAM_UNREACHABLE", true},
                      FailureCase{kQuery, Cause::kTimeout, false, Code::kDeadlineExceeded, "UPSTREAM_TIMEOUT"},
                      FailureCase{kQuery, Cause::kCancelled, false, Code::kCancelled, "CANCELLED"},
                      FailureCase{kQuery, Cause::kBroken, false, Code::kUnavailable, "UPSTREAM_UNREACHABLE", true},
                      FailureCase{kQuery, Cause::kTooLarge, false, Code::kInternal, "UPSTREAM_ANSWER_UNREADABLE"},
                      FailureCase{kQuery, Cause::kShutdown, false, Code::kUnavailable, "SHUTTING_DOWN"}));

INSTANTIATE_TEST_SUITE_P(
    ASubmitThatMayHaveBeenSent, TransportFailureTest,
    ::testing::Values(FailureCase{kSubmit, Cause::kUnreachable, true, Code::kUnknown, "OUTCOME_UNKNOWN"},
                      FailureCase{kSubmit, Cause::kTls, true, Code::kUnknown, "OUTCOME_UNKNOWN"},
                      FailureCase{kSubmit, Cause::kTimeout, true, Code::kDeadlineExceeded, "OUTCOME_UNKNOWN"},
                      FailureCase{kSubmit, Cause::kCancelled, true, Code::kCancelled, "OUTCOME_UNKNOWN"},
                      FailureCase{kSubmit, Cause::kBroken, true, Code::kUnknown, "OUTCOME_UNKNOWN"},
                      FailureCase{kSubmit, Cause::kTooLarge, true, Code::kUnknown, "OUTCOME_UNKNOWN"},
                      FailureCase{kSubmit, Cause::kShutdown, true, Code::kUnknown, "OUTCOME_UNKNOWN"}));

INSTANTIATE_TEST_SUITE_P(
    AQueryThatMayHaveBeenSent, TransportFailureTest,
    ::testing::Values(FailureCase{kQuery, Cause::kUnreachable, true, Code::kUnavailable, "UPSTREAM_UNAVAILABLE", true},
                      FailureCase{kQuery, Cause::kTls, true, Code::kUnavailable, "UPSTREAM_UNAVAILABLE", true},
                      FailureCase{kQuery, Cause::kTimeout, true, Code::kDeadlineExceeded, "UPSTREAM_TIMEOUT"},
                      FailureCase{kQuery, Cause::kCancelled, true, Code::kCancelled, "CANCELLED"},
                      FailureCase{kQuery, Cause::kBroken, true, Code::kUnavailable, "UPSTREAM_UNAVAILABLE", true},
                      FailureCase{kQuery, Cause::kTooLarge, true, Code::kInternal, "UPSTREAM_ANSWER_UNREADABLE"},
                      FailureCase{kQuery, Cause::kShutdown, true, Code::kUnavailable, "SHUTTING_DOWN"}));

TEST(UpstreamErrorTest, TheMessageContainsTheHttpLibrarysDescription) {
  EXPECT_THAT(ErrorFromFailure({Cause::kTls, false, "certificate has expired"}, Call(kQuery)),
              StatusIs(Code::kUnavailable, Eq("upstream: certificate has expired")));
  EXPECT_THAT(ErrorFromFailure({Cause::kBroken, true, "connection reset"}, Call(kSubmit)),
              StatusIs(Code::kUnknown, StartsWith("upstream: connection reset; the submit may have been carried out")));
}

// Tests of HTTP statuses.

constexpr char kBody[] = R"({"code":0,"message":"their words","details":[]})";

struct StatusCase {
  Kind kind;
  int http;
  Code code;
  const char* domain;
  const char* reason;
  bool retry = false;
};

class HttpStatusTest : public ::testing::TestWithParam<StatusCase> {};

TEST_P(HttpStatusTest, GivesTheExpectedCodeAndReason) {
  const StatusCase& row = GetParam();
  const absl::Status status = OfAnswer(row.kind, row.http, kBody);
  EXPECT_THAT(status, StatusIs(row.code));
  const Details details = DetailsOf(status);
  EXPECT_EQ(details.domain, row.domain);
  EXPECT_EQ(details.reason, row.reason);
  EXPECT_EQ(details.retry_delay, row.retry ? std::optional(absl::Seconds(1)) : std::nullopt);
  if (details.reason == "OUTCOME_UNKNOWN") ExpectOutcomeUnknown(status);
  if (details.domain == "upstream") {
    EXPECT_EQ(status.message(), "their words");
  }
  EXPECT_EQ(details.metadata.at("http_status"), absl::StrCat(row.http));
}

// Returns the errors for refusals. They are the same for a query and for a submit, because a refused submit was not
// carried out.
std::vector<StatusCase> Refusals() {
  std::vector<StatusCase> rows;
  for (Kind kind : {kSubmit, kQuery}) {
    for (const StatusCase& row : {
             StatusCase{kind, 400, Code::kInvalidArgument, "upstream", "HTTP_400"},
             StatusCase{kind, 401, Code::kInternal, "stampgate", "GATEWAY_CREDENTIAL_REJECTED"},
             StatusCase{kind, 402, Code::kFailedPrecondition, "upstream", "HTTP_402"},
             StatusCase{kind, 403, Code::kPermissionDenied, "upstream", "HTTP_403"},
             StatusCase{kind, 404, Code::kNotFound, "upstream", "HTTP_404"},
             StatusCase{kind, 405, Code::kInternal, "upstream", "HTTP_405"},
             StatusCase{kind, 406, Code::kInternal, "upstream", "HTTP_406"},
             StatusCase{kind, 409, Code::kAlreadyExists, "upstream", "HTTP_409"},
             StatusCase{kind, 410, Code::kFailedPrecondition, "upstream", "HTTP_410"},
             StatusCase{kind, 412, Code::kFailedPrecondition, "upstream", "HTTP_412"},
             StatusCase{kind, 413, Code::kInvalidArgument, "upstream", "HTTP_413"},
             StatusCase{kind, 415, Code::kInternal, "upstream", "HTTP_415"},
             StatusCase{kind, 418, Code::kFailedPrecondition, "upstream", "HTTP_418"},
             StatusCase{kind, 422, Code::kInvalidArgument, "upstream", "HTTP_422"},
             StatusCase{kind, 429, Code::kResourceExhausted, "upstream", "HTTP_429"},
             StatusCase{kind, 451, Code::kFailedPrecondition, "upstream", "HTTP_451"},
             StatusCase{kind, 501, Code::kUnimplemented, "upstream", "HTTP_501"},
         }) {
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<StatusCase> UnknownOutcomes() {
  std::vector<StatusCase> rows;
  for (int http : {100, 101, 301, 302, 303, 304, 307, 308, 408, 499, 500, 502, 503, 504, 505,
                   507, 509, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530, 540, 598, 599}) {
    rows.push_back({kSubmit, http, Code::kUnknown, "stampgate", "OUTCOME_UNKNOWN"});
  }
  return rows;
}

std::string NameOf(const ::testing::TestParamInfo<StatusCase>& info) {
  return absl::StrCat(info.param.kind == kSubmit ? "Submit" : "Query", info.param.http);
}

INSTANTIATE_TEST_SUITE_P(Refused, HttpStatusTest, ::testing::ValuesIn(Refusals()), NameOf);
INSTANTIATE_TEST_SUITE_P(Submit, HttpStatusTest, ::testing::ValuesIn(UnknownOutcomes()), NameOf);
INSTANTIATE_TEST_SUITE_P(
    Query, HttpStatusTest,
    ::testing::Values(StatusCase{kQuery, 100, Code::kInternal, "stampgate", "UPSTREAM_ANSWER_UNREADABLE"},
                      StatusCase{kQuery, 101, Code::kInternal, "stampgate", "UPSTREAM_ANSWER_UNREADABLE"},
                      StatusCase{kQuery, 301, Code::kInternal, "stampgate", "UPSTREAM_ANSWER_UNREADABLE"},
                      StatusCase{kQuery, 302, Code::kInternal, "stampgate", "UPSTREAM_ANSWER_UNREADABLE"},
                      StatusCase{kQuery, 307, Code::kInternal, "stampgate", "UPSTREAM_ANSWER_UNREADABLE"},
                      StatusCase{kQuery, 408, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 499, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 500, Code::kInternal, "upstream", "HTTP_500"},
                      StatusCase{kQuery, 502, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 503, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 504, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 509, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 520, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 521, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 522, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 523, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 524, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 525, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 526, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 527, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 529, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 530, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 540, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 598, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 599, Code::kUnavailable, "stampgate", "UPSTREAM_UNAVAILABLE", true},
                      StatusCase{kQuery, 505, Code::kInternal, "upstream", "HTTP_505"},
                      StatusCase{kQuery, 507, Code::kInternal, "upstream", "HTTP_507"},
                      StatusCase{kQuery, 511, Code::kInternal, "upstream", "HTTP_511"},
                      StatusCase{kQuery, 528, Code::kInternal, "upstream", "HTTP_528"}),
    NameOf);

TEST(UpstreamErrorTest, NoHttpStatusOrBodyGivesAMisleadingError) {
  const std::string bodies[] = {
      "",
      kBody,
      "<html>502</html>",
      "[]",
      R"({"code":14,"message":"try again","details":[{"serviceErrorCode":"RATE_LIMIT_EXCEEDED"}]})",
      R"({"code":16,"message":"bad stamp","serviceErrorCode":"SIGNATURE_INVALID"})",
      R"({"message":")" + std::string(100000, 'm') + R"("})",
  };
  for (Kind kind : {kSubmit, kQuery}) {
    for (int http = 100; http <= 599; ++http) {
      if (http / 100 == 2) continue;
      for (const std::string& body : bodies) {
        SCOPED_TRACE(absl::StrCat(http, " ", body.substr(0, 100)));
        const absl::Status status = OfAnswer(kind, http, body);
        const Details details = DetailsOf(status);
        ASSERT_NE(status.code(), Code::kOk);
        // Upstream has received the body in all these cases. A client may repeat a call after UNAVAILABLE by itself, so
        // a submit must not get this code.
        ASSERT_FALSE(kind == kSubmit && status.code() == Code::kUnavailable);
        if (details.reason == "OUTCOME_UNKNOWN") {
          ASSERT_EQ(kind, kSubmit);
          ASSERT_EQ(status.code(), Code::kUnknown);
        }
        ASSERT_THAT(details.domain, ::testing::AnyOf("stampgate", "upstream"));
        ASSERT_THAT(details.reason, ::testing::MatchesRegex("[A-Z][A-Z0-9_]*[A-Z0-9]"));
        // UNAVAILABLE always has a delay. Only UNAVAILABLE and RESOURCE_EXHAUSTED have one.
        ASSERT_FALSE(status.code() == Code::kUnavailable && !details.retry_delay.has_value());
        if (details.retry_delay.has_value()) {
          ASSERT_THAT(status.code(), ::testing::AnyOf(Code::kUnavailable, Code::kResourceExhausted));
        }
        ASSERT_FALSE(status.message().empty());
        ASSERT_LE(ToRpcStatus(status).ByteSizeLong(), kMaxStatusBytes);
      }
    }
  }
}

TEST(UpstreamErrorTest, ASubmitIsUnavailableOnlyIfNoByteWasSent) {
  for (int cause = 0; cause <= static_cast<int>(Cause::kShutdown); ++cause) {
    const absl::Status sent = ErrorFromFailure({static_cast<Cause>(cause), true, ""}, Call(kSubmit));
    EXPECT_NE(sent.code(), Code::kUnavailable);
    EXPECT_EQ(DetailsOf(sent).reason, "OUTCOME_UNKNOWN");
    const absl::Status unsent = ErrorFromFailure({static_cast<Cause>(cause), false, ""}, Call(kSubmit));
    EXPECT_NE(DetailsOf(unsent).reason, "OUTCOME_UNKNOWN");
  }
}

// Tests of error bodies.

TEST(UpstreamErrorTest, UpstreamsCodeMayBeInADetailOrAtTheTopLevel) {
  for (
      const char* body : {
          R"({"code":3,"message":"m","details":[{"@type":"type.googleapis.com/errors.v1.ServiceErrorDetail",
               "serviceErrorCode":"INVALID_EMAIL"}]})",
          R"({"code":3,"message":"m","serviceErrorCode":"INVALID_EMAIL","details":null})",
          R"({"code":3,"message":"m","serviceErrorCode":"INVALID_EMAIL"})",
          R"({"otherErrorCode":"INVALID_EMAIL","code":3,"message":"m","details":[]})",
          R"({"code":3,"message":"m","serviceErrorCode":"","details":[1,null,{},{"serviceErrorCode":"INVALID_EMAIL"}]})",
          R"({"code":3,"message":"m","details":[{"serviceErrorCode":"INVALID_EMAIL"}],"serviceErrorCode":""})",
      }) {
    const absl::Status status = OfAnswer(kQuery, 400, body);
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, Eq("m"))) << body;
    EXPECT_EQ(DetailsOf(status).domain, "upstream") << body;
    EXPECT_EQ(DetailsOf(status).reason, "INVALID_EMAIL") << body;
    EXPECT_THAT(DetailsOf(status).metadata, ElementsAre(Pair("http_status", "400"))) << body;
  }
}

TEST(UpstreamErrorTest, TheReasonIsTheHttpStatusIfThereIsNoUsableCode) {
  for (const char* body : {
           R"({"code":3,"message":"m","serviceErrorCode":""})",
           R"({"code":3,"message":"m","serviceErrorCode":null,"details":null})",
           R"({"code":3,"message":"m","serviceErrorCode":"UNSPECIFIED"})",
           R"({"code":3,"message":"m","serviceErrorCode":"not a code"})",
           R"({"code":3,"message":"m","serviceErrorCode":"TRAILING_"})",
           R"({"code":3,"message":"m","serviceErrorCode":7})",
           R"({"code":3,"message":"m","serviceErrorCode":"\ud800"})",
           R"({"code":3,"message":"m","details":"none"})",
           R"({"code":3,"message":"m","details":{"serviceErrorCode":"INVALID_EMAIL"}})",
       }) {
    const absl::Status status = OfAnswer(kQuery, 400, body);
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, Eq("m"))) << body;
    EXPECT_EQ(DetailsOf(status).reason, "HTTP_400") << body;
  }
}

TEST(UpstreamErrorTest, ABodyThatIsNotAnErrorBodyIsNotQuoted) {
  for (const char* body : {"", "<html><body>502 nginx</body></html>", "[]", "null", "{", "{}", R"({"message":7})",
                           R"({"message":"a","message":"b"})", R"({"message":""})"}) {
    EXPECT_THAT(OfAnswer(kQuery, 403, body), StatusIs(Code::kPermissionDenied, Eq("upstream answered HTTP 403")))
        << body;
  }
}

TEST(UpstreamErrorTest, UpstreamsFieldViolationsAreReturned) {
  const absl::Status status = OfAnswer(kSubmit, 400, R"({"code":3,"message":"invalid","details":[
      {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[
        {"field":"parameters.oidcToken","description":"not a token: hush-hush-hush"},{"field":"x"},7,{}]}]})");
  EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, Eq("invalid")));
  EXPECT_THAT(DetailsOf(status).violations,
              ElementsAre(Pair("parameters.oidcToken", "not a token: [secret]"), Pair("x", ""), Pair("", "")));
}

TEST(UpstreamErrorTest, ADenialByUpstreamsPolicyIsPermissionDenied) {
  const absl::Status status = OfAnswer(kSubmit, 403, R"({"code":7,"message":"policy denied","details":[
      {"@type":"type.googleapis.com/errors.v1.PolicyEnginePermissionError","message":"denied",
       "policyEvaluations":[{"policyId":"p","outcome":"OUTCOME_DENY_EXPLICIT"}]}]})");
  EXPECT_THAT(status, StatusIs(Code::kPermissionDenied, Eq("policy denied")));
  EXPECT_EQ(DetailsOf(status).reason, "HTTP_403");
}

TEST(UpstreamErrorTest, TheRpcCodeDistinguishesEqualHttpStatuses) {
  struct Row {
    int http;
    int rpc;
    Code code;
  };
  for (const Row& row :
       {Row{400, 3, Code::kInvalidArgument}, Row{400, 9, Code::kFailedPrecondition}, Row{400, 11, Code::kOutOfRange},
        Row{400, 13, Code::kInvalidArgument}, Row{409, 6, Code::kAlreadyExists}, Row{409, 10, Code::kAborted}}) {
    EXPECT_THAT(OfAnswer(kQuery, row.http, absl::StrCat("{\"code\":", row.rpc, ",\"message\":\"m\"}")),
                StatusIs(row.code));
  }
  EXPECT_THAT(OfAnswer(kQuery, 400, R"({"code":"9","message":"m"})"), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(OfAnswer(kQuery, 400, R"({"code":99999999999,"message":"m"})"), StatusIs(Code::kInvalidArgument));
}

// Tests of upstream's own codes.

struct UpstreamCodeCase {
  const char* name;
  Code code;
};

// All published codes of upstream, and the canonical code of each. The test uses HTTP 400 for all, so that only
// upstream's code decides.
constexpr UpstreamCodeCase kUpstreamCodes[] = {
    {"UNSPECIFIED", Code::kInvalidArgument},
    {"INTERNAL", Code::kInternal},
    {"ORGANIZATION_NOT_FOUND", Code::kNotFound},
    {"API_OPERATIONS_DISABLED", Code::kFailedPrecondition},
    {"SIGNING_QUOTA_EXCEEDED", Code::kResourceExhausted},
    {"REQUEST_NOT_AUTHORIZED", Code::kPermissionDenied},
    {"PUBLIC_KEY_NOT_FOUND", Code::kInternal},
    {"RATE_LIMIT_EXCEEDED", Code::kResourceExhausted},
    {"SIGNATURE_MISSING", Code::kInternal},
    {"SIGNATURE_INVALID", Code::kInternal},
    {"CREDENTIAL_NOT_FOUND", Code::kNotFound},
    {"CREDENTIAL_CONFLICT", Code::kAlreadyExists},
    {"API_KEY_EXPIRED", Code::kInternal},
    {"REQUEST_INVALID", Code::kInvalidArgument},
    {"FORBIDDEN", Code::kPermissionDenied},
    {"UNAUTHENTICATED", Code::kInternal},
    {"UNSUPPORTED_TRANSACTION_TYPE", Code::kInvalidArgument},
    {"INVALID_TRANSACTION", Code::kInvalidArgument},
    {"INVALID_OIDC_TOKEN", Code::kInvalidArgument},
    {"INVALID_ORGANIZATION_ID", Code::kInvalidArgument},
    {"OAUTH2_CREDENTIAL_NOT_FOUND", Code::kNotFound},
    {"OAUTH2_PROVIDER_NOT_FOUND", Code::kNotFound},
    {"INVALID_OAUTH2_PROVIDER", Code::kInvalidArgument},
    {"OAUTH2_PROVIDER_NOT_CONFIGURED", Code::kFailedPrecondition},
    {"INVALID_ACTIVITY_CALLER", Code::kPermissionDenied},
    {"WALLET_ACCOUNT_NOT_EXPORTED", Code::kFailedPrecondition},
    {"INVALID_TIME", Code::kInvalidArgument},
    {"RPC_CALL_ERROR", Code::kInternal},
    {"INVALID_EMAIL", Code::kInvalidArgument},
    {"INVALID_FQDN", Code::kInvalidArgument},
    {"OAUTH_PROVIDER_ALREADY_EXISTS", Code::kAlreadyExists},
    {"EMAIL_SENDING_DISABLED", Code::kFailedPrecondition},
    {"ORGANIZATION_MISMATCH", Code::kFailedPrecondition},
    {"MAX_OTP_INITIATED", Code::kResourceExhausted},
    {"TVC_IMAGE_VALIDATION_FAILED", Code::kFailedPrecondition},
    {"TRANSACTION_RISK_SCREENING_DENIED", Code::kFailedPrecondition},
    {"TRANSACTION_RISK_SCREENING_UNVERIFIED", Code::kFailedPrecondition},
    {"TVC_CLIENT_VERSION_TOO_OLD", Code::kFailedPrecondition},
    {"SWAP_QUOTE_ALREADY_USED", Code::kFailedPrecondition},
};

class UpstreamCodeTest : public ::testing::TestWithParam<UpstreamCodeCase> {};

TEST_P(UpstreamCodeTest, UpstreamsCodeOverridesTheHttpStatus) {
  for (Kind kind : {kSubmit, kQuery}) {
    const absl::Status status =
        OfAnswer(kind, 400, absl::StrCat(R"({"code":3,"message":"m","serviceErrorCode":")", GetParam().name, "\"}"));
    EXPECT_THAT(status, StatusIs(GetParam().code));
    const Details details = DetailsOf(status);
    if (details.domain == "upstream") {
      EXPECT_EQ(details.reason, GetParam().name == std::string("UNSPECIFIED") ? "HTTP_400" : GetParam().name);
    } else {
      EXPECT_EQ(details.reason, "GATEWAY_CREDENTIAL_REJECTED");
      EXPECT_EQ(details.metadata.at("upstream_code"), GetParam().name);
      EXPECT_EQ(status.message(), "upstream refused the gateway's own key");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, UpstreamCodeTest, ::testing::ValuesIn(kUpstreamCodes),
                         [](const auto& info) { return info.param.name; });

TEST(UpstreamErrorTest, AnUnknownCodeIsMappedByItsHttpStatus) {
  for (const auto& [http, code] : {std::pair{400, Code::kInvalidArgument}, std::pair{404, Code::kNotFound}}) {
    const absl::Status status = OfAnswer(kQuery, http, R"({"message":"m","serviceErrorCode":"BRAND_NEW_2"})");
    EXPECT_THAT(status, StatusIs(code));
    EXPECT_EQ(DetailsOf(status).reason, "BRAND_NEW_2");
  }
}

TEST(UpstreamErrorTest, ARejectedStampOfTheGatewayIsAnInternalError) {
  const absl::Status status =
      OfAnswer(kSubmit, 401,
               R"({"code":16,"message":"could not find public key 02ab","serviceErrorCode":"CREDENTIAL_NOT_FOUND"})");
  EXPECT_THAT(status, StatusIs(Code::kInternal, Eq("upstream refused the gateway's own key")));
  EXPECT_THAT(DetailsOf(status).metadata,
              ElementsAre(Pair("http_status", "401"), Pair("upstream_code", "CREDENTIAL_NOT_FOUND")));
}

TEST(UpstreamErrorTest, AServerErrorNeverGetsACodeThatBlamesTheCaller) {
  const absl::Status status =
      OfAnswer(kQuery, 500, R"({"code":13,"message":"m","serviceErrorCode":"INVALID_TRANSACTION"})");
  EXPECT_THAT(status, StatusIs(Code::kInternal, Eq("m")));
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_TRANSACTION");
}

// If the reason is one of the gateway's, the metadata contain upstream's code and message.
TEST(UpstreamErrorTest, UpstreamsTextsAreInTheMetadata) {
  const std::string body = R"({"code":13,"message":"enclave 7 is gone, hush-hush-hush too","details":[
      {"serviceErrorCode":"RPC_CALL_ERROR"}]})";
  for (const auto& [kind, statuses] : {std::pair{kSubmit, std::vector<int>{408, 499, 500, 502, 503, 504, 505, 599}},
                                       std::pair{kQuery, std::vector<int>{408, 499, 502, 503, 504, 524, 530}}}) {
    for (int http : statuses) {
      SCOPED_TRACE(http);
      const Details details = DetailsOf(OfAnswer(kind, http, body));
      EXPECT_EQ(details.domain, "stampgate");
      EXPECT_EQ(details.metadata.at("http_status"), absl::StrCat(http));
      EXPECT_EQ(details.metadata.at("upstream_code"), "RPC_CALL_ERROR");
      EXPECT_EQ(details.metadata.at("upstream_message"),
                kind == kSubmit ? "enclave 7 is gone, [secret] too" : "enclave 7 is gone, hush-hush-hush too");
      const absl::Status large = OfAnswer(kind, http, absl::StrCat(R"({"message":")", std::string(100000, 'm'), "\"}"));
      EXPECT_EQ(DetailsOf(large).metadata.at("upstream_message").size(), 160u);
      EXPECT_LE(ToRpcStatus(large).ByteSizeLong(), kMaxStatusBytes);
      for (const char* nothing : {"", "<html>502</html>", "{}", R"({"message":"","serviceErrorCode":""})"}) {
        EXPECT_EQ(DetailsOf(OfAnswer(kind, http, nothing)).metadata.count("upstream_code"), 0u) << nothing;
        EXPECT_EQ(DetailsOf(OfAnswer(kind, http, nothing)).metadata.count("upstream_message"), 0u) << nothing;
      }
    }
  }
}

// Tests of stamps that clients make.

SentCall ClientStamped(Kind kind, std::string stamp = "hush-stamp-hush") {
  SentCall call = Call(kind);
  call.client_stamp = std::move(stamp);
  return call;
}

absl::Status OfAnswer(const SentCall& call, int status, std::string body) {
  HttpAnswer answer{status, std::move(body), {}};
  return ErrorFromAnswer(answer, call);
}

TEST(ClientStampErrorTest, ARejectedClientStampIsUnauthenticated) {
  struct Row {
    int http;
    const char* body;
    const char* reason;
    const char* message;
  };
  for (Kind kind : {kSubmit, kQuery}) {
    for (const Row& row : {
             Row{401, "", "HTTP_401", "upstream answered HTTP 401"},
             Row{401, R"({"message":"m"})", "HTTP_401", "m"},
             Row{401, R"({"message":"m","serviceErrorCode":"SIGNATURE_INVALID"})", "SIGNATURE_INVALID", "m"},
             Row{401, R"({"message":"m","serviceErrorCode":"CREDENTIAL_NOT_FOUND"})", "CREDENTIAL_NOT_FOUND", "m"},
             Row{401, R"({"message":"m","serviceErrorCode":"ORGANIZATION_NOT_FOUND"})", "ORGANIZATION_NOT_FOUND", "m"},
             Row{400, R"({"message":"m","serviceErrorCode":"SIGNATURE_MISSING"})", "SIGNATURE_MISSING", "m"},
             Row{400, R"({"message":"m","serviceErrorCode":"SIGNATURE_INVALID"})", "SIGNATURE_INVALID", "m"},
             Row{403, R"({"message":"m","serviceErrorCode":"API_KEY_EXPIRED"})", "API_KEY_EXPIRED", "m"},
             Row{404, R"({"message":"m","serviceErrorCode":"PUBLIC_KEY_NOT_FOUND"})", "PUBLIC_KEY_NOT_FOUND", "m"},
             Row{403, R"({"message":"m","serviceErrorCode":"UNAUTHENTICATED"})", "UNAUTHENTICATED", "m"},
         }) {
      const absl::Status status = OfAnswer(ClientStamped(kind), row.http, row.body);
      EXPECT_THAT(status, StatusIs(Code::kUnauthenticated, Eq(row.message))) << row.http << row.body;
      EXPECT_EQ(DetailsOf(status).domain, "upstream");
      EXPECT_EQ(DetailsOf(status).reason, row.reason);
      EXPECT_THAT(DetailsOf(status).metadata, ElementsAre(Pair("http_status", absl::StrCat(row.http))));
      EXPECT_FALSE(IsGatewayError(status));
    }
  }
}

TEST(ClientStampErrorTest, OtherRefusalsAreTheSameForAClientStampAndAGatewayStamp) {
  for (Kind kind : {kSubmit, kQuery}) {
    for (int http : {400, 402, 403, 404, 409, 413, 418, 422, 429, 501}) {
      EXPECT_EQ(OfAnswer(ClientStamped(kind), http, kBody), OfAnswer(kind, http, kBody)) << http;
    }
    EXPECT_EQ(OfAnswer(ClientStamped(kind), 404, R"({"message":"m","serviceErrorCode":"CREDENTIAL_NOT_FOUND"})").code(),
              Code::kNotFound);
  }
  EXPECT_EQ(OfAnswer(ClientStamped(kQuery), 503, ""), OfAnswer(kQuery, 503, ""));
}

TEST(ClientStampErrorTest, TheErrorForAnUnknownOutcomeAsksForTheSameStamp) {
  const SentCall call = ClientStamped(kSubmit);
  for (const absl::Status& status :
       {ErrorFromFailure({Cause::kBroken, true, "detail"}, call), ErrorFromFailure({Cause::kTimeout, true, ""}, call),
        OfAnswer(call, 502, ""), ErrorFromUnreadableAnswer("why", 200, call)}) {
    const Details details = DetailsOf(status);
    EXPECT_EQ(details.reason, "OUTCOME_UNKNOWN");
    EXPECT_EQ(details.metadata.at("timestamp_ms"), "1755500000000");
    EXPECT_EQ(details.metadata.at("fingerprint"), "sha256:0123");
    EXPECT_THAT(std::string(status.message()), HasSubstr("repeat it with the same client_stamp to learn its outcome"));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("timestamp_ms")));
  }
}

TEST(ClientStampErrorTest, NeitherTheStampNorItsTokenIsQuoted) {
  const std::string token = "eyJhbGciOiJFUzI1NiJ9.eyJwdWJsaWNfa2V5IjoiMDIifQ.c2lnbmF0dXJl";
  const std::string json =
      absl::StrCat(R"({"publicKeyAttestation":")", token, R"(","publicKey":"02abcdef0123456789"})");
  for (const std::string& stamp : {json, absl::WebSafeBase64Escape(json)}) {
    for (int http : {400, 401, 403, 501}) {
      std::string quoted;
      for (char c : stamp) absl::StrAppend(&quoted, c == '"' ? "\\" : "", std::string(1, c));
      const std::string body = absl::StrCat(R"({"message":"key 02abcdef0123456789, token )", token, " in ", quoted,
                                            R"(","serviceErrorCode":"SIGNATURE_INVALID"})");
      const std::string error = ToRpcStatus(OfAnswer(ClientStamped(kSubmit, stamp), http, body)).DebugString();
      EXPECT_THAT(error, Not(HasSubstr("eyJ"))) << stamp << http;
      EXPECT_THAT(error, Not(HasSubstr(".c2lnbmF0dXJl"))) << stamp << http;
    }
  }
  // The public key of the stamp is quoted: it is not a secret, and the client may need to know it.
  const absl::Status status = OfAnswer(ClientStamped(kQuery, absl::WebSafeBase64Escape(json)), 401,
                                       R"({"message":"no such key: 02abcdef0123456789"})");
  EXPECT_EQ(status.message(), "no such key: 02abcdef0123456789");
}

// Tests of the delay after which the caller can repeat a call.

struct WaitCase {
  const char* name;
  const char* body;
  bool wait;          // whether the error has a delay if the response has no Retry-After
  bool wait_if_told;  // whether the error has a delay if the response has a Retry-After
};

class TooManyRequestsTest : public ::testing::TestWithParam<WaitCase> {};

TEST_P(TooManyRequestsTest, AnErrorHasADelayOnlyIfTheCallerCanRepeatTheCallLater) {
  for (Kind kind : {kSubmit, kQuery}) {
    absl::Status status = OfAnswer(kind, 429, GetParam().body);
    EXPECT_THAT(status, StatusIs(Code::kResourceExhausted));
    EXPECT_EQ(DetailsOf(status).retry_delay, GetParam().wait ? std::optional(absl::Seconds(1)) : std::nullopt);
    status = OfAnswer(kind, 429, GetParam().body, absl::Seconds(7));
    EXPECT_EQ(DetailsOf(status).retry_delay, GetParam().wait_if_told ? std::optional(absl::Seconds(7)) : std::nullopt);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TooManyRequestsTest,
    ::testing::Values(
        WaitCase{"RateByCode", R"({"message":"m","serviceErrorCode":"RATE_LIMIT_EXCEEDED"})", true, true},
        WaitCase{"RateByMessage", R"({"code":8,"message":"Too many requests. Please wait a moment."})", true, true},
        WaitCase{"RateByOtherMessage", R"({"code":8,"message":"Your address has been rate limited"})", true, true},
        WaitCase{"RateByMessageWithoutCode", R"({"message":"Rate limit hit","serviceErrorCode":"UNSPECIFIED"})", true,
                 true},
        WaitCase{"RateWithoutJson", "Too Many Requests", true, true}, WaitCase{"RateWithoutBody", "", true, true},
        WaitCase{"QuotaByCode", R"({"message":"too many requests","serviceErrorCode":"SIGNING_QUOTA_EXCEEDED"})", false,
                 false},
        WaitCase{"OtpQuota", R"({"message":"m","serviceErrorCode":"MAX_OTP_INITIATED"})", false, false},
        WaitCase{"QuotaByMessage", R"({"code":8,"message":"user has too many API keys"})", false, true},
        WaitCase{"NoCodeAndNoWords", R"({"code":8})", false, true},
        WaitCase{"ANewCode", R"({"message":"too many requests","serviceErrorCode":"BRAND_NEW"})", false, true}),
    [](const auto& info) { return info.param.name; });

TEST(UpstreamErrorTest, AnErrorWithTheRateLimitCodeHasADelayWhateverTheHttpStatus) {
  const std::string body = R"({"message":"m","serviceErrorCode":"RATE_LIMIT_EXCEEDED"})";
  for (Kind kind : {kSubmit, kQuery}) {
    for (int http : {400, 403, 404, 405, 409, 413, 418, 422, 429, 501}) {
      SCOPED_TRACE(http);
      EXPECT_THAT(OfAnswer(kind, http, body), StatusIs(Code::kResourceExhausted));
      EXPECT_EQ(DetailsOf(OfAnswer(kind, http, body)).retry_delay, absl::Seconds(1));
      EXPECT_EQ(DetailsOf(OfAnswer(kind, http, body, absl::Seconds(7))).retry_delay, absl::Seconds(7));
    }
  }
  EXPECT_THAT(OfAnswer(kQuery, 500, body), StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(DetailsOf(OfAnswer(kQuery, 500, body)).retry_delay, absl::Seconds(1));
  // The error has no delay, since the caller must first find out whether the submit was carried out.
  EXPECT_EQ(DetailsOf(OfAnswer(kSubmit, 500, body, absl::Seconds(7))).retry_delay, std::nullopt);
  // The error has no delay, since upstream will not accept a rejected stamp later.
  const absl::Status refused = OfAnswer(ClientStamped(kQuery), 401, body);
  EXPECT_THAT(refused, StatusIs(Code::kUnauthenticated));
  EXPECT_EQ(DetailsOf(refused).retry_delay, std::nullopt);
}

TEST(UpstreamErrorTest, ARefusalOfARepetitionDoesNotHideThatAnEarlierAttemptMayHaveActed) {
  for (const int status : {400, 401, 403, 404, 409, 429, 501, 500, 503}) {
    HttpAnswer answer{status, R"({"code":8,"message":"m"})", {}};
    SentCall call = Call(kSubmit);
    call.earlier_unknown = true;
    const absl::Status error = ErrorFromAnswer(answer, call);
    ExpectOutcomeUnknown(error);
    EXPECT_EQ(ErrorMetadataOf(error, "http_status"), absl::StrCat(status));
  }
}

TEST(UpstreamErrorTest, ARateLimitAndAHardQuotaAreDistinguished) {
  const auto answer = [](int status, absl::string_view code) {
    return HttpAnswer{status, absl::StrCat(R"({"code":8,"details":[{"serviceErrorCode":")", code, R"("}]})"), {}};
  };
  EXPECT_TRUE(IsRateLimit(answer(429, "RATE_LIMIT_EXCEEDED")));
  EXPECT_TRUE(IsRateLimit(answer(400, "RATE_LIMIT_EXCEEDED")));
  EXPECT_FALSE(IsRateLimit(answer(200, "RATE_LIMIT_EXCEEDED")));
  EXPECT_FALSE(IsRateLimit(answer(429, "SIGNING_QUOTA_EXCEEDED")));
  EXPECT_TRUE(IsHardQuota(answer(429, "SIGNING_QUOTA_EXCEEDED")));
  EXPECT_TRUE(IsHardQuota(answer(503, "API_OPERATIONS_DISABLED")));
  EXPECT_FALSE(IsHardQuota(answer(429, "RATE_LIMIT_EXCEEDED")));
  // A text that names the code is not the code.
  EXPECT_FALSE(IsHardQuota(HttpAnswer{503, R"({"message":"no SIGNING_QUOTA_EXCEEDED"})", {}}));
}

TEST(UpstreamErrorTest, TheErrorHasTheDelayOfRetryAfter) {
  for (int http : {408, 499, 502, 503, 504, 522, 529}) {
    EXPECT_EQ(DetailsOf(OfAnswer(kQuery, http, "", absl::Seconds(30))).retry_delay, absl::Seconds(30));
    EXPECT_EQ(DetailsOf(OfAnswer(kSubmit, http, "", absl::Seconds(30))).retry_delay, std::nullopt);
  }
  EXPECT_EQ(DetailsOf(OfAnswer(kQuery, 400, "", absl::Seconds(30))).retry_delay, std::nullopt);
}

// Tests of secrets.

TEST(UpstreamErrorTest, TheSecretsOfTheRequestAreRemovedFromUpstreamsTexts) {
  for (int http : {400, 401, 403, 404, 409, 418, 422, 429, 500, 501, 503}) {
    for (const char* body :
         {R"({"code":3,"message":"bad token hush-hush-hush (h\u0075sh-hush-hush) in {\"oidcToken\":\"hush-hush-hush\"}",
              "details":[{"fieldViolations":[{"field":"hush-hush-hush","description":"hush-hush-hush"}]}]})",
          R"({"message":"sh-hush-hu","details":null})", "hush-hush-hush", R"({"hush-hush-hush":1})"}) {
      EXPECT_THAT(ToRpcStatus(OfAnswer(kSubmit, http, body)).DebugString(), Not(HasSubstr("hush"))) << http << body;
    }
  }
}

TEST(UpstreamErrorTest, AnUnknownCodeThatContainsASecretIsRemoved) {
  const Operation& operation = OperationOf("Oauth");
  const Parsed secret(operation, R"pb(parameters { oidc_token: "HUSH_HUSH_HUSH" })pb");
  for (int http : {400, 401, 429, 501, 503}) {
    HttpAnswer answer{http, R"({"message":"m","serviceErrorCode":"HUSH_HUSH"})", {}};
    const absl::Status status = ErrorFromAnswer(answer, SentCall{operation, *secret, 1, ""});
    EXPECT_THAT(ToRpcStatus(status).DebugString(), Not(HasSubstr("HUSH"))) << http;
    EXPECT_THAT(DetailsOf(status).reason,
                ::testing::AnyOf(absl::StrCat("HTTP_", http), "GATEWAY_CREDENTIAL_REJECTED", "OUTCOME_UNKNOWN"));
  }
  // A known code is returned even if a secret has the same text.
  const Parsed known(operation, R"pb(parameters { oidc_token: "INVALID_EMAIL" })pb");
  HttpAnswer answer{400, R"({"message":"INVALID_EMAIL","serviceErrorCode":"INVALID_EMAIL"})", {}};
  const absl::Status status = ErrorFromAnswer(answer, SentCall{operation, *known, 1, ""});
  EXPECT_EQ(status.message(), "[secret]");
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_EMAIL");
}

TEST(UpstreamErrorTest, TheRestOfUpstreamsMessageIsUnchanged) {
  EXPECT_THAT(OfAnswer(kSubmit, 400, R"({"message":"target_public_key 04ab does not fit token hush-hush-hush"})"),
              StatusIs(Code::kInvalidArgument, Eq("target_public_key 04ab does not fit token [secret]")));
}

TEST(UpstreamErrorTest, AHugeErrorBodyGivesASmallError) {
  std::string violations;
  for (int i = 0; i < 10000; ++i) {
    absl::StrAppend(&violations, i > 0 ? "," : "", "{\"field\":\"", std::string(200, 'f'), "\",\"description\":\"é\"}");
  }
  const absl::Status status = OfAnswer(kSubmit, 400,
                                       absl::StrCat("{\"message\":\"", std::string(1 << 20, 'm'),
                                                    "\",\"details\":[{\"fieldViolations\":[", violations, "]}]}"));
  EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, ::testing::EndsWith(" more)")));
  EXPECT_LE(ToRpcStatus(status).ByteSizeLong(), kMaxStatusBytes);
}

}  // namespace
}  // namespace stampgate
