#include "webhooks/intake.h"

#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "webhooks/rejection.h"

namespace stampgate {
namespace {

const char* Name(AppendOutcome outcome) {
  switch (outcome) {
    case AppendOutcome::kStored:
      return "stored";
    case AppendOutcome::kDuplicate:
      return "duplicate";
    case AppendOutcome::kConflict:
      return "conflict";
  }
  return "";
}

}  // namespace

Intake::Intake(Verifier& verifier, EventLog& log, std::function<void(const Report&)> observe)
    : verifier_(verifier), log_(log), observe_(std::move(observe)) {}

void Intake::Take(Delivery delivery, Answer answer) {
  verifier_.Verify(std::move(delivery), [this, answer = std::move(answer)](Verdict verdict) mutable {
    if (const auto* rejection = std::get_if<Rejection>(&verdict)) {
      const int http_status = HttpStatus(rejection->reason);
      observe_({http_status, std::string(Name(rejection->reason)), rejection->header, ""});
      answer(http_status);
      return;
    }
    auto& event = std::get<VerifiedEvent>(verdict);
    std::string event_id = event->event_id;
    log_.Append(std::move(event), [this, event_id = std::move(event_id),
                                   answer = std::move(answer)](absl::StatusOr<AppendOutcome> appended) mutable {
      // Upstream repeats after a 503 and after no other failure. A conflict will not change by repeating.
      const int http_status = appended.ok() ? 200 : 503;
      observe_({http_status, appended.ok() ? Name(*appended) : "not_stored", "", std::move(event_id)});
      answer(http_status);
    });
  });
}

}  // namespace stampgate
