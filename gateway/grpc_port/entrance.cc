#include "gateway/grpc_port/entrance.h"

#include <grpc/event_engine/event_engine.h>
#include <grpcpp/passive_listener.h>
#include <grpcpp/security/server_credentials.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

namespace stampgate {
namespace {

using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::SliceBuffer;

// gRPC needs an address that it can print. The path of a Unix socket can be any text; no socket has this path.
EventEngine::ResolvedAddress AddressOf(const RegisteredPeer& peer) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, peer.path().c_str(), sizeof(address.sun_path) - 1);
  return EventEngine::ResolvedAddress(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

// The connection as gRPC uses it. gRPC destroys the endpoint when it has no more use for the connection.
class Endpoint : public EventEngine::Endpoint {
 public:
  Endpoint(std::shared_ptr<Connection> connection, RegisteredPeer peer, std::shared_ptr<void> use)
      : use_(std::move(use)), connection_(std::move(connection)), peer_(std::move(peer)), address_(AddressOf(peer_)) {}

  ~Endpoint() override {
    connection_->Close();
    // When use_ is released, the event loops of the connection may end.
    connection_ = nullptr;
  }

  bool Read(absl::AnyInvocable<void(absl::Status)> on_read, SliceBuffer* buffer, ReadArgs /*args*/) override {
    return connection_->Read(Watched(std::move(on_read)), buffer);
  }
  bool Write(absl::AnyInvocable<void(absl::Status)> on_writable, SliceBuffer* data, WriteArgs /*args*/) override {
    return connection_->Write(Watched(std::move(on_writable)), data);
  }
  const EventEngine::ResolvedAddress& GetPeerAddress() const override { return address_; }
  const EventEngine::ResolvedAddress& GetLocalAddress() const override { return address_; }
  std::shared_ptr<TelemetryInfo> GetTelemetryInfo() const override { return nullptr; }

 private:
  // Reports the end of the connection before gRPC learns of it.
  Connection::Done Watched(Connection::Done done) const {
    return [id = peer_.id(), done = std::move(done)](absl::Status status) mutable {
      if (absl::IsUnavailable(status)) ReportEndByPeer(id);
      done(std::move(status));
    };
  }

  const std::shared_ptr<void> use_;
  std::shared_ptr<Connection> connection_;
  const RegisteredPeer peer_;
  const EventEngine::ResolvedAddress address_;
};

class PassiveEntrance : public Entrance {
 public:
  explicit PassiveEntrance(grpc::ServerBuilder& builder) {
    builder.experimental().AddPassiveListener(grpc::InsecureServerCredentials(), listener_);
  }

  void Admit(std::shared_ptr<Connection> connection, RegisteredPeer peer, std::shared_ptr<void> use) override {
    // If gRPC refuses the endpoint, because the server ends, it destroys it.
    static_cast<void>(listener_->AcceptConnectedEndpoint(
        std::make_unique<Endpoint>(std::move(connection), std::move(peer), std::move(use))));
  }

 private:
  std::unique_ptr<grpc::experimental::PassiveListener> listener_;
};

}  // namespace

std::unique_ptr<Entrance> Entrance::Create(grpc::ServerBuilder& builder) {
  return std::make_unique<PassiveEntrance>(builder);
}

}  // namespace stampgate
