// Checks, renders and reads requests in one step, for tests.
#ifndef STAMPGATE_TRANSLATE_TESTING_RENDERING_H_
#define STAMPGATE_TRANSLATE_TESTING_RENDERING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "translate/operation_table.h"
#include "translate/request_translator.h"

namespace stampgate::testing {

// Checks `request`, a request of `operation` (one of Operations()), and renders it. Errors: those of
// CheckedRequest::Check.
absl::StatusOr<RenderedRequest> CheckAndRender(const Operation& operation, const google::protobuf::Message& request);

// Like CheckAndRender, but checks the request with CheckedRequest::CheckUnstamped.
absl::StatusOr<RenderedRequest> CheckAndRenderUnstamped(const Operation& operation,
                                                        const google::protobuf::Message& request);

// Returns the request that the body contains which a client has stamped. `stamped` must have a client_stamp.
std::unique_ptr<google::protobuf::Message> StampedRequestIn(const Operation& operation,
                                                            const google::protobuf::Message& stamped);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_RENDERING_H_
