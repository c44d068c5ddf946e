// Reads from HTTP headers how long a cache may keep a response. Implements the parts of RFC 9111 that a private cache
// of one document needs.
#ifndef STAMPGATE_WEBHOOKS_KEYS_CACHE_LIFETIME_H_
#define STAMPGATE_WEBHOOKS_KEYS_CACHE_LIFETIME_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {

inline constexpr absl::Duration kDefaultFresh = absl::Seconds(30);
// At least this time passes between two fetches because of a response's lifetime, even if its headers forbid caching.
inline constexpr absl::Duration kMinFresh = absl::Seconds(1);
inline constexpr absl::Duration kMaxFresh = absl::Hours(24);
inline constexpr absl::Duration kMinStale = absl::Hours(24);
inline constexpr absl::Duration kMaxStale = absl::Hours(24 * 7);

// How long a response may be used. `fresh` begins when the response arrives, `stale` at the end of `fresh`.
struct CacheLifetime {
  // For this time, the response is used without a new fetch.
  absl::Duration fresh = kDefaultFresh;
  // For this further time, the response is used if a fetch of a new response fails.
  absl::Duration stale = kMinStale;
};

// Reads the headers Cache-Control and Age. `age` is the value of Age plus the duration of the fetch. `fresh` is max-age
// minus `age`, clamped to kMinFresh and kMaxFresh. `fresh` is kMinFresh if Cache-Control has no-store, no-cache or a
// max-age that cannot be read. `fresh` is kDefaultFresh if max-age is missing. `stale` is zero if Cache-Control has
// must-revalidate or no-cache, which forbid the use of an old response even if the server cannot be reached (RFC 9111,
// 4.2.4). Otherwise, `stale` is stale-if-error, clamped to kMinStale and kMaxStale, so that no value of the server
// makes the gateway trust a withdrawn key forever. If a directive occurs twice, the smaller value counts. Ignores
// s-maxage and proxy-revalidate, which are only for shared caches.
CacheLifetime ReadCacheLifetime(absl::string_view cache_control, absl::Duration age);

// Reads an Age header. Returns zero if the header cannot be read.
absl::Duration ReadAge(absl::string_view age_header);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_CACHE_LIFETIME_H_
