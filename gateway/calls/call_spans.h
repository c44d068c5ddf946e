// The spans of one call.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_SPANS_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_SPANS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/calls/trace_context.h"
#include "gateway/telemetry/traced_call.h"
#include "gateway/telemetry/tracer.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Measures the steps of one call if the call is sampled. Otherwise every function returns at once, and nothing is
// allocated. Not thread-safe. Must not outlive the tracer.
class CallSpans {
 public:
  // The call begins. If `tracer` is null, no call is sampled. `method` is the method's full name.
  CallSpans(Tracer* tracer, const TraceContext& trace, absl::string_view method);

  CallSpans(const CallSpans&) = delete;
  CallSpans& operator=(const CallSpans&) = delete;

  bool sampled() const { return call_ != nullptr; }

  // Begins a step, which ends the current one. A call has at most kMaxSteps steps; further ones belong to the last.
  void Begin(CallStage step) {
    if (sampled()) BeginStep(step);
  }
  static constexpr size_t kMaxSteps = 32;

  void SetCaller(const std::string& name) {
    if (sampled()) call_->caller = name;
  }

  // Sets what the call sends upstream: see TracedCall.
  void SetRequest(absl::string_view http_method, std::string url_template);

  // Returns the id of the span that the next step kUpstream will have, or 0 if the call is not sampled.
  uint64_t NextUpstreamSpan();

  // Ends the step kUpstream with its outcome, and begins the step kMap. Does nothing if the exchange continues.
  void EndUpstream(const UpstreamOutcome& outcome);

  // The caller gets the reply `status`.
  void Answer(const absl::Status& status);

  // The call has ended, after Answer.
  void End();

 private:
  void BeginStep(CallStage step);
  absl::Duration SinceBegun() const;

  Tracer* tracer_;
  std::unique_ptr<TracedCall> call_;  // null if the call is not sampled, and after its end
  Tracer::SteadyTime begun_;
  uint64_t next_upstream_span_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_SPANS_H_
