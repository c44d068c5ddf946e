#include "webhooks/receiver/intake.h"

#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "webhooks/verification/rejection.h"

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

constexpr char kNotStored[] = "not_stored";

// Adds the names of all values of an enum that counts from 0. Name() returns an empty text for the first number after
// the last value.
template <typename Enum>
void AddNames(std::vector<std::string>& names) {
  for (int value = 0;; ++value) {
    std::string name(Name(static_cast<Enum>(value)));
    if (name.empty()) return;
    names.push_back(std::move(name));
  }
}

}  // namespace

std::vector<std::string> Intake::Outcomes() {
  std::vector<std::string> outcomes;
  AddNames<AppendOutcome>(outcomes);
  outcomes.emplace_back(kNotStored);
  AddNames<RejectionReason>(outcomes);
  AddNames<HttpRefusal>(outcomes);
  return outcomes;
}

Intake::Intake(Verifier& verifier, EventLog& log, std::function<void(const Report&)> observe,
               std::function<SteadyTime()> clock)
    : verifier_(verifier), log_(log), observe_(std::move(observe)), clock_(std::move(clock)) {}

void Intake::Take(Delivery delivery, Answer answer) {
  Times times;
  times.begun = clock_();
  verifier_.Verify(std::move(delivery), [this, times, answer = std::move(answer)](Verdict verdict) mutable {
    times.verified = clock_();
    if (const auto* rejection = std::get_if<Rejection>(&verdict)) {
      const int http_status = HttpStatus(rejection->reason);
      observe_({http_status, std::string(Name(rejection->reason)), rejection->header, "", times});
      answer(http_status);
      return;
    }
    auto& event = std::get<VerifiedEvent>(verdict);
    std::string event_id = event->event_id;
    log_.Append(std::move(event), [this, times, event_id = std::move(event_id),
                                   answer = std::move(answer)](absl::StatusOr<AppendOutcome> appended) mutable {
      times.stored = clock_();
      // After a 503, upstream repeats the delivery. The response to an id conflict is 200, because a repetition would
      // have the same outcome.
      const int http_status = appended.ok() ? 200 : 503;
      observe_({http_status, appended.ok() ? Name(*appended) : kNotStored, "", std::move(event_id), times,
                std::string(appended.status().message())});
      answer(http_status);
    });
  });
}

void Intake::Refused(HttpRefusal refusal) { observe_({HttpStatus(refusal), std::string(Name(refusal)), "", ""}); }

}  // namespace stampgate
