// Reads one HTTP request incrementally, with the parser of Boost.Beast.
//
// Refuses what Beast accepts although two servers might interpret it differently: folded lines, blanks before a colon,
// repeated lengths, encodings other than chunked, bare line feeds. A peer that sends these is broken or attempts
// request smuggling.
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

// From the request line to the empty line, inclusive.
inline constexpr size_t kMaxHeadBytes = 16 << 10;
inline constexpr size_t kMaxHeaderFields = 64;

struct RequestHead {
  std::string method;
  // Path and query. For a target in absolute form ("http://host/path"), which RFC 9112 requires servers to accept, the
  // part after the host.
  std::string target;
  bool keep_alive = false;          // the peer wants to send another request
  std::vector<HeaderField> fields;  // in the order received; fields of one name are adjacent

  // How the body is delimited. If neither is set, there is no body.
  std::optional<uint64_t> content_length;
  bool chunked = false;

  bool expects_continue = false;
  bool expects_something_else = false;
};

class RequestReader {
 public:
  enum class State { kMore, kDone, kMalformed, kTooLarge };

  explicit RequestReader(size_t max_body_bytes);

  // `bytes` is all that has arrived since the request began. When this returns kDone, it has removed the head from the
  // front. Refuses a head at its first bad line. Do not call it again after it has returned anything but kMore.
  State ReadHead(absl::string_view& bytes);

  // Call after the head. Removes what it can use from the front of `bytes`; pass the rest again with more bytes after
  // it. Trailer fields must be well formed and are ignored. Returns kTooLarge before the body exceeds its limit.
  State ReadBody(absl::string_view& bytes);

  const RequestHead& head() const { return head_; }
  RequestHead& head() { return head_; }
  // Grows with the received bytes, not with the announced length.
  std::string& body() { return parser_.get().body(); }

 private:
  State CheckLine(absl::string_view line);
  bool CheckFraming() const;
  bool ParseHead(absl::string_view bytes);

  const size_t max_body_bytes_;
  boost::beast::http::request_parser<GrowingBody> parser_;
  RequestHead head_;

  size_t line_ = 0;  // where the current line begins
  size_t seen_ = 0;  // there is no end of line before this offset
  bool has_request_line_ = false;
  bool http_1_0_ = false;
  size_t fields_ = 0;
  int hosts_ = 0;
  int lengths_ = 0;  // number of Content-Length and Transfer-Encoding fields
  bool chunked_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_REQUEST_READER_H_
