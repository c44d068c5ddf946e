#include "gateway/call_audit.h"

#include <gtest/gtest.h>

#include <string>

namespace stampgate {
namespace {

TEST(StrangerName, IsWhatTheConnectionShows) {
  EXPECT_EQ(StrangerName(Peer{true, "", {}}), "(loopback)");
  EXPECT_EQ(StrangerName(Peer{false, "spiffe://example.org/web", {}}), "(spiffe://example.org/web)");
  EXPECT_EQ(StrangerName(Peer{false, "", {"a.example", "b.example"}}), "(dns:a.example dns:b.example)");
  EXPECT_EQ(StrangerName(Peer()), "(nobody)");
}

TEST(StrangerName, IsNoneOfTheGatewaysOwnForAnyCertificate) {
  for (const char* name : {"loopback", "gateway", "others", "nobody"}) {
    EXPECT_EQ(StrangerName(Peer{false, "", {name}}), std::string("(dns:") + name + ")");
  }
}

TEST(DecisionAbout, TellsTheGeneralOperation) {
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

}  // namespace
}  // namespace stampgate
