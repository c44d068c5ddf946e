// Fetches key sets from their servers.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_KEY_SET_FETCH_H_
#define STAMPGATE_GATEWAY_UPSTREAM_KEY_SET_FETCH_H_

#include <string>

#include "absl/time/time.h"
#include "gateway/upstream/client.h"
#include "webhooks/keys/cached_key_set.h"

namespace stampgate {

// The time limit of a fetch. It is short, because calls and deliveries can wait for a key set.
inline constexpr absl::Duration kKeySetTime = absl::Seconds(5);

// Returns a function that gets `path` through `client`. `client` must outlive the function. Any HTTP status except 200
// is an error.
FetchKeySet FetchKeySetThrough(UpstreamClient& client, std::string path);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_KEY_SET_FETCH_H_
