// Sends exports to a collector of telemetry.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_OTLP_CLIENT_H_
#define STAMPGATE_GATEWAY_TELEMETRY_OTLP_CLIENT_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/secret/file.h"

namespace stampgate {

// A client of unary gRPC calls to one server. It speaks gRPC through libcurl's HTTP/2 and not through the gRPC library,
// because the gRPC of this process runs on the loops of the calls and can only be a server. It keeps one connection.
//
// Only one thread at a time may call Export, which blocks; EndBy may be called on any thread.
class OtlpClient {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::string endpoint;        // "https://host[:port]", or "http://" with a loopback host
    std::string ca_file;         // the CA certificates that verify the server; if empty, those of the system
    SecretOwners secret_owners;  // who else may own `headers_file`
    std::string headers_file;    // see ParseExportHeaders; read for each export, so that it can change; may be empty
    std::string user_agent;
    absl::Duration timeout;  // of one export
  };

  explicit OtlpClient(Options options);
  ~OtlpClient();
  OtlpClient(const OtlpClient&) = delete;
  OtlpClient& operator=(const OtlpClient&) = delete;

  // Calls `method`, such as "/package.Service/Export", with the encoded message `request`, and returns the encoded
  // response. Errors: the server's status code, and for failures of the connection the code that gRPC has for them:
  // mostly kUnavailable, and kDeadlineExceeded after `timeout`. The message of an error has no text of the server.
  absl::StatusOr<std::string> Export(const std::string& method, absl::string_view request);

  // From now on, no export lasts longer than until `end`. Also applies to an export that is in progress.
  void EndBy(Clock::time_point end);

 private:
  class Curl;

  const Options options_;
  const std::unique_ptr<Curl> curl_;
  std::atomic<Clock::time_point> end_ = Clock::time_point::max();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_OTLP_CLIENT_H_
