#include "gateway/calls/call_spans.h"

#include <utility>
#include <variant>

#include "translate/error.h"

namespace stampgate {
namespace {

// Most calls have no more steps.
constexpr size_t kUsualSteps = 12;

const char* NameOf(TransportFailure::Cause cause) {
  using Cause = TransportFailure::Cause;
  switch (cause) {
    case Cause::kNoSlot:
      return "no_connection";
    case Cause::kUnreachable:
      return "unreachable";
    case Cause::kTls:
      return "tls";
    case Cause::kTimeout:
      return "timeout";
    case Cause::kCancelled:
      return "cancelled";
    case Cause::kBroken:
      return "broken";
    case Cause::kTooLarge:
      return "too_large";
    case Cause::kNoMemory:
      return "no_memory";
    case Cause::kShutdown:
      return "shutdown";
  }
  return "other";
}

}  // namespace

CallSpans::CallSpans(Tracer* tracer, const TraceContext& trace, absl::string_view method) : tracer_(tracer) {
  if (tracer == nullptr || !tracer->Samples(trace.callers_flag())) return;
  call_ = std::make_unique<TracedCall>();
  call_->trace_id = std::string(trace.trace_id());
  call_->parent_id = trace.parent_id();
  call_->span_id = tracer->NewSpanId();
  call_->method = std::string(method);
  call_->begun = tracer->now();
  call_->steps.reserve(kUsualSteps);
  begun_ = tracer->steady_now();
}

absl::Duration CallSpans::SinceBegun() const { return absl::FromChrono(tracer_->steady_now() - begun_); }

void CallSpans::BeginStep(CallStage step) {
  if (call_->steps.size() >= kMaxSteps) return;
  const bool is_announced = step == CallStage::kUpstream && next_upstream_span_ != 0;
  const uint64_t id = is_announced ? std::exchange(next_upstream_span_, 0) : tracer_->NewSpanId();
  call_->steps.push_back({step, id, SinceBegun()});
}

void CallSpans::SetRequest(absl::string_view http_method, std::string url_template) {
  if (!sampled()) return;
  call_->http_method = std::string(http_method);
  call_->url_template = std::move(url_template);
}

uint64_t CallSpans::NextUpstreamSpan() {
  if (!sampled()) return 0;
  if (next_upstream_span_ == 0) next_upstream_span_ = tracer_->NewSpanId();
  return next_upstream_span_;
}

void CallSpans::EndUpstream(const UpstreamOutcome& outcome) {
  if (!sampled()) return;
  const auto* failure = std::get_if<TransportFailure>(&outcome);
  if (failure != nullptr && failure->goes_on) return;
  if (!call_->steps.empty() && call_->steps.back().step == CallStage::kUpstream) {
    TracedStep& upstream = call_->steps.back();
    if (failure != nullptr) {
      upstream.failure = NameOf(failure->cause);
    } else {
      upstream.http_status = std::get<HttpAnswer>(outcome).status;
    }
  }
  BeginStep(CallStage::kMap);
}

void CallSpans::Answer(const absl::Status& status) {
  if (!sampled()) return;
  call_->replied = SinceBegun();
  call_->code = status.code();
  // Upstream's own reasons are not a closed set.
  const std::string reason = ErrorReasonOf(status);
  call_->error_reason = reason.empty() || IsGatewayError(status) ? reason : "UPSTREAM";
}

void CallSpans::End() {
  if (!sampled()) return;
  call_->ended = SinceBegun();
  tracer_->Queue(std::move(call_));
}

}  // namespace stampgate
