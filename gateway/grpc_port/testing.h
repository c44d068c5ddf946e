// A gRPC server that returns the names of its callers, and test clients that present any certificate.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_TESTING_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_TESTING_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/support/status.h>
#include <openssl/ssl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/http/test_certificates.h"
#include "base/loop/event_loops.h"
#include "gateway/callers/peer.h"
#include "gateway/grpc_port/grpc_port.h"

namespace stampgate {

// What an HTTP/2 client sends first.
inline constexpr char kHttp2Preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Returns an HTTP/2 frame. Each byte of the payload is 0x82: in headers, it means ":method: GET".
std::string Http2Frame(size_t size, char type, char flags, uint32_t stream);

// Returns a HEADERS frame with the beginning of one long field.
std::string Http2LongHeaders(size_t size, char flags, uint32_t stream);

// Returns the HEADERS frame that begins a call of gRPC: the request of `path`, without its message.
std::string Http2Call(absl::string_view path, uint32_t stream);

// A gRPC server that answers every call with the text that Describe returns for the call's peer, cancels every call of
// kCancelledMethod, and never answers a call of kHeldMethod.
class PeerServer {
 public:
  // Opens a gRPC port with `options`. If the address is empty, the server listens on 127.0.0.1, on a port that the
  // system chooses. If is_caller is empty, every identity is a caller. Aborts if the port cannot be opened.
  explicit PeerServer(GrpcPort::Options options);
  ~PeerServer();

  int port() const { return port_; }
  GrpcPort& grpc_port() { return *grpc_port_; }
  int calls() const { return service_.calls; }

  static constexpr char kHeldMethod[] = "/test/Held";
  static constexpr char kCancelledMethod[] = "/test/Cancelled";
  // Waits for a call of kCancelledMethod. Returns the text that Describe returned after the call was cancelled. Must be
  // called once at most.
  std::string PeerOfCancelledCall() { return service_.cancelled_peer.get_future().get(); }

 private:
  struct Service : grpc::CallbackGenericService {
    grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;
    std::atomic<int> calls = 0;
    std::promise<std::string> cancelled_peer;
  };

  Service service_;
  const std::shared_ptr<EventLoops> loops_ = std::make_shared<EventLoops>(2);
  std::unique_ptr<GrpcPort> grpc_port_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Returns "loopback", "stranger", or the kind of the names in `peer` ("spiffe" or "dns") followed by the names.
std::string Describe(const Peer& peer);

// A gRPC client with its own connection.
class PeerClient {
 public:
  // Connects to 127.0.0.1 with TLS. Trusts the CA certificates in `authorities`. If `identity` is set, sends its
  // certificate.
  PeerClient(int port, const std::string& authorities, const std::optional<TestIdentity>& identity);
  // Connects to `target` in plaintext.
  explicit PeerClient(const std::string& target);

  struct Answer {
    grpc::Status status;
    std::string peer;  // the text with which the server answered
  };
  Answer Call(const std::string& method = "/test/WhoAmI");

 private:
  std::shared_ptr<grpc::Channel> channel_;
};

// A TLS client made with OpenSSL: one TCP connection to 127.0.0.1. No function blocks for longer than 60 s.
class RawTlsClient {
 public:
  struct Options {
    int min_version = TLS1_2_VERSION;
    int max_version = TLS1_3_VERSION;
    std::string groups = "";         // the key exchanges that the client offers, as OpenSSL names them; empty: its own
    std::string protocols = "h2";    // the ALPN protocols that the client offers, separated by commas
    SSL_SESSION* session = nullptr;  // the TLS session that the client resumes; none if null
  };

  RawTlsClient(int port, const std::optional<TestIdentity>& identity, const Options& options);
  RawTlsClient(int port, const std::optional<TestIdentity>& identity) : RawTlsClient(port, identity, Options()) {}
  ~RawTlsClient();
  RawTlsClient(const RawTlsClient&) = delete;
  RawTlsClient& operator=(const RawTlsClient&) = delete;

  // Whether the client has completed its part of the handshake. In TLS 1.3, the client completes its part before the
  // server has seen the client's certificate.
  bool handshaken() const { return handshaken_; }
  // Waits until the server sends its first HTTP/2 frame, SETTINGS, or ends the connection. Returns whether the frame
  // arrived.
  bool HearsHttp2();
  // Reads frames until the server ends the connection. Returns the last GOAWAY frame: its error code in HTTP/2 and its
  // text, separated by a space; empty if there was none.
  std::string ReadGoAway();
  // Sends `bytes`. Returns false if the server accepts no more bytes.
  bool Send(absl::string_view bytes);

  // Ends the sending side.
  void EndWrites();

  std::string server_serial() const;
  std::string protocol() const;
  std::string version() const { return SSL_get_version(ssl_); }
  // Returns OpenSSL's number of the key exchange: the NID, or TLSEXT_nid_unknown with the number in TLS.
  long group() const { return SSL_get_negotiated_group(ssl_); }
  bool resumed() const { return SSL_session_reused(ssl_) == 1; }
  SSL_SESSION* session() const { return SSL_get1_session(ssl_); }

 private:
  SSL_CTX* context_;
  SSL* ssl_;
  int socket_;
  bool handshaken_ = false;
  std::string received_;
};

// Returns the socket of a new TCP connection to 127.0.0.1, with timeouts of 60 s.
int ConnectTcp(int port);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_TESTING_H_
