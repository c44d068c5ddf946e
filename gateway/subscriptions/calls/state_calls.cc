#include "gateway/subscriptions/calls/state_calls.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "gateway/events/request.h"
#include "gateway/feed/error.h"
#include "gateway/subscriptions/calls/encoding.h"
#include "gateway/subscriptions/calls/method.h"
#include "gateway/subscriptions/calls/subscription_access.h"
#include "gateway/subscriptions/calls/unary_call.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

void WriteState(const UnaryCall& call, const ServedSubscription& subscription, EventReader& reader, WireWriter& out) {
  const ServedSubscription::State state = subscription.state();
  WriteSubscription(call.environment(), subscription.name(), state, PointAt(reader, state.all.through), out);
}

void GetOne(const std::shared_ptr<UnaryCall>& call) {
  call->Run([call](EventReader& reader) {
    WireWriter out;
    WriteState(*call, call->subscription(), reader, out);
    call->Respond(out.Take());
  });
}

void ListAll(const std::shared_ptr<UnaryCall>& call) {
  call->Run([call](EventReader& reader) {
    WireWriter out;
    const SubscriptionSet* const set = call->environment().subscriptions;
    if (set != nullptr) {
      for (const auto& subscription : set->All()) {
        if (!MayUse(*subscription, *call->access().caller.caller, call->method())) continue;
        WriteState(*call, *subscription->served, reader, out);
      }
      if (MayUseUndeclared(*call->access().caller.caller, call->method())) {
        for (const std::string& name : set->Undeclared()) {
          out.String(call->environment().messages.responses().undeclared_names, name);
        }
      }
    }
    call->Respond(out.Take());
  });
}

void Seek(const std::shared_ptr<UnaryCall>& call) {
  absl::StatusOr<EventStart> place =
      StartOf(call->log().identity, call->environment().messages.seek().place, call->request());
  if (!place.ok()) return call->End(place.status());
  call->Run([call, place = *std::move(place)](EventReader& reader) {
    const absl::StatusOr<LogPoint> point = Locate(place, reader);
    if (!point.ok()) return call->End(ToCallerError(point.status(), reader, call->log().identity));
    call->subscription().Seek(point->position, [call, point = *point](const absl::Status& status) {
      if (!status.ok()) return call->End(status);
      const ServedSubscription::State state = call->subscription().state();
      // Without its digest, a point that the subscription has already reached is valid, too.
      const Position through = state.all.through;
      WireWriter out;
      WriteSubscription(call->environment(), call->subscription().name(), state,
                        through == point.position ? point : LogPoint{through, {}}, out);
      call->Respond(out.Take());
    });
  });
}

void Delete(const std::shared_ptr<UnaryCall>& call) {
  SubscriptionSet* const set = call->environment().subscriptions;
  if (set == nullptr) return call->End(SubscriptionNotFound(call->name(), *call->access().caller.caller));
  set->Delete(call->name(), [call](const absl::Status& status) {
    if (!status.ok()) return call->End(status);
    call->Respond("");
  });
}

}  // namespace

void GetSubscription(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                     const grpc::ByteBuffer& request, OnEventResponse on_response) {
  UnaryCall::Start(environment, std::move(identity), trace, request, std::move(on_response),
                   {.name = kGetSubscription,
                    .request = environment.messages.get_subscription(),
                    .recorded = UnaryCall::Recorded::kAsRead,
                    .step = GetOne});
}

void ListSubscriptions(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                       const grpc::ByteBuffer& request, OnEventResponse on_response) {
  UnaryCall::Start(environment, std::move(identity), trace, request, std::move(on_response),
                   {.name = kListSubscriptions,
                    .request = environment.messages.list_subscriptions(),
                    .recorded = UnaryCall::Recorded::kAsRead,
                    .step = ListAll});
}

void SeekSubscription(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                      const grpc::ByteBuffer& request, OnEventResponse on_response) {
  UnaryCall::Start(environment, std::move(identity), trace, request, std::move(on_response),
                   {.name = kSeek,
                    .request = environment.messages.seek(),
                    .recorded = UnaryCall::Recorded::kAsChange,
                    .step = Seek});
}

void DeleteSubscription(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                        const grpc::ByteBuffer& request, OnEventResponse on_response) {
  UnaryCall::Start(environment, std::move(identity), trace, request, std::move(on_response),
                   {.name = kDeleteSubscription,
                    .request = environment.messages.delete_subscription(),
                    .recorded = UnaryCall::Recorded::kAsChange,
                    .step = Delete,
                    .is_about_declared = false});
}

}  // namespace stampgate
