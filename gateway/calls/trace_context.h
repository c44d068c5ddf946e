// The trace that a call belongs to, in the form of the W3C Trace Context header "traceparent": "00-<trace id, 32 hex
// digits>-<parent id, 16 hex digits>-<flags, 2 hex digits>".
#ifndef STAMPGATE_GATEWAY_CALLS_TRACE_CONTEXT_H_
#define STAMPGATE_GATEWAY_CALLS_TRACE_CONTEXT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// A source of random numbers, which need not be secret, but must not repeat.
using RandomNumber = std::function<uint64_t()>;

// Immutable. Contains 32 bytes and a flag, and no pointer.
class TraceContext {
 public:
  // Returns the trace in a header that is valid by the specification, of version 00 or later. Returns nullopt for any
  // other text.
  static std::optional<TraceContext> Parse(absl::string_view traceparent);

  // Returns a new trace that is not sampled.
  static TraceContext Begin(const RandomNumber& random);

  // 32 lower-case hex digits, not all 0. Valid as long as this.
  absl::string_view trace_id() const { return {trace_id_.data(), trace_id_.size()}; }

  // Returns the header for a request of this trace, with a new parent id. Of the flags, the header keeps only
  // "sampled".
  std::string Traceparent(const RandomNumber& random) const;

 private:
  TraceContext() = default;

  std::array<char, 32> trace_id_ = {};
  bool sampled_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_TRACE_CONTEXT_H_
