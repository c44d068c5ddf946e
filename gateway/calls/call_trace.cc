#include "gateway/calls/call_trace.h"

#include <iterator>
#include <optional>
#include <string>

namespace stampgate {
namespace {

constexpr char kTraceparent[] = "traceparent";

std::optional<TraceContext> CallersTrace(const grpc::CallbackServerContext& context) {
  const auto [begin, end] = context.client_metadata().equal_range(kTraceparent);
  if (begin == end || std::next(begin) != end) return std::nullopt;
  return TraceContext::Parse({begin->second.data(), begin->second.size()});
}

}  // namespace

TraceContext TraceOf(grpc::CallbackServerContext& context, const RandomNumber& random) {
  const std::optional<TraceContext> callers = CallersTrace(context);
  const TraceContext trace = callers.has_value() ? *callers : TraceContext::Begin(random);
  context.AddTrailingMetadata(kRequestId, std::string(trace.trace_id()));
  return trace;
}

}  // namespace stampgate
