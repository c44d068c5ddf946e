#include "gateway/admin/readiness.h"

#include <utility>

namespace stampgate {
namespace {

constexpr std::pair<Readiness::Obstacle, const char*> kTexts[] = {
    {Readiness::kStarting, "the gateway is starting\n"},
    {Readiness::kDraining, "the gateway is draining\n"},
    {Readiness::kAuditFailing, "the audit log cannot be written\n"},
    {Readiness::kAuditHangs, "the audit log's disk does not answer: calls are refused\n"},
    {Readiness::kCallStoreHangs,
     "the store of idempotency keys does not answer: submits with an idempotency key are refused\n"},
    {Readiness::kEventLogFailed, "the event log has failed\n"},
    {Readiness::kCallStoreFailed, "the store of idempotency keys has failed\n"},
    {Readiness::kEventLogHangs, "the event log's disk does not answer: webhook deliveries are refused\n"},
    {Readiness::kEventLogUnreachable, "the server of the event log cannot be used: webhook deliveries are refused\n"},
};

// Returns a page that lists all `obstacles`. Its status is 503 if one of `obstacles` is in `closing`, otherwise 200.
AdminAnswer AnswerTo(unsigned obstacles, unsigned closing) {
  AdminAnswer answer;
  if ((obstacles & closing) == 0) {
    answer.body = "ready\n";
  } else {
    answer.http_status = 503;
  }
  for (const auto& [obstacle, text] : kTexts) {
    if ((obstacles & obstacle) != 0) answer.body += text;
  }
  return answer;
}

}  // namespace

AdminAnswer Readiness::Answer() const {
  return AnswerTo(obstacles_, kStarting | kDraining | kAuditFailing | kAuditHangs | kEventLogFailed | kCallStoreFailed);
}

AdminAnswer Readiness::AnswerForWebhooks() const {
  constexpr unsigned kClosing =
      kStarting | kDraining | kEventLogFailed | kCallStoreFailed | kEventLogHangs | kEventLogUnreachable;
  return AnswerTo(obstacles_ & kClosing, kClosing);
}

}  // namespace stampgate
