// Checks whether an idle connection may still be used for a request.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CONNECTION_TABLE_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CONNECTION_TABLE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Finds the descriptor of the connection that libcurl is about to use. libcurl reports only the local address of this
// connection. Not thread-safe.
//
// libcurl 7.88 uses an idle connection for the next request even if bytes have arrived on it since the last response,
// and reads these bytes as the response to the next request. They can be the 408 of a proxy that is about to close the
// connection or, worse, a late response to another call. Over TLS, libcurl does not detect that upstream has closed an
// idle connection.
class ConnectionTable {
 public:
  // Records a new connection from `local_ip` and `local_port`. Its descriptor is one of `candidates`.
  void Add(absl::string_view local_ip, int local_port, const std::vector<int>& candidates);

  // Returns true if the connection is known, has not ended, and has no unread bytes.
  bool IsQuiet(absl::string_view local_ip, int local_port) const;

 private:
  // Each descriptor has at most one address in these maps. So the maps have at most as many entries as there were
  // connections at the same time.
  absl::flat_hash_map<std::string, int> descriptors_;
  absl::flat_hash_map<int, std::string> addresses_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CONNECTION_TABLE_H_
