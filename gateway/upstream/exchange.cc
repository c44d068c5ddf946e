#include "gateway/upstream/exchange.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;
using Result = UpstreamConnection::Result;
using State = ResponseReader::State;

// A body of at most this size is sent together with the head, in one TLS record.
constexpr size_t kRecordBytes = 16384;

// After this many reads in a row, the other connections of the thread get their turn, even if more bytes have arrived.
constexpr int kReadsInARow = 8;

// The exchanges of a thread share one buffer, so that an exchange that waits uses none.
thread_local std::array<char, kRecordBytes> received_bytes;

HttpExchange::Request Joined(HttpExchange::Request request) {
  if (request.body != nullptr && request.head.size() + request.body->size() <= kRecordBytes) {
    absl::StrAppend(&request.head, *request.body);
    request.body = nullptr;
  }
  return request;
}

}  // namespace

HttpExchange::HttpExchange(std::shared_ptr<UpstreamConnection> connection, Request request, int64_t max_response_bytes,
                           HeldBytes held, Done done)
    : connection_(std::move(connection)),
      request_(Joined(std::move(request))),
      unsent_head_(request_.head),
      unsent_body_(request_.body == nullptr ? absl::string_view() : *request_.body),
      reader_(max_response_bytes, std::move(held)),
      done_(std::move(done)) {}

void HttpExchange::Start() {
  connection_->WhenReadable([self = shared_from_this()] { self->Receive(); });
  Send();
}

void HttpExchange::Stop() {
  if (connection_ == nullptr) return;
  connection_->StopWaiting();
  connection_ = nullptr;
}

void HttpExchange::Send() {
  for (absl::string_view* part : {&unsent_head_, &unsent_body_}) {
    while (!part->empty()) {
      switch (connection_->Send(*part)) {
        case Result::kSome:
          continue;
        case Result::kLater:
          return connection_->WhenWritable([self = shared_from_this()] { self->Send(); });
        default:
          // Upstream may have responded before it closed the connection, for example because the body is too large.
          return Receive();
      }
    }
  }
}

void HttpExchange::Receive() {
  for (int reads = 0; reads < kReadsInARow; ++reads) {
    absl::string_view bytes;
    const Result result = connection_->Receive(received_bytes.data(), received_bytes.size(), bytes);
    if (result == Result::kLater) {
      return connection_->WhenReadable([self = shared_from_this()] { self->Receive(); });
    }
    State state = State::kMalformed;
    if (result == Result::kSome) state = reader_.Read(bytes);
    // If the connection broke, a body without a length may be cut.
    if (result == Result::kEnded) state = reader_.ReadEnd();
    switch (state) {
      case State::kMore:
        continue;
      case State::kDone: {
        const bool all_sent = unsent_head_.empty() && unsent_body_.empty();
        return End(reader_.TakeAnswer(request_.for_cache),
                   result == Result::kSome && all_sent && reader_.keeps_connection());
      }
      case State::kMalformed:
        if (result == Result::kSome) return Fail(Cause::kBroken, "the response is not valid HTTP");
        return Fail(Cause::kBroken, "the connection ended before the response was complete");
      case State::kTooLarge:
        return Fail(Cause::kTooLarge, "the response exceeds the limit");
      case State::kNoMemory:
        return Fail(Cause::kNoMemory, reader_.memory().message());
      case State::kTooManyInterim:
        return Fail(Cause::kBroken,
                    absl::StrCat("more than ", kMaxInterimResponses, " interim responses precede the response"));
    }
  }
  connection_->ReadLater([self = shared_from_this()] { self->Receive(); });
}

void HttpExchange::Fail(Cause cause, absl::string_view detail) {
  End(TransportFailure{cause, true, std::string(detail)}, false);
}

void HttpExchange::End(UpstreamOutcome outcome, bool keep) {
  connection_->StopWaiting();
  std::shared_ptr<UpstreamConnection> connection = std::exchange(connection_, nullptr);
  if (!keep) connection = nullptr;
  std::exchange(done_, nullptr)(std::move(outcome), std::move(connection));
}

}  // namespace stampgate
