#include "gateway/audit/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

const absl::Time kTime = absl::FromUnixMicros(1767323045678901);

AuditDecision Decision() {
  AuditDecision decision;
  decision.caller = "payments";
  decision.method = "/stampgate.v1.PolicyService/GetPolicy";
  decision.organization_id = "org-1";
  decision.key = "main";
  decision.body_sha256 = "e3b0c442";
  decision.policy_version = "v7";
  return decision;
}

// Returns a line in the form in which AuditChain writes it.
std::string Line(uint64_t sequence, const std::string& text) {
  return absl::StrCat("{\"seq\":", sequence, ",", text, ",\"mac\":\"00\"}");
}

AuditRecord Read(uint64_t sequence, const std::string& text) {
  std::string line = Line(sequence, text);
  absl::StatusOr<AuditRecord> record = ReadAuditRecord(line);
  EXPECT_TRUE(record.ok()) << record.status() << " " << line;
  EXPECT_EQ(line, Line(sequence, text));
  return record.ok() ? *record : AuditRecord();
}

TEST(AuditRecordTest, WritesMembersInAFixedOrder) {
  AuditDecision decision = Decision();
  EXPECT_EQ(AllowText(kTime, decision),
            R"("time":"2026-01-02T03:04:05.678901Z","kind":"allow","caller":"payments",)"
            R"("method":"/stampgate.v1.PolicyService/GetPolicy","organization_id":"org-1","key":"main",)"
            R"("body_sha256":"e3b0c442","policy_version":"v7")");
  decision.key = "";
  decision.client_stamped = true;
  decision.reason = "no grant";
  EXPECT_EQ(DenyText(kTime, decision),
            R"("time":"2026-01-02T03:04:05.678901Z","kind":"deny","caller":"payments",)"
            R"("method":"/stampgate.v1.PolicyService/GetPolicy","organization_id":"org-1",)"
            R"("body_sha256":"e3b0c442","policy_version":"v7","client_stamped":true,"reason":"no grant")");
  decision.request_id = "0af7651916cd43dd8448eb211c80319c";
  EXPECT_EQ(DenyText(kTime, decision),
            R"("time":"2026-01-02T03:04:05.678901Z","kind":"deny","caller":"payments",)"
            R"("method":"/stampgate.v1.PolicyService/GetPolicy","organization_id":"org-1",)"
            R"("body_sha256":"e3b0c442","policy_version":"v7","client_stamped":true,"reason":"no grant",)"
            R"("request_id":"0af7651916cd43dd8448eb211c80319c")");
  AuditDecision general;
  general.caller = "payments";
  general.method = "/stampgate.v1.StampService/Prepare";
  general.prepared_method = "/stampgate.v1.GeneralService/SubmitOperation";
  general.path = "init_otp";
  general.activity_type = "ACTIVITY_TYPE_INIT_OTP_V3";
  general.organization_id = "org-1";
  EXPECT_EQ(DenyText(kTime, general),
            R"("time":"2026-01-02T03:04:05.678901Z","kind":"deny","caller":"payments",)"
            R"("method":"/stampgate.v1.StampService/Prepare",)"
            R"("prepared_method":"/stampgate.v1.GeneralService/SubmitOperation","path":"init_otp",)"
            R"("activity_type":"ACTIVITY_TYPE_INIT_OTP_V3","organization_id":"org-1")");
  AuditDecision seek;
  seek.caller = "operator";
  seek.method = "/stampgate.v1.SubscriptionService/Seek";
  seek.subscription = "payouts";
  EXPECT_EQ(AllowText(kTime, seek), R"("time":"2026-01-02T03:04:05.678901Z","kind":"allow","caller":"operator",)"
                                    R"("method":"/stampgate.v1.SubscriptionService/Seek","subscription":"payouts")");
  AuditOutcome outcome;
  outcome.code = "UNKNOWN";
  outcome.reason = "OUTCOME_UNKNOWN";
  outcome.activity_id = "act-1";
  outcome.activity_status = "ACTIVITY_STATUS_PENDING";
  outcome.fingerprint = "sha256:00";
  outcome.duration = absl::Microseconds(1500);
  EXPECT_EQ(OutcomeText(kTime, 7, outcome),
            R"("time":"2026-01-02T03:04:05.678901Z","kind":"outcome","allow":7,"code":"UNKNOWN",)"
            R"("reason":"OUTCOME_UNKNOWN","activity_id":"act-1","activity_status":"ACTIVITY_STATUS_PENDING",)"
            R"("fingerprint":"sha256:00","duration_us":1500)");
  outcome.attempts = 1;
  EXPECT_THAT(OutcomeText(kTime, 7, outcome), ::testing::EndsWith(R"("duration_us":1500)"));
  outcome.attempts = 2;
  EXPECT_THAT(OutcomeText(kTime, 7, outcome), ::testing::EndsWith(R"("duration_us":1500,"attempts":2)"));
  EXPECT_EQ(DeniedCountText(kTime, "payments", 12, kTime - absl::Seconds(1)),
            R"("time":"2026-01-02T03:04:05.678901Z","kind":"denied_count","caller":"payments","count":12,)"
            R"("since":"2026-01-02T03:04:04.678901Z")");
  EXPECT_EQ(FirstOfGroup(TornText(kTime, 9), "ab"),
            R"("time":"2026-01-02T03:04:05.678901Z","kind":"torn","bytes":9,"previous_mac":"ab")");
  EXPECT_EQ(StillOpenText(kTime, {3, 5}), R"("time":"2026-01-02T03:04:05.678901Z","kind":"still_open","allows":[3,5])");
}

TEST(AuditRecordTest, ReadAuditRecordParsesTheRecordsThatAreWritten) {
  EXPECT_EQ(Read(1, StartText(kTime, "0.1.0", 2)).kind, AuditKind::kStart);
  EXPECT_EQ(Read(2, StopText(kTime)).kind, AuditKind::kStop);
  EXPECT_EQ(Read(3, TornText(kTime, 9)).kind, AuditKind::kTorn);
  EXPECT_EQ(Read(4, AllowText(kTime, Decision())).kind, AuditKind::kAllow);
  EXPECT_EQ(Read(18446744073709551615u, DenyText(kTime, Decision())).sequence, 18446744073709551615u);
  EXPECT_EQ(Read(6, DeniedCountText(kTime, "a", 12, kTime)).count, 12);
  AuditOutcome outcome;
  outcome.code = "UNKNOWN";
  EXPECT_EQ(Read(7, OutcomeText(kTime, 4, outcome)).allow, 4);
  EXPECT_FALSE(Read(7, OutcomeText(kTime, 4, outcome)).process_ended);
  outcome.reason = kProcessEnded;
  EXPECT_TRUE(Read(7, OutcomeText(kTime, 4, outcome)).process_ended);
  EXPECT_EQ(Read(1, StartText(kTime, "0.1.0", 2)).format, 2);
  EXPECT_EQ(Read(8, RotateText(kTime, "0.1.0", 1)).format, 2);
  EXPECT_EQ(Read(8, FirstOfGroup(RotateText(kTime, "0.1.0", 1), "ab")).previous_mac, "ab");
  EXPECT_EQ(Read(8, FirstOfGroup(StopText(kTime), "ab")).previous_mac, "ab");
  EXPECT_EQ(Read(9, StillOpenText(kTime, {4, 18446744073709551615u})).allows,
            (std::vector<uint64_t>{4, 18446744073709551615u}));
}

TEST(AuditRecordTest, ValuesArePrintableAscii) {
  EXPECT_EQ(AuditValue("spiffe://a.b/c d"), "spiffe://a.b/c d");
  EXPECT_EQ(AuditValue(absl::string_view("a\0b\r\n\x7f%\x1b[2J", 11)), "a%00b%0D%0A%7F%25%1B[2J");
  EXPECT_EQ(AuditValue("caf\xc3\xa9 \xe2\x80\xae \xff"), "caf%C3%A9 %E2%80%AE %FF");
  // The JSON writer also escapes quotes and backslashes.
  AuditDecision decision;
  decision.caller = "\"},{\\";
  EXPECT_TRUE(absl::EndsWith(AllowText(kTime, decision), R"("caller":"\"},{\\")"));
}

TEST(AuditRecordTest, LongValuesAreShortened) {
  EXPECT_EQ(AuditValue(std::string(256, 'a')), std::string(256, 'a'));
  EXPECT_EQ(AuditValue(std::string(257, 'a')), std::string(253, 'a') + "...");
  // AuditValue never shortens a value inside an escape.
  const std::string cut = AuditValue(std::string(200, '\n'));
  EXPECT_LE(cut.size(), kAuditValueBytes);
  EXPECT_TRUE(absl::EndsWith(cut, "%0A...")) << cut;
}

TEST(AuditRecordTest, EveryRecordIsShorterThanTheLimit) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const auto any = [&random] {
      std::string text(random() % 600, '\0');
      for (char& c : text) c = static_cast<char>(random());
      return text;
    };
    AuditDecision decision{any(), any(), any(), any(), any(), any(), any(), any(), any(), any(), true, any(), any()};
    AuditOutcome outcome{any(), any(), any(), any(), any(), absl::InfiniteDuration()};
    for (const std::string& text : {DenyText(kTime, decision), OutcomeText(kTime, 1, outcome)}) {
      EXPECT_LT(text.size() + 200, kAuditRecordBytes);
      Read(1, text);
    }
  }
  const std::string longest(999, '"');
  const AuditDecision decision{longest, longest, longest, longest, longest, longest, longest,
                               longest, longest, longest, true,    longest, longest};
  EXPECT_LT(AllowText(kTime, decision).size() + 200, kAuditRecordBytes);
  const std::vector<uint64_t> allows(kAuditAllowsPerRecord, 18446744073709551615u);
  EXPECT_LT(StillOpenText(kTime, allows).size() + 200, kAuditRecordBytes);
}

TEST(AuditRecordTest, ReadAuditRecordRefusesOtherLines) {
  for (const char* text : {
           "",
           "7",
           "{}",
           R"({"seq":1})",
           R"({"seq":1,"kind":"allow")",
           R"({"kind":"allow"})",
           R"({"seq":0,"kind":"allow"})",
           R"({"seq":-1,"kind":"allow"})",
           R"({"seq":1.5,"kind":"allow"})",
           R"({"seq":18446744073709551616,"kind":"allow"})",
           R"({"seq":"1","kind":"allow"})",
           R"({"seq":1,"seq":1,"kind":"allow"})",
           R"({"seq":1,"kind":"secret-kind"})",
           R"({"seq":1,"kind":"outcome","allow":"x"})",
           R"({"seq":1,"kind":"start","format":"2"})",
           R"({"seq":1,"kind":"stop","previous_mac":7})",
           R"({"seq":1,"kind":"still_open","allows":[1,"x"]})",
       }) {
    std::string line = text;
    const absl::Status status = ReadAuditRecord(line).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << text;
    EXPECT_FALSE(absl::StrContains(status.message(), "secret-kind")) << status;
  }
}

}  // namespace
}  // namespace stampgate
