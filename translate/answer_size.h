// The size limit of the response to a unary call.
#ifndef STAMPGATE_TRANSLATE_ANSWER_SIZE_H_
#define STAMPGATE_TRANSLATE_ANSWER_SIZE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "translate/upstream_error.h"

namespace stampgate {

// By default, client libraries refuse messages of more than 4 MiB. The margin of 64 KiB is for clients and proxies that
// also count the frame or the metadata.
inline constexpr size_t kMaxAnswerBytes = (4 << 20) - (64 << 10);

// The error that replaces `response`, the response to `call`, if its size `bytes` exceeds kMaxAnswerBytes: OUT_OF_RANGE
// (ANSWER_TOO_LARGE), which no client library repeats by itself. It states that the call was carried out. Its metadata
// hold the sizes and, for a submit, what identifies the activity.
absl::Status AnswerTooLarge(const SentCall& call, const google::protobuf::Message& response, size_t bytes);

// The error that replaces a prepared body of `bytes`, which the gateway made itself: the same code, reason and sizes.
absl::Status PreparedTooLarge(size_t bytes);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_ANSWER_SIZE_H_
