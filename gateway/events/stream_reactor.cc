#include "gateway/events/stream_reactor.h"

#include <memory>
#include <utility>

#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"
#include "gateway/events/body_read.h"
#include "gateway/events/identity.h"
#include "gateway/events/method.h"
#include "gateway/events/stream_call.h"
#include "gateway/events/subscription.h"

namespace stampgate {
namespace {

using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;

// Connects gRPC with a stream call. Deletes itself when gRPC no longer needs it: after Finish, and after gRPC has
// called every other reaction.
class StreamReactor : public Reactor, public StreamCall::Output {
 public:
  StreamReactor(const EventEnvironment& environment, grpc::CallbackServerContext& context)
      : environment_(environment), context_(context) {}

  template <typename Call>
  void Start(const grpc::ByteBuffer& request) {
    const TraceContext trace = TraceOf(context_, environment_.random);
    call_ = std::make_shared<Call>(environment_, IdentityOf(environment_, context_), trace, *this);
    call_->Start(request);
  }

 private:
  void Send(const grpc::ByteBuffer& message) override {
    message_ = message;
    StartWrite(&message_);
  }
  void End(const absl::Status& status) override { Finish(ToGrpcStatus(status)); }

  void OnWriteDone(bool ok) override {
    message_.Clear();
    call_->OnSent(ok);
  }
  void OnCancel() override { call_->Cancel(); }
  void OnDone() override {
    environment_.in_flight.End(context_);
    delete this;
  }

  const EventEnvironment& environment_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer message_;  // the message that gRPC is writing
  std::shared_ptr<StreamCall> call_;
};

}  // namespace

Reactor* StartSubscription(const EventEnvironment& environment, grpc::CallbackServerContext* context,
                           const grpc::ByteBuffer* request) {
  if (const absl::Status admitted = environment.in_flight.Begin(*context); !admitted.ok()) {
    return new RefusedCall<Reactor>(environment, *context, kSubscribe,
                                    SubscriptionRefusal(environment, *request, admitted));
  }
  auto* reactor = new StreamReactor(environment, *context);
  reactor->Start<Subscription>(*request);
  return reactor;
}

Reactor* StartBodyRead(const EventEnvironment& environment, grpc::CallbackServerContext* context,
                       const grpc::ByteBuffer* request) {
  if (const absl::Status admitted = environment.in_flight.Begin(*context); !admitted.ok()) {
    return new RefusedCall<Reactor>(environment, *context, kReadEventBody, admitted);
  }
  auto* reactor = new StreamReactor(environment, *context);
  reactor->Start<EventBodyRead>(*request);
  return reactor;
}

}  // namespace stampgate
