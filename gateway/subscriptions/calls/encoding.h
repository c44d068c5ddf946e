// Encodes the responses of the subscription service.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_ENCODING_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_ENCODING_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/feed/event_fields.h"
#include "gateway/subscriptions/calls/environment.h"
#include "gateway/subscriptions/served_subscription.h"
#include "translate/wire/writer.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Appends to `slices` the field `field`, a message that consists of the encoded event `event` and of `rest`. Does not
// copy the event. Returns the size of the field.
size_t AppendWithEvent(int field, const grpc::Slice& event, absl::string_view rest, std::vector<grpc::Slice>& slices);

void WriteTime(const EventFields& fields, int field, absl::Time time, WireWriter& out);

// Returns a serialized ConsumeResponse with the deliveries of `batch`.
grpc::ByteBuffer EncodeDeliveries(const SubscriptionEnvironment& environment, absl::string_view subscription,
                                  const ServedSubscription::Batch& batch);

// Writes the state of a subscription. `through` is the point at `state.all.through`.
void WriteSubscription(const SubscriptionEnvironment& environment, absl::string_view name,
                       const ServedSubscription::State& state, const LogPoint& through, WireWriter& out);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_ENCODING_H_
