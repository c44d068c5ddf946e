#include "gateway/events/identity.h"

#include <utility>

#include "gateway/callers/peer_of_call.h"
#include "gateway/callers/peer_registry.h"

namespace stampgate {

CallIdentity IdentityOf(const EventEnvironment& environment, const grpc::CallbackServerContext& context) {
  return {
      .find = [&access = environment.access, &context](auto done) { Authenticate(access, context, std::move(done)); },
      .count =
          [&in_flight = environment.in_flight, &context](const Caller& caller, std::weak_ptr<Dismissable> call) {
            return in_flight.SetCaller(context, caller.name(), std::move(call));
          },
      .stranger = [&context] { return StrangerName(PeerOf(context)); },
      .holder = HolderOf(context),
      .connection = ConnectionIdOf(context.peer()),
      .stream_end = TimeOfAge(context, environment.end_of_streams)};
}

}  // namespace stampgate
