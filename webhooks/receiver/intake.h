// Processes deliveries: verifies each, stores it durably, and only then acknowledges it.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_INTAKE_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_INTAKE_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "webhooks/log/event_log.h"
#include "webhooks/receiver/receiver.h"
#include "webhooks/receiver/refusal.h"
#include "webhooks/verification/verifier.h"

namespace stampgate {

// Processes the deliveries of a receiver. Thread-safe. Must outlive every delivery in progress.
class Intake {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  // When the steps of a delivery began and ended.
  struct Times {
    SteadyTime begun;                  // Take was called
    SteadyTime verified;               // the verifier accepted or rejected the delivery
    std::optional<SteadyTime> stored;  // the log had stored the event, or had failed; nullopt after a rejection
  };

  // The outcome of a delivery, for logs, metrics and traces.
  struct Report {
    int http_status = 0;
    std::string outcome;              // one of Outcomes()
    std::string header;               // Rejection::header, if the delivery was rejected
    std::string event_id;             // set only for a verified event
    std::optional<Times> times = {};  // nullopt if the receiver refused the request
    std::string cause = {};           // why the log has not stored the event; set only with "not_stored"
  };

  // Returns all values of Report::outcome: "stored", "duplicate", "conflict", "not_stored", and the names of all
  // RejectionReasons and HttpRefusals.
  static std::vector<std::string> Outcomes();

  // `observe` is called for every delivery, on any thread, before the sender gets the response. It must not block.
  // `clock` is called on any thread.
  Intake(Verifier& verifier, EventLog& log, std::function<void(const Report&)> observe,
         std::function<SteadyTime()> clock = std::chrono::steady_clock::now);

  // Processes a delivery and calls `answer`. The status is 200 if the log has stored the event now or earlier, or has
  // stored another body with the same event id. The status is 503 if the event could not be stored. If the verifier
  // rejects the delivery, the status is the rejection's HttpStatus().
  void Take(Delivery delivery, Answer answer);

  // Reports a request that the receiver has refused. May be called from any thread.
  void Refused(HttpRefusal refusal);

 private:
  Verifier& verifier_;
  EventLog& log_;
  const std::function<void(const Report&)> observe_;
  const std::function<SteadyTime()> clock_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_INTAKE_H_
