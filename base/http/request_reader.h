// Reads one HTTP request from bytes that arrive in pieces, with the parser of Boost.Beast.
//
// Refuses each request with one of these features, which Beast accepts: folded lines, blanks before a colon, repeated
// lengths, encodings other than chunked, line feeds without a carriage return. Two servers might interpret such a
// request differently. A peer that sends it is faulty or attempts request smuggling.
#ifndef STAMPGATE_BASE_HTTP_REQUEST_READER_H_
#define STAMPGATE_BASE_HTTP_REQUEST_READER_H_

#include <boost/beast/http/parser.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/http/growing_body.h"
#include "base/http/header_field.h"

namespace stampgate {

// The maximum size of a request head: all bytes from the request line to the empty line, inclusive.
inline constexpr size_t kMaxHeadBytes = 16 << 10;
inline constexpr size_t kMaxHeaderFields = 64;

struct RequestHead {
  std::string method;
  // Path and query. If the peer sent an absolute URL ("http://host/path"), which RFC 9112 requires servers to accept,
  // `target` is only the part after the host.
  std::string target;
  bool keep_alive = false;          // whether the peer wants to send another request
  std::vector<HeaderField> fields;  // in the order received, but fields of one name are adjacent

  // The two ways in which a request gives the length of its body. If neither is set, the request has no body.
  std::optional<uint64_t> content_length;
  bool chunked = false;

  bool expects_continue = false;
};

class RequestReader {
 public:
  // kMalformed: RFC 9112 forbids such a request. kUnsupported: the version of HTTP or the encoding of the body is
  // another one than this class reads.
  enum class State { kMore, kDone, kMalformed, kTooLarge, kUnsupported };

  explicit RequestReader(size_t max_body_bytes);

  // Reads the request head. `bytes` are all bytes since the beginning of the request. If the request head is complete,
  // removes it from the front of `bytes` and returns kDone. Refuses a request head as soon as a line is invalid. Call
  // ReadHead again only after kMore.
  State ReadHead(absl::string_view& bytes);

  // Reads the body, and appends it to `body`. Call ReadBody after ReadHead has returned kDone. Removes the bytes that
  // it has parsed from the front of `bytes`. After kMore, call ReadBody again with the remaining bytes, followed by
  // newly received bytes. Never appends more bytes than it removes. Refuses malformed trailer fields and ignores other
  // trailer fields. Returns kTooLarge before the body exceeds `max_body_bytes`.
  State ReadBody(absl::string_view& bytes, std::string& body);

  const RequestHead& head() const { return head_; }
  RequestHead& head() { return head_; }

 private:
  State CheckLine(absl::string_view line);
  bool CheckFraming() const;
  bool ParseHead(absl::string_view bytes);
  State ParseBody(absl::string_view& bytes);

  const size_t max_body_bytes_;
  boost::beast::http::request_parser<GrowingBody> parser_;
  RequestHead head_;

  size_t line_ = 0;  // offset of the current line's beginning
  size_t seen_ = 0;  // ReadHead has searched the bytes before this offset for a line end
  bool has_request_line_ = false;
  bool http_1_0_ = false;
  size_t fields_ = 0;
  int hosts_ = 0;
  int lengths_ = 0;  // number of Content-Length and Transfer-Encoding fields
  bool chunked_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_REQUEST_READER_H_
