#include "gateway/telemetry/otlp_spans.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace stampgate {
namespace {

// Flags of a span: the trace is sampled, and whether the parent is in another process.
constexpr uint32_t kSampled = 0x01;
constexpr uint32_t kParentIsLocal = 0x100;
constexpr uint32_t kParentIsRemote = 0x300;

std::string BytesOf(uint64_t id) {
  std::string bytes(sizeof(id), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(id >> (8 * (bytes.size() - 1 - i)));
  return bytes;
}

// Returns the bytes of 32 hex digits.
std::string BytesOfTraceId(absl::string_view digits) {
  std::string bytes;
  for (const size_t at : {0, 16}) {
    uint64_t half = 0;
    static_cast<void>(absl::SimpleHexAtoi(digits.substr(at, 16), &half));  // the digits are checked
    bytes += BytesOf(half);
  }
  return bytes;
}

absl::string_view NameOf(CallStage step) {
  switch (step) {
    case CallStage::kAuthenticate:
      return "authenticate";
    case CallStage::kTranslate:
      return "translate";
    case CallStage::kDecide:
      return "decide";
    case CallStage::kStore:
      return "store";
    case CallStage::kAudit:
      return "audit";
    case CallStage::kSign:
      return "sign";
    case CallStage::kQueue:
      return "queue";
    case CallStage::kUpstream:
      return "upstream";
    case CallStage::kMap:
      return "map";
    case CallStage::kWait:
      return "wait";
    case CallStage::kVerify:
      return "verify";
  }
  return "";
}

// Whether a call that ends with `code` is a failure of the server, and not of the request, by the conventions for the
// status of server spans of gRPC.
bool IsServerFailure(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

void SetFailed(otlp::Span& span) { span.mutable_status()->set_code(otlp::Status::STATUS_CODE_ERROR); }

// Makes the spans of one call.
class CallSpanMaker {
 public:
  CallSpanMaker(const TracedCall& call, const UpstreamServer& upstream, otlp::ScopeSpans& spans)
      : call_(call), upstream_(upstream), spans_(spans), trace_id_(BytesOfTraceId(call.trace_id)) {}

  void MakeAll() {
    if (call_.delivery.has_value()) {
      MakeDeliverySpan(*call_.delivery);
    } else {
      MakeCallSpan();
    }
    for (size_t i = 0; i < call_.steps.size(); ++i) {
      MakeStepSpan(call_.steps[i], i + 1 < call_.steps.size() ? call_.steps[i + 1].begun : call_.ended);
    }
  }

 private:
  otlp::Span& Add(absl::string_view name, uint64_t id, uint64_t parent, absl::Duration begun, absl::Duration ended) {
    otlp::Span& span = *spans_.add_spans();
    span.set_trace_id(trace_id_);
    span.set_span_id(BytesOf(id));
    if (parent != 0) span.set_parent_span_id(BytesOf(parent));
    span.set_name(std::string(name));
    span.set_start_time_unix_nano(UnixNanos(call_.begun + begun));
    span.set_end_time_unix_nano(UnixNanos(call_.begun + ended));
    return span;
  }

  otlp::Span& AddServerSpan(absl::string_view name) {
    otlp::Span& span = Add(name, call_.span_id, call_.parent_id, absl::ZeroDuration(), call_.replied);
    span.set_kind(otlp::Span::SPAN_KIND_SERVER);
    span.set_flags(kSampled | (call_.parent_id == 0 ? kParentIsLocal : kParentIsRemote));
    return span;
  }

  // The conventions for HTTP name a server span after the method if the path may not be named.
  void MakeDeliverySpan(const TracedDelivery& delivery) {
    otlp::Span& span = AddServerSpan("POST");
    OtlpAttributes& attributes = *span.mutable_attributes();
    AddAttribute(attributes, "http.request.method", "POST");
    AddAttribute(attributes, "url.scheme", delivery.has_tls ? "https" : "http");
    AddAttribute(attributes, "http.response.status_code", delivery.http_status);
    AddAttribute(attributes, "stampgate.delivery.outcome", delivery.outcome);
    if (delivery.http_status < 500) return;
    AddAttribute(attributes, "error.type", absl::StrCat(delivery.http_status));
    SetFailed(span);
  }

  void MakeCallSpan() {
    const absl::string_view name = absl::StripPrefix(call_.method, "/");
    otlp::Span& span = AddServerSpan(name);
    OtlpAttributes& attributes = *span.mutable_attributes();
    const size_t slash = name.find('/');
    AddAttribute(attributes, "rpc.system", "grpc");
    AddAttribute(attributes, "rpc.service", name.substr(0, slash));
    if (slash != absl::string_view::npos) AddAttribute(attributes, "rpc.method", name.substr(slash + 1));
    AddAttribute(attributes, "rpc.grpc.status_code", static_cast<int64_t>(call_.code));
    if (call_.code != absl::StatusCode::kOk)
      AddAttribute(attributes, "error.type", absl::StatusCodeToString(call_.code));
    if (!call_.error_reason.empty()) AddAttribute(attributes, "stampgate.error_reason", call_.error_reason);
    if (!call_.caller.empty()) AddAttribute(attributes, "stampgate.caller", call_.caller);
    if (IsServerFailure(call_.code)) SetFailed(span);
  }

  void MakeStepSpan(const TracedStep& step, absl::Duration ended) {
    if (step.step == CallStage::kUpstream) return MakeClientSpan(step, ended);
    otlp::Span& span = Add(NameOf(step.step), step.span_id, call_.span_id, step.begun, ended);
    span.set_kind(otlp::Span::SPAN_KIND_INTERNAL);
    span.set_flags(kSampled | kParentIsLocal);
  }

  void MakeClientSpan(const TracedStep& step, absl::Duration ended) {
    otlp::Span& span =
        Add(absl::StrCat(call_.http_method, " ", call_.url_template), step.span_id, call_.span_id, step.begun, ended);
    span.set_kind(otlp::Span::SPAN_KIND_CLIENT);
    span.set_flags(kSampled | kParentIsLocal);
    OtlpAttributes& attributes = *span.mutable_attributes();
    AddAttribute(attributes, "http.request.method", call_.http_method);
    AddAttribute(attributes, "url.template", call_.url_template);
    // A template with a variable is not the path of a request.
    if (!absl::EndsWith(call_.url_template, "}")) AddAttribute(attributes, "url.path", call_.url_template);
    AddAttribute(attributes, "server.address", upstream_.address);
    AddAttribute(attributes, "server.port", upstream_.port);
    if (step.http_status != 0) AddAttribute(attributes, "http.response.status_code", step.http_status);
    if (step.http_status >= 400) {
      AddAttribute(attributes, "error.type", absl::StrCat(step.http_status));
    } else if (!step.failure.empty()) {
      AddAttribute(attributes, "error.type", step.failure);
    } else {
      return;
    }
    SetFailed(span);
  }

  const TracedCall& call_;
  const UpstreamServer& upstream_;
  otlp::ScopeSpans& spans_;
  const std::string trace_id_;
};

}  // namespace

otlp::ExportTraceServiceRequest ToOtlp(const std::vector<std::unique_ptr<const TracedCall>>& calls,
                                       const TelemetryResource& resource, const UpstreamServer& upstream) {
  otlp::ExportTraceServiceRequest request;
  otlp::ResourceSpans& of_resource = *request.add_resource_spans();
  *of_resource.mutable_resource() = ToOtlp(resource);
  otlp::ScopeSpans& spans = *of_resource.add_scope_spans();
  *spans.mutable_scope() = ScopeOf(resource);
  for (const std::unique_ptr<const TracedCall>& call : calls) CallSpanMaker(*call, upstream, spans).MakeAll();
  return request;
}

}  // namespace stampgate
