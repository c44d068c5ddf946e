// One peer of the receiver: its requests, one after the other.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_CONNECTION_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_CONNECTION_H_

#include <array>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/wait_traits.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "webhooks/http/peer_stream.h"
#include "webhooks/http/request_reader.h"
#include "webhooks/http/response.h"
#include "webhooks/receiver/delivery_count.h"
#include "webhooks/receiver/peer_table.h"
#include "webhooks/receiver/refusal.h"
#include "webhooks/receiver/state.h"
#include "webhooks/verification/delivery.h"

namespace stampgate {

// Kept alive by what it waits for: bytes, a time, or the Answer. Everything but Close, CloseIfIdle and Reply runs on
// the socket's strand.
class HttpConnection : public ConnectedPeer, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(ReceiverState& state, PeerStream::Socket socket);
  ~HttpConnection() override;

  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Call once, after the connection was admitted. From any thread.
  void Start();

  void Close() override;
  void CloseIfIdle() override;

  // Answers the delivery that was handed over. `token` goes when the answer was sent, or cannot be. From any thread.
  void Reply(int http_status, std::unique_ptr<DeliveryCount::Token> token);

 private:
  enum class Phase { kHandshake, kIdle, kHead, kBody, kWorking, kAnswering, kEnding, kClosed };

  // Waiting for a request, and reading it.
  void BeginRequest();
  void Read();
  void OnBytes(size_t count);
  void ReadHead();
  void ReadBody();

  // Why a request is refused once its head is known, or nothing.
  std::optional<HttpRefusal> RefusalOf(const RequestHead& head) const;
  void HandOver();

  // Reports it, and answers. What else the peer has sent is not read.
  void Refuse(HttpRefusal refusal);
  void SendAnswer(int http_status, AfterAnswer after);
  void End();
  void CloseNow();

  // The connection is closed then, unless something else is said before.
  void SetDeadline(absl::Duration delay);
  void ClearDeadline();

  absl::string_view unread() const { return absl::string_view(buffer_.data() + begin_, end_ - begin_); }

  ReceiverState& state_;
  PeerStream stream_;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                    PeerStream::Strand>
      timer_;
  Phase phase_ = Phase::kHandshake;

  // Large enough for a whole head. What is unread lies between begin_ and end_.
  std::array<char, kMaxHeadBytes> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;

  // The request that is being read or worked on.
  std::optional<RequestReader> request_;
  std::chrono::steady_clock::time_point request_began_;  // with its first byte

  std::string answer_;
  std::unique_ptr<DeliveryCount::Token> token_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_CONNECTION_H_
