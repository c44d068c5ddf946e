#include "translate/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "base/json/writer.h"
#include "google/rpc/error_details.pb.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::Details;
using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Pair;
using ::testing::SizeIs;

Error InvalidRequest(std::string message) {
  return GatewayError(absl::StatusCode::kInvalidArgument, v1::ERROR_REASON_INVALID_REQUEST, std::move(message));
}

std::string Repeated(absl::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) absl::StrAppend(&text, piece);
  return text;
}

bool IsUtf8(absl::string_view text) {
  std::string json = "{\"text\":";
  AppendJsonString(text, json);
  return CheckJsonObject(json + "}").ok();
}

TEST(ErrorTest, AnErrorHasACodeAMessageAndAnErrorInfo) {
  Error error = InvalidRequest("wrong");
  error.metadata = {{"b", "2"}, {"a", "1"}};
  const absl::Status status = ToStatus(error);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, Eq("wrong")));
  const Details details = DetailsOf(status);
  EXPECT_EQ(details.domain, "stampgate");
  EXPECT_EQ(details.reason, "INVALID_REQUEST");
  EXPECT_THAT(details.metadata, ElementsAre(Pair("a", "1"), Pair("b", "2")));
  EXPECT_THAT(details.violations, IsEmpty());
  EXPECT_EQ(details.retry_delay, std::nullopt);
}

TEST(ErrorTest, TheReasonIsTheEnumNameWithoutItsPrefix) {
  for (int i = 0; i < v1::ErrorReason_descriptor()->value_count(); ++i) {
    const auto* value = v1::ErrorReason_descriptor()->value(i);
    const Error error =
        GatewayError(absl::StatusCode::kInternal, static_cast<v1::ErrorReason>(value->number()), "text");
    EXPECT_EQ("ERROR_REASON_" + error.reason, value->name());
  }
}

TEST(ErrorTest, TheDetailsAlwaysHaveTheSameOrder) {
  Error error = InvalidRequest("wrong");
  error.retry_delay = absl::Seconds(1);
  error.violations.Add([] { return Violation{"field", "is wrong"}; });
  const google::rpc::Status rpc = ToRpcStatus(ToStatus(error));
  EXPECT_EQ(rpc.code(), 3);
  EXPECT_EQ(rpc.message(), "wrong");
  ASSERT_THAT(rpc.details(), SizeIs(3));
  EXPECT_TRUE(rpc.details(0).Is<google::rpc::BadRequest>());
  EXPECT_TRUE(rpc.details(1).Is<google::rpc::ErrorInfo>());
  EXPECT_TRUE(rpc.details(2).Is<google::rpc::RetryInfo>());
  EXPECT_EQ(ToRpcStatus(ToStatus(error)).SerializeAsString(), rpc.SerializeAsString());
}

TEST(ErrorTest, TheRetryDelayIsExactToTheNanosecond) {
  for (absl::Duration delay : {absl::ZeroDuration(), absl::Milliseconds(1500), absl::Nanoseconds(1), absl::Hours(24),
                               absl::Nanoseconds(123456789012)}) {
    Error error = InvalidRequest("later");
    error.retry_delay = delay;
    EXPECT_EQ(DetailsOf(ToStatus(error)).retry_delay, delay);
  }
}

TEST(ErrorTest, AMessageIsTruncatedOnlyAboveTheLimit) {
  EXPECT_EQ(ToStatus(InvalidRequest(std::string(512, 'x'))).message(), std::string(512, 'x'));
  EXPECT_EQ(ToStatus(InvalidRequest(std::string(513, 'x'))).message(), std::string(509, 'x') + "...");
}

TEST(ErrorTest, AMessageIsTruncatedAtTheEndOfACharacter) {
  for (absl::string_view character : {"é", "€", "😀"}) {
    for (size_t before = 0; before < character.size(); ++before) {
      const std::string message = std::string(before, 'x') + Repeated(character, 1000);
      const std::string cut(ToStatus(InvalidRequest(message)).message());
      EXPECT_LE(cut.size(), 512u);
      EXPECT_GT(cut.size(), 512u - 4);
      EXPECT_THAT(cut, EndsWith(absl::StrCat(character, "...")));
      EXPECT_TRUE(IsUtf8(cut));
    }
  }
}

TEST(ErrorTest, AllViolationsAreListedIfThereAreFew) {
  Error error = InvalidRequest("wrong");
  for (int i = 0; i < 20; ++i) {
    error.violations.Add([&] { return Violation{absl::StrCat("f", i), "is required"}; });
  }
  const absl::Status status = ToStatus(error);
  EXPECT_EQ(status.message(), "wrong");
  const Details details = DetailsOf(status);
  ASSERT_THAT(details.violations, SizeIs(20));
  EXPECT_THAT(details.violations.front(), Pair("f0", "is required"));
  EXPECT_THAT(details.violations.back(), Pair("f19", "is required"));
  EXPECT_THAT(details.metadata, IsEmpty());
}

TEST(ErrorTest, TheNumberOfDroppedViolationsIsStated) {
  Error error = InvalidRequest("wrong");
  for (int i = 0; i < 1000; ++i) error.violations.Add([] { return Violation{"f", "is required"}; });
  const absl::Status status = ToStatus(error);
  EXPECT_EQ(status.message(), "wrong (and 980 more)");
  EXPECT_THAT(DetailsOf(status).violations, SizeIs(20));
  EXPECT_THAT(DetailsOf(status).metadata, ElementsAre(Pair("violations_left_out", "980")));
}

TEST(ErrorTest, AStatusHasAtMost4KiB) {
  for (absl::string_view piece : {"x", "é", "😀"}) {
    const std::string text = Repeated(piece, 2000);
    Error error = InvalidRequest(text);
    error.retry_delay = absl::Nanoseconds(123456789012);
    for (const char* key : {"timestamp_ms", "fingerprint", "http_status", "upstream_code"}) {
      error.metadata.emplace_back(key, text);
    }
    for (int i = 0; i < 1000; ++i) error.violations.Add([&] { return Violation{text, text}; });

    const absl::Status status = ToStatus(error);

    EXPECT_LE(ToRpcStatus(status).SerializeAsString().size(), 4096u);
    const Details details = DetailsOf(status);
    EXPECT_THAT(details.violations.size(), ::testing::AllOf(Lt(20u), ::testing::Ge(3u)));
    const size_t left_out = 1000 - details.violations.size();
    EXPECT_EQ(details.metadata.at("violations_left_out"), absl::StrCat(left_out));
    EXPECT_LE(status.message().size(), 512u);
    EXPECT_THAT(std::string(status.message()), EndsWith(absl::StrCat("... (and ", left_out, " more)")));
    EXPECT_TRUE(IsUtf8(status.message()));
    EXPECT_TRUE(IsUtf8(details.violations[0].first));
    EXPECT_TRUE(IsUtf8(details.metadata.at("fingerprint")));
  }
}

TEST(ErrorTest, LongTextsOfViolationsAreTruncated) {
  Error error = InvalidRequest("wrong");
  error.violations.Add([] { return Violation{std::string(200, 'f'), std::string(200, 'd')}; });
  EXPECT_THAT(DetailsOf(ToStatus(error)).violations,
              ElementsAre(Pair(std::string(157, 'f') + "...", std::string(157, 'd') + "...")));
}

TEST(ErrorTest, IsGatewayErrorRecognizesTheGatewaysOwnErrors) {
  EXPECT_TRUE(IsGatewayError(ToStatus(InvalidRequest("ours"))));
  Error theirs = InvalidRequest("theirs");
  theirs.domain = std::string(kUpstreamDomain);
  EXPECT_FALSE(IsGatewayError(ToStatus(theirs)));
  EXPECT_FALSE(IsGatewayError(absl::InternalError("plain")));
  EXPECT_FALSE(IsGatewayError(absl::OkStatus()));
  absl::Status broken = absl::InternalError("broken");
  broken.SetPayload("type.googleapis.com/google.rpc.ErrorInfo", absl::Cord("\xff\xff"));
  EXPECT_FALSE(IsGatewayError(broken));
}

TEST(ErrorTest, AStatusWithoutDetailsBecomesAnRpcStatusWithoutDetails) {
  const google::rpc::Status rpc = ToRpcStatus(absl::NotFoundError("gone"));
  EXPECT_EQ(rpc.code(), 5);
  EXPECT_EQ(rpc.message(), "gone");
  EXPECT_THAT(rpc.details(), SizeIs(0));
}

}  // namespace
}  // namespace stampgate
