#include "base/http/request_reader.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace stampgate {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

absl::string_view TrimBlanks(absl::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

// Returns whether a request line ends with a version of HTTP, such as " HTTP/2.0".
bool NamesAVersion(absl::string_view line) {
  constexpr absl::string_view kForm = " HTTP/1.1";
  if (line.size() < kForm.size()) return false;
  const absl::string_view end = line.substr(line.size() - kForm.size());
  return absl::StartsWith(end, " HTTP/") && IsNumber(end.substr(6, 1)) && end[7] == '.' && IsNumber(end.substr(8));
}

boost::asio::const_buffer BufferOf(absl::string_view bytes) { return {bytes.data(), bytes.size()}; }

// Removes scheme and authority from a target that is an absolute URL. Returns any other target unchanged.
absl::string_view OriginFormOf(absl::string_view target) {
  for (absl::string_view scheme : {"http://", "https://"}) {
    if (!absl::StartsWithIgnoreCase(target, scheme)) continue;
    const absl::string_view rest = target.substr(scheme.size());
    const size_t end = rest.find_first_of("/?");
    if (end == 0 || end == absl::string_view::npos || rest[end] == '?') return target;  // no host or no path
    return rest.substr(end);
  }
  return target;
}

std::string TextOf(boost::beast::string_view text) { return std::string(text.data(), text.size()); }

}  // namespace

RequestReader::RequestReader(size_t max_body_bytes) : max_body_bytes_(max_body_bytes) {
  parser_.header_limit(kMaxHeadBytes);
  // ParseHead sets the limit of the body. Before ParseHead runs, Beast must not refuse a request head because of its
  // Content-Length.
  parser_.body_limit(std::numeric_limits<uint64_t>::max());
}

RequestReader::State RequestReader::ReadHead(absl::string_view& bytes) {
  while (true) {
    const size_t end = bytes.find_first_of(absl::string_view("\r\n\0", 3), seen_);
    // Compares the end of the current line with the limit, and not the size of `bytes`, because bytes after the request
    // head do not count.
    if (std::min(end, bytes.size()) >= kMaxHeadBytes) return State::kTooLarge;
    if (end == absl::string_view::npos) {
      seen_ = bytes.size();
      return State::kMore;
    }
    if (bytes[end] != '\r') return State::kMalformed;
    seen_ = end;
    if (end + 2 > kMaxHeadBytes) return State::kTooLarge;
    if (end + 1 == bytes.size()) return State::kMore;
    if (bytes[end + 1] != '\n') return State::kMalformed;

    const absl::string_view line = bytes.substr(line_, end - line_);
    line_ = seen_ = end + 2;
    if (has_request_line_ && line.empty()) {
      if (!CheckFraming() || !ParseHead(bytes.substr(0, line_))) return State::kMalformed;
      bytes.remove_prefix(line_);
      return State::kDone;
    }
    if (const State state = CheckLine(line); state != State::kMore) return state;
  }
}

// Checks a line of the request head only for faults that Beast accepts.
RequestReader::State RequestReader::CheckLine(absl::string_view line) {
  if (!has_request_line_) {
    has_request_line_ = true;
    http_1_0_ = absl::EndsWith(line, " HTTP/1.0");
    if (http_1_0_ || absl::EndsWith(line, " HTTP/1.1")) return State::kMore;
    return NamesAVersion(line) ? State::kUnsupported : State::kMalformed;
  }
  if (++fields_ > kMaxHeaderFields) return State::kTooLarge;
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return State::kMalformed;
  const absl::string_view name = line.substr(0, colon);
  if (name.empty() || absl::StrContains(name, ' ') || absl::StrContains(name, '\t')) return State::kMalformed;
  const absl::string_view value = TrimBlanks(line.substr(colon + 1));
  const auto is = [&name](absl::string_view other) { return absl::EqualsIgnoreCase(name, other); };
  if (is("Host")) {
    ++hosts_;
  } else if (is("Content-Length")) {
    ++lengths_;
    if (!IsNumber(value)) return State::kMalformed;
  } else if (is("Transfer-Encoding")) {
    ++lengths_;
    chunked_ = true;
    if (!absl::EqualsIgnoreCase(value, "chunked")) return State::kUnsupported;
  } else if (is("Expect")) {
    // RFC 9110, 10.1.1 allows a server to ignore other expectations.
    if (absl::EqualsIgnoreCase(value, "100-continue")) head_.expects_continue = true;
  }
  return State::kMore;
}

bool RequestReader::CheckFraming() const {
  if (lengths_ > 1) return false;
  if (http_1_0_ && chunked_) return false;  // HTTP/1.0 has no chunked bodies
  return hosts_ == 1 || (hosts_ == 0 && http_1_0_);
}

bool RequestReader::ParseHead(absl::string_view bytes) {
  error_code error;
  if (parser_.put(BufferOf(bytes), error) != bytes.size() || error || !parser_.is_header_done()) return false;
  const auto& request = parser_.get();
  head_.method = TextOf(request.method_string());
  head_.target = std::string(OriginFormOf({request.target().data(), request.target().size()}));
  head_.keep_alive = parser_.keep_alive();
  head_.chunked = parser_.chunked();
  if (const auto length = parser_.content_length(); length.has_value()) head_.content_length = *length;
  if (http_1_0_) head_.expects_continue = false;  // HTTP/1.0 has no interim responses
  for (const auto& field : request) head_.fields.push_back({TextOf(field.name_string()), TextOf(field.value())});
  parser_.body_limit(max_body_bytes_);
  parser_.eager(true);
  return true;
}

RequestReader::State RequestReader::ReadBody(absl::string_view& bytes, std::string& body) {
  // The parser appends to its own body. So the caller's body is there while the parser runs.
  parser_.get().body().swap(body);
  const State state = ParseBody(bytes);
  parser_.get().body().swap(body);
  return state;
}

RequestReader::State RequestReader::ParseBody(absl::string_view& bytes) {
  while (!parser_.is_done()) {
    if (bytes.empty()) return State::kMore;
    error_code error;
    bytes.remove_prefix(parser_.put(BufferOf(bytes), error));
    // An element between the bytes of the body, such as an extension of a chunk, has a limit too. If the line of a
    // chunk's size is too long, Beast reports an invalid extension.
    const bool is_long_line = error == http::error::bad_chunk_extension && !absl::StrContains(bytes, '\n');
    if (error == http::error::header_limit || is_long_line) return State::kUnsupported;
    if (error == http::error::need_more) return bytes.size() < kMaxHeadBytes ? State::kMore : State::kUnsupported;
    if (error == http::error::body_limit) return State::kTooLarge;
    if (error) return State::kMalformed;
  }
  return State::kDone;
}

}  // namespace stampgate
