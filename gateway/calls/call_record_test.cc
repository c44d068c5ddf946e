#include "gateway/calls/call_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gateway/audit/testing.h"
#include "gateway/callers/caller.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"
#include "stampgate/config/v1/config.pb.h"
#include "stampgate/v1/error_reason.pb.h"
#include "translate/error.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Code = absl::StatusCode;

constexpr char kMethod[] = "/stampgate.v1.PolicyService/GetPolicy";

class CallRecordTest : public ::testing::Test {
 protected:
  CallRecordTest()
      : path_(NewFolder() + "audit.log"),
        caller_([] {
          config::v1::Caller caller;
          caller.set_name("payments");
          return Caller(caller, *OperationSet::BuiltIn());
        }()),
        lines_(
            {.every_call = true,
             .now = [] { return absl::FromUnixSeconds(1'700'000'000); },
             .write = [this](Severity, absl::string_view event, const LogFields&) { events_.emplace_back(event); }}) {
    metrics_.AddMethods({{kMethod, "read", false}});
    audit_ = AuditLog::Open({.file = path_, .key = TestAuditKey(), .now = absl::Now}).value();
    record_.emplace(CallRecorders{audit_.get(), waits_, metrics_, &lines_}, kMethod,
                    TraceContext::Begin([] { return 0xaf7; }));
  }

  KnownCaller caller() const { return {std::make_shared<Access>(), &caller_}; }

  void Allow() {
    std::promise<absl::Status> answer;
    record_->audit().Allow(caller(), {}, [&answer](absl::Status status) { answer.set_value(std::move(status)); });
    ASSERT_EQ(answer.get_future().get(), absl::OkStatus());
  }

  std::vector<std::string> AuditLines(absl::string_view kind) {
    audit_->Close();
    return LinesWith(path_, kind);
  }

  static CallFacts Facts() {
    CallFacts facts;
    facts.activity.id = "activity-1";
    facts.fingerprint = "sha256:00";
    return facts;
  }

  const std::string path_;
  const Caller caller_;
  std::vector<std::string> events_;
  CallLines lines_;
  MetricRegistry registry_;
  CallMetrics metrics_{registry_};
  DiskWaits waits_;
  std::unique_ptr<AuditLog> audit_;
  std::optional<CallRecord> record_;
};

constexpr char kOutcome[] = "\"kind\":\"outcome\"";

TEST_F(CallRecordTest, AnEndIsAuditedCountedAndLogged) {
  Allow();
  record_->SetCaller(caller());
  record_->End(absl::OkStatus(), &CallRecordTest::Facts);
  EXPECT_THAT(events_, ElementsAre("call_ended"));
  EXPECT_EQ(ValueOf(registry_, absl::StrCat("stampgate_calls_total{code=\"OK\",method=\"", kMethod, "\"}")), "1");
  const std::vector<std::string> outcomes = AuditLines(kOutcome);
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "activity_id"), "activity-1");
  EXPECT_EQ(Member(outcomes[0], "fingerprint"), "sha256:00");
}

TEST_F(CallRecordTest, ACallThatWasNotAllowedHasNoOutcome) {
  record_->End(absl::CancelledError("the caller has left"));
  EXPECT_THAT(events_, ElementsAre("call_ended"));
  EXPECT_THAT(AuditLines(kOutcome), IsEmpty());
}

TEST_F(CallRecordTest, TheAuditHasTheOutcomeOfAnExchangeThatContinuesAfterTheReply) {
  Allow();
  record_->SetCaller(caller());
  record_->Answer(ToStatus(GatewayError(Code::kUnknown, v1::ERROR_REASON_OUTCOME_UNKNOWN, "our words")),
                  &CallRecordTest::Facts);
  EXPECT_THAT(events_, ElementsAre("call_failed"));
  EXPECT_TRUE(record_->audit().is_allowed());
  record_->EndLate(absl::OkStatus(), Facts(), {{"http_status", 200}});
  EXPECT_THAT(events_, ElementsAre("call_failed", "late_outcome"));
  const std::vector<std::string> outcomes = AuditLines(kOutcome);
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "code"), "OK");
}

TEST_F(CallRecordTest, TheAuditContainsTheNameOfAStranger) {
  record_->DenyStranger("spiffe://elsewhere/a", absl::UnauthenticatedError("no caller has this name"));
  record_->End(ToStatus(GatewayError(Code::kUnauthenticated, v1::ERROR_REASON_CALLER_NOT_RECOGNIZED, "our words")));
  EXPECT_THAT(events_, ElementsAre("call_refused"));
  const std::vector<std::string> denials = AuditLines("\"kind\":\"deny\"");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "caller"), "spiffe://elsewhere/a");
  EXPECT_EQ(Member(denials[0], "request_id"), "0000000000000af70000000000000af7");
}

TEST_F(CallRecordTest, ACallThatTheDrainRefusesIsLoggedAndNotAudited) {
  record_->EndRefused("(plaintext)", absl::UnavailableError("the gateway drains"));
  EXPECT_THAT(events_, ElementsAre("call_refused"));
  EXPECT_THAT(AuditLines("\"kind\":\"deny\""), IsEmpty());
}

}  // namespace
}  // namespace stampgate
