#include "gateway/grpc_port/entrance.h"

#include <grpc/event_engine/slice.h>
#include <grpc/event_engine/slice_buffer.h>
#include <grpcpp/security/server_credentials.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace stampgate {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using boost::system::error_code;
using grpc_event_engine::experimental::Slice;

// How many bytes the bridge holds on their way from gRPC to the peer.
constexpr size_t kPartBytes = 16384;

// A pair of connected sockets: the bridge uses `ours`, and gRPC uses `grpcs`.
struct SocketPair {
  int ours;
  int grpcs;
};

// gRPC asks the system for the address of the socket's other end, and gives this address to the calls. Therefore `ours`
// is bound to an address that contains `path`. The address is in Linux's abstract namespace, so that it is no file. The
// random number keeps the addresses of two processes apart.
std::optional<SocketPair> Connect(const std::string& path) {
  static const uint64_t process = absl::Uniform<uint64_t>(absl::BitGen());
  int both[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both) != 0) return std::nullopt;
  const std::string name = absl::StrCat("stampgate-", absl::Hex(process), path);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path + 1, name.c_str(), sizeof(address.sun_path) - 2);
  if (bind(both[0], reinterpret_cast<const sockaddr*>(&address), offsetof(sockaddr_un, sun_path) + 1 + name.size()) !=
      0) {
    close(both[0]);
    close(both[1]);
    return std::nullopt;
  }
  return SocketPair{.ours = both[0], .grpcs = both[1]};
}

// Carries the bytes between a connection and a socket that gRPC uses. Ends when gRPC closes its socket. Its functions
// run on the thread of the connection. Shared by the operations in progress.
class Bridge : public std::enable_shared_from_this<Bridge> {
 public:
  Bridge(std::shared_ptr<Connection> connection, RegisteredPeer peer, int fd, std::shared_ptr<void> use)
      : use_(std::move(use)),
        connection_(std::move(connection)),
        peer_(std::move(peer)),
        socket_(connection_->executor(), stream_protocol(), fd) {}

  ~Bridge() {
    error_code ignored;
    socket_.close(ignored);
    connection_->Close();
    // When use_ is released, the event loops of the connection may end.
    connection_ = nullptr;
  }

  void Begin() {
    ReadFromPeer();
    ReadFromGrpc();
  }

 private:
  void ReadFromPeer() {
    const auto on_read = [self = shared_from_this()](const absl::Status& status) { self->SendToGrpc(status); };
    // A call of SendToGrpc inside of ReadFromPeer could repeat itself without end.
    if (connection_->Read(on_read, &received_)) {
      asio::post(connection_->executor(), [self = shared_from_this()] { self->SendToGrpc(absl::OkStatus()); });
    }
  }

  void SendToGrpc(const absl::Status& status) {
    if (!status.ok()) {
      if (absl::IsUnavailable(status)) ReportEndByPeer(peer_.id());
      // gRPC reads the end, and then closes its socket.
      error_code ignored;
      socket_.shutdown(stream_protocol::socket::shutdown_send, ignored);
      return;
    }
    to_grpc_.resize(received_.Length());
    received_.MoveFirstNBytesIntoBuffer(to_grpc_.size(), to_grpc_.data());
    asio::async_write(socket_, asio::buffer(to_grpc_), [self = shared_from_this()](error_code error, size_t) {
      error ? self->End() : self->ReadFromPeer();
    });
  }

  void ReadFromGrpc() {
    socket_.async_read_some(asio::buffer(from_grpc_), [self = shared_from_this()](error_code error, size_t size) {
      if (error) return self->End();
      self->SendToPeer(size);
    });
  }

  void SendToPeer(size_t size) {
    to_send_.Append(Slice::FromCopiedBuffer(from_grpc_.data(), size));
    const auto on_written = [self = shared_from_this()](const absl::Status& status) {
      if (absl::IsUnavailable(status)) ReportEndByPeer(self->peer_.id());
      status.ok() ? self->ReadFromGrpc() : self->End();
    };
    if (connection_->Write(on_written, &to_send_)) ReadFromGrpc();
  }

  // The operations in progress end, and with them the bridge.
  void End() {
    connection_->Close();
    error_code ignored;
    socket_.close(ignored);
  }

  const std::shared_ptr<void> use_;
  std::shared_ptr<Connection> connection_;
  const RegisteredPeer peer_;
  asio::basic_stream_socket<stream_protocol, Connection::Socket::executor_type> socket_;
  Connection::SliceBuffer received_;
  std::string to_grpc_;
  std::array<char, kPartBytes> from_grpc_;
  Connection::SliceBuffer to_send_;
};

class ExternalEntrance : public Entrance {
 public:
  explicit ExternalEntrance(grpc::ServerBuilder& builder)
      : acceptor_(builder.experimental().AddExternalConnectionAcceptor(
            grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
            grpc::InsecureServerCredentials())) {}

  void Admit(std::shared_ptr<Connection> connection, RegisteredPeer peer, std::shared_ptr<void> use) override {
    const std::optional<SocketPair> sockets = Connect(peer.path());
    if (!sockets.has_value()) return connection->Close();  // no descriptor is left
    const Connection::Socket::executor_type executor = connection->executor();
    auto bridge = std::make_shared<Bridge>(std::move(connection), std::move(peer), sockets->ours, std::move(use));
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.fd = sockets->grpcs;
    acceptor_->HandleNewConnection(&parameters);
    asio::post(executor, [bridge = std::move(bridge)] { bridge->Begin(); });
  }

 private:
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
};

}  // namespace

std::unique_ptr<Entrance> Entrance::Create(grpc::ServerBuilder& builder) {
  return std::make_unique<ExternalEntrance>(builder);
}

}  // namespace stampgate
