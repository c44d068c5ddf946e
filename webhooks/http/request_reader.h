// One HTTP request, read while it comes in: Boost.Beast parses it.
//
// What Beast's parser puts up with and two servers might read in two ways (folded lines, blanks before a colon, lengths
// given twice, encodings other than chunked, bare line feeds) is refused before it sees it: a peer that sends such a
// thing is broken, or means to smuggle.
#ifndef STAMPGATE_WEBHOOKS_HTTP_REQUEST_READER_H_
#define STAMPGATE_WEBHOOKS_HTTP_REQUEST_READER_H_

#include <boost/beast/http/parser.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "webhooks/http/growing_body.h"
#include "webhooks/http/header_field.h"

namespace stampgate {

// From the request line to the empty line, both included.
inline constexpr size_t kMaxHeadBytes = 16 << 10;
inline constexpr size_t kMaxHeaderFields = 64;

struct RequestHead {
  std::string method;
  // Path and query. Of a target in absolute form ("http://host/path") what follows the host, as RFC 9112 asks of every
  // server.
  std::string target;
  bool keep_alive = false;          // the peer wants to send another request
  std::vector<HeaderField> fields;  // those of one name in their order, beside each other

  // How the body is delimited. Neither: there is none.
  std::optional<uint64_t> content_length;
  bool chunked = false;

  bool expects_continue = false;
  bool expects_something_else = false;
};

class RequestReader {
 public:
  enum class State { kMore, kDone, kMalformed, kTooLarge };

  explicit RequestReader(size_t max_body_bytes);

  // `bytes` is all that has come since the request began. With kDone, the head has been taken from its front. Refuses a
  // head at the first line that is wrong. Not to be called again once it has returned something other than kMore.
  State ReadHead(absl::string_view& bytes);

  // After the head. Takes from the front of `bytes` what it can; the rest is to come again, with more behind it.
  // Trailer fields must be well formed; nobody looks at them. kTooLarge before the body is longer than it may be.
  State ReadBody(absl::string_view& bytes);

  const RequestHead& head() const { return head_; }
  RequestHead& head() { return head_; }
  // Grows with what has come, not with what was announced.
  std::string& body() { return parser_.get().body(); }

 private:
  State CheckLine(absl::string_view line);
  bool CheckFraming() const;
  bool ParseHead(absl::string_view bytes);

  const size_t max_body_bytes_;
  boost::beast::http::request_parser<GrowingBody> parser_;
  RequestHead head_;

  size_t line_ = 0;  // where the line that is being read begins
  size_t seen_ = 0;  // no end of line before this
  bool has_request_line_ = false;
  bool http_1_0_ = false;
  size_t fields_ = 0;
  int hosts_ = 0;
  int lengths_ = 0;  // Content-Length and Transfer-Encoding
  bool chunked_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_REQUEST_READER_H_
