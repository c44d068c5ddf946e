#include "gateway/subscriptions/calls/encoding.h"

#include <algorithm>
#include <cstdint>

#include "gateway/subscriptions/calls/delivery_token.h"
#include "webhooks/log/cursor.h"

namespace stampgate {

size_t AppendWithEvent(int field, const grpc::Slice& event, absl::string_view rest, std::vector<grpc::Slice>& slices) {
  WireWriter prefix;
  prefix.Prefix(field, event.size() + rest.size());
  const size_t size = prefix.size() + event.size() + rest.size();
  slices.emplace_back(prefix.Take());
  slices.push_back(event);
  slices.emplace_back(rest.data(), rest.size());
  return size;
}

void WriteTime(const EventFields& fields, int field, absl::Time time, WireWriter& out) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  const WireWriter::Mark mark = out.Begin(field);
  out.Varint(fields.time.seconds, static_cast<uint64_t>(seconds));
  out.Varint(fields.time.nanos, static_cast<uint64_t>((time - absl::FromUnixSeconds(seconds)) / absl::Nanoseconds(1)));
  out.End(mark);
}

grpc::ByteBuffer EncodeDeliveries(const SubscriptionEnvironment& environment, absl::string_view subscription,
                                  const ServedSubscription::Batch& batch) {
  const SubscriptionResponses& fields = environment.messages.responses();
  const DeliveryTokens tokens(environment.events.log->identity, subscription);
  std::vector<grpc::Slice> slices;
  slices.reserve(3 * batch.size());
  for (const ServedSubscription::Sent& sent : batch) {
    WireWriter rest;
    rest.String(fields.delivery.token, tokens.Encode(sent.id));
    rest.Varint(fields.delivery.delivery_count, static_cast<uint64_t>(sent.count));
    rest.Varint(fields.delivery.reason, fields.delivery.reasons.at(sent.reason));
    if (sent.out_of_order) rest.Varint(fields.delivery.retried_after_parking, 1);
    AppendWithEvent(fields.consume.deliveries, sent.event->field, rest.Take(), slices);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

void WriteSubscription(const SubscriptionEnvironment& environment, absl::string_view name,
                       const ServedSubscription::State& state, const LogPoint& through, WireWriter& out) {
  const ServedEventLog& log = *environment.events.log;
  const SubscriptionResponses::Subscription& fields = environment.messages.responses().subscription;
  const auto write = [&out](int field, uint64_t value) {
    if (value != 0) out.Varint(field, value);
  };
  const WireWriter::Mark mark = out.Begin(environment.messages.responses().subscriptions);
  out.String(fields.name, name);
  out.String(fields.cursor, EncodeCursor(log.identity, through));
  write(fields.events_behind, static_cast<uint64_t>(std::max<Position>(state.latest - state.all.through, 0)));
  if (state.all.oldest.has_value()) {
    WriteTime(log.encoder->fields(), fields.oldest_unsettled_time, *state.all.oldest, out);
  }
  write(fields.unsettled, static_cast<uint64_t>(state.all.held));
  write(fields.parked, static_cast<uint64_t>(state.all.parked));
  write(fields.consumers, static_cast<uint64_t>(state.all.consumers));
  write(fields.lagging_keys, static_cast<uint64_t>(state.all.lagging_keys));
  out.End(mark);
}

}  // namespace stampgate
