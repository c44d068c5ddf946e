#include "gateway/upstream/response_reader.h"

#include <curl/curl.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <ctime>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json/reader.h"

namespace stampgate {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

constexpr uint32_t kMaxHeadBytes = 64 << 10;
constexpr absl::Duration kMaxRetryAfter = absl::Hours(1);

absl::string_view ViewOf(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::optional<absl::Duration> RetryAfter(absl::string_view value) {
  if (value.empty()) return std::nullopt;
  absl::Duration wait = kMaxRetryAfter;
  if (absl::c_all_of(value, absl::ascii_isdigit)) {
    int64_t seconds;
    if (absl::SimpleAtoi(value, &seconds)) wait = absl::Seconds(seconds);
  } else {
    const time_t when = curl_getdate(std::string(value).c_str(), nullptr);
    if (when == -1) return std::nullopt;
    wait = absl::FromTimeT(when) - absl::Now();
  }
  return std::clamp(wait, absl::ZeroDuration(), kMaxRetryAfter);
}

// Reads a number from 0 to 10^9, which parameters may follow, such as "60, 60;w=1".
std::optional<int64_t> LeadingNumber(absl::string_view value) {
  const size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
  int64_t number;
  if (digits > 9 || !absl::SimpleAtoi(value.substr(0, digits), &number)) return std::nullopt;
  return number;
}

template <typename Fields>
std::optional<HttpAnswer::RateLimit> RateLimitOf(const Fields& fields) {
  const std::optional<int64_t> limit = LeadingNumber(ViewOf(fields["ratelimit-limit"]));
  const std::optional<int64_t> remaining = LeadingNumber(ViewOf(fields["ratelimit-remaining"]));
  if (!limit.has_value() || !remaining.has_value()) return std::nullopt;
  return HttpAnswer::RateLimit{*limit, *remaining};
}

// Returns the values of all fields called `name`, separated by commas.
template <typename Fields>
std::string ListOf(const Fields& fields, http::field name) {
  std::string list;
  const auto [begin, end] = fields.equal_range(name);
  for (auto field = begin; field != end; ++field) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", ViewOf(field->value()));
  }
  return list;
}

}  // namespace

ResponseReader::ResponseReader(int64_t max_body_bytes, HeldBytes held)
    : max_body_bytes_(max_body_bytes), held_(std::move(held)) {
  Begin();
}

void ResponseReader::Begin() {
  parser_.reset();
  header_resource_.release();
  parser_.emplace(std::piecewise_construct, std::tuple<>(), std::make_tuple(Allocator(&header_resource_)));
  parser_->header_limit(kMaxHeadBytes);
  parser_->body_limit(static_cast<uint64_t>(max_body_bytes_));
}

ResponseReader::State ResponseReader::Read(absl::string_view bytes) {
  if (!unparsed_.empty()) {
    absl::StrAppend(&unparsed_, bytes);
    bytes = unparsed_;
  }
  State state = Parse(bytes);
  if (state == State::kMore) {
    unparsed_ = std::string(bytes);
  } else if (state == State::kDone) {
    keeps_connection_ = bytes.empty() && parser_->keep_alive() && parser_->get().result_int() != 101;
  }
  return state;
}

ResponseReader::State ResponseReader::Parse(absl::string_view& bytes) {
  while (true) {
    while (!parser_->is_done()) {
      if (bytes.empty()) return State::kMore;
      if (parser_->is_header_done() && !Reserve(parser_->get().body().size() + bytes.size() + kJsonPadding)) {
        return State::kNoMemory;
      }
      error_code error;
      bytes.remove_prefix(parser_->put(boost::asio::const_buffer(bytes.data(), bytes.size()), error));
      if (error == http::error::need_more) return bytes.size() <= kMaxHeadBytes ? State::kMore : State::kMalformed;
      if (error == http::error::body_limit) return State::kTooLarge;
      if (error) return State::kMalformed;
      if (parser_->is_header_done() && parser_->get().body().empty()) {
        if (!Reserve(parser_->content_length().value_or(0) + kJsonPadding)) return State::kNoMemory;
      }
    }
    const unsigned int status = parser_->get().result_int();
    if (status >= 200 || status == 101) return State::kDone;
    if (++interim_responses_ > kMaxInterimResponses) return State::kTooManyInterim;
    Begin();
  }
}

// Gives the body a capacity of at least `size`.
bool ResponseReader::Reserve(size_t size) {
  std::string& body = parser_->get().body();
  if (body.capacity() >= size) return true;
  const size_t capacity = std::max(size, std::min(2 * body.capacity(), static_cast<size_t>(max_body_bytes_)));
  // While the bytes are copied, both memories exist.
  memory_ = held_.Resize(body.capacity() + capacity);
  if (!memory_.ok()) return false;
  body.reserve(capacity);
  return held_.Resize(capacity).ok();
}

ResponseReader::State ResponseReader::ReadEnd() {
  error_code error;
  if (!parser_->is_header_done() || !unparsed_.empty()) return State::kMalformed;
  parser_->put_eof(error);
  return error || !parser_->is_done() ? State::kMalformed : State::kDone;
}

HttpAnswer ResponseReader::TakeAnswer(bool for_cache) {
  auto& response = parser_->get();
  HttpAnswer answer;
  answer.status = static_cast<int>(response.result_int());
  if (answer.status != 200) answer.retry_after = RetryAfter(ViewOf(response[http::field::retry_after]));
  answer.rate_limit = RateLimitOf(response);
  if (for_cache) {
    answer.cache_control = ListOf(response, http::field::cache_control);
    answer.age = std::string(ViewOf(response[http::field::age]));
  }
  answer.body = std::move(response.body());
  answer.body.reserve(answer.body.size() + kJsonPadding);
  if (held_.reserves()) answer.held = std::make_shared<HeldBytes>(std::move(held_));
  return answer;
}

}  // namespace stampgate
