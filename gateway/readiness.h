// Whether calls should be sent here: what /readyz says.
#ifndef STAMPGATE_GATEWAY_READINESS_H_
#define STAMPGATE_GATEWAY_READINESS_H_

#include <atomic>

#include "gateway/admin_answer.h"

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
  };

  void Set(Obstacle obstacle) { obstacles_ |= obstacle; }
  void Clear(Obstacle obstacle) { obstacles_ &= ~static_cast<unsigned>(obstacle); }

  // 200, or 503 with a line for each obstacle.
  AdminAnswer Answer() const;

 private:
  std::atomic<unsigned> obstacles_ = kStarting;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_READINESS_H_
