// A server for tests that does to each connection what the test says, byte by byte.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_SCRIPTED_SERVER_H_
#define STAMPGATE_GATEWAY_UPSTREAM_SCRIPTED_SERVER_H_

#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// A self-signed certificate with its key, which is its own authority.
struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

// Names 127.0.0.1 if `host` is that, else the DNS name `host`. Valid from two hours ago for one hour, or for three.
TestCertificate MakeCertificate(const std::string& host, bool expired = false);

// Listens on a free port of 127.0.0.1 and gives each connection to the script, on a thread of its own.
class ScriptedServer {
 public:
  class Connection {
   public:
    // The next request's head and body as they came, or nothing if the peer closed before its end.
    std::optional<std::string> ReadRequest();
    // Reads up to and including `end`; false if the peer closed before.
    bool ReadUntil(absl::string_view end);
    void Write(absl::string_view bytes);
    // Blocks until the peer, or the server's end, closes.
    void WaitForClose();
    // Ends the connection: with FIN, or with RST.
    void Close();
    void Reset();

    // Counted from 0.
    int index() const { return index_; }

   private:
    friend class ScriptedServer;

    bool ReadMore();

    ScriptedServer* server_ = nullptr;
    int index_ = 0;
    int socket_ = -1;
    SSL* ssl_ = nullptr;
    std::string unread_;
  };

  using Script = std::function<void(Connection&)>;

  struct Tls {
    TestCertificate certificate;
    int version = 0;  // the only one that the server speaks, such as TLS1_1_VERSION; 0: any
  };

  explicit ScriptedServer(Script script, std::optional<Tls> tls = std::nullopt);
  // Closes all connections and waits for their scripts.
  ~ScriptedServer();

  // A script that gives every request of a connection the same answer.
  static Script Always(std::string response);

  int port() const { return port_; }
  // All requests so far, from all connections.
  std::vector<std::string> requests() const;
  int connections() const;

 private:
  void AcceptAll();
  void Serve(Connection& connection);

  const Script script_;
  SSL_CTX* tls_ = nullptr;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  bool closing_ = false;
  std::vector<std::string> requests_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// An HTTP/1.1 response with a JSON body.
std::string JsonResponse(absl::string_view body, absl::string_view status = "200 OK", absl::string_view headers = "");

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_SCRIPTED_SERVER_H_
