#include "webhooks/keys/cache_lifetime.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace stampgate {
namespace {

// Larger values are replaced by this value, as RFC 9111, 1.2.2 requires.
constexpr int64_t kMaxSeconds = int64_t{1} << 31;

std::optional<absl::Duration> ReadSeconds(absl::string_view digits) {
  if (digits.empty()) return std::nullopt;
  int64_t seconds = 0;
  for (char c : digits) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    seconds = std::min(seconds * 10 + (c - '0'), kMaxSeconds);
  }
  return absl::Seconds(seconds);
}

// Splits a header at commas that are not inside of quotes, and calls `on_directive` for each part. Removes quotes
// around a whole value.
void ForEachDirective(absl::string_view header,
                      absl::FunctionRef<void(absl::string_view name, absl::string_view value)> on_directive) {
  while (!header.empty()) {
    bool quoted = false;
    size_t end = 0;
    for (; end < header.size() && (quoted || header[end] != ','); ++end) {
      if (header[end] == '"') quoted = !quoted;
      if (quoted && header[end] == '\\') ++end;
    }
    absl::string_view directive = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    const size_t equals = std::min(directive.find('='), directive.size());
    absl::string_view value = absl::StripAsciiWhitespace(directive.substr(std::min(equals + 1, directive.size())));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    on_directive(absl::StripAsciiWhitespace(directive.substr(0, equals)), value);
  }
}

}  // namespace

CacheLifetime ReadCacheLifetime(absl::string_view cache_control, absl::Duration age) {
  absl::Duration max_age = absl::InfiniteDuration();
  absl::Duration stale_if_error = absl::InfiniteDuration();
  bool has_max_age = false;
  bool has_stale_if_error = false;
  bool keep = true;
  bool revalidate = false;
  ForEachDirective(cache_control, [&](absl::string_view name, absl::string_view value) {
    if (absl::EqualsIgnoreCase(name, "max-age")) {
      has_max_age = true;
      max_age = std::min(max_age, ReadSeconds(value).value_or(absl::ZeroDuration()));
    } else if (absl::EqualsIgnoreCase(name, "stale-if-error")) {
      has_stale_if_error = true;
      stale_if_error = std::min(stale_if_error, ReadSeconds(value).value_or(absl::ZeroDuration()));
    } else if (absl::EqualsIgnoreCase(name, "no-store")) {
      keep = false;
    } else if (absl::EqualsIgnoreCase(name, "no-cache")) {
      keep = false;
      revalidate = true;
    } else if (absl::EqualsIgnoreCase(name, "must-revalidate")) {
      revalidate = true;
    }
  });
  CacheLifetime lifetime;
  if (!keep) {
    lifetime.fresh = kMinFresh;
  } else if (has_max_age) {
    lifetime.fresh = std::clamp(max_age - std::max(age, absl::ZeroDuration()), kMinFresh, kMaxFresh);
  }
  if (revalidate) {
    lifetime.stale = absl::ZeroDuration();
  } else if (has_stale_if_error) {
    lifetime.stale = std::clamp(stale_if_error, kMinStale, kMaxStale);
  }
  return lifetime;
}

absl::Duration ReadAge(absl::string_view age_header) {
  return ReadSeconds(absl::StripAsciiWhitespace(age_header)).value_or(absl::ZeroDuration());
}

}  // namespace stampgate
