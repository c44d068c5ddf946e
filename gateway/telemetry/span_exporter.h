// Exports the calls that a tracer has queued.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_SPAN_EXPORTER_H_
#define STAMPGATE_GATEWAY_TELEMETRY_SPAN_EXPORTER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/telemetry/otlp_spans.h"
#include "gateway/telemetry/tracer.h"

namespace stampgate {

// Sends an encoded request to the collector, and returns the encoded response. May block.
using SendExport = std::function<absl::StatusOr<std::string>(const std::string& request)>;

// Only one thread at a time may use this object. It holds one batch at most beside the tracer's queue, so a collector
// that is slow or gone costs a bounded amount of memory.
class SpanExporter {
 public:
  // The largest number of calls in one request.
  static constexpr size_t kBatch = 256;
  // How often a batch is sent, if the collector could accept it later.
  static constexpr int kAttempts = 5;
  // The pause after the first failed attempt. Each further pause is twice as long.
  static constexpr absl::Duration kFirstPause = absl::Seconds(1);

  // `on_export` gets the result of each request. `on_lost` gets the number of spans that the collector refused or that
  // were dropped after the last attempt.
  SpanExporter(Tracer& tracer, TelemetryResource resource, UpstreamServer upstream, SendExport send,
               std::function<void(const absl::Status&)> on_export, std::function<void(int64_t)> on_lost);

  // Sends what is queued, in as many batches as needed, until the queue is empty or a batch must be sent again. Returns
  // the time after which the batch must be sent again, or nullopt. Sends nothing during a pause, unless `is_last` is
  // true: then the process ends, and there is no later attempt.
  std::optional<absl::Duration> Run(bool is_last = false);

 private:
  bool SendBatch();

  Tracer& tracer_;
  const TelemetryResource resource_;
  const UpstreamServer upstream_;
  const SendExport send_;
  const std::function<void(const absl::Status&)> on_export_;
  const std::function<void(int64_t)> on_lost_;
  std::string batch_;  // the encoded request that must be sent; empty if there is none
  int64_t spans_ = 0;  // in the batch
  int attempts_ = 0;   // to send the batch
  Tracer::SteadyTime next_attempt_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_SPAN_EXPORTER_H_
