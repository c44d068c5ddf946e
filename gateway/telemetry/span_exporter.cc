#include "gateway/telemetry/span_exporter.h"

#include <algorithm>
#include <utility>

#include "opentelemetry/otlp.pb.h"

namespace stampgate {
namespace {

// Whether OTLP lets a client send the request again after this status.
bool MayRetry(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

int64_t RefusedIn(const std::string& response) {
  otlp::ExportTraceServiceResponse parsed;
  return parsed.ParseFromString(response) ? std::max<int64_t>(parsed.partial_success().rejected_spans(), 0) : 0;
}

}  // namespace

SpanExporter::SpanExporter(Tracer& tracer, TelemetryResource resource, UpstreamServer upstream, SendExport send,
                           std::function<void(const absl::Status&)> on_export, std::function<void(int64_t)> on_lost)
    : tracer_(tracer),
      resource_(std::move(resource)),
      upstream_(std::move(upstream)),
      send_(std::move(send)),
      on_export_(std::move(on_export)),
      on_lost_(std::move(on_lost)) {}

std::optional<absl::Duration> SpanExporter::Run(bool is_last) {
  if (!batch_.empty() && !is_last) {
    const absl::Duration pause = absl::FromChrono(next_attempt_ - tracer_.steady_now());
    if (pause > absl::ZeroDuration()) return pause;
  }
  for (;;) {
    if (batch_.empty()) {
      const auto calls = tracer_.Take(kBatch);
      if (calls.empty()) return std::nullopt;
      const otlp::ExportTraceServiceRequest request = ToOtlp(calls, resource_, upstream_);
      spans_ = request.resource_spans(0).scope_spans(0).spans_size();
      batch_ = request.SerializeAsString();
      attempts_ = 0;
    }
    if (!SendBatch()) {
      const absl::Duration pause = kFirstPause * (1 << (attempts_ - 1));
      next_attempt_ = tracer_.steady_now() + absl::ToChronoNanoseconds(pause);
      return pause;
    }
    batch_.clear();
  }
}

// Returns whether the batch is done: the collector has received it, or it is lost.
bool SpanExporter::SendBatch() {
  ++attempts_;
  const absl::StatusOr<std::string> response = send_(batch_);
  on_export_(response.status());
  if (response.ok()) {
    if (const int64_t refused = RefusedIn(*response); refused > 0) on_lost_(refused);
    return true;
  }
  if (attempts_ < kAttempts && MayRetry(response.status().code())) return false;
  on_lost_(spans_);
  return true;
}

}  // namespace stampgate
