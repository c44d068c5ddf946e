// One HTTP connection of the receiver: reads its requests and answers them one at a time.
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

// Kept alive by the operation that it waits for: a read or write, a timer, or the Answer. All members except Close,
// CloseIfIdle and Reply run on the socket's strand.
class HttpConnection : public ConnectedPeer, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(ReceiverState& state, PeerStream::Socket socket);
  ~HttpConnection() override;

  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Call once, after the connection was admitted. May be called from any thread.
  void Start();

  void Close() override;
  void CloseIfIdle() override;

  // Sends the response to the delivery that was handed over. Destroys `token` when the response has been sent or cannot
  // be sent. May be called from any thread.
  void Reply(int http_status, std::unique_ptr<DeliveryCount::Token> token);

 private:
  enum class Phase { kHandshake, kIdle, kHead, kBody, kWorking, kAnswering, kEnding, kClosed };

  // Waits for a request and reads it.
  void BeginRequest();
  void Read();
  void OnBytes(size_t count);
  void ReadHead();
  void ReadBody();

  // Why a request with this head must be refused. Nothing if it is accepted.
  std::optional<HttpRefusal> RefusalOf(const RequestHead& head) const;
  void HandOver();

  // Reports the refusal and sends its response. Discards unread input of the peer.
  void Refuse(HttpRefusal refusal);
  void SendAnswer(int http_status, AfterAnswer after);
  void End();
  void CloseNow();

  // Closes the connection after `delay`, unless a later call sets another deadline.
  void SetDeadline(absl::Duration delay);
  void ClearDeadline();

  absl::string_view unread() const { return absl::string_view(buffer_.data() + begin_, end_ - begin_); }

  ReceiverState& state_;
  PeerStream stream_;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                    PeerStream::Strand>
      timer_;
  Phase phase_ = Phase::kHandshake;

  // Large enough for a whole head. The unread bytes are those from begin_ to end_.
  std::array<char, kMaxHeadBytes> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;

  // The request that is being read or processed.
  std::optional<RequestReader> request_;
  std::chrono::steady_clock::time_point request_began_;  // when its first byte arrived

  std::string answer_;
  std::unique_ptr<DeliveryCount::Token> token_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_CONNECTION_H_
