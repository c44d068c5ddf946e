// The way of a delivery: verified, made durable, and only then acknowledged.
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

// Thread-safe. Outlives every delivery that is under way.
class Intake {
 public:
  // What became of a delivery, for logs and counters.
  struct Report {
    int http_status = 0;
    std::string outcome;   // one of Outcomes()
    std::string header;    // the rejection's, if it has one
    std::string event_id;  // of a verified event alone
  };

  // All that a report may have: "stored", "duplicate", "conflict", "not_stored", and the names of every RejectionReason
  // and HttpRefusal.
  static std::vector<std::string> Outcomes();

  // `observe` is called for every delivery, from any thread, before its sender is answered; it must not block.
  Intake(Verifier& verifier, EventLog& log, std::function<void(const Report&)> observe);

  // Answers 200 when the event is durable, whether it is new or not; 503 if it could not be stored; else what
  // HttpStatus() says.
  void Take(Delivery delivery, Answer answer);

  // Reports what the receiver did not hand over. From any thread.
  void Refused(HttpRefusal refusal);

 private:
  Verifier& verifier_;
  EventLog& log_;
  const std::function<void(const Report&)> observe_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_INTAKE_H_
