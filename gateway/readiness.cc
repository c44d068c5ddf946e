#include "gateway/readiness.h"

#include <utility>

namespace stampgate {
namespace {

constexpr std::pair<Readiness::Obstacle, const char*> kTexts[] = {
    {Readiness::kStarting, "the gateway is starting\n"},
    {Readiness::kDraining, "the gateway is draining\n"},
    {Readiness::kAuditFailing, "the audit log cannot be written\n"},
    {Readiness::kEventLogFailed, "the event log has failed\n"},
};

}  // namespace

AdminAnswer Readiness::Answer() const {
  const unsigned obstacles = obstacles_;
  if (obstacles == 0) return AdminAnswer{.body = "ready\n"};
  AdminAnswer answer;
  answer.http_status = 503;
  for (const auto& [obstacle, text] : kTexts) {
    if ((obstacles & obstacle) != 0) answer.body += text;
  }
  return answer;
}

}  // namespace stampgate
