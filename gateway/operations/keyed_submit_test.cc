#include "gateway/operations/keyed_submit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/secret/sha256.h"
#include "gateway/operations/testing.h"
#include "google/protobuf/text_format.h"
#include "google/rpc/error_details.pb.h"
#include "stamp/request_body.h"
#include "translate/error.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/renamed_member.h"
#include "translate/testing/rendering.h"

namespace stampgate {
namespace {

using google::protobuf::Message;
using stampgate::testing::OperationOf;
using stampgate::testing::RequestOf;
using Kind = AttemptEnd::Kind;

constexpr char kRequest[] = R"pb(
  organization_id: "o"
  parameters { policies { policy_name: "p" effect: EFFECT_ALLOW notes: "" } }
  idempotency_key: "k")pb";
constexpr uint64_t kTimestampMs = 1755500000000;
const absl::Time kMade = absl::FromUnixMillis(kTimestampMs);

const Operation& CreatePolicies() { return OperationOf("CreatePolicies"); }

std::array<uint8_t, 32> DigestOf(const Operation& operation, const Message& request) {
  return DigestOfRequest(operation, *testing::Parsed(request, *operation.request));
}

std::array<uint8_t, 32> DigestOf(const std::string& text_proto) {
  return DigestOf(CreatePolicies(), *RequestOf(CreatePolicies(), text_proto));
}

RenderedRequest Rendered() {
  return *testing::CheckAndRender(CreatePolicies(), *RequestOf(CreatePolicies(), kRequest));
}

KeyRecord RecordOf(AttemptEnd outcome) {
  KeyRecord record;
  record.request_sha256 = DigestOf(kRequest);
  record.body_sha256 = Sha256(Rendered().SubmitBody(kTimestampMs));
  record.timestamp_ms = kTimestampMs;
  record.outcome = std::move(outcome);
  return record;
}

google::rpc::ErrorInfo InfoOf(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  const google::rpc::Status rpc = ToRpcStatus(status);
  for (const auto& detail : rpc.details()) {
    if (detail.UnpackTo(&info)) break;
  }
  return info;
}

TEST(DigestOfRequestTest, DoesNotDependOnTheIdempotencyKey) {
  std::string other = kRequest;
  other.replace(other.find("\"k\""), 3, "\"another\"");
  EXPECT_EQ(DigestOf(kRequest), DigestOf(other));
}

TEST(DigestOfRequestTest, DependsOnEveryOtherFieldAndOnTheMethod) {
  const auto digest = DigestOf(kRequest);
  for (const char* more : {"timestamp_ms: 1", "generate_app_proofs: false", R"(parameters { policies { notes: "" } })",
                           R"(organization_id: "p")"}) {
    std::unique_ptr<Message> request = RequestOf(CreatePolicies(), kRequest);
    request->MergeFrom(*RequestOf(CreatePolicies(), more));
    EXPECT_NE(DigestOf(CreatePolicies(), *request), digest) << more;
  }
  const Operation& other = OperationOf("DeleteSubOrganization");
  const Operation& third = OperationOf("UpdateOrganizationName");
  EXPECT_NE(DigestOf(other, *RequestOf(other, "")), DigestOf(third, *RequestOf(third, "")));
}

std::optional<RequestBody> Repeat(const KeyRecord& record, absl::Time now) {
  testing::Parsed request(CreatePolicies(), kRequest);
  RenderedRequest rendered = Rendered();
  return BodyToRepeat(record, {CreatePolicies(), *request, request.memory(), rendered}, now);
}

TEST(BodyToRepeatTest, ReturnsABodyOnlyIfItsTimestampIsLessThan55MinutesOld) {
  const KeyRecord record = RecordOf({});
  EXPECT_TRUE(Repeat(record, kMade).has_value());
  EXPECT_TRUE(Repeat(record, kMade + absl::Minutes(55) - absl::Milliseconds(1)).has_value());
  EXPECT_EQ(Repeat(record, kMade + absl::Minutes(55)), std::nullopt);
  EXPECT_TRUE(Repeat(record, kMade - absl::Hours(1)).has_value());
}

TEST(BodyToRepeatTest, ReturnsNoBodyIfTheRenderedBytesDiffer) {
  KeyRecord record = RecordOf({});
  record.body_sha256[7] ^= 1;
  EXPECT_EQ(Repeat(record, kMade), std::nullopt);
}

// The names of members have changed since the gateway stored the key, for example by a reload, or by its reversal.
TEST(BodyToRepeatTest, ReturnsTheBodyWithTheNamesThatItsMembersHadThen) {
  const auto table_of = [](const std::string& day) {
    return OperationTable::Create("Service", testing::OperationsWithRenamedMembers(), day).value();
  };
  const std::string bytes = [&] {
    const auto table = table_of("");
    std::unique_ptr<Message> request =
        testing::NewMessage(table->Find("/stampgate.v1.EarnService/EarnWithdraw")->method->input_type());
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"pb(organization_id: "o"
             parameters { wrapper_address: "0xaa" amount_value: "5" caip2: "eip155:1" sign_with: "0xbb" })pb",
        request.get()));
    return request->SerializeAsString();
  }();
  // Calls `use` with the forms of the request, where upstream receives the names of `day`.
  const auto with_forms = [&](const std::string& day, auto use) {
    const auto table = table_of(day);
    const Operation& operation = *table->Find("/stampgate.v1.EarnService/EarnWithdraw");
    RequestMemory memory;
    memory.Receive(bytes.size());
    const ParsedMessage& request = **ParseMessage(*operation.request, bytes, memory);
    RenderedRequest rendered = (*CheckedRequest::Check(*table, operation, request, memory)).Render().value();
    return use(RequestForms{operation, request, memory, rendered});
  };
  std::set<std::string> bodies;
  for (const std::string then : {"", testing::kCaip2Day, testing::kSignerDay}) {
    KeyRecord record;
    record.timestamp_ms = kTimestampMs;
    const std::string sent =
        with_forms(then, [](const RequestForms& forms) { return forms.rendered.SubmitBody(kTimestampMs); });
    bodies.insert(sent);
    record.body_sha256 = Sha256(sent);
    for (const std::string now : {"", testing::kCaip2Day, testing::kSignerDay}) {
      std::optional<RequestBody> body =
          with_forms(now, [&](const RequestForms& forms) { return BodyToRepeat(record, forms, kMade); });
      ASSERT_TRUE(body.has_value()) << then << " " << now;
      EXPECT_EQ((*std::move(body)).TakeBytes(), sent);
    }
  }
  EXPECT_EQ(bodies.size(), 3u);
}

TEST(CheckTimestampOfKeyTest, RefusesATimestampThatIsTooOldToBeRepeated) {
  EXPECT_TRUE(CheckTimestampOfKey(kTimestampMs, /*is_of_caller=*/true, kMade).ok());
  EXPECT_TRUE(CheckTimestampOfKey(kTimestampMs, /*is_of_caller=*/true, kMade + absl::Minutes(54)).ok());
  for (const uint64_t old : {uint64_t{0}, kTimestampMs - 3'300'000, std::numeric_limits<uint64_t>::max()}) {
    const absl::Status status = CheckTimestampOfKey(old, /*is_of_caller=*/true, kMade);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << old;
    EXPECT_EQ(InfoOf(status).reason(), "INVALID_REQUEST");
  }
}

// As after a step of the gateway's clock by an hour, until it has reserved other timestamps in the store.
TEST(CheckTimestampOfKeyTest, DoesNotBlameTheCallerForATimestampThatTheGatewayHasChosen) {
  EXPECT_TRUE(CheckTimestampOfKey(kTimestampMs, /*is_of_caller=*/false, kMade + absl::Minutes(54)).ok());
  const absl::Status status = CheckTimestampOfKey(kTimestampMs, /*is_of_caller=*/false, kMade + absl::Hours(1));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(InfoOf(status).reason(), "TIMESTAMPS_EXHAUSTED");
}

TEST(StoredAnswerTest, ForAnActivityIsItsIdAndStatus) {
  const absl::StatusOr<ActivitySummary> stored = StoredAnswer(
      RecordOf({.kind = Kind::kDone, .activity_id = "a-1", .activity_status = "ACTIVITY_STATUS_COMPLETED"}),
      DigestOf(kRequest));
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->id, "a-1");
  EXPECT_EQ(stored->status, "ACTIVITY_STATUS_COMPLETED");
}

TEST(StoredAnswerTest, ForARefusalIsTheStoredCodeAndReason) {
  const absl::Status status = StoredAnswer(RecordOf({.kind = Kind::kRefused,
                                                     .code = absl::StatusCode::kNotFound,
                                                     .domain = "upstream",
                                                     .reason = "ORGANIZATION_NOT_FOUND"}),
                                           DigestOf(kRequest))
                                  .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(InfoOf(status).domain(), "upstream");
  EXPECT_EQ(InfoOf(status).reason(), "ORGANIZATION_NOT_FOUND");
}

// The status must not claim that upstream did not carry out the submit.
TEST(StoredAnswerTest, WithoutAKnownOutcomeIsUnknownAndContainsTheFingerprint) {
  for (const Kind kind : {Kind::kUnknown, Kind::kNotSent}) {
    const absl::Status status = StoredAnswer(RecordOf({.kind = kind}), DigestOf(kRequest)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
    const google::rpc::ErrorInfo info = InfoOf(status);
    EXPECT_EQ(info.reason(), "OUTCOME_NOT_STORED");
    EXPECT_EQ(info.metadata().at("timestamp_ms"), "1755500000000");
    EXPECT_EQ(info.metadata().at("fingerprint"), RequestBody(Rendered().SubmitBody(kTimestampMs)).Fingerprint());
  }
}

TEST(StoredAnswerTest, ForADamagedKeyContainsNoFingerprint) {
  KeyRecord record;
  record.request_sha256 = DigestOf(kRequest);
  const absl::Status status = StoredAnswer(record, DigestOf(kRequest)).status();
  EXPECT_EQ(InfoOf(status).reason(), "OUTCOME_NOT_STORED");
  EXPECT_TRUE(InfoOf(status).metadata().empty());
}

TEST(StoredAnswerTest, ForAnotherRequestIsAnError) {
  const absl::Status status = StoredAnswer(RecordOf({.kind = Kind::kDone, .activity_id = "a-1"}), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(InfoOf(status).reason(), "IDEMPOTENCY_KEY_REUSED");
}

TEST(EndOfTest, ReturnsWhetherTheSubmitWasCarriedOut) {
  const ActivitySummary activity = {"a-1", "ACTIVITY_STATUS_PENDING"};
  AttemptEnd end = EndOf(nullptr, absl::OkStatus(), activity);
  EXPECT_EQ(end.kind, Kind::kDone);
  EXPECT_EQ(end.activity_id, "a-1");
  EXPECT_EQ(end.activity_status, "ACTIVITY_STATUS_PENDING");
  // If the response contains no id, the activity is not known, so the outcome is kUnknown.
  EXPECT_EQ(EndOf(nullptr, absl::OkStatus(), {}).kind, Kind::kUnknown);

  TransportFailure failure;
  EXPECT_EQ(EndOf(&failure, absl::UnavailableError(""), {}).kind, Kind::kNotSent);
  failure.body_sent = true;
  EXPECT_EQ(EndOf(&failure, absl::UnknownError(""), {}).kind, Kind::kUnknown);

  const absl::Status unknown = ToStatus(
      GatewayError(absl::StatusCode::kUnknown, v1::ERROR_REASON_OUTCOME_UNKNOWN, "upstream answered HTTP 502"));
  EXPECT_EQ(EndOf(nullptr, unknown, {}).kind, Kind::kUnknown);

  Error error;
  error.code = absl::StatusCode::kPermissionDenied;
  error.domain = std::string(kUpstreamDomain);
  error.reason = "FORBIDDEN";
  end = EndOf(nullptr, ToStatus(error), {});
  EXPECT_EQ(end.kind, Kind::kRefused);
  EXPECT_EQ(end.code, absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(end.domain, "upstream");
  EXPECT_EQ(end.reason, "FORBIDDEN");
}

TEST(SubmitAttemptTest, ReportsItsFirstEndOnlyAndUnknownOnDestruction) {
  FakeStore store;
  {
    SubmitAttempt first(store, 1);
    first.End({.kind = Kind::kDone});
    first.End({.kind = Kind::kRefused});
    SubmitAttempt second(store, 2);
    SubmitAttempt moved = std::move(second);
    SubmitAttempt none;
  }
  ASSERT_EQ(store.ends().size(), 2u);
  EXPECT_EQ(store.ends()[0].first, 1u);
  EXPECT_EQ(store.ends()[0].second.kind, Kind::kDone);
  EXPECT_EQ(store.ends()[1].first, 2u);
  EXPECT_EQ(store.ends()[1].second.kind, Kind::kUnknown);
}

}  // namespace
}  // namespace stampgate
