#include "gateway/events/query_reactor.h"

#include <utility>

#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"
#include "gateway/events/identity.h"
#include "gateway/events/method.h"
#include "gateway/events/query.h"

namespace stampgate {
namespace {

// Deletes itself when gRPC no longer needs it, which is after Finish.
class QueryReactor : public grpc::ServerUnaryReactor {
 public:
  QueryReactor(const EventEnvironment& environment, grpc::CallbackServerContext& context)
      : environment_(environment), context_(context) {}

  void Start(decltype(ListEvents)& query, const grpc::ByteBuffer& request, grpc::ByteBuffer* response) {
    const TraceContext trace = TraceOf(context_, environment_.random);
    query(environment_, IdentityOf(environment_, context_), trace, request,
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

grpc::ServerUnaryReactor* StartQuery(decltype(ListEvents)& query, const char* method,
                                     const EventEnvironment& environment, grpc::CallbackServerContext& context,
                                     const grpc::ByteBuffer& request, grpc::ByteBuffer* response) {
  if (const absl::Status admitted = environment.in_flight.Begin(context); !admitted.ok()) {
    return new RefusedCall<grpc::ServerUnaryReactor>(environment, context, method, admitted);
  }
  auto* reactor = new QueryReactor(environment, context);
  reactor->Start(query, request, response);
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* StartListEvents(const EventEnvironment& environment, grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return StartQuery(ListEvents, kListEvents, environment, *context, *request, response);
}

grpc::ServerUnaryReactor* StartGetEvent(const EventEnvironment& environment, grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return StartQuery(GetEvent, kGetEvent, environment, *context, *request, response);
}

}  // namespace stampgate
