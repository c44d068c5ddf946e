// Asynchronous gRPC calls of one thread, over several connections.
#ifndef STAMPGATE_TESTS_BENCH_CALL_LOOP_H_
#define STAMPGATE_TESTS_BENCH_CALL_LOOP_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate::bench {

// The connections and the completion queue of the calls. Not thread-safe.
class CallLoop {
 public:
  // Something that uses the queue: its address is the tag of its gRPC operations. Must live until none is in progress.
  class Operation {
   public:
    virtual ~Operation() = default;
    // One of its gRPC operations has ended. An error ends the program.
    virtual absl::Status OnEnd(bool ok) = 0;
  };

  // Errors: kUnavailable if a connection cannot be made.
  absl::Status Connect(const std::string& target, int connections);

  // Waits until a gRPC operation ends, and calls OnEnd. Errors: kDeadlineExceeded if none ends for a minute; those of
  // OnEnd.
  absl::Status Advance();

  // Returns the stub of the connection whose turn it is.
  grpc::GenericStub& NextStub() { return *stubs_[next_stub_++ % stubs_.size()]; }
  grpc::CompletionQueue& queue() { return queue_; }

 private:
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  size_t next_stub_ = 0;
};

// A call with one request and a stream of responses. It always has exactly one gRPC operation in progress.
class ServerStream : public CallLoop::Operation {
 public:
  // Gets each response. The bytes are valid until it returns.
  using OnMessage = std::function<absl::Status(absl::string_view message)>;

  // Must be called once. `loop` must outlive this. The end of the stream is an error of Advance.
  void Start(CallLoop& loop, const std::string& method, absl::string_view request, OnMessage on_message);

  absl::Status OnEnd(bool ok) override;

 private:
  enum class Step { kStart, kRequest, kRead, kFinish };

  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer message_;
  Step step_ = Step::kStart;
  grpc::Status status_;
  OnMessage on_message_;
};

// Returns the bytes in a buffer for gRPC.
grpc::ByteBuffer BufferOf(absl::string_view bytes);

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_CALL_LOOP_H_
