// The HTTP server of the admin port: answers GET with pages about the process.
//
// HTTP/1.1 without TLS, one response for each connection, no request bodies. It knows HTTP, not the content of the
// pages.
#ifndef STAMPGATE_GATEWAY_ADMIN_SERVER_H_
#define STAMPGATE_GATEWAY_ADMIN_SERVER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/admin/page.h"

namespace stampgate {

// Pages by path, such as "/livez". Called on the server's thread, one at a time; must not block.
using AdminPages = std::map<std::string, std::function<AdminAnswer()>>;

// Thread-safe.
class AdminServer {
 public:
  // From the request line to the empty line, inclusive.
  static constexpr size_t kMaxHeadBytes = 8 << 10;

  struct Options {
    std::string listen_address = "";  // as ParseListenAddress accepts it; with port 0 the system chooses one
    // A connection beyond this closes the oldest one of the address that has most, so that a peer with many connections
    // cannot keep probes out. An IPv6 /64 counts as one address. If the probe's own address floods the port with 5,000
    // connections a second, the probe still has 100 ms to send its request.
    size_t max_connections = 512;
    // From the acceptance of a connection to its end; slower peers are disconnected.
    std::chrono::milliseconds connection_timeout = std::chrono::seconds(5);
  };

  // Answers GET and HEAD for the paths of `pages`, ignoring a query after "?". The pages may be called until the server
  // is destroyed. Other paths get 404, other methods 405, a request with a body 400, and a head that is too large 431.
  // Errors: kInvalidArgument for the address, kUnavailable if the server cannot listen on it.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(Options options, AdminPages pages);

  // Closes all connections at once.
  virtual ~AdminServer() = default;

  // For example "http://127.0.0.1:34567"; it has no path.
  virtual const std::string& url() const = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_SERVER_H_
