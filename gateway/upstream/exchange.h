// One HTTP exchange with upstream: a request, and its response.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_EXCHANGE_H_
#define STAMPGATE_GATEWAY_UPSTREAM_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "gateway/memory/held_bytes.h"
#include "gateway/upstream/connection.h"
#include "gateway/upstream/response_reader.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Sends a request at most once, and reads its response. If the connection breaks, the exchange fails, and nothing sends
// the request again. Must be used on the thread of the connection's event loop. A shared_ptr must own it.
class HttpExchange : public std::enable_shared_from_this<HttpExchange> {
 public:
  // Receives the outcome, and the connection if it can carry another exchange, otherwise null.
  using Done = absl::AnyInvocable<void(UpstreamOutcome outcome, std::shared_ptr<UpstreamConnection> connection)>;

  struct Request {
    std::string head;
    std::shared_ptr<const std::string> body;  // null for a GET
    bool for_cache = false;                   // whether the caller needs the headers about caches
  };

  // `held` reserves the memory of the response.
  HttpExchange(std::shared_ptr<UpstreamConnection> connection, Request request, int64_t max_response_bytes,
               HeldBytes held, Done done);

  // Begins to send. `done` is called once, perhaps inside of Start, unless Stop prevents that.
  void Start();

  // Ends the exchange, and closes the connection, without calling `done`.
  void Stop();

 private:
  void Send();
  void Receive();
  void Fail(TransportFailure::Cause cause, absl::string_view detail);
  void End(UpstreamOutcome outcome, bool keep);

  std::shared_ptr<UpstreamConnection> connection_;  // null when the exchange has ended
  const Request request_;
  absl::string_view unsent_head_;
  absl::string_view unsent_body_;
  ResponseReader reader_;
  Done done_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_EXCHANGE_H_
