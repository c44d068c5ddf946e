#include "gateway/events/identity.h"

#include <utility>

#include "gateway/callers/peer_of_call.h"

namespace stampgate {

CallIdentity IdentityOf(const EventEnvironment& environment, const grpc::CallbackServerContext& context) {
  return {
      .find = [&access = environment.access, &context](auto done) { Authenticate(access, context, std::move(done)); },
      .count = [&in_flight = environment.in_flight,
                &context](const Caller& caller) { return in_flight.SetCaller(context, caller.name()); },
      .stranger = [&context] { return StrangerName(PeerOf(context)); }};
}

}  // namespace stampgate
