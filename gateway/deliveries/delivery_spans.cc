#include "gateway/deliveries/delivery_spans.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gateway/calls/trace_context.h"
#include "gateway/telemetry/traced_call.h"

namespace stampgate {

void DeliverySpans::Add(const Intake::Report& report) const {
  if (!report.times.has_value() || !tracer_.Samples(std::nullopt)) return;
  const Intake::Times& times = *report.times;
  const absl::Duration verified = absl::FromChrono(times.verified - times.begun);
  auto traced = std::make_unique<TracedCall>();
  traced->trace_id = std::string(TraceContext::Begin([this] { return tracer_.NewSpanId(); }).trace_id());
  traced->span_id = tracer_.NewSpanId();
  traced->begun = tracer_.now() - absl::FromChrono(tracer_.steady_now() - times.begun);
  traced->ended = absl::FromChrono(times.stored.value_or(times.verified) - times.begun);
  traced->replied = traced->ended;
  traced->steps.push_back({CallStage::kVerify, tracer_.NewSpanId(), absl::ZeroDuration()});
  if (times.stored.has_value()) traced->steps.push_back({CallStage::kStore, tracer_.NewSpanId(), verified});
  traced->delivery = {.has_tls = has_tls_, .http_status = report.http_status, .outcome = report.outcome};
  tracer_.Queue(std::move(traced));
}

}  // namespace stampgate
