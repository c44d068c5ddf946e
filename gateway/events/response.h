// The response of a unary call that reads events or changes what subscribers receive.
#ifndef STAMPGATE_GATEWAY_EVENTS_RESPONSE_H_
#define STAMPGATE_GATEWAY_EVENTS_RESPONSE_H_

#include <grpcpp/support/byte_buffer.h>

#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "gateway/calls/caller_quota.h"
#include "gateway/memory/held_bytes.h"

namespace stampgate {

// A response, and what the caller holds until the response is sent.
struct EventResponse {
  grpc::ByteBuffer message;
  std::optional<CallerShare> query;
  HeldBytes held = {};
};

// Receives the response. Called once, on any thread: before the function returns, or when the log has been read.
using OnEventResponse = absl::AnyInvocable<void(absl::StatusOr<EventResponse>)>;

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_RESPONSE_H_
