#include "gateway/calls/trace_context.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr size_t kTraceIdAt = 3;
constexpr size_t kParentIdAt = 36;
constexpr size_t kFlagsAt = 53;
constexpr size_t kSize = 55;

bool IsHex(absl::string_view text) {
  return absl::c_all_of(text, [](char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); });
}

// Whether `text` is an id: hex digits that are not all zeros.
bool IsId(absl::string_view text) {
  return IsHex(text) && absl::c_any_of(text, [](char c) { return c != '0'; });
}

// Returns the value of a hex digit.
int Digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// Writes 16 hex digits, and returns their end. absl::Hex would allocate memory.
char* WriteHex(uint64_t number, char* to) {
  for (int shift = 60; shift >= 0; shift -= 4) *to++ = "0123456789abcdef"[(number >> shift) & 0xf];
  return to;
}

// Returns a random number that is not 0.
uint64_t IdNumber(const RandomNumber& random) {
  const uint64_t number = random();
  return number == 0 ? 1 : number;
}

}  // namespace

std::optional<TraceContext> TraceContext::Parse(absl::string_view traceparent) {
  if (traceparent.size() < kSize) return std::nullopt;
  const absl::string_view version = traceparent.substr(0, 2);
  if (!IsHex(version) || version == "ff") return std::nullopt;
  // A header of a later version can continue with "-" and more text.
  if (traceparent.size() > kSize && (version == "00" || traceparent[kSize] != '-')) return std::nullopt;
  for (const size_t at : {kTraceIdAt, kParentIdAt, kFlagsAt}) {
    if (traceparent[at - 1] != '-') return std::nullopt;
  }
  const absl::string_view trace_id = traceparent.substr(kTraceIdAt, 32);
  const absl::string_view parent_id = traceparent.substr(kParentIdAt, 16);
  const absl::string_view flags = traceparent.substr(kFlagsAt, 2);
  TraceContext trace;
  if (!IsId(trace_id) || !IsId(parent_id) || !absl::SimpleHexAtoi(parent_id, &trace.parent_id_) || !IsHex(flags)) {
    return std::nullopt;
  }
  absl::c_copy(trace_id, trace.trace_id_.begin());
  trace.sampled_ = (Digit(flags[1]) & 1) != 0;
  return trace;
}

TraceContext TraceContext::Begin(const RandomNumber& random) {
  TraceContext trace;
  char* const low = WriteHex(random(), trace.trace_id_.data());
  WriteHex(IdNumber(random), low);
  return trace;
}

std::optional<bool> TraceContext::callers_flag() const {
  return parent_id_ == 0 ? std::nullopt : std::optional<bool>(sampled_);
}

std::string TraceContext::SampledTraceparent(uint64_t parent_id) const {
  return absl::StrCat("00-", trace_id(), "-", absl::Hex(parent_id, absl::kZeroPad16), "-01");
}

std::string TraceContext::Traceparent(const RandomNumber& random) const {
  return absl::StrCat("00-", trace_id(), "-", absl::Hex(IdNumber(random), absl::kZeroPad16), sampled_ ? "-01" : "-00");
}

}  // namespace stampgate
