// One unary call of the subscription service: its caller, its request and its subscription.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_UNARY_CALL_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_UNARY_CALL_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/trace_context.h"
#include "gateway/events/access.h"
#include "gateway/events/environment.h"
#include "gateway/events/identity.h"
#include "gateway/events/request.h"
#include "gateway/events/response.h"
#include "gateway/feed/source.h"
#include "gateway/subscriptions/calls/environment.h"
#include "gateway/subscriptions/calls/messages.h"
#include "gateway/subscriptions/subscription_set.h"
#include "translate/message/parsed_message.h"

namespace stampgate {

// The callbacks of the call keep this object alive until the call has ended. At any time, only one step of the call is
// in progress.
class UnaryCall : public std::enable_shared_from_this<UnaryCall> {
 public:
  // How the audit log records that the call is allowed.
  enum class Recorded {
    // Not at all. A consumer settles as often as it gets events, and the audit log has the call with which it consumes.
    kNot,
    kAsRead,  // as CallAudit::AllowRead
    // Before the call does anything, and with the subscription: the call is refused if the audit log cannot be written.
    kAsChange,
  };

  // Does what the call is for, and ends it.
  using Step = void (*)(const std::shared_ptr<UnaryCall>& call);

  struct Method {
    const char* name;
    const SubscriptionRequest& request;
    Recorded recorded;
    Step step;
    bool is_about_declared = true;  // the config must declare the subscription of the request
  };

  // Starts a call of `method`, and does not block. Runs the method's step if the caller may use the subscription of the
  // request; otherwise ends the call. `environment`, `request`, `method.request` and the objects to which `identity`
  // refers must stay valid until `on_response` is called. Each record of the call contains the id of `trace`.
  static void Start(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                    const grpc::ByteBuffer& request, OnEventResponse on_response, const Method& method);

  // Use Start.
  UnaryCall(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
            OnEventResponse on_response, const Method& method);

  const SubscriptionEnvironment& environment() const { return environment_; }
  const ServedEventLog& log() const { return *environment_.events.log; }
  const EventAccess& access() const { return access_; }
  const ParsedMessage& request() const { return *request_; }
  absl::string_view method() const { return record_.method(); }
  // The name in the request; must not be called in a call of ListSubscriptions, and the next function neither.
  std::string name() const { return std::string(request_->Text(*method_.request.subscription)); }
  // Must not be called if the method is not about declared subscriptions.
  ServedSubscription& subscription() const { return *subscription_->served; }

  // Takes a share of the queries, which the call has until its response is sent. Errors: RESOURCE_EXHAUSTED
  // (TOO_MANY_SUBSCRIBERS).
  absl::Status TakeQuery();

  // Calls `on_reader` with a reader of the log, which is valid until it returns. Ends the call if the source ends.
  void Run(absl::AnyInvocable<void(EventReader& reader)> on_reader);

  // Ends the call with a response or an error. Must be called once.
  void End(const absl::StatusOr<grpc::ByteBuffer>& message);
  // Does the same with the bytes of a response.
  void Respond(const std::string& message);

 private:
  void Begin(const grpc::ByteBuffer& bytes);
  absl::Status Read(const grpc::ByteBuffer& bytes);
  absl::Status Hold(const grpc::ByteBuffer& message);

  const SubscriptionEnvironment& environment_;
  const CallIdentity identity_;
  OnEventResponse on_response_;
  const Method method_;
  CallRecord record_;
  EventAccess access_;
  EventRequest request_;
  std::shared_ptr<const DeclaredSubscription> subscription_;
  EventResponse response_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_UNARY_CALL_H_
