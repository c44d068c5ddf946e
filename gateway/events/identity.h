// How a call identifies its caller.
#ifndef STAMPGATE_GATEWAY_EVENTS_IDENTITY_H_
#define STAMPGATE_GATEWAY_EVENTS_IDENTITY_H_

#include <grpcpp/server_context.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gateway/callers/authenticator.h"
#include "gateway/callers/caller.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/events/environment.h"
#include "gateway/memory/account.h"

namespace stampgate {

// Identifies the caller of one call. Valid until the call ends.
struct CallIdentity {
  // Finds the caller by the current policy. Calls `done` once: before `find` returns, or later on another thread.
  // Errors: those of Authenticate.
  std::function<void(absl::AnyInvocable<void(absl::StatusOr<KnownCaller>)> done)> find;

  // Counts the call for `caller`: see CallsInFlight::SetCaller.
  std::function<absl::Status(const Caller& caller, std::weak_ptr<Dismissable> call)> count;

  // Returns the name of an unknown caller for the log and the audit log: see StrangerName.
  std::function<std::string()> stranger;

  // What the connection of the call holds.
  std::shared_ptr<MemoryHolder> holder = nullptr;

  // The number of the connection: see RegisteredPeer.
  std::optional<uint64_t> connection = std::nullopt;

  // When a stream must end because of the age of its connection.
  std::chrono::steady_clock::time_point stream_end = std::chrono::steady_clock::time_point::max();
};

// Returns the identity that the connection and the metadata of a gRPC call show. `environment` and `context` must
// outlive the result.
CallIdentity IdentityOf(const EventEnvironment& environment, const grpc::CallbackServerContext& context);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_IDENTITY_H_
