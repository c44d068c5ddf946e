// Decides whether calls and deliveries should be sent to this process: the pages /readyz and /readyz/webhooks.
#ifndef STAMPGATE_GATEWAY_ADMIN_READINESS_H_
#define STAMPGATE_GATEWAY_ADMIN_READINESS_H_

#include <atomic>

#include "gateway/admin/page.h"

namespace stampgate {

// Stores the reasons why the process is not ready. Initially kStarting is set. Thread-safe.
class Readiness {
 public:
  // A reason why the process is not ready. Several may be set at the same time.
  enum Obstacle : unsigned {
    kStarting = 1,
    kDraining = 2,
    kAuditFailing = 4,
    kEventLogFailed = 8,
    kCallStoreFailed = 32,
    kAuditHangs = 128,
    // Affects only submits with an idempotency key and, after ten seconds, submits without a timestamp.
    kCallStoreHangs = 256,
    // The last two affect only deliveries, because calls do not need the event log.
    kEventLogHangs = 16,
    kEventLogUnreachable = 64,
  };

  void Set(Obstacle obstacle) { obstacles_ |= obstacle; }
  void Clear(Obstacle obstacle) { obstacles_ &= ~static_cast<unsigned>(obstacle); }

  // Returns the page /readyz, for callers: 503 if an obstacle affects all calls, otherwise 200. The page lists all
  // obstacles, including those that affect only some calls or only deliveries.
  AdminAnswer Answer() const;

  // Returns the page /readyz/webhooks, for senders: 503 if an obstacle affects deliveries, otherwise 200. The audit log
  // and the call store do not affect deliveries, unless the process ends because of them.
  AdminAnswer AnswerForWebhooks() const;

 private:
  std::atomic<unsigned> obstacles_ = kStarting;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_READINESS_H_
