// What StampService.Prepare does, without gRPC: the bytes that an end user stamps for a request.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_PREPARE_H_
#define STAMPGATE_GATEWAY_OPERATIONS_PREPARE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/operations/timestamp_allocator.h"
#include "google/protobuf/message.h"
#include "stampgate/v1/stamp_service.pb.h"
#include "translate/operation_table.h"
#include "translate/request_translator.h"

namespace stampgate {

// The call that is prepared.
struct Preparation {
  const Operation* operation = nullptr;
  std::unique_ptr<google::protobuf::Message> request;  // a message of the operation's request type
};

// Finds the operation that `request` names, and reads the message in it, whose own rules TranslateUnstamped checks.
// Errors: INVALID_ARGUMENT (INVALID_REQUEST) as the proto says.
absl::StatusOr<Preparation> ReadPreparation(const OperationTable& table, const v1::PrepareRequest& request);

// The answer, from what TranslateUnstamped rendered. A submit's time is taken from `timestamps`, as a call's is.
// Errors: RESOURCE_EXHAUSTED (TIMESTAMPS_EXHAUSTED), OUT_OF_RANGE (ANSWER_TOO_LARGE).
absl::StatusOr<v1::PrepareResponse> Prepare(const Operation& operation, const RenderedRequest& rendered,
                                            TimestampAllocator& timestamps, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_PREPARE_H_
