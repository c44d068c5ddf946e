#include "gateway/admin/readiness.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

TEST(ReadinessTest, IsNotReadyWhileTheGatewayStarts) {
  const Readiness readiness;
  EXPECT_EQ(readiness.Answer().http_status, 503);
  EXPECT_EQ(readiness.Answer().body, "the gateway is starting\n");
}

TEST(ReadinessTest, IsReadyWithoutObstacles) {
  Readiness readiness;
  readiness.Clear(Readiness::kStarting);
  EXPECT_EQ(readiness.Answer().http_status, 200);
  EXPECT_EQ(readiness.Answer().body, "ready\n");
}

TEST(ReadinessTest, ListsEachObstacleUntilItIsCleared) {
  Readiness readiness;
  readiness.Clear(Readiness::kStarting);
  readiness.Set(Readiness::kEventLogFailed);
  readiness.Set(Readiness::kAuditFailing);
  readiness.Set(Readiness::kAuditFailing);
  readiness.Set(Readiness::kDraining);
  EXPECT_EQ(readiness.Answer().body,
            "the gateway is draining\nthe audit log cannot be written\nthe event log has failed\n");
  readiness.Clear(Readiness::kAuditFailing);
  EXPECT_EQ(readiness.Answer().http_status, 503);
  EXPECT_EQ(readiness.Answer().body, "the gateway is draining\nthe event log has failed\n");
}

TEST(ReadinessTest, AHangingEventLogAffectsOnlyDeliveries) {
  Readiness readiness;
  readiness.Clear(Readiness::kStarting);
  EXPECT_EQ(readiness.AnswerForWebhooks().http_status, 200);
  EXPECT_EQ(readiness.AnswerForWebhooks().body, "ready\n");
  readiness.Set(Readiness::kEventLogHangs);
  EXPECT_EQ(readiness.Answer().http_status, 200);
  EXPECT_EQ(readiness.Answer().body, "ready\nthe event log's disk does not answer: webhook deliveries are refused\n");
  EXPECT_EQ(readiness.AnswerForWebhooks().http_status, 503);
  EXPECT_EQ(readiness.AnswerForWebhooks().body,
            "the event log's disk does not answer: webhook deliveries are refused\n");
  readiness.Clear(Readiness::kEventLogHangs);
  EXPECT_EQ(readiness.AnswerForWebhooks().http_status, 200);
}

TEST(ReadinessTest, AnUnreachableEventLogAffectsOnlyDeliveries) {
  Readiness readiness;
  readiness.Clear(Readiness::kStarting);
  readiness.Set(Readiness::kEventLogUnreachable);
  EXPECT_EQ(readiness.Answer().http_status, 200);
  EXPECT_EQ(readiness.Answer().body,
            "ready\nthe server of the event log cannot be used: webhook deliveries are refused\n");
  EXPECT_EQ(readiness.AnswerForWebhooks().http_status, 503);
  EXPECT_EQ(readiness.AnswerForWebhooks().body,
            "the server of the event log cannot be used: webhook deliveries are refused\n");
  readiness.Clear(Readiness::kEventLogUnreachable);
  EXPECT_EQ(readiness.AnswerForWebhooks().http_status, 200);
}

TEST(ReadinessTest, AFailingAuditAffectsOnlyCalls) {
  Readiness readiness;
  readiness.Clear(Readiness::kStarting);
  readiness.Set(Readiness::kAuditFailing);
  EXPECT_EQ(readiness.Answer().http_status, 503);
  EXPECT_EQ(readiness.AnswerForWebhooks().http_status, 200);
  EXPECT_EQ(readiness.AnswerForWebhooks().body, "ready\n");
}

TEST(ReadinessTest, IsNotReadyForDeliveriesDuringStartAndDrain) {
  for (const auto obstacle : {Readiness::kStarting, Readiness::kDraining, Readiness::kEventLogFailed}) {
    Readiness readiness;
    readiness.Clear(Readiness::kStarting);
    readiness.Set(obstacle);
    EXPECT_EQ(readiness.AnswerForWebhooks().http_status, 503);
    EXPECT_EQ(readiness.AnswerForWebhooks().body, readiness.Answer().body);
  }
}

}  // namespace
}  // namespace stampgate
