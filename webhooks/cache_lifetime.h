// How long an HTTP answer may be kept. RFC 9111 as far as it helps one private cache of one document.
#ifndef STAMPGATE_WEBHOOKS_CACHE_LIFETIME_H_
#define STAMPGATE_WEBHOOKS_CACHE_LIFETIME_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {

inline constexpr absl::Duration kMinFresh = absl::Seconds(30);
inline constexpr absl::Duration kMaxFresh = absl::Hours(24);
inline constexpr absl::Duration kMinStale = absl::Hours(24);
inline constexpr absl::Duration kMaxStale = absl::Hours(24 * 7);

// From when the answer came in.
struct CacheLifetime {
  // Not asked for again that long.
  absl::Duration fresh = kMinFresh;
  // And used that much longer if no new answer can be had.
  absl::Duration stale = kMinStale;
};

// `fresh` is max-age less `age`; the minimum if the header does not say, says no-store or no-cache, or cannot be read.
// `stale` is stale-if-error. Both are clamped, so that neither a mistake upstream nor a lie makes us ask all the time
// or trust a withdrawn key for ever. Of a directive that comes twice the smaller value counts; s-maxage is for shared
// caches, and must-revalidate would cost events whenever upstream cannot be reached: they are ignored.
CacheLifetime ReadCacheLifetime(absl::string_view cache_control, absl::Duration age);

// The value of an Age header; zero if it cannot be read.
absl::Duration ReadAge(absl::string_view age_header);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_CACHE_LIFETIME_H_
