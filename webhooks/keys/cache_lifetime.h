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

// From when the answer came in.
struct CacheLifetime {
  // Not asked for again that long.
  absl::Duration fresh = kDefaultFresh;
  // And used that much longer if no new answer can be had.
  absl::Duration stale = kMinStale;
};

// `fresh` is max-age less `age`, at most kMaxFresh; zero with no-store, no-cache, or a max-age that cannot be read;
// kDefaultFresh if the header does not say. How often an answer that is not fresh is asked for again is bounded by
// the caller. `stale` is stale-if-error, clamped, so that neither a mistake upstream nor a lie makes us trust a
// withdrawn key for ever. Of a directive that comes twice the smaller value counts; s-maxage is for shared
// caches, and must-revalidate would cost events whenever upstream cannot be reached: they are ignored.
CacheLifetime ReadCacheLifetime(absl::string_view cache_control, absl::Duration age);

// The value of an Age header; zero if it cannot be read.
absl::Duration ReadAge(absl::string_view age_header);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_CACHE_LIFETIME_H_
