// One connection of the gRPC port: its socket and, with TLS, its TLS session.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_CONNECTION_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_CONNECTION_H_

#include <grpc/event_engine/slice_buffer.h>
#include <openssl/ssl.h>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"
#include "gateway/grpc_port/excess.h"
#include "gateway/grpc_port/frame_meter.h"
#include "gateway/memory/account.h"

namespace stampgate {

// A connection that the port has accepted. Thread-safe. Callbacks run on a thread that runs the io_context of the
// socket, with no lock held, and never inside of the function that received them. A Connection must be owned by a
// shared_ptr. The process must ignore SIGPIPE.
//
// The functions Read and Write do what gRPC's EventEngine::Endpoint requires: at most one of each is in progress.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;
  using SliceBuffer = grpc_event_engine::experimental::SliceBuffer;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // What limits the connection while gRPC uses it.
  struct Bounds {
    FrameMeter::Limits frames;
    std::shared_ptr<MemoryHolder> memory;
    std::function<void(Excess)> on_excess;  // called once at most, on a thread of the connection
    // A stream is unread if its client accepts no more bytes of the response, and has accepted none for this time.
    std::chrono::nanoseconds max_unread_time;
    std::function<void(size_t)> on_unread;  // called with the number of unread streams that were ended; must not block
    std::function<FrameMeter::Time()> now = [] { return std::chrono::steady_clock::now(); };
  };

  // If `tls` is null, the connection has no TLS. Otherwise Handshake must be called before Read and Write.
  Connection(Socket socket, std::shared_ptr<boost::asio::ssl::context> tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Performs the server's side of the TLS handshake, and calls `done` once. Errors: kUnavailable if the handshake
  // fails; kCancelled after Close.
  void Handshake(Done done);

  // Returns the first error in OpenSSL's queue after the handshake has failed; 0 if there was none, because the peer
  // has closed the connection, or Close was called. Must be called only when Handshake has called `done`.
  unsigned long handshake_error() const { return handshake_error_; }

  // Calls `inspect` with the TLS session, while no other thread uses it. Must be called only with TLS.
  void Inspect(absl::FunctionRef<void(SSL*)> inspect);

  // Must be called once before Read and Write. When the peer exceeds a bound, the connection ends as in Expel. Returns
  // false if it ends at once, because Expel was called before.
  bool Begin(Bounds bounds);

  // Appends the bytes that have arrived to `into`. Returns true if it has appended bytes. Otherwise returns false, and
  // calls `on_read` when it has. Errors: kUnavailable if the connection has ended; kCancelled after Close.
  bool Read(Done on_read, SliceBuffer* into);

  // Sends all bytes of `from`, and removes them. Returns true if all bytes are sent. Otherwise returns false, and calls
  // `on_written` when all bytes are sent. Errors: as for Read. On the thread of the event loop, sends the bytes only
  // after the handlers that are ready to run, because the responses of several calls can then leave together.
  bool Write(Done on_written, SliceBuffer* from);

  // Sends the HTTP/2 frame GOAWAY with NO_ERROR and the text `why`: the client finishes its calls, and begins no new
  // call on this connection. Sends it after gRPC's first frame, SETTINGS. Must be called after Begin. Does nothing if
  // the connection has ended, or if gRPC has sent GOAWAY already.
  void GoAway(absl::string_view why);

  // Ends the connection because of `excess`, or Begin does so if it has not been called. First sends GOAWAY with
  // ENHANCE_YOUR_CALM and MessageOf(excess), unless the peer has not accepted an earlier write, or the last frame that
  // gRPC has written is incomplete.
  void Expel(Excess excess);

  // Whether the client has no call on the connection. Must be called after Begin.
  bool IsIdle();

  // Updates what the connection holds for the time that has passed, and ends its unread streams: the client reads
  // RESOURCE_EXHAUSTED, and gRPC that the client has reset the stream. While a frame of the client is incomplete, the
  // streams wait for its end. Ends the connection as in Expel if the client accepts no bytes on the whole connection,
  // has left many streams unread, or does not complete its frame for the time after which a stream is unread. Must be
  // called after Begin.
  void Recount();

  // Calls Expel on a thread of the connection. Never blocks.
  void ExpelLater(Excess excess);

  // Ends the connection after `delay`, or earlier if an earlier call says so. Does nothing if it has ended until then.
  void CloseAfter(std::chrono::seconds delay);

  // Refuses a client before gRPC uses the connection: the client reads GOAWAY with ENHANCE_YOUR_CALM and
  // MessageOf(excess), and then the end.
  void Refuse(Excess excess);

  // The event loop of the connection. Callbacks run on its threads.
  Socket::executor_type executor() { return executor_; }

  // Ends the sending side: the peer reads all bytes that were sent, and then the end. Every later Write fails. Returns
  // false, and does nothing, after Close or an earlier EndWrites. After a first EndWrites that returns true, the socket
  // stays open until the destructor, also after Close: closing it while bytes of the peer arrive would reset the
  // connection, and the peer would lose what it has not read yet.
  bool EndWrites();

  // Waits until the peer has closed its side, or `timeout` has passed. Returns whether it has. Must be called only if
  // EndWrites has returned true.
  bool WaitForPeer(std::chrono::milliseconds timeout);

  // Closes the connection. Calls in progress fail with kCancelled. Before, sends as much of a write that was put off as
  // the system accepts; a write that is sent completely ends with OK.
  void Close();

 private:
  // The state of an operation after an attempt.
  enum class Attempt { kDone, kWaitsToRead, kWaitsToWrite, kPauses, kFailed };
  struct Operation {
    Done done;
    SliceBuffer* buffer = nullptr;  // null for the handshake
  };
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  Attempt TryHandshake(absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempt TryRead(SliceBuffer& into, absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempt TryWrite(SliceBuffer& from, absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempt SendAll(SliceBuffer& from, absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempt SendOwnFrames(absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends `frames` when gRPC has begun to write, which it always does, and no frame of gRPC is incomplete.
  void AddOwnFrames(std::string frames) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Appends the first `size` bytes of the thread's buffer to `into`. Responds to requests of other protocols, and
  // resets their streams in what gRPC reads.
  void Pass(size_t size, SliceBuffer& into) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ExpelNow(Excess excess) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckUnread(FrameMeter::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Resets the unread streams in what gRPC reads, which must end where gRPC can receive a frame of another stream.
  // Returns the streams, whose responses the caller must end.
  std::vector<uint32_t> ResetUnread(SliceBuffer& into) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndResponses(const std::vector<uint32_t>& unread) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountUnread(size_t streams) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the sending side with GOAWAY, and closes the connection later.
  void EndWithGoAway(Excess excess) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool EndWritesNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins the write that Write has put off, because the sending side ends before Flush runs.
  void TryPutOffWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempt Exceeds(Excess excess, absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts the first `size` bytes of the thread's buffer as received. Returns the bound that they exceed.
  std::optional<Excess> Count(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetHeld(FrameMeter::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempt Send(const char* bytes, size_t size, size_t& sent, absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempt AfterSslError(int result, absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitFor(Attempt attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the operation if the attempt has ended it, and otherwise waits for the next attempt.
  void TakeOrWait(Attempt attempt, std::optional<Operation>& operation, std::optional<Operation>& taken)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOnLoop();
  void Post(Done done, absl::Status status);

  // Continues the operations in progress, because the socket can be read or written.
  void OnReady(Attempt waited);

  // Begins the write that Write has put off.
  void Flush();

  const std::shared_ptr<boost::asio::ssl::context> tls_;
  const Socket::executor_type executor_;
  Mutex mutex_;
  Socket socket_ ABSL_GUARDED_BY(mutex_);
  const int fd_;
  std::unique_ptr<SSL, FreeSsl> ssl_ ABSL_GUARDED_BY(mutex_);
  std::optional<Operation> handshake_ ABSL_GUARDED_BY(mutex_);
  unsigned long handshake_error_ = 0;  // not changed after the handshake
  std::optional<Operation> read_ ABSL_GUARDED_BY(mutex_);
  std::optional<Operation> write_ ABSL_GUARDED_BY(mutex_);
  int reads_in_a_row_ ABSL_GUARDED_BY(mutex_) = 0;  // reads that have returned true
  std::optional<Bounds> bounds_ ABSL_GUARDED_BY(mutex_);
  std::optional<Excess> early_excess_ ABSL_GUARDED_BY(mutex_);  // of an Expel before Begin
  std::optional<FrameMeter> frames_ ABSL_GUARDED_BY(mutex_);
  SliceBuffer own_frames_ ABSL_GUARDED_BY(mutex_);  // frames of the connection itself, which gRPC has not written
  size_t unread_ ABSL_GUARDED_BY(mutex_) = 0;       // the unread streams that were ended
  // Since when there may be unread streams that gRPC still serves.
  std::optional<FrameMeter::Time> unread_since_ ABSL_GUARDED_BY(mutex_);
  std::optional<boost::asio::steady_timer> end_timer_ ABSL_GUARDED_BY(mutex_);  // of CloseAfter
  // Whether SETTINGS, of gRPC or of an end with GOAWAY, precede what is sent next.
  bool has_begun_to_write_ ABSL_GUARDED_BY(mutex_) = false;
  bool expelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether a part of the bytes of a Write has been sent, but not all.
  bool is_within_write_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_put_off_ ABSL_GUARDED_BY(mutex_) = false;    // whether Write has put off write_
  bool may_have_more_ ABSL_GUARDED_BY(mutex_) = true;  // whether bytes may have arrived that were not read
  bool waits_to_read_ ABSL_GUARDED_BY(mutex_) = false;
  bool waits_to_write_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_CONNECTION_H_
