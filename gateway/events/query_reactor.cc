#include "gateway/events/query_reactor.h"

#include <utility>

#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"

namespace stampgate {
namespace {

// Deletes itself when gRPC no longer needs it, which is after Finish.
class QueryReactor : public grpc::ServerUnaryReactor {
 public:
  QueryReactor(const EventEnvironment& environment, grpc::CallbackServerContext& context)
      : environment_(environment), context_(context) {}

  void Start(HandleQuery handle, grpc::ByteBuffer* response) {
    handle(IdentityOf(environment_, context_), TraceOf(context_, environment_.random),
           [this, response](absl::StatusOr<EventResponse> result) {
             const absl::Status status = result.status();
             if (status.ok()) {
               response_ = *std::move(result);
               *response = response_.message;
             }
             Finish(ToGrpcStatus(status));
           });
  }

 private:
  void OnDone() override {
    environment_.in_flight.End(context_);
    delete this;
  }

  const EventEnvironment& environment_;
  grpc::CallbackServerContext& context_;
  EventResponse response_;  // holds the caller's shares until gRPC has sent the response
};

}  // namespace

grpc::ServerUnaryReactor* StartQuery(const EventEnvironment& environment, grpc::CallbackServerContext& context,
                                     const char* method, grpc::ByteBuffer* response, HandleQuery handle) {
  if (const absl::Status admitted = environment.in_flight.Begin(context); !admitted.ok()) {
    return new RefusedCall<grpc::ServerUnaryReactor>(environment, context, method, admitted);
  }
  auto* reactor = new QueryReactor(environment, context);
  reactor->Start(handle, response);
  return reactor;
}

}  // namespace stampgate
