// A server for tests. The test's script decides which bytes the server sends and when it closes a connection.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_SCRIPTED_SERVER_H_
#define STAMPGATE_GATEWAY_UPSTREAM_SCRIPTED_SERVER_H_

#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"

namespace stampgate {

// A self-signed certificate, which is its own authority, and its key.
struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

// Returns a certificate that names the address 127.0.0.1 if `host` is "127.0.0.1", and otherwise the DNS name `host`.
// It is valid from two hours ago for three hours or, if `expired` is true, for one hour.
TestCertificate MakeCertificate(const std::string& host, bool expired = false);

// Listens on a free port of 127.0.0.1. Runs the script for each connection, on a thread of its own.
class ScriptedServer {
 public:
  class Connection {
   public:
    // Returns the bytes of the next request: its request head and its body. Returns nothing if the peer closes the
    // connection before the end of the request.
    std::optional<std::string> ReadRequest();
    // Reads up to and including `end`. Returns false if the peer closes the connection before that.
    bool ReadUntil(absl::string_view end);
    // Returns the bytes that have arrived, and waits for the first of them. Returns "" if the peer closes the
    // connection.
    std::string ReadSome();
    void Write(absl::string_view bytes);
    // Writes each text in a TLS record of its own, if there is TLS, but all records in one segment.
    void WriteTogether(const std::vector<std::string>& texts);
    // Blocks until the peer or the server's destructor closes the connection.
    void WaitForClose();
    // Close ends the connection with FIN. After Reset, the connection ends with RST when the script returns.
    void Close();
    void Reset();

    // Returns the number of the connection, counted from 0.
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
    int version = 0;  // the only TLS version of the server, such as TLS1_1_VERSION; if 0, any
  };

  explicit ScriptedServer(Script script, std::optional<Tls> tls = std::nullopt);
  // Closes all connections and waits for their scripts.
  ~ScriptedServer();

  // Returns a script that sends the same response to every request of a connection.
  static Script Always(std::string response);

  int port() const { return port_; }
  // Returns all requests that were received so far, from all connections.
  std::vector<std::string> requests() const;
  int connections() const;

 private:
  void AcceptAll();
  void Serve(Connection& connection);

  const Script script_;
  SSL_CTX* tls_ = nullptr;
  int listener_ = -1;
  int port_ = 0;
  mutable Mutex mutex_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> requests_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

// Returns an HTTP/1.1 response with a JSON body.
std::string JsonResponse(absl::string_view body, absl::string_view status = "200 OK", absl::string_view headers = "");

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_SCRIPTED_SERVER_H_
