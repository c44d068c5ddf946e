// Whether a kept connection is still fit for a request.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CONNECTION_TABLE_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CONNECTION_TABLE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Finds the descriptor of a connection that libcurl is about to use: it names only the local address. For one thread.
//
// libcurl 7.88 sends on a kept connection on which something has come in the meantime, and takes that for the answer:
// the 408 of a proxy that is about to close, or worse, another call's late answer. Over TLS it does not see that
// upstream has closed.
class ConnectionTable {
 public:
  // A connection was made from `local_ip` and `local_port`; its descriptor is one of `candidates`.
  void Add(absl::string_view local_ip, int local_port, const std::vector<int>& candidates);

  // True if the connection is known, and has neither ended nor received a byte that nobody has read.
  bool IsQuiet(absl::string_view local_ip, int local_port) const;

 private:
  // Each descriptor has at most one address here, so that the table is no larger than the most connections at a time.
  absl::flat_hash_map<std::string, int> descriptors_;
  absl::flat_hash_map<int, std::string> addresses_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CONNECTION_TABLE_H_
