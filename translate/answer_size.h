// The size limit of the response to a unary call.
#ifndef STAMPGATE_TRANSLATE_ANSWER_SIZE_H_
#define STAMPGATE_TRANSLATE_ANSWER_SIZE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "translate/activity_summary.h"
#include "translate/upstream_error.h"

namespace stampgate {

// The maximum size of a response. By default, client libraries reject messages of more than 4 MiB. Some clients and
// proxies also count the frame or the metadata; the margin of 64 KiB is for these.
inline constexpr size_t kMaxAnswerBytes = (4 << 20) - (64 << 10);

// Returns the error that the caller gets in place of the response to `call` if its size `bytes` exceeds
// kMaxAnswerBytes. The code is OUT_OF_RANGE (ANSWER_TOO_LARGE), for which no client library repeats a call by itself.
// The message states that upstream has carried out the call. The metadata contain `bytes` and kMaxAnswerBytes. For a
// submit, they also contain the fingerprint, the timestamp, and the id and the status of `activity`.
absl::Status AnswerTooLarge(const SentCall& call, const ActivitySummary& activity, size_t bytes);

// Returns the error that the caller gets in place of a body that the gateway prepared for a client's stamp, if its size
// `bytes` exceeds kMaxAnswerBytes. The code, the reason and the sizes in the metadata are as in AnswerTooLarge.
absl::Status PreparedTooLarge(size_t bytes);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_ANSWER_SIZE_H_
