// Reads one HTTP response from bytes that arrive in pieces.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_RESPONSE_READER_H_
#define STAMPGATE_GATEWAY_UPSTREAM_RESPONSE_READER_H_

#include <array>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/http/growing_body.h"
#include "gateway/memory/held_bytes.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// The largest number of interim responses (status 1xx, such as 103 Early Hints) before a response. Without a limit, a
// server could send them without end.
inline constexpr int kMaxInterimResponses = 100;

// Reads the response to one GET or POST with the parser of Boost.Beast (RFC 9112). Skips interim responses. Not
// thread-safe.
class ResponseReader {
 public:
  enum class State { kMore, kDone, kMalformed, kTooLarge, kNoMemory, kTooManyInterim };

  // The body may have `max_body_bytes` at most. `held` reserves its memory.
  explicit ResponseReader(int64_t max_body_bytes, HeldBytes held = {});

  // Reads the next bytes of the connection. Must not be called again after another result than kMore.
  State Read(absl::string_view bytes);

  // Returns kDone if the response is complete because the peer has ended the connection, and otherwise kMalformed.
  State ReadEnd();

  // After kNoMemory, returns why the memory for the body could not be reserved.
  const absl::Status& memory() const { return memory_; }

  // After kDone, returns whether the connection can carry another exchange. It cannot if bytes follow the response.
  bool keeps_connection() const { return keeps_connection_; }

  // After kDone, returns the response. The body has kJsonPadding bytes of spare capacity. Contains the headers about
  // caches only if `for_cache` is true.
  HttpAnswer TakeAnswer(bool for_cache);

 private:
  using Allocator = std::pmr::polymorphic_allocator<char>;
  using Parser = boost::beast::http::response_parser<GrowingBody, Allocator>;

  void Begin();
  State Parse(absl::string_view& bytes);
  bool Reserve(size_t size);

  const int64_t max_body_bytes_;
  // The header of a usual response needs no allocation.
  std::array<char, 1024> header_memory_;
  std::pmr::monotonic_buffer_resource header_resource_{header_memory_.data(), header_memory_.size()};
  std::optional<Parser> parser_;
  HeldBytes held_;  // the body
  absl::Status memory_;
  std::string unparsed_;  // the beginning of an element that is not complete
  int interim_responses_ = 0;
  bool keeps_connection_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_RESPONSE_READER_H_
