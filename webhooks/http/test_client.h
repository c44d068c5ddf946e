// An HTTP client for tests: sends given bytes and reads responses.
#ifndef STAMPGATE_WEBHOOKS_HTTP_TEST_CLIENT_H_
#define STAMPGATE_WEBHOOKS_HTTP_TEST_CLIENT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// One TCP connection. No call blocks for longer than 60 s.
class HttpTestClient {
 public:
  // Connects to the host and port of "http://127.0.0.1:34567" or "http://[::1]:34567". Aborts if nothing listens there.
  // `receive_buffer` limits how many bytes of unread responses the kernel holds, so that a server notices a peer that
  // does not read.
  explicit HttpTestClient(const std::string& url, int receive_buffer = 0);
  // Resets the connection, so that no port stays in TIME_WAIT.
  ~HttpTestClient();

  HttpTestClient(const HttpTestClient&) = delete;
  HttpTestClient& operator=(const HttpTestClient&) = delete;

  // False if the peer does not accept more.
  bool Send(absl::string_view bytes);
  // Closes the sending side; responses can still be read.
  void EndSending();

  // The head of the next response, which has no body. Empty if the connection ended before.
  std::string ReadAnswer();
  // Reads to the end of the connection; a test failure if it does not end.
  std::string ReadToEnd();

  int descriptor() const { return socket_; }

 private:
  bool ReadMore();

  int socket_;
  std::string unread_;
};

// "200" for a response that keeps the connection, "200." for one that closes it; "200 404." for two.
std::string Statuses(absl::string_view answers);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_TEST_CLIENT_H_
