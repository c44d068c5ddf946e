// Calls of OperationCall that wait for the end of their activity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/secret/sha256.h"
#include "gateway/audit/testing.h"
#include "gateway/calls/trace_context.h"
#include "gateway/memory/testing.h"
#include "gateway/operations/keyed_submit.h"
#include "gateway/operations/operation_call.h"
#include "gateway/operations/testing.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::OperationOf;
using ::stampgate::testing::RequestOf;
using ::stampgate::testing::StatusIs;
using ::stampgate::testing::ValueAt;
using ::testing::SizeIs;
using Kind = AttemptEnd::Kind;

constexpr char kCreate[] = R"pb(organization_id: "o"
                                parameters { policies { policy_name: "n" effect: EFFECT_ALLOW notes: "" } })pb";
constexpr char kWait[] = "wait_until: WAIT_UNTIL_FINAL ";
constexpr char kKey[] = "idempotency_key: 'key-1' ";
constexpr char kReadBody[] = R"({"organizationId":"o","activityId":"a-1"})";

std::string ActivityWith(absl::string_view status, absl::string_view more = "") {
  return absl::StrCat(R"({"activity":{"id":"a-1","organizationId":"o","status":"ACTIVITY_STATUS_)", status,
                      R"(","type":"ACTIVITY_TYPE_CREATE_POLICIES")", more, "}}");
}

const std::string kResult = R"(,"result":{"createPoliciesResult":{"policyIds":["p-1"]}})";

class WaitingCallTest : public CallTest {
 protected:
  struct Call {
    std::weak_ptr<OperationCall> handler;
    Replies replies;
  };

  WaitingCallTest() {
    wait_options_.poll_interval = absl::Milliseconds(1);
    wait_options_.max_poll_interval = absl::Milliseconds(1);
    wait_options_.polls_per_second = 1000;
  }

  // From now on, no call reads its activity unless this is urgent.
  void NeverRead() { wait_options_.poll_interval = wait_options_.max_poll_interval = absl::Hours(1); }

  Call Start(const std::string& request, absl::Duration time_left = absl::InfiniteDuration(),
             absl::string_view method = "CreatePolicies") {
    Call call;
    auto handler = std::make_shared<OperationCall>(environment(), operations(), OperationOf(method),
                                                   TraceContext::Begin([] { return 7; }), call.replies.Callback(),
                                                   memory_.holder());
    call.handler = handler;
    Watch(handler, call.replies);
    handler->Start(caller(), "", BytesOf(*RequestOf(OperationOf(method), request)), time_left);
    return call;
  }

  // Waits for the response to `call`, and returns the value at `path` of its activity.
  static std::string InActivity(const Call& call, absl::string_view path) {
    return ValueAt(*call.replies.WaitFor("stampgate.v1.CreatePoliciesResponse"), absl::StrCat("activity.", path));
  }

  static std::string StatusOf(const Call& call) { return InActivity(call, "status"); }

  TestMemory memory_;
};

TEST_F(WaitingCallTest, ACallThatWaitsReadsItsActivityUntilItHasEnded) {
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  const FakeUpstream::Sent first = upstream_.WaitForSent(2);
  EXPECT_EQ(first.path, "/public/v1/query/get_activity");
  EXPECT_EQ(first.body, kReadBody);
  EXPECT_EQ(first.header_name, "X-Stamp");
  EXPECT_EQ(first.options.lane, UpstreamClient::Lane::kQuery);
  upstream_.End(first.id, AnswerOf(200, ActivityWith("CONSENSUS_NEEDED")));
  const FakeUpstream::Sent second = upstream_.WaitForSent(3);
  EXPECT_EQ(call.replies.count(), 0);
  upstream_.End(second.id, AnswerOf(200, ActivityWith("COMPLETED", kResult)));
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_COMPLETED");
  EXPECT_EQ(InActivity(call, "result.create_policies_result.policy_ids.0"), "p-1");
}

TEST_F(WaitingCallTest, UpstreamsClientReservesTheResponsesToReadingsForTheConnectionOfTheCall) {
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  const FakeUpstream::Sent reading = upstream_.WaitForSent(2);
  EXPECT_EQ(reading.options.holder, memory_.holder());
  upstream_.End(reading.id, AnswerOf(200, ActivityWith("COMPLETED", kResult)));
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_COMPLETED");
}

TEST_F(WaitingCallTest, ACallWithoutWaitUntilReturnsThePendingActivity) {
  const Call call = Start(kCreate);
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_PENDING");
}

TEST_F(WaitingCallTest, ACallWhoseActivityHasEndedDoesNotWait) {
  for (const char* status : {"COMPLETED", "FAILED", "REJECTED"}) {
    const Call call = Start(absl::StrCat(kCreate, kWait));
    upstream_.End(upstream_.sent().back().id, AnswerOf(200, ActivityWith(status)));
    EXPECT_EQ(StatusOf(call), absl::StrCat("ACTIVITY_STATUS_", status));
  }
  EXPECT_THAT(upstream_.sent(), SizeIs(3));
}

TEST_F(WaitingCallTest, AnUnknownStatusIsNoEnd) {
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.End(1, AnswerOf(200, ActivityWith("UNHEARD_OF")));
  upstream_.End(upstream_.WaitForSent(2).id, AnswerOf(200, ActivityWith("REJECTED")));
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_REJECTED");
}

TEST_F(WaitingCallTest, ASubmitThatUpstreamRefusesDoesNotWait) {
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.End(1, AnswerOf(403, R"({"code":7,"message":"m"})"));
  EXPECT_THAT(call.replies.Wait(), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(upstream_.sent(), SizeIs(1));
}

TEST_F(WaitingCallTest, AtTheDeadlineTheCallReturnsTheNewestActivity) {
  wait_options_.max_poll_interval = absl::Hours(1);
  max_wait_ = absl::Milliseconds(300);
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  upstream_.End(upstream_.WaitForSent(2).id, AnswerOf(200, ActivityWith("CONSENSUS_NEEDED")));
  EXPECT_NE(StatusOf(call), "ACTIVITY_STATUS_COMPLETED");
}

TEST_F(WaitingCallTest, TheWaitEndsBeforeTheCallersDeadline) {
  NeverRead();
  const Call call = Start(absl::StrCat(kCreate, kWait), absl::Milliseconds(200));
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_PENDING");
}

TEST_F(WaitingCallTest, AReadingThatIsNoActivityChangesNothing) {
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  for (size_t count = 2;; ++count) {
    const FakeUpstream::Sent read = upstream_.WaitForSent(count);
    if (count == 2) {
      upstream_.End(read.id, AnswerOf(503, ""));
    } else if (count == 3) {
      upstream_.End(read.id, AnswerOf(200, "no JSON"));
    } else if (count == 4) {
      upstream_.End(read.id, AnswerOf(200, R"({"activity":{"id":"b","organizationId":"o",)"
                                           R"("status":"ACTIVITY_STATUS_REJECTED","type":"t","fingerprint":"f"}})"));
    } else {
      upstream_.End(read.id, AnswerOf(200, ActivityWith("FAILED")));
      break;
    }
  }
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_FAILED");
}

TEST_F(WaitingCallTest, ACallerThatLeavesEndsTheWait) {
  NeverRead();
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  if (const auto handler = call.handler.lock()) handler->Cancel();
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_PENDING");
}

TEST_F(WaitingCallTest, ACallerThatIsDismissedStillGetsTheActivity) {
  NeverRead();
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  EXPECT_EQ(call.replies.count(), 0);
  if (const auto handler = call.handler.lock()) handler->Dismiss();
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_PENDING");
}

TEST_F(WaitingCallTest, ACallerThatIsDismissedBeforeUpstreamRespondsDoesNotWait) {
  NeverRead();
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.WaitForSent(1);
  if (const auto handler = call.handler.lock()) handler->Dismiss();
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_PENDING");
}

TEST_F(WaitingCallTest, ADrainEndsTheWait) {
  NeverRead();
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  EXPECT_EQ(call.replies.count(), 0);
  activity_waits().Drain();
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_PENDING");
}

TEST_F(WaitingCallTest, TheResponseOfAGeneralOperationIsTheNewestText) {
  SetGrants(R"pb(grants {
                   general_operations { path: "x" activity_type: "ACTIVITY_TYPE_X" }
                   organizations: "o"
                 })pb");
  const Call call = Start(
      absl::StrCat(R"pb(organization_id: "o" path: "x" activity_type: "ACTIVITY_TYPE_X" parameters: "{}")pb", kWait),
      absl::InfiniteDuration(), "SubmitOperation");
  upstream_.End(1, AnswerOf(200, ActivityWith("PENDING")));
  upstream_.End(upstream_.WaitForSent(2).id, AnswerOf(200, ActivityWith("COMPLETED", kResult)));
  EXPECT_EQ(ValueAt(*call.replies.WaitFor("stampgate.v1.SubmitOperationResponse"), "answer"),
            ActivityWith("COMPLETED", kResult));
}

TEST_F(WaitingCallTest, TheStoreHasTheOutcomeBeforeTheWaitEnds) {
  UseStore();
  const Call call = Start(absl::StrCat(kCreate, kWait, kKey));
  CallStore::Begun begun;
  begun.attempt = 5;
  AnswerStore(std::move(begun));
  upstream_.End(upstream_.WaitForSent().id, AnswerOf(200, ActivityWith("PENDING")));
  const FakeUpstream::Sent read = upstream_.WaitForSent(2);
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kDone);
  EXPECT_EQ(store_.ends()[0].second.activity_status, "ACTIVITY_STATUS_PENDING");
  upstream_.End(read.id, AnswerOf(200, ActivityWith("REJECTED")));
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_REJECTED");
}

TEST_F(WaitingCallTest, TheKeyBelongsToTheSameRequestWithAndWithoutWaitUntil) {
  const Operation& operation = OperationOf("CreatePolicies");
  EXPECT_EQ(DigestOfRequest(operation, *testing::Parsed(operation, absl::StrCat(kCreate, kWait, kKey))),
            DigestOfRequest(operation, *testing::Parsed(operation, absl::StrCat(kCreate, kKey))));
}

TEST_F(WaitingCallTest, ACallWhoseStoredActivityIsPendingWaitsForItsEnd) {
  NeverRead();
  UseStore();
  UseRates({{1, absl::Hours(1)}});  // the call sends no submit, so its place is free for the reading
  const Call call = Start(absl::StrCat(kCreate, kWait, kKey));
  const Operation& operation = OperationOf("CreatePolicies");
  CallStore::Begun begun;
  begun.record = KeyRecord{
      .request_sha256 = DigestOfRequest(operation, *testing::Parsed(operation, absl::StrCat(kCreate, kKey))),
      .body_sha256 = Sha256("a body that can no longer be sent"),
      .timestamp_ms = kNowMs - 3'300'000,
      .outcome = {.kind = Kind::kDone, .activity_id = "a-1", .activity_status = "ACTIVITY_STATUS_CONSENSUS_NEEDED"}};
  AnswerStore(std::move(begun));
  const FakeUpstream::Sent read = upstream_.WaitForSent();
  EXPECT_EQ(read.body, kReadBody);
  upstream_.End(read.id, AnswerOf(200, ActivityWith("COMPLETED", kResult)));
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_COMPLETED");
  EXPECT_EQ(InActivity(call, "result.create_policies_result.policy_ids.0"), "p-1");
}

TEST_F(WaitingCallTest, TheAuditLogHasTheOutcomeBeforeTheWaitEndsAndARecordOfEachReading) {
  UseAudit();
  const Call call = Start(absl::StrCat(kCreate, kWait));
  upstream_.End(upstream_.WaitForSent().id, AnswerOf(200, ActivityWith("PENDING")));
  upstream_.End(upstream_.WaitForSent(2).id, AnswerOf(200, ActivityWith("REJECTED")));
  EXPECT_EQ(StatusOf(call), "ACTIVITY_STATUS_REJECTED");
  const std::vector<std::string> allows = AuditLines("allow");
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(allows, SizeIs(2));
  ASSERT_THAT(outcomes, SizeIs(2));
  EXPECT_EQ(Member(outcomes[0], "activity_status"), "ACTIVITY_STATUS_PENDING");
  EXPECT_EQ(Member(allows[1], "method"), "/stampgate.v1.ActivityService/GetActivity");
  EXPECT_EQ(Member(allows[1], "caller"), "payments");
  EXPECT_EQ(Member(allows[1], "key"), "main");
  EXPECT_EQ(Member(outcomes[1], "activity_status"), "ACTIVITY_STATUS_REJECTED");
}

TEST_F(WaitingCallTest, ACallWithAClientsStampCannotWait) {
  const Call call = Start(absl::StrCat(R"pb(client_stamp { body: "{}" api_key: "x" })pb", kWait));
  EXPECT_THAT(call.replies.Wait(), StatusIs(absl::StatusCode::kInvalidArgument));
}

// A timer of the waits can run while the fixture is destroyed. Here, a task that queues itself again does so.
TEST_F(WaitingCallTest, TheMetricsLiveUntilTheLoopHasEnded) {
  struct Task {
    EventLoop& loop;
    std::weak_ptr<MemoryHolder> member_of_fixture;
    std::weak_ptr<int> member_of_registry;
    int repetitions_after_fixture = 10'000;

    void operator()() {
      ASSERT_FALSE(member_of_registry.expired()) << "the metrics were destroyed before the loop";
      if (!member_of_fixture.expired() || --repetitions_after_fixture > 0) loop.Run(*this);
    }
  };
  auto update = std::make_shared<int>();
  EventLoop& loop = environment().loops[0];
  loop.Run(Task{loop, memory_.holder(), update});
  registry().BeforeCollect([update = std::move(update)] {});
}

}  // namespace
}  // namespace stampgate
