// The processing of a delivery: verifies it, stores it durably, and only then acknowledges it.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_INTAKE_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_INTAKE_H_

#include <functional>
#include <string>
#include <vector>

#include "webhooks/log/event_log.h"
#include "webhooks/receiver/receiver.h"
#include "webhooks/receiver/refusal.h"
#include "webhooks/verification/verifier.h"

namespace stampgate {

// Thread-safe. Must outlive every delivery that is in progress.
class Intake {
 public:
  // The outcome of a delivery, for logs and metrics.
  struct Report {
    int http_status = 0;
    std::string outcome;   // one of Outcomes()
    std::string header;    // the header that the rejection names, if any
    std::string event_id;  // set only for a verified event
  };

  // Every outcome that a report can have: "stored", "duplicate", "conflict", "not_stored", and the names of every
  // RejectionReason and HttpRefusal.
  static std::vector<std::string> Outcomes();

  // Calls `observe` for every delivery, from any thread, before its sender gets the response. `observe` must not block.
  Intake(Verifier& verifier, EventLog& log, std::function<void(const Report&)> observe);

  // Answers 200 once the event is durable, whether it is new or not; 503 if it could not be stored; the rejection's
  // HttpStatus() if the verifier rejects it.
  void Take(Delivery delivery, Answer answer);

  // Reports a request that the receiver refused itself. May be called from any thread.
  void Refused(HttpRefusal refusal);

 private:
  Verifier& verifier_;
  EventLog& log_;
  const std::function<void(const Report&)> observe_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_INTAKE_H_
