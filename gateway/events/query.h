// The unary calls of the event service, without gRPC.
#ifndef STAMPGATE_GATEWAY_EVENTS_QUERY_H_
#define STAMPGATE_GATEWAY_EVENTS_QUERY_H_

#include <grpcpp/support/byte_buffer.h>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/events/environment.h"
#include "gateway/events/identity.h"

namespace stampgate {

// Called once, on any thread: at once, or when the log has been read.
using OnEventResponse = absl::AnyInvocable<void(absl::StatusOr<grpc::ByteBuffer>)>;

// One call each of EventService.ListEvents and EventService.GetEvent. Neither blocks. `environment`, what `identity`
// refers to and `request` must stay until `on_response` is called. `request_id` is in each record of the call.
void ListEvents(const EventEnvironment& environment, CallIdentity identity, absl::string_view request_id,
                const grpc::ByteBuffer& request, OnEventResponse on_response);
void GetEvent(const EventEnvironment& environment, CallIdentity identity, absl::string_view request_id,
              const grpc::ByteBuffer& request, OnEventResponse on_response);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_QUERY_H_
