#include "gateway/events/stream_reactor.h"

#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"

namespace stampgate {
namespace {

using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;

// Connects gRPC with a stream call. Deletes itself when gRPC no longer needs it: after Finish, and after gRPC has
// called every other reaction.
class StreamReactor : public Reactor, public StreamCall::Output {
 public:
  StreamReactor(const EventEnvironment& environment, grpc::CallbackServerContext& context)
      : environment_(environment), context_(context) {}

  void Start(MakeStreamCall make, const grpc::ByteBuffer& request) {
    call_ = make(IdentityOf(environment_, context_), TraceOf(context_, environment_.random), *this);
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

Reactor* StartStream(const EventEnvironment& environment, grpc::CallbackServerContext& context,
                     const grpc::ByteBuffer& request, const char* method, MakeStreamCall make,
                     absl::FunctionRef<absl::Status(const absl::Status& why)> refusal) {
  if (const absl::Status admitted = environment.in_flight.Begin(context); !admitted.ok()) {
    return new RefusedCall<Reactor>(environment, context, method, refusal(admitted));
  }
  auto* reactor = new StreamReactor(environment, context);
  reactor->Start(make, request);
  return reactor;
}

}  // namespace stampgate
