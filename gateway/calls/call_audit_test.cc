#include "gateway/calls/call_audit.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gateway/audit/log.h"
#include "gateway/audit/testing.h"
#include "gateway/callers/access.h"
#include "gateway/callers/caller.h"
#include "gateway/calls/disk_waits.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/error.h"

namespace stampgate {
namespace {

TEST(DecisionAboutTest, ContainsTheGeneralOperation) {
  Question question;
  question.method = "/stampgate.v1.GeneralService/SubmitOperation";
  question.organization_id = "org-1";
  question.general = true;
  question.general_path = "init_otp";
  question.general_type = "ACTIVITY_TYPE_INIT_OTP_V3";
  const AuditDecision decision = DecisionAbout(question);
  EXPECT_EQ(decision.organization_id, "org-1");
  EXPECT_EQ(decision.path, "init_otp");
  EXPECT_EQ(decision.activity_type, "ACTIVITY_TYPE_INIT_OTP_V3");
  EXPECT_EQ(DecisionAbout(Question()).organization_id, "");
}

class CallAuditTest : public ::testing::Test {
 protected:
  CallAuditTest()
      : path_(NewFolder() + "audit.log"), caller_([] {
          config::v1::Caller caller;
          caller.set_name("payments");
          return Caller(caller, *OperationSet::BuiltIn());
        }()) {
    log_ = AuditLog::Open({.file = path_, .key = TestAuditKey(), .now = absl::Now, .calls = &calls_}).value();
    call_.emplace(log_.get(), waits_, "/stampgate.v1.PolicyService/GetPolicy");
  }

  KnownCaller caller() const { return {std::make_shared<Access>(), &caller_}; }

  absl::Status Allow() {
    std::promise<absl::Status> answer;
    call_->Allow(caller(), {}, [&answer](absl::Status status) { answer.set_value(std::move(status)); });
    return answer.get_future().get();
  }
  absl::Status AllowRead() {
    std::promise<absl::Status> answer;
    call_->AllowRead(caller(), [&answer](absl::Status status) { answer.set_value(std::move(status)); });
    return answer.get_future().get();
  }

  std::vector<std::string> Outcomes() {
    log_->Close();
    return LinesWith(path_, "\"kind\":\"outcome\"");
  }

  const std::string path_;
  const Caller caller_;
  FaultyCalls calls_;
  DiskWaits waits_;
  std::unique_ptr<AuditLog> log_;
  std::optional<CallAudit> call_;
};

TEST_F(CallAuditTest, ACallThatIsDestroyedWithoutAnEndIsRecordedAsAbandoned) {
  ASSERT_TRUE(Allow().ok());
  call_.reset();
  const std::vector<std::string> outcomes = Outcomes();
  ASSERT_EQ(outcomes.size(), 1);
  EXPECT_EQ(Member(outcomes[0], "allow"), "2");
  EXPECT_EQ(Member(outcomes[0], "code"), "UNKNOWN");
  EXPECT_EQ(Member(outcomes[0], "reason"), "ABANDONED");
}

TEST_F(CallAuditTest, EachDecisionHasTheRequestId) {
  call_.reset();
  call_.emplace(log_.get(), waits_, "m", "0af7651916cd43dd8448eb211c80319c");
  ASSERT_TRUE(Allow().ok());
  call_->Deny(caller(), {});
  call_.reset();
  log_->Close();
  for (const char* kind : {"allow", "deny"}) {
    const std::vector<std::string> lines = LinesWith(path_, std::string("\"kind\":\"") + kind);
    ASSERT_EQ(lines.size(), 1) << kind;
    EXPECT_EQ(Member(lines[0], "request_id"), "0af7651916cd43dd8448eb211c80319c");
  }
}

TEST_F(CallAuditTest, AReadThatIsDestroyedWithoutAnEndIsRecordedAsAbandoned) {
  ASSERT_TRUE(AllowRead().ok());
  call_.reset();
  const std::vector<std::string> outcomes = Outcomes();
  ASSERT_EQ(outcomes.size(), 1);
  EXPECT_EQ(Member(outcomes[0], "reason"), "ABANDONED");
}

TEST_F(CallAuditTest, ReadsThatAreRepeatedWithoutEndAreRefusedAndCallsThatAreSentAreNot) {
  const auto next = [this] { call_.emplace(log_.get(), waits_, "/stampgate.v1.EventService/ListEvents"); };
  const auto refused_after = [&](auto allow, int attempts) {
    for (int i = 0; i < UnsentAllows::kBurst + 500; ++i) {
      next();
      const absl::Status status = allow();
      if (!status.ok()) {
        EXPECT_EQ(ErrorReasonOf(status), "TOO_MANY_CALLS");
        return i;
      }
      call_->End(absl::OkStatus(), {}, "", attempts);
    }
    return -1;
  };
  EXPECT_EQ(refused_after([this] { return Allow(); }, /*attempts=*/1), -1);
  EXPECT_GE(refused_after([this] { return AllowRead(); }, /*attempts=*/0), UnsentAllows::kBurst);
  next();
  EXPECT_TRUE(Allow().ok()) << "reads do not use up what calls may use";
  call_->End(absl::OkStatus());
  // Such as calls whose callers leave before the request is sent.
  EXPECT_GE(refused_after([this] { return Allow(); }, /*attempts=*/0), UnsentAllows::kBurst - 1);
}

TEST_F(CallAuditTest, ACallHasOnlyItsFirstOutcome) {
  ASSERT_TRUE(Allow().ok());
  call_->End(absl::OkStatus());
  call_->End(absl::UnknownError("again"));
  call_.reset();
  const std::vector<std::string> outcomes = Outcomes();
  ASSERT_EQ(outcomes.size(), 1);
  EXPECT_EQ(Member(outcomes[0], "code"), "OK");
}

TEST_F(CallAuditTest, ACallThatWasNotAllowedHasNoOutcome) {
  call_->Deny(caller(), {});
  call_.reset();
  call_.emplace(log_.get(), waits_, "m");
  calls_.Fail(FaultyCalls::Call::kWrite, ENOSPC);
  EXPECT_EQ(Allow().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(AllowRead().ok());  // allows the read although no record is written
  call_.reset();
  calls_.Mend();
  EXPECT_TRUE(Outcomes().empty());
  EXPECT_EQ(LinesWith(path_, "\"kind\":\"deny\"").size(), 1);
}

TEST_F(CallAuditTest, ACallThatADrainEndedHasAnOutcomeOnceTheDiskWorks) {
  // The callback of the first allow blocks the log's thread, so the second allow waits.
  CallAudit first(log_.get(), waits_, "m");
  std::promise<void> held;
  std::promise<void> go_on;
  first.Allow(caller(), {}, [&](const absl::Status&) {
    held.set_value();
    go_on.get_future().wait();
  });
  held.get_future().wait();
  std::promise<absl::Status> answer;
  call_->Allow(caller(), {}, [&answer](absl::Status status) { answer.set_value(std::move(status)); });
  waits_.EndAll();
  EXPECT_EQ(answer.get_future().get().code(), absl::StatusCode::kUnavailable);
  call_.reset();
  go_on.set_value();
  call_.emplace(log_.get(), waits_, "m");
  ASSERT_TRUE(Allow().ok());  // the log writes this allow only after the second allow
  log_->Close();
  const std::vector<std::string> outcomes = LinesWith(path_, "\"allow\":3");
  ASSERT_EQ(outcomes.size(), 1);
  EXPECT_EQ(Member(outcomes[0], "code"), "UNAVAILABLE");
  EXPECT_EQ(Member(outcomes[0], "reason"), "AUDIT_UNAVAILABLE");
}

TEST_F(CallAuditTest, WithoutALogNothingIsRecorded) {
  call_.emplace(nullptr, waits_, "m");
  EXPECT_TRUE(Allow().ok());
  EXPECT_TRUE(AllowRead().ok());
  call_.reset();
  EXPECT_TRUE(Outcomes().empty());
}

}  // namespace
}  // namespace stampgate
