#include "tests/bench/sent_time.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "tests/bench/sent_header.h"
#include "translate/wire/fields.h"

namespace stampgate::bench {
namespace {

// Numbers of fields in proto/stampgate/v1/events.proto. They never change.
constexpr int kHeadersField = 8;  // of Event
constexpr int kValueField = 2;    // of EventHeader

}  // namespace

std::optional<absl::Time> SentTime(absl::string_view event) {
  std::optional<absl::Time> sent;
  ForEachBytes(event, kHeadersField, [&](absl::string_view header) {
    if (!absl::StrContains(header, kSentHeader)) return;
    ForEachBytes(header, kValueField, [&](absl::string_view value) {
      int64_t nanos = 0;
      if (absl::SimpleAtoi(value, &nanos)) sent = absl::FromUnixNanos(nanos);
    });
  });
  return sent;
}

}  // namespace stampgate::bench
