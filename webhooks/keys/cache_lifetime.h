// How long an HTTP answer may be kept. RFC 9111 as far as it helps one private cache of one document.
#ifndef STAMPGATE_WEBHOOKS_KEYS_CACHE_LIFETIME_H_
#define STAMPGATE_WEBHOOKS_KEYS_CACHE_LIFETIME_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {

inline constexpr absl::Duration kDefaultFresh = absl::Seconds(30);
inline constexpr absl::Duration kMaxFresh = absl::Hours(24);
inline constexpr absl::Duration kMinStale = absl::Hours(24);
inline constexpr absl::Duration kMaxStale = absl::Hours(24 * 7);

// Both begin when the response arrived.
struct CacheLifetime {
  // The response is not fetched again for this long.
  absl::Duration fresh = kDefaultFresh;
  // It is used for this much longer if no new response arrives.
  absl::Duration stale = kMinStale;
};

// `fresh` is max-age less `age`, at most kMaxFresh; zero with no-store, no-cache, or a max-age that cannot be read;
// kDefaultFresh without the header. The caller bounds how often it fetches a response that is not fresh. `stale` is
// stale-if-error, clamped, so that neither an error nor a lie of the server makes the gateway trust a withdrawn key
// forever. Of a directive that occurs twice the smaller value counts. Two directives are ignored: s-maxage is for
// shared caches, and must-revalidate would cost events whenever the server cannot be reached.
CacheLifetime ReadCacheLifetime(absl::string_view cache_control, absl::Duration age);

// The value of an Age header; zero if it cannot be read.
absl::Duration ReadAge(absl::string_view age_header);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_CACHE_LIFETIME_H_
