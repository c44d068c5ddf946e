// An HTTP client for tests, which sends any bytes and reads responses.
#ifndef STAMPGATE_BASE_HTTP_TEST_CLIENT_H_
#define STAMPGATE_BASE_HTTP_TEST_CLIENT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// A TCP connection to a server. No function blocks for longer than 60 s.
class HttpTestClient {
 public:
  // Connects to the host and port of a URL such as "http://127.0.0.1:34567" or "http://[::1]:34567". If the connection
  // fails, the test fails. `receive_buffer` limits how many bytes of unread responses the kernel holds, so that a
  // server's writes block soon if the test does not read.
  explicit HttpTestClient(const std::string& url, int receive_buffer = 0);
  // Resets the connection, so that no port remains in TIME_WAIT.
  ~HttpTestClient();

  HttpTestClient(const HttpTestClient&) = delete;
  HttpTestClient& operator=(const HttpTestClient&) = delete;

  // Returns false if the peer accepts no more bytes.
  bool Send(absl::string_view bytes);
  // Closes the sending side. Responses can still be read.
  void EndSending();

  // Returns the status line and the header fields of the next response, which must have no body. Returns an empty text
  // if the connection ends before the empty line after the header fields.
  std::string ReadAnswer();
  // Returns all bytes up to the end of the connection. If the connection does not end, the test fails.
  std::string ReadToEnd();

  int descriptor() const { return socket_; }

 private:
  bool ReadMore();

  int socket_;
  std::string unread_;
};

// Summarizes responses: "200" for a response that keeps the connection, "200." for a response that closes it, and "200
// 404." for two responses.
std::string Statuses(absl::string_view answers);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_TEST_CLIENT_H_
