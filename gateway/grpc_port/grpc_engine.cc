#include "gateway/grpc_port/grpc_engine.h"

#include <grpc/event_engine/event_engine.h>

#include <cstdint>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {
namespace {

using grpc_event_engine::experimental::EndpointConfig;
using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryAllocatorFactory;

// A handle of gRPC's consists of two numbers. The second one contains the number of the timer and, in its last bits,
// the index of its loop.
constexpr int kIndexBits = 8;

absl::Status OnlyServes() { return absl::UnimplementedError("gRPC is a server that accepts no connections itself"); }

class LoopEngine : public EventEngine {
 public:
  explicit LoopEngine(std::shared_ptr<EventLoops> loops) : loops_(std::move(loops)) {}

  void Run(Closure* closure) override {
    Here().Run([closure] { closure->Run(); });
  }
  void Run(absl::AnyInvocable<void()> task) override { Here().Run(std::move(task)); }

  TaskHandle RunAfter(Duration delay, Closure* closure) override {
    return Start(delay, [closure] { closure->Run(); });
  }
  TaskHandle RunAfter(Duration delay, absl::AnyInvocable<void()> task) override {
    return Start(delay, std::move(task));
  }

  bool Cancel(TaskHandle handle) override {
    const auto number = static_cast<uint64_t>(handle.keys[1]);
    const size_t index = number & ((1 << kIndexBits) - 1);
    if (index >= loops_->size()) return false;
    return (*loops_)[index].CancelTimer({handle.keys[0], number >> kIndexBits});
  }

  bool IsWorkerThread() override { return EventLoop::Current() != nullptr; }

  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback /*on_accept*/, absl::AnyInvocable<void(absl::Status)> /*on_shutdown*/,
      const EndpointConfig& /*config*/, std::unique_ptr<MemoryAllocatorFactory> /*factory*/) override {
    return OnlyServes();
  }
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress& /*address*/,
                           const EndpointConfig& /*config*/, MemoryAllocator /*allocator*/,
                           Duration /*timeout*/) override {
    Run([on_connect = std::move(on_connect)]() mutable { on_connect(OnlyServes()); });
    return ConnectionHandle::kInvalid;
  }
  bool CancelConnect(ConnectionHandle /*handle*/) override { return false; }
  absl::StatusOr<std::unique_ptr<DNSResolver>> GetDNSResolver(
      const DNSResolver::ResolverOptions& /*options*/) override {
    return OnlyServes();
  }

 private:
  EventLoop& Here() { return (*loops_)[loops_->Here()]; }

  TaskHandle Start(Duration delay, EventLoop::Task task) {
    const size_t index = loops_->Here();
    const TimerId id = (*loops_)[index].RunAfter(absl::FromChrono(delay), std::move(task));
    return {{id.time_ns, static_cast<intptr_t>(id.number << kIndexBits | index)}};
  }

  const std::shared_ptr<EventLoops> loops_;
};

}  // namespace

GrpcEngine::GrpcEngine(std::shared_ptr<EventLoops> loops) {
  grpc_event_engine::experimental::SetDefaultEventEngine(std::make_shared<LoopEngine>(std::move(loops)));
}

GrpcEngine::~GrpcEngine() { grpc_event_engine::experimental::ShutdownDefaultEventEngine(); }

}  // namespace stampgate
