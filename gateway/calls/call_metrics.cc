#include "gateway/calls/call_metrics.h"

#include <mutex>
#include <utility>

#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/error_reason.pb.h"
#include "translate/error.h"

namespace stampgate {
namespace {

// Returns the reason in the form that ErrorInfo contains: the name of the enum value without the prefix.
std::string ReasonOf(const google::protobuf::EnumValueDescriptor& value) {
  return std::string(absl::StripPrefix(value.name(), "ERROR_REASON_"));
}

}  // namespace

CallMetrics::CallMetrics(MetricRegistry& registry) : registry_(registry) {
  const google::protobuf::EnumDescriptor* reasons = v1::ErrorReason_descriptor();
  for (int i = 1; i < reasons->value_count(); ++i) {
    std::string reason = ReasonOf(*reasons->value(i));
    Counter& errors = AddErrors(reason);
    errors_.emplace(std::move(reason), &errors);
  }
}

void CallMetrics::AddMethods(const std::vector<Method>& methods) {
  const std::lock_guard lock(methods_mutex_);
  for (const Method& method : methods) {
    std::unique_ptr<Calls>& calls = methods_[method.full_name];
    if (calls != nullptr) continue;
    Histogram* duration = nullptr;
    if (!method.streams) {
      duration = &registry_.AddDurations("stampgate_call_duration_seconds",
                                         "Duration of calls other than streams, by policy class.",
                                         {{"class", method.policy_class}});
    }
    calls = MakeCalls(method.full_name, duration);
  }
}

void CallMetrics::CountEnd(absl::string_view method, const absl::Status& status, absl::Duration duration) {
  Calls& calls = CallsOf(method);
  EndedWith(calls, status.code()).Increment();
  if (calls.duration != nullptr) calls.duration->Observe(absl::ToDoubleSeconds(duration));
  // A call that its caller has cancelled is not an error: every normal subscription ends in this way.
  const bool has_left = absl::IsCancelled(status) && ErrorReasonOf(status).empty();
  if (!status.ok() && !has_left) CountError(status, duration);
}

std::unique_ptr<CallMetrics::Calls> CallMetrics::MakeCalls(std::string name, Histogram* duration) {
  auto calls = std::make_unique<Calls>();
  calls->name = std::move(name);
  calls->duration = duration;
  EndedWith(*calls, absl::StatusCode::kOk);
  return calls;
}

Counter& CallMetrics::EndedWith(Calls& calls, absl::StatusCode code) {
  size_t index = static_cast<size_t>(code);
  if (index >= kCodes) index = static_cast<size_t>(absl::StatusCode::kUnknown);
  std::atomic<Counter*>& ended = calls.ended[index];
  Counter* counter = ended.load(std::memory_order_acquire);
  if (counter == nullptr) {  // if two threads do this at the same time, both get the same counter
    counter =
        &ended_.Add({{"method", calls.name}, {"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(index))}});
    ended.store(counter, std::memory_order_release);
  }
  return *counter;
}

void CallMetrics::CountError(const absl::Status& status, absl::Duration duration) {
  const std::string reason = ErrorReasonOf(status);
  Counter* counter = &other_errors_;
  if (IsGatewayError(status)) {
    if (const auto found = errors_.find(reason); found != errors_.end()) counter = found->second;
    if (reason == "QUOTA_EXHAUSTED") refusals_.Observe(absl::ToDoubleSeconds(duration));
  } else if (!reason.empty()) {
    counter = &upstream_errors_;
  }
  counter->Increment();
}

Counter& CallMetrics::AddErrors(const std::string& reason) {
  return registry_.AddCounter("stampgate_call_errors_total",
                              "Calls that ended with an error, by the gateway's reason; UPSTREAM for upstream's own "
                              "errors.",
                              {{"reason", reason}});
}

CallMetrics::Calls& CallMetrics::CallsOf(absl::string_view method) {
  const std::shared_lock lock(methods_mutex_);
  const auto found = methods_.find(method);
  return found == methods_.end() ? *other_methods_ : *found->second;
}

}  // namespace stampgate
