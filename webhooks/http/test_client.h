// A peer for tests: sends the bytes that the test gives it, and reads answers.
#ifndef STAMPGATE_WEBHOOKS_HTTP_TEST_CLIENT_H_
#define STAMPGATE_WEBHOOKS_HTTP_TEST_CLIENT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// One TCP connection. Nothing blocks for longer than 60 s.
class HttpTestClient {
 public:
  // To the host and port of "http://127.0.0.1:34567" or "http://[::1]:34567". Aborts if nobody listens there.
  // With `receive_buffer`, so many bytes of answers, about, fit on the way: who does not read is noticed sooner.
  explicit HttpTestClient(const std::string& url, int receive_buffer = 0);
  // Resets the connection, so that no port stays taken.
  ~HttpTestClient();

  HttpTestClient(const HttpTestClient&) = delete;
  HttpTestClient& operator=(const HttpTestClient&) = delete;

  // False if the peer takes no more.
  bool Send(absl::string_view bytes);
  // Nothing more will be sent; answers can still be read.
  void EndSending();

  // The next answer's head; all answers end with it. Empty if the connection ended before.
  std::string ReadAnswer();
  // Everything until the connection ends; a test failure if it does not.
  std::string ReadToEnd();

  int descriptor() const { return socket_; }

 private:
  bool ReadMore();

  int socket_;
  std::string unread_;
};

// "200" for an answer that keeps the connection, "200." for one that closes it; "200 404." for two.
std::string Statuses(absl::string_view answers);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_TEST_CLIENT_H_
