// Makes OTLP's spans from traced calls and deliveries.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_OTLP_SPANS_H_
#define STAMPGATE_GATEWAY_TELEMETRY_OTLP_SPANS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gateway/telemetry/resource.h"
#include "gateway/telemetry/traced_call.h"
#include "opentelemetry/otlp.pb.h"

namespace stampgate {

// The host and the port to which the gateway sends its requests.
struct UpstreamServer {
  std::string address;
  uint16_t port = 0;
};

// Returns the spans of `calls`: for each call or delivery a server span, and a child of this span for each step. The
// exchange with upstream is a client span. The names and attributes are those of OpenTelemetry's semantic conventions
// for RPC and HTTP, where they have one. Spans contain no text that a caller has sent, except the trace id.
otlp::ExportTraceServiceRequest ToOtlp(const std::vector<std::unique_ptr<const TracedCall>>& calls,
                                       const TelemetryResource& resource, const UpstreamServer& upstream);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_OTLP_SPANS_H_
