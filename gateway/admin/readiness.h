// Whether calls and deliveries should be sent here: what /readyz and /readyz/webhooks say.
#ifndef STAMPGATE_GATEWAY_ADMIN_READINESS_H_
#define STAMPGATE_GATEWAY_ADMIN_READINESS_H_

#include <atomic>

#include "gateway/admin/page.h"

namespace stampgate {

// Thread-safe. Begins with kStarting.
class Readiness {
 public:
  // What stands in the way, alone or with others.
  enum Obstacle : unsigned {
    kStarting = 1,
    kDraining = 2,
    kAuditFailing = 4,
    kEventLogFailed = 8,
    kCallStoreFailed = 32,
    kEventLogHangs = 16,  // in the way of deliveries alone: calls need no event log
  };

  void Set(Obstacle obstacle) { obstacles_ |= obstacle; }
  void Clear(Obstacle obstacle) { obstacles_ &= ~static_cast<unsigned>(obstacle); }

  // For callers: 200, or 503 if there is an obstacle to calls. With a line for each obstacle, also for those that are
  // in the way of deliveries alone.
  AdminAnswer Answer() const;

  // The same for the webhook port. Calls have other obstacles: the audit is one to them, and not to deliveries.
  AdminAnswer AnswerForWebhooks() const;

 private:
  std::atomic<unsigned> obstacles_ = kStarting;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_READINESS_H_
