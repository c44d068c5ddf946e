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

// Random numbers. They need not be secret, but must not repeat.
using RandomNumber = std::function<uint64_t()>;

// Immutable; 32 bytes and a flag, without a pointer.
class TraceContext {
 public:
  // The trace of a header that is valid by the specification, of version 00 or later; nothing for other texts.
  static std::optional<TraceContext> Parse(absl::string_view traceparent);

  // A new trace that is not sampled.
  static TraceContext Begin(const RandomNumber& random);

  // 32 lower-case hex digits, not all 0. Valid as long as this.
  absl::string_view trace_id() const { return {trace_id_.data(), trace_id_.size()}; }

  // The header for a request of this trace, with a new parent id. Of the flags it keeps only "sampled".
  std::string Traceparent(const RandomNumber& random) const;

 private:
  TraceContext() = default;

  std::array<char, 32> trace_id_ = {};
  bool sampled_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_TRACE_CONTEXT_H_
