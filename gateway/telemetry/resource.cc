#include "gateway/telemetry/resource.h"

#include <algorithm>

namespace stampgate {

void AddAttribute(OtlpAttributes& attributes, absl::string_view key, absl::string_view value) {
  otlp::KeyValue& attribute = *attributes.Add();
  attribute.set_key(std::string(key));
  attribute.mutable_value()->set_string_value(std::string(value));
}

void AddAttribute(OtlpAttributes& attributes, absl::string_view key, int64_t value) {
  otlp::KeyValue& attribute = *attributes.Add();
  attribute.set_key(std::string(key));
  attribute.mutable_value()->set_int_value(value);
}

otlp::Resource ToOtlp(const TelemetryResource& resource) {
  otlp::Resource named;
  AddAttribute(*named.mutable_attributes(), "service.name", resource.service_name);
  AddAttribute(*named.mutable_attributes(), "service.instance.id", resource.service_instance_id);
  AddAttribute(*named.mutable_attributes(), "service.version", resource.version);
  return named;
}

otlp::InstrumentationScope ScopeOf(const TelemetryResource& resource) {
  otlp::InstrumentationScope scope;
  scope.set_name("stampgate");
  scope.set_version(resource.version);
  return scope;
}

uint64_t UnixNanos(absl::Time time) { return static_cast<uint64_t>(std::max<int64_t>(absl::ToUnixNanos(time), 0)); }

}  // namespace stampgate
