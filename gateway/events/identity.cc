#include "gateway/events/identity.h"

#include <utility>

#include "gateway/callers/peer.h"

namespace stampgate {

CallIdentity IdentityOf(const CurrentAccess& current, const grpc::CallbackServerContext& context) {
  return {.find = [&current, &context](auto done) { Authenticate(current, context, std::move(done)); },
          .stranger = [&context] { return StrangerName(PeerOf(context)); }};
}

}  // namespace stampgate
