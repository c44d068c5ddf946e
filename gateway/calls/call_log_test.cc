#include "gateway/calls/call_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "stampgate/v1/error_reason.pb.h"
#include "translate/error.h"

namespace stampgate {
namespace {

using ::testing::Gt;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using ::testing::VariantWith;
using Code = absl::StatusCode;

constexpr char kMethod[] = "/s.Service/Get";

absl::Status Upstreams(Code code) {
  Error error;
  error.code = code;
  error.message = "words of upstream";
  error.domain = std::string(kUpstreamDomain);
  error.reason = "UPSTREAMS_CODE";
  return ToStatus(error);
}

absl::Status Ours(Code code, v1::ErrorReason reason) { return ToStatus(GatewayError(code, reason, "our words")); }

class CallLogTest : public ::testing::Test {
 protected:
  struct Line {
    Severity severity;
    std::string event;
    std::map<std::string, LogValue> fields;
  };

  std::unique_ptr<CallLines> MakeLines(bool every_call) {
    return std::make_unique<CallLines>(
        CallLines::Options{.every_call = every_call,
                           .now = [] { return absl::FromUnixSeconds(1'700'000'000); },
                           .write =
                               [this](Severity severity, absl::string_view event, const LogFields& fields) {
                                 Line& line = written_.emplace_back(Line{severity, std::string(event), {}});
                                 for (const auto& [name, value] : fields) line.fields.emplace(name, value);
                               }});
  }

  // Returns the event of the line about a call that ends with `status`, or "none" if the log writes no line.
  std::string EventOf(const absl::Status& status, bool every_call = false) {
    written_.clear();
    const std::unique_ptr<CallLines> lines = MakeLines(every_call);
    CallLog(lines.get(), kMethod, "0af7").End(status);
    return written_.empty() ? "none" : written_.at(0).event;
  }

  std::vector<Line> written_;
};

TEST_F(CallLogTest, RefusalsAndFailuresHaveALine) {
  EXPECT_EQ(EventOf(Ours(Code::kPermissionDenied, v1::ERROR_REASON_DENIED_BY_POLICY)), "call_refused");
  EXPECT_EQ(EventOf(Ours(Code::kUnauthenticated, v1::ERROR_REASON_CALLER_NOT_RECOGNIZED)), "call_refused");
  EXPECT_EQ(EventOf(Ours(Code::kInvalidArgument, v1::ERROR_REASON_INVALID_REQUEST)), "call_refused");
  EXPECT_EQ(EventOf(Ours(Code::kResourceExhausted, v1::ERROR_REASON_UPSTREAM_BUSY)), "call_refused");
  EXPECT_EQ(EventOf(Ours(Code::kFailedPrecondition, v1::ERROR_REASON_EVENTS_NOT_CONFIGURED)), "call_refused");
  EXPECT_EQ(EventOf(Ours(Code::kDeadlineExceeded, v1::ERROR_REASON_DEADLINE_TOO_SHORT)), "call_refused");
  EXPECT_EQ(EventOf(Ours(Code::kUnavailable, v1::ERROR_REASON_UPSTREAM_UNREACHABLE)), "call_failed");
  EXPECT_EQ(EventOf(Ours(Code::kUnknown, v1::ERROR_REASON_OUTCOME_UNKNOWN)), "call_failed");
  EXPECT_EQ(EventOf(Ours(Code::kDataLoss, v1::ERROR_REASON_EVENTS_LOST)), "call_failed");
  EXPECT_EQ(EventOf(Upstreams(Code::kInternal)), "call_failed");
  EXPECT_EQ(EventOf(Upstreams(Code::kUnavailable)), "call_failed");
}

TEST_F(CallLogTest, OtherEndsHaveALineIfEveryCallIsLogged) {
  for (const absl::Status& status :
       {absl::OkStatus(), Upstreams(Code::kNotFound), Upstreams(Code::kPermissionDenied),
        Ours(Code::kDeadlineExceeded, v1::ERROR_REASON_UPSTREAM_TIMEOUT), absl::CancelledError("the caller has left"),
        Ours(Code::kUnavailable, v1::ERROR_REASON_SHUTTING_DOWN)}) {
    EXPECT_EQ(EventOf(status), "none") << status;
    EXPECT_EQ(EventOf(status, /*every_call=*/true), "call_ended") << status;
    EXPECT_EQ(written_.at(0).severity, Severity::kInfo);
  }
}

TEST_F(CallLogTest, ALineHasCallerMethodAndCode) {
  const std::unique_ptr<CallLines> lines = MakeLines(false);
  CallLog log(lines.get(), kMethod, "0af7651916cd43dd8448eb211c80319c");
  log.SetCaller("payments");
  log.End(Ours(Code::kUnknown, v1::ERROR_REASON_OUTCOME_UNKNOWN), [] {
    return CallFacts{"org\n1", "main", {.id = "activity\x1b[31m", .status = ""}, "sha256:00"};
  });
  ASSERT_EQ(written_.size(), 1);
  EXPECT_EQ(written_[0].severity, Severity::kWarning);
  EXPECT_THAT(written_[0].fields,
              UnorderedElementsAre(Pair("request_id", LogValue("0af7651916cd43dd8448eb211c80319c")),
                                   Pair("caller", LogValue("payments")), Pair("method", LogValue(kMethod)),
                                   Pair("organization_id", LogValue("org%0A1")), Pair("code", LogValue("UNKNOWN")),
                                   Pair("reason", LogValue("OUTCOME_UNKNOWN")), Pair("message", LogValue("our words")),
                                   Pair("key", LogValue("main")), Pair("activity_id", LogValue("activity%1B[31m")),
                                   Pair("fingerprint", LogValue("sha256:00")),
                                   Pair("duration_ms", VariantWith<double>(Gt(0)))));
}

TEST_F(CallLogTest, ALineHasUpstreamsCodeAndNotItsText) {
  EXPECT_EQ(EventOf(Upstreams(Code::kInternal)), "call_failed");
  EXPECT_THAT(
      written_[0].fields,
      UnorderedElementsAre(Pair("request_id", LogValue("0af7")), Pair("method", LogValue(kMethod)),
                           Pair("code", LogValue("INTERNAL")), Pair("upstream_code", LogValue("UPSTREAMS_CODE")),
                           Pair("duration_ms", VariantWith<double>(Gt(0)))));
}

TEST_F(CallLogTest, ALineAboutAGatewayErrorHasUpstreamsCodeToo) {
  Error error = GatewayError(Code::kUnknown, v1::ERROR_REASON_OUTCOME_UNKNOWN, "our words");
  error.metadata.emplace_back("upstream_code", "UPSTREAMS\nCODE");
  EXPECT_EQ(EventOf(ToStatus(error)), "call_failed");
  EXPECT_EQ(written_[0].fields.at("reason"), LogValue("OUTCOME_UNKNOWN"));
  EXPECT_EQ(written_[0].fields.at("upstream_code"), LogValue("UPSTREAMS%0ACODE"));
}

TEST_F(CallLogTest, OnlyTheLinesOfRefusalsAndFailuresAreLimited) {
  const std::unique_ptr<CallLines> lines = MakeLines(true);
  for (int i = 0; i < 100; ++i) {
    CallLog refused(lines.get(), kMethod, "0af7");
    refused.SetCaller("(nobody)");
    refused.End(Ours(Code::kUnauthenticated, v1::ERROR_REASON_CALLER_NOT_RECOGNIZED));
  }
  EXPECT_EQ(written_.size(), CallLines::kWritten);
  written_.clear();
  for (int i = 0; i < 100; ++i) CallLog(lines.get(), kMethod, "0af7").End(absl::OkStatus());
  EXPECT_EQ(written_.size(), 100);
}

TEST_F(CallLogTest, TheLinesOfLateOutcomesAreLimited) {
  const std::unique_ptr<CallLines> lines = MakeLines(false);
  for (int i = 0; i < 100; ++i) CallLog(lines.get(), kMethod, "0af7").LogLate({{"http_status", 200}}, "sha256:00");
  EXPECT_EQ(written_.size(), CallLines::kWritten);
  EXPECT_EQ(written_[0].event, "late_outcome");
  EXPECT_EQ(written_[0].fields.at("http_status"), LogValue(200));
}

TEST_F(CallLogTest, ACallThatADrainRefusesHasALine) {
  const std::unique_ptr<CallLines> lines = MakeLines(false);
  CallLog log(lines.get(), kMethod, "0af7");
  log.EndRefused(Ours(Code::kUnavailable, v1::ERROR_REASON_SHUTTING_DOWN));
  ASSERT_EQ(written_.size(), 1);
  EXPECT_EQ(written_[0].event, "call_refused");
}

TEST_F(CallLogTest, WithoutCallLinesNothingIsWritten) {
  CallLog log(nullptr, kMethod, "0af7");
  log.End(absl::UnknownError(""));
  log.EndRefused(absl::UnknownError(""));
  log.LogLate({}, "");
}

TEST_F(CallLogTest, NamesTheOwnMethodOfAnOperationThatGeneralServiceCarried) {
  const std::unique_ptr<CallLines> lines = MakeLines(/*every_call=*/false);
  CallLog log(lines.get(), kMethod, "0af7");
  log.SetCaller("c");
  log.LogOwnMethod("/s.Service/Own");
  ASSERT_EQ(written_.size(), 1u);
  EXPECT_EQ(written_[0].event, "own_method_exists");
  EXPECT_EQ(written_[0].severity, Severity::kWarning);
  EXPECT_THAT(written_[0].fields, UnorderedElementsAre(Pair("request_id", VariantWith<std::string>("0af7")),
                                                       Pair("caller", VariantWith<std::string>("c")),
                                                       Pair("method", VariantWith<std::string>(kMethod)),
                                                       Pair("own_method", VariantWith<std::string>("/s.Service/Own"))));
}

TEST_F(CallLogTest, LimitsTheLinesAboutOwnMethods) {
  const std::unique_ptr<CallLines> lines = MakeLines(/*every_call=*/false);
  for (int i = 0; i < 2 * CallLines::kWritten; ++i) {
    CallLog log(lines.get(), kMethod, "0af7");
    log.SetCaller("c");
    log.LogOwnMethod("/s.Service/Own");
  }
  EXPECT_EQ(written_.size(), static_cast<size_t>(CallLines::kWritten));
}

}  // namespace
}  // namespace stampgate
