// Sends the request of one call to upstream: waits for its place, sends it, and sends it again after some failures.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_DISPATCH_H_
#define STAMPGATE_GATEWAY_OPERATIONS_DISPATCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/loop/event_loop.h"
#include "base/threads/mutex.h"
#include "gateway/admission/admission.h"
#include "gateway/admission/breaker.h"
#include "gateway/admission/retry_policy.h"
#include "gateway/calls/call_spans.h"
#include "gateway/calls/trace_context.h"
#include "gateway/memory/account.h"
#include "gateway/operations/environment.h"
#include "gateway/upstream/client.h"
#include "stamp/stamped_request.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// A part of one call. The call first gets its place with Admit, and then sends its request once, with Post or Get. The
// dispatch repeats the same bytes with the same stamp as retry_policy.h permits, if the budget of retries and the
// deadline permit it too. Each attempt needs a place of its own.
//
// Only one function runs at a time, except that Cancel and caller_left can run at any time. `owner` keeps the dispatch
// alive until its callback has been called.
class Dispatch {
 public:
  using Clock = UpstreamClient::Clock;
  using Owner = std::shared_ptr<void>;
  using Done = UpstreamClient::Done;

  // `loop` is the loop of the call. `trace` and `spans` are the call's, or both null: then the requests have no trace.
  // All of them must outlive this.
  Dispatch(const CallEnvironment& environment, EventLoop& loop, const TraceContext* trace, CallSpans* spans)
      : environment_(environment), loop_(loop), trace_(trace), spans_(spans) {}

  // What a call needs to be admitted. The texts must live until the dispatch ends.
  struct Terms {
    absl::string_view caller;
    double weight = 1;
    absl::string_view organization;
    std::string operation;  // the path of upstream's operation
    CallClass call_class = CallClass::kQuery;
    Clock::time_point deadline;
    std::shared_ptr<MemoryHolder> holder = nullptr;  // see UpstreamCallOptions
  };

  // Calls `next` once: inside of Admit, or later on the loop of the call. Errors: RESOURCE_EXHAUSTED (QUOTA_EXHAUSTED),
  // UNAVAILABLE (UPSTREAM_FAILING, SHUTTING_DOWN), CANCELLED if the caller has left.
  void Admit(Owner owner, Terms terms, absl::AnyInvocable<void(absl::Status)> next);

  // The call sends nothing, although it was admitted: gives its place back now, instead of in the destructor.
  void SendNothing();

  // Sends the request. `done` gets the outcome of the last attempt. If this is a TransportFailure with `goes_on`,
  // `late` gets the outcome of the exchange later, as UpstreamClient::Post describes. An outcome whose failure has
  // `body_sent` can also mean that bytes of an earlier attempt were sent.
  void Post(Owner owner, StampedRequest request, RequestKind kind, Done done, Done late);
  void Get(Owner owner, DiscoveryRequest request, Done done);

  // The caller has left. A call that waits for its place, and a call that waits for its next attempt, end at once.
  void Cancel();
  bool caller_left() const;

  // The number of attempts so far.
  int attempts() const { return attempts_; }
  // Whether upstream may have carried out an earlier attempt of a submit without an answer.
  bool earlier_unknown() const { return earlier_unknown_; }

 private:
  using CallId = UpstreamClient::CallId;

  // What the dispatch waits for, which Cancel ends.
  struct Turn {
    Admission::Ticket ticket;
  };
  struct Exchange {
    CallId id;
  };
  using Waiting = std::variant<std::monostate, Turn, TimerId, Exchange>;

  Breaker* BreakerOfCall() const;
  std::optional<Admission::Verdict> Enter();
  void OnTurn(Admission::Verdict verdict);
  void OnVerdict(Admission::Verdict verdict);
  void Send();
  UpstreamClient::CallOptions OptionsOfAttempt();
  void OnOutcome(UpstreamOutcome outcome);
  void OnLate(UpstreamOutcome outcome);
  void Observe(const UpstreamOutcome& outcome);
  bool SendLater();
  void SendAgain();
  void Finish(UpstreamOutcome outcome);
  void FinishCancelled();
  uint64_t EndWait();
  void SetWaiting(uint64_t number, const Waiting& waiting);
  void CancelWaiting(const Waiting& waiting);

  const CallEnvironment& environment_;
  EventLoop& loop_;
  const TraceContext* const trace_;
  CallSpans* const spans_;
  Terms terms_;
  Owner owner_;  // while a callback is outstanding
  absl::AnyInvocable<void(absl::Status)> next_;
  Admission::Permit permit_;
  Breaker::Probe probe_;
  std::variant<std::monostate, StampedRequest, DiscoveryRequest> request_;
  RequestKind kind_ = RequestKind::kQuery;  // of request_
  Done done_;
  Done late_;
  std::optional<Clock::time_point> slot_at_;  // when the last attempt got its slot
  int attempts_ = 0;
  bool earlier_unknown_ = false;
  std::optional<UpstreamOutcome> last_;  // of the last attempt, while the next one is planned

  mutable Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t wait_ ABSL_GUARDED_BY(mutex_) = 0;  // the number of the current wait
  Waiting waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_DISPATCH_H_
