#include "gateway/operations/dispatch.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/admission/rate_window.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/process/steady_now.h"
#include "translate/error.h"
#include "translate/upstream_error.h"

namespace stampgate {
namespace {

using absl::StatusCode;
using Cause = TransportFailure::Cause;

TransportFailure CallerLeft() { return {Cause::kCancelled, /*body_sent=*/false, "the caller has left"}; }

// Returns whose rate it is, for an error message.
absl::string_view OwnerOf(RateScope scope) {
  switch (scope) {
    case RateScope::kOrganization:
      return "the organization's";
    case RateScope::kOperation:
      return "the operation's";
    case RateScope::kUpstream:
      break;
  }
  return "upstream's";
}

bool IsQuota(const Admission::Refused& refused) {
  return refused.limit.has_value() && refused.limit->per > RateWindow::kLongestPaced;
}

// Returns what the call lacked, for an error message.
std::string LackOf(const Admission::Refused& refused) {
  const absl::string_view owner = OwnerOf(refused.scope);
  if (refused.calls_in_flight) return "until other calls of the organization end";
  if (!refused.limit.has_value()) {
    return absl::StrCat("for a place within ", owner, " rate, because upstream has refused requests");
  }
  return absl::StrCat("for a place within ", owner, IsQuota(refused) ? " quota of " : " rate of ",
                      refused.limit->requests, " calls in ", absl::FormatDuration(refused.limit->per));
}

absl::Status StatusOf(const Admission::Refused& refused) {
  if (refused.why == AdmissionRefusal::kLeft) return absl::CancelledError("the caller has left");
  if (refused.why == AdmissionRefusal::kDraining) return ShuttingDown();
  const bool waited = refused.why == AdmissionRefusal::kWaitTooLong;
  const std::string lack = LackOf(refused);
  std::string message = absl::StrCat("the call would wait too long ", lack);
  absl::string_view limit = refused.calls_in_flight ? "calls" : "rate";
  if (IsQuota(refused)) {
    message = absl::StrCat("the gateway has no call left of ", OwnerOf(refused.scope), " quota of ",
                           refused.limit->requests, " calls in ", absl::FormatDuration(refused.limit->per));
    limit = "quota";
  }
  if (waited) {
    message = absl::StrCat("the call has waited as long as it may ", lack);
    limit = "wait";
  }
  Error error = GatewayError(StatusCode::kResourceExhausted, v1::ERROR_REASON_QUOTA_EXHAUSTED, std::move(message));
  error.metadata.emplace_back("limit", limit);
  error.retry_delay = refused.retry_after;
  return ToStatus(error);
}

absl::Status UpstreamFailing(absl::Duration until_probe) {
  Error error = GatewayError(StatusCode::kUnavailable, v1::ERROR_REASON_UPSTREAM_FAILING,
                             "upstream fails, so the gateway sends only one request in five seconds");
  error.retry_delay = until_probe;
  return ToStatus(error);
}

// Returns whether upstream may have carried out the request of an attempt that ended in this way.
bool MayHaveActed(const UpstreamOutcome& outcome) {
  if (const auto* failure = std::get_if<TransportFailure>(&outcome); failure != nullptr) return failure->body_sent;
  return std::get<HttpAnswer>(outcome).status >= 500;
}

}  // namespace

void Dispatch::Admit(Owner owner, Terms terms, absl::AnyInvocable<void(absl::Status)> next) {
  terms_ = std::move(terms);
  if (Breaker* const breaker = BreakerOfCall(); breaker != nullptr) {
    if (const std::optional<absl::Duration> wait = breaker->Refuse(SteadyNow(), probe_); wait.has_value()) {
      return next(UpstreamFailing(*wait));
    }
  }
  owner_ = std::move(owner);
  next_ = std::move(next);
  if (std::optional<Admission::Verdict> verdict = Enter(); verdict.has_value()) OnVerdict(*std::move(verdict));
}

// Submits and queries have connections of their own, so each of them can fail while the others succeed.
Breaker* Dispatch::BreakerOfCall() const {
  return terms_.call_class == CallClass::kSubmit ? environment_.submit_breaker : environment_.query_breaker;
}

std::optional<Admission::Verdict> Dispatch::Enter() {
  // A further attempt is in this step already.
  if (spans_ != nullptr && environment_.admission.limits() && !last_.has_value()) spans_->Begin(CallStage::kQueue);
  AdmissionRequest request;
  request.caller = terms_.caller;
  request.weight = terms_.weight;
  request.organization = terms_.organization;
  request.operation = terms_.operation;
  request.call_class = terms_.call_class;
  request.time_left = absl::FromChrono(terms_.deadline - Clock::now());
  Admission::Ticket ticket = 0;
  const Owner owner = owner_;  // the turn can come, and end the dispatch, before Enter returns
  const uint64_t wait = EndWait();
  std::optional<Admission::Verdict> verdict =
      environment_.admission.Enter(request, ticket, [this](Admission::Verdict later) {
        loop_.Run([this, later = std::move(later)]() mutable { OnTurn(std::move(later)); });
      });
  if (!verdict.has_value()) SetWaiting(wait, Turn{ticket});
  return verdict;
}

void Dispatch::OnTurn(Admission::Verdict verdict) {
  EndWait();
  OnVerdict(std::move(verdict));
}

void Dispatch::OnVerdict(Admission::Verdict verdict) {
  permit_ = std::move(verdict.permit);
  if (verdict.refused.has_value()) probe_.Return();
  if (last_.has_value()) {  // the place is for a further attempt
    if (caller_left()) return FinishCancelled();
    if (verdict.refused.has_value()) return Finish(*std::move(last_));
    return Send();
  }
  const Owner owner = std::move(owner_);
  std::exchange(next_, nullptr)(verdict.refused.has_value() ? StatusOf(*verdict.refused) : absl::OkStatus());
}

void Dispatch::SendNothing() {
  permit_.End();
  probe_.Return();
}

void Dispatch::Post(Owner owner, StampedRequest request, RequestKind kind, Done done, Done late) {
  owner_ = std::move(owner);
  request_ = std::move(request);
  kind_ = kind;
  done_ = std::move(done);
  late_ = std::move(late);
  Send();
}

void Dispatch::Get(Owner owner, DiscoveryRequest request, Done done) {
  owner_ = std::move(owner);
  request_ = std::move(request);
  done_ = std::move(done);
  Send();
}

void Dispatch::Send() {
  const Owner owner = owner_;  // the exchange can end before Post returns
  if (attempts_++ == 0 && environment_.retries != nullptr) environment_.retries->CountRequest(SteadyNow());
  last_.reset();
  slot_at_.reset();
  const UpstreamClient::CallOptions options = OptionsOfAttempt();
  const uint64_t wait = EndWait();
  auto done = [this](UpstreamOutcome outcome) { OnOutcome(std::move(outcome)); };
  if (const auto* request = std::get_if<StampedRequest>(&request_); request != nullptr) {
    auto late = [this](UpstreamOutcome outcome) { OnLate(std::move(outcome)); };
    return SetWaiting(wait, Exchange{environment_.upstream.Post(*request, options, std::move(done), std::move(late))});
  }
  SetWaiting(wait, Exchange{environment_.upstream.Get(std::get<DiscoveryRequest>(request_), options, std::move(done))});
}

// Each attempt has a span of its own, whose id upstream receives.
UpstreamClient::CallOptions Dispatch::OptionsOfAttempt() {
  using Lane = UpstreamClient::Lane;
  UpstreamClient::CallOptions options;
  options.holder = terms_.holder;
  options.lane = kind_ == RequestKind::kQuery ? Lane::kQuery : Lane::kSubmit;
  options.caller = std::string(terms_.caller);
  options.weight = terms_.weight;
  options.deadline = terms_.deadline;
  if (permit_.is_counted()) {
    options.on_sending = [this] { permit_.Sent(); };
  }
  const bool sampled = spans_ != nullptr && spans_->sampled();
  if (sampled) spans_->Begin(CallStage::kQueue);
  options.on_slot = [this, sampled] {
    slot_at_ = Clock::now();
    probe_.Use();
    if (sampled) spans_->Begin(CallStage::kUpstream);
  };
  if (trace_ == nullptr) return options;
  if (environment_.forward_traceparent) {
    const uint64_t span = spans_->NextUpstreamSpan();
    options.traceparent = span == 0 ? trace_->Traceparent(environment_.random) : trace_->SampledTraceparent(span);
  }
  return options;
}

void Dispatch::OnOutcome(UpstreamOutcome outcome) {
  if (spans_ != nullptr) spans_->EndUpstream(outcome);
  const auto* failure = std::get_if<TransportFailure>(&outcome);
  if (failure != nullptr && failure->goes_on) {
    const Owner owner = owner_;  // OnLate needs the owner again
    return std::exchange(done_, nullptr)(std::move(outcome));
  }
  EndWait();
  Observe(outcome);
  last_ = std::move(outcome);
  if (!SendLater()) Finish(*std::move(last_));
}

void Dispatch::OnLate(UpstreamOutcome outcome) {
  const Owner owner = std::move(owner_);
  if (spans_ != nullptr) spans_->EndUpstream(outcome);
  Observe(outcome);
  std::exchange(late_, nullptr)(std::move(outcome));
}

// Learns from the end of an exchange, and gives its place back.
void Dispatch::Observe(const UpstreamOutcome& outcome) {
  // A call without a place has learned nothing about upstream, however long it has waited.
  if (Breaker* const breaker = BreakerOfCall(); breaker != nullptr && slot_at_.has_value()) {
    breaker->Count(outcome, absl::FromChrono(Clock::now() - *slot_at_), SteadyNow());
  }
  probe_.Return();  // of a request that got no connection
  if (!permit_.is_counted()) return;
  if (const auto* answer = std::get_if<HttpAnswer>(&outcome); answer != nullptr) {
    if (IsRateLimit(*answer)) permit_.Refused(answer->retry_after);
    if (answer->rate_limit.has_value()) permit_.Remaining(answer->rate_limit->limit, answer->rate_limit->remaining);
  }
  permit_.End();
}

// Plans a further attempt after the outcome `last_`. Returns false if there is none.
bool Dispatch::SendLater() {
  // A reading of an activity for which calls wait has a schedule of its own.
  if (environment_.retries == nullptr || terms_.call_class == CallClass::kBackground) return false;
  const std::optional<RetryCause> cause = CauseToRetry(*last_, kind_, attempts_);
  if (!cause.has_value() || caller_left()) return false;
  const absl::Duration delay = RetryDelay(*last_, attempts_, environment_.random);
  if (Clock::now() + absl::ToChronoNanoseconds(delay) >= terms_.deadline) return false;
  if (!environment_.retries->Take(*cause, SteadyNow())) return false;
  if (kind_ != RequestKind::kQuery && MayHaveActed(*last_)) earlier_unknown_ = true;
  const Owner owner = owner_;  // the next attempt can begin before RunAfter returns
  const uint64_t wait = EndWait();
  if (spans_ != nullptr) spans_->Begin(CallStage::kQueue);
  SetWaiting(wait, loop_.RunAfter(delay, [this] { SendAgain(); }));
  return true;
}

void Dispatch::SendAgain() {
  EndWait();
  if (caller_left()) return FinishCancelled();
  if (Breaker* const breaker = BreakerOfCall();
      breaker != nullptr && breaker->Refuse(SteadyNow(), probe_).has_value()) {
    return Finish(*std::move(last_));
  }
  if (std::optional<Admission::Verdict> verdict = Enter(); verdict.has_value()) OnVerdict(*std::move(verdict));
}

void Dispatch::Finish(UpstreamOutcome outcome) {
  const Owner owner = std::move(owner_);
  last_.reset();
  request_ = {};
  late_ = nullptr;
  if (auto* failure = std::get_if<TransportFailure>(&outcome); failure != nullptr && earlier_unknown_) {
    failure->body_sent = true;
  }
  std::exchange(done_, nullptr)(std::move(outcome));
}

void Dispatch::FinishCancelled() { Finish(CallerLeft()); }

void Dispatch::Cancel() {
  Waiting waiting;
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    waiting = waiting_;
  }
  CancelWaiting(waiting);
}

bool Dispatch::caller_left() const {
  const MutexLock lock(mutex_);
  return cancelled_;
}

// From now on, Cancel does not end the last wait. Returns the number of the next wait.
uint64_t Dispatch::EndWait() {
  const MutexLock lock(mutex_);
  waiting_ = {};
  return ++wait_;
}

// The caller can leave before, while or after the dispatch begins to wait. Whichever of Cancel and SetWaiting runs
// second ends the wait. If the wait has already ended, does nothing.
void Dispatch::SetWaiting(uint64_t number, const Waiting& waiting) {
  {
    const MutexLock lock(mutex_);
    if (wait_ != number) return;
    waiting_ = waiting;
    if (!cancelled_) return;
  }
  CancelWaiting(waiting);
}

void Dispatch::CancelWaiting(const Waiting& waiting) {
  if (const auto* turn = std::get_if<Turn>(&waiting)) return environment_.admission.Leave(turn->ticket);
  if (const auto* exchange = std::get_if<Exchange>(&waiting)) return environment_.upstream.Cancel(exchange->id);
  const auto* timer = std::get_if<TimerId>(&waiting);
  if (timer != nullptr && loop_.CancelTimer(*timer)) loop_.Run([this] { SendAgain(); });
}

}  // namespace stampgate
