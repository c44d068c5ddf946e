// The objects that all calls of the event service share.
#ifndef STAMPGATE_GATEWAY_EVENTS_ENVIRONMENT_H_
#define STAMPGATE_GATEWAY_EVENTS_ENVIRONMENT_H_

#include <grpcpp/server_context.h>

#include <atomic>
#include <chrono>
#include <functional>

#include "absl/time/time.h"
#include "gateway/callers/access.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/caller_quota.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/stream_slots.h"
#include "gateway/calls/trace_context.h"
#include "gateway/events/messages.h"
#include "gateway/feed/encoder.h"
#include "gateway/feed/source.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The objects of an open event log. No pointer is null.
struct ServedEventLog {
  EventSource* source;
  const EventEncoder* encoder;
  StreamSlots* subscriptions;
  StreamSlots* consumers;  // of shared subscriptions
  StreamSlots* body_reads;
  CallerQuota* queries;  // the calls of GetEvent, ListEvents and ListParked in progress
  LogIdentity identity;
};

// The environment, and every object to which it points, must outlive all calls.
struct EventEnvironment {
  // If no event log is configured, this is null, and every call ends with EVENTS_NOT_CONFIGURED. It is also null as
  // long as a configured log is not open; every call then ends with EVENT_LOG_UNAVAILABLE.
  const ServedEventLog* log = nullptr;
  bool is_configured = false;

  const CurrentAccess& access;
  CallRecorders recorders;
  CallsInFlight<grpc::CallbackServerContext>& in_flight;
  const EventMessages& messages;
  absl::Duration heartbeat_interval = absl::ZeroDuration();
  absl::Duration end_of_streams = absl::InfiniteDuration();  // see ConnectionAges

  // True once the grace period of a drain is nearly over. Calls that can take long must end when this is true.
  const std::atomic<bool>& ending;

  RandomNumber random;
  std::function<absl::Time()> now;  // for the expiry of tokens
  std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;  // for heartbeats
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_ENVIRONMENT_H_
