// What every call of the event service uses.
#ifndef STAMPGATE_GATEWAY_EVENTS_ENVIRONMENT_H_
#define STAMPGATE_GATEWAY_EVENTS_ENVIRONMENT_H_

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "gateway/callers/access.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/trace_context.h"
#include "gateway/events/encoder.h"
#include "gateway/events/feed.h"
#include "translate/message_plan.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Outlives all calls.
struct EventEnvironment {
  EventFeed* feed = nullptr;              // null if no log is configured
  const EventEncoder* encoder = nullptr;  // and this with it
  LogIdentity log = {};
  const CurrentAccess& access;
  CallRecorders recorders;
  CallsInFlight<grpc::CallbackServerContext>& in_flight;
  size_t max_request_bytes = 0;
  absl::Duration heartbeat_interval = absl::ZeroDuration();
  int max_subscribers = 0;  // and no more of those who read a body

  const MessagePlans& plans;  // has those of the request messages

  RandomNumber random;
  std::function<absl::Time()> now;  // for the ends of tokens

  mutable std::atomic<int> subscribers = 0;
  mutable std::atomic<int> body_readers = 0;
  mutable std::atomic<EventFeed::ReaderId> next_reader = 1;

  // The grace of a drain is nearly over: what can go on for long ends now.
  std::atomic<bool> ending = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_ENVIRONMENT_H_
