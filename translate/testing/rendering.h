// A request's way to its JSON in one step, for tests of both halves.
#ifndef STAMPGATE_TRANSLATE_TESTING_RENDERING_H_
#define STAMPGATE_TRANSLATE_TESTING_RENDERING_H_

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "translate/operation_table.h"
#include "translate/request_translator.h"

namespace stampgate::testing {

// Checks a request of one of Operations(), and renders it. Errors: those of CheckedRequest::Check.
absl::StatusOr<RenderedRequest> CheckAndRender(const Operation& operation, google::protobuf::Message& request);

// The same with CheckedRequest::CheckUnstamped.
absl::StatusOr<RenderedRequest> CheckAndRenderUnstamped(const Operation& operation, google::protobuf::Message& request);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_RENDERING_H_
