// The HTTP server of the admin port: answers GET with pages about the process.
//
// HTTP/1.1 without TLS, one answer a connection, no request has a body. It knows HTTP, and nothing of what the pages
// say.
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
  // From the request line to the empty line.
  static constexpr size_t kMaxHeadBytes = 8 << 10;

  struct Options {
    std::string listen_address = "";  // as ParseListenAddress takes it; port 0: the system chooses one
    // One more, and the oldest of the address that holds most is closed, so that who holds connections keeps no probe
    // out. An IPv6 /64 counts as one address. A probe of the very address that floods the port with 5,000 connections a
    // second has 100 ms to send its request.
    size_t max_connections = 512;
    // From accepting a connection to its end; a peer that needs longer, to send or to read, is cut off.
    std::chrono::milliseconds connection_timeout = std::chrono::seconds(5);
  };

  // Answers GET and HEAD for the paths of `pages`, which may be called until the server is destroyed; a query behind
  // "?" is passed over. Other paths are 404, other methods 405, a request with a body is 400 and a head that is too
  // large 431. Errors: kInvalidArgument for the address, kUnavailable if it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(Options options, AdminPages pages);

  // Closes everything at once.
  virtual ~AdminServer() = default;

  // "http://127.0.0.1:34567", without a path.
  virtual const std::string& url() const = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_SERVER_H_
