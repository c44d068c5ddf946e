// Whether calls and deliveries should be sent to this process: the pages /readyz and /readyz/webhooks.
#ifndef STAMPGATE_GATEWAY_ADMIN_READINESS_H_
#define STAMPGATE_GATEWAY_ADMIN_READINESS_H_

#include <atomic>

#include "gateway/admin/page.h"

namespace stampgate {

// Thread-safe. Initially kStarting.
class Readiness {
 public:
  // The reasons why the process is not ready; several may hold.
  enum Obstacle : unsigned {
    kStarting = 1,
    kDraining = 2,
    kAuditFailing = 4,
    kEventLogFailed = 8,
    kCallStoreFailed = 32,
    kEventLogHangs = 16,  // affects deliveries only: calls need no event log
  };

  void Set(Obstacle obstacle) { obstacles_ |= obstacle; }
  void Clear(Obstacle obstacle) { obstacles_ &= ~static_cast<unsigned>(obstacle); }

  // For callers: 503 if there is an obstacle to calls, else 200. Lists all obstacles, also those that affect deliveries
  // only.
  AdminAnswer Answer() const;

  // For the webhook port. A failing audit is an obstacle to calls and not to deliveries.
  AdminAnswer AnswerForWebhooks() const;

 private:
  std::atomic<unsigned> obstacles_ = kStarting;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_READINESS_H_
