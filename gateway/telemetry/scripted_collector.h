// A collector for tests. The test's script decides the response to each request.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_SCRIPTED_COLLECTOR_H_
#define STAMPGATE_GATEWAY_TELEMETRY_SCRIPTED_COLLECTOR_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"
#include "gateway/upstream/scripted_server.h"

namespace stampgate {

struct CollectorRequest {
  std::map<std::string, std::string> headers;  // by name, also those with ':'
  std::string body;
};

struct CollectorResponse {
  using Fields = std::vector<std::pair<std::string, std::string>>;

  Fields headers;  // if empty, the collector does not respond
  std::string body;
  bool repeats_body = false;  // whether the collector sends the body again and again, until the client ends the request
  Fields trailers;
};

// Returns `message` in the form of a gRPC body: uncompressed, with its length.
std::string GrpcBody(absl::string_view message);

// Returns the response of a method that has returned `message`.
CollectorResponse GrpcResponse(absl::string_view message);

// Listens on a free port of 127.0.0.1 and speaks HTTP/2 without TLS. Runs the script on a thread of the connection.
class ScriptedCollector {
 public:
  using Script = std::function<CollectorResponse(const CollectorRequest&)>;

  explicit ScriptedCollector(Script script);

  std::string endpoint() const;
  // Returns all requests that were received completely so far.
  std::vector<CollectorRequest> requests() const;
  int connections() const { return server_.connections(); }

 private:
  class Session;

  const Script script_;
  mutable Mutex mutex_;
  std::vector<CollectorRequest> requests_ ABSL_GUARDED_BY(mutex_);
  ScriptedServer server_;  // the last member, because its threads use the others
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_SCRIPTED_COLLECTOR_H_
