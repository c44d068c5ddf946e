// The bound on the answer to a unary call.
#ifndef STAMPGATE_TRANSLATE_ANSWER_SIZE_H_
#define STAMPGATE_TRANSLATE_ANSWER_SIZE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "translate/upstream_error.h"

namespace stampgate {

// A client library refuses a message of more than 4 MiB unless it is configured otherwise. The margin of 64 KiB is for
// clients and proxies that count the message's frame or its metadata too.
inline constexpr size_t kMaxAnswerBytes = (4 << 20) - (64 << 10);

// The error in place of `response`, the answer to `call`, whose `bytes` are more than kMaxAnswerBytes: OUT_OF_RANGE
// (ANSWER_TOO_LARGE), which no client library repeats by itself. It says that the call was carried out. The metadata
// hold the sizes; of a submit also what names the activity.
absl::Status AnswerTooLarge(const SentCall& call, const google::protobuf::Message& response, size_t bytes);

// The error in place of a prepared body of `bytes`, an answer of the gateway's own: the same code, reason and sizes.
absl::Status PreparedTooLarge(size_t bytes);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_ANSWER_SIZE_H_
