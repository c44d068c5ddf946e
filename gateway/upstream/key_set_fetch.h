// How key sets come from their servers.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_KEY_SET_FETCH_H_
#define STAMPGATE_GATEWAY_UPSTREAM_KEY_SET_FETCH_H_

#include <string>

#include "absl/time/time.h"
#include "gateway/upstream/client.h"
#include "webhooks/keys/cached_key_set.h"

namespace stampgate {

// Calls and deliveries may wait for a key set, so fetching one is short.
inline constexpr absl::Duration kKeySetTime = absl::Seconds(5);

// Gets `path` through `client`, which outlives what is returned. Any other status than 200 is an error.
FetchKeySet FetchKeySetThrough(UpstreamClient& client, std::string path);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_KEY_SET_FETCH_H_
