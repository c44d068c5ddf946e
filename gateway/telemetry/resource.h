// The names of this process in each export.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_RESOURCE_H_
#define STAMPGATE_GATEWAY_TELEMETRY_RESOURCE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "opentelemetry/otlp.pb.h"

namespace stampgate {

struct TelemetryResource {
  std::string service_name;
  std::string service_instance_id;
  std::string version;  // of the program
};

using OtlpAttributes = google::protobuf::RepeatedPtrField<otlp::KeyValue>;

void AddAttribute(OtlpAttributes& attributes, absl::string_view key, absl::string_view value);
void AddAttribute(OtlpAttributes& attributes, absl::string_view key, int64_t value);

otlp::Resource ToOtlp(const TelemetryResource& resource);

// Returns the library that makes all spans and metrics: the gateway itself.
otlp::InstrumentationScope ScopeOf(const TelemetryResource& resource);

// Returns OTLP's form of a time; 0 for times before 1970.
uint64_t UnixNanos(absl::Time time);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_RESOURCE_H_
