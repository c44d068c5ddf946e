// The HTTP server of the admin port: answers GET with pages about the process.
//
// The server speaks HTTP/1.1 without TLS, sends one response per connection, and accepts no request bodies. The
// functions that Start receives make the pages.
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

// Functions that return the pages, by path, such as "/livez". The server calls them on its own thread, one at a time.
// They must not block.
using AdminPages = std::map<std::string, std::function<AdminAnswer()>>;

// The HTTP server. Thread-safe.
class AdminServer {
 public:
  // The maximum size of a request head: from the request line to the empty line, inclusive.
  static constexpr size_t kMaxHeadBytes = 8 << 10;

  struct Options {
    std::string listen_address = "";  // see ParseListenAddress; if the port is 0, the system chooses a port
    // When this limit is reached, the server closes one connection to admit a new one. It closes the oldest connection
    // of the address that has the most connections. So a peer with many connections cannot prevent health probes from
    // connecting. An IPv6 /64 network counts as one address. Even if an attacker at the probe's own address opens 5,000
    // connections a second, the probe has 100 ms to send its request.
    size_t max_connections = 512;
    // The longest time from the acceptance of a connection to its end. The server disconnects slower peers.
    std::chrono::milliseconds connection_timeout = std::chrono::seconds(5);
  };

  // Starts a server that answers GET and HEAD for the paths of `pages`, and ignores a query after "?". The server can
  // call the functions of `pages` until it is destroyed. It answers 404 for other paths, 405 for other methods, 400 for
  // a request with a body, and 431 for a request head that is too large. Errors: kInvalidArgument if the address is
  // malformed; kUnavailable if the server cannot listen at the address.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(Options options, AdminPages pages);

  // Closes all connections immediately.
  virtual ~AdminServer() = default;

  // Returns the server's address as a URL without a path, such as "http://127.0.0.1:34567".
  virtual const std::string& url() const = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_SERVER_H_
