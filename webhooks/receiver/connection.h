// Reads the requests of one HTTP connection of the receiver, and sends the responses, one request at a time.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_CONNECTION_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_CONNECTION_H_

#include <array>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/wait_traits.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/http/peer_stream.h"
#include "base/http/request_reader.h"
#include "base/http/response.h"
#include "webhooks/receiver/body_account.h"
#include "webhooks/receiver/delivery_count.h"
#include "webhooks/receiver/peer_table.h"
#include "webhooks/receiver/refusal.h"
#include "webhooks/receiver/state.h"
#include "webhooks/verification/delivery.h"

namespace stampgate {

// A connection of the receiver. Its pending operation, which is a read, a write or a timer, keeps the connection alive.
// All functions except Start, Close, CloseIfIdle and Reply run on the event loop of the socket. The
// constructor runs on the first loop, and the destructor on any thread, when the connection is closed or was never
// started.
class HttpConnection : public ConnectedPeer, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<ReceiverState> state, PeerStream::Socket socket);
  ~HttpConnection() override;

  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Starts to serve the connection. Call Start once, from any thread, after PeerTable::Admit has returned true.
  void Start();

  // The source of the peer that has connected. Call it before Start.
  const std::string& source() const { return source_; }

  void Close() override;
  void CloseIfIdle() override;

  // Sends the response to the delivery that was passed to ReceiverState::take. Returns the memory `held` of the
  // delivery, and destroys `token` when the response was sent or cannot be sent. May be called from any thread.
  void Reply(int http_status, std::shared_ptr<HeldBody> held, std::unique_ptr<DeliveryCount::Token> token);

 private:
  enum class Phase { kHandshake, kIdle, kHead, kBody, kRefusing, kWorking, kAnswering, kEnding, kClosed };

  // Reads the header of the load balancer, and then continues with BeginTls.
  void ReadProxyHeaderFromSocket();
  void OnProxyHeader(size_t count);
  // Performs the handshake if the port has TLS, and then continues with BeginRequest.
  void BeginTls();
  void ReportFailedHandshake(boost::system::error_code error);
  // Starts to wait for a request.
  void BeginRequest();
  void Read();
  void OnBytes(size_t count);
  void ReadHead();
  void ReadBody();

  // Returns why a request with this request head must be refused, or nothing if the request is accepted. `has_path` is
  // whether the target is one of the accepted paths.
  std::optional<HttpRefusal> RefusalOf(const RequestHead& head, bool has_path, bool has_none) const;
  // Begins to hold memory for the body. Returns false if there is not enough.
  bool HoldBody(size_t head_bytes);
  void HandOver();

  // Reports the refusal and sends its response. Ignores all further bytes of the peer.
  void Refuse(HttpRefusal refusal);
  // Refuses a request whose body is being read. First cancels the pending operation, because the response must not be
  // written while an operation is pending.
  void RefuseBody(HttpRefusal refusal);
  void SendAnswer(int http_status, AfterAnswer after);
  void End();
  void CloseNow();

  // Closes the connection after `delay`, unless the deadline is changed or cleared before. In Phase::kBody, refuses the
  // request instead.
  void SetDeadline(absl::Duration delay);
  void SetDeadline(std::chrono::steady_clock::time_point deadline);
  // The earlier one of the end of ReceiverOptions::request_timeout and the bound of progress().
  void SetBodyDeadline();
  void ClearDeadline();
  void StartTimer();

  absl::string_view unread() const { return absl::string_view(buffer_.data() + begin_, end_ - begin_); }

  const std::shared_ptr<ReceiverState> state_;
  std::string source_;  // see SourceOf
  PeerStream stream_;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                    PeerStream::Executor>
      timer_;
  std::optional<std::chrono::steady_clock::time_point> timer_ends_;  // set while the timer runs
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  Phase phase_ = Phase::kHandshake;
  // Keeps the connection alive while it waits for the Answer. The Answer does not, so that a connection that is closed
  // before frees its memory at once.
  std::shared_ptr<HttpConnection> self_;

  std::optional<boost::asio::ip::address> client_;  // nothing if the peer has disconnected before it was asked
  bool may_be_proxy_header_ = true;                 // whether the unread bytes can begin with a PROXY header

  // A buffer for a whole request head. The bytes from begin_ to end_ have not been parsed yet.
  std::array<char, kMaxHeadBytes> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;

  // The request that is being read or processed.
  std::optional<RequestReader> request_;
  std::chrono::steady_clock::time_point request_began_;  // when the request's first byte arrived
  std::shared_ptr<HeldBody> held_;                       // set in Phase::kBody
  HttpRefusal refusal_ = HttpRefusal::kTooSlow;          // set in Phase::kRefusing
  bool keep_alive_ = false;                              // set in Phase::kWorking

  std::string answer_;
  std::unique_ptr<DeliveryCount::Token> token_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_CONNECTION_H_
