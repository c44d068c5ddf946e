// Makes the body that an end user stamps for a request.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_PREPARE_H_
#define STAMPGATE_GATEWAY_OPERATIONS_PREPARE_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/operations/timestamp_allocator.h"
#include "stampgate/v1/stamp_service.pb.h"
#include "translate/message/parsed_message.h"
#include "translate/message/request_memory.h"
#include "translate/operation_table.h"
#include "translate/request_translator.h"

namespace stampgate {

// Returns the operation that `request` names. Errors: INVALID_ARGUMENT (INVALID_REQUEST).
absl::StatusOr<const Operation*> FindOperationOf(const OperationTable& table, const v1::PrepareRequest& request);

// Parses the message in `request`, a request of `operation` whose body a client will stamp. Does not check the rules
// for the fields of this message, because CheckedRequest checks them. The result refers to `request` and to `memory`.
// Errors: INVALID_ARGUMENT (INVALID_REQUEST) if `request` does not have the form that the proto file requires, or if
// the message needs more memory than `memory` has left.
absl::StatusOr<ParsedMessage> ParsePreparedRequest(const Operation& operation, const v1::PrepareRequest& request,
                                                   RequestMemory& memory);

struct PreparedBody {
  v1::PrepareResponse response;
  std::array<uint8_t, 32> sha256;  // the digest of the body in the response
};

// Returns the response with the body of `rendered`. The body of a submit contains the timestamp that TimestampOf
// returns. Errors: RESOURCE_EXHAUSTED (TIMESTAMPS_EXHAUSTED), OUT_OF_RANGE (ANSWER_TOO_LARGE).
absl::StatusOr<PreparedBody> Prepare(const Operation& operation, RenderedRequest rendered,
                                     TimestampAllocator& timestamps, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_PREPARE_H_
