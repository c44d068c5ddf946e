// The trace to which a call belongs. It is read from and written to the W3C Trace Context header "traceparent":
// "00-<trace id, 32 hex digits>-<parent id, 16 hex digits>-<flags, 2 hex digits>".
#ifndef STAMPGATE_GATEWAY_CALLS_TRACE_CONTEXT_H_
#define STAMPGATE_GATEWAY_CALLS_TRACE_CONTEXT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns random numbers. They need not be secret, but must not repeat.
using RandomNumber = std::function<uint64_t()>;

// Immutable. Contains no pointer.
class TraceContext {
 public:
  // Parses a "traceparent" header of version 00 or later. Returns nullopt if the header is not valid by the
  // specification.
  static std::optional<TraceContext> Parse(absl::string_view traceparent);

  // Returns a new trace that is not sampled.
  static TraceContext Begin(const RandomNumber& random);

  // Returns 32 lower-case hex digits that are not all 0. The view is valid as long as this object.
  absl::string_view trace_id() const { return {trace_id_.data(), trace_id_.size()}; }

  // Returns the caller's span id, which is the parent of the call's own span. Returns 0 if Begin has made this trace.
  uint64_t parent_id() const { return parent_id_; }

  // Returns the caller's flag "sampled", or nullopt if Begin has made this trace.
  std::optional<bool> callers_flag() const;

  // Returns the header for a request of this trace that belongs to the span `parent_id`, with the flag "sampled".
  std::string SampledTraceparent(uint64_t parent_id) const;

  // Returns the header for a request of this trace, with a new parent id. The header contains no flag except "sampled".
  std::string Traceparent(const RandomNumber& random) const;

 private:
  TraceContext() = default;

  std::array<char, 32> trace_id_ = {};
  uint64_t parent_id_ = 0;
  bool sampled_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_TRACE_CONTEXT_H_
