#include "gateway/grpc_port/grpc_engine.h"

#include <grpc/event_engine/event_engine.h>
#include <grpc/event_engine/memory_allocator.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "absl/status/status.h"

namespace stampgate {
namespace {

using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::GetDefaultEventEngine;

class GrpcEngineTest : public ::testing::Test {
 protected:
  // Runs `task` on the loop with this index, and waits for it.
  void RunOn(size_t index, const std::function<void()>& task) {
    std::promise<void> end;
    (*loops_)[index].Run([&] {
      task();
      end.set_value();
    });
    end.get_future().wait();
  }

  const std::shared_ptr<EventLoops> loops_ = std::make_shared<EventLoops>(3);
  const GrpcEngine grpc_engine_{loops_};
};

struct Closure : EventEngine::Closure {
  void Run() override { ran.set_value(EventLoop::Current()); }
  std::promise<EventLoop*> ran;
};

TEST_F(GrpcEngineTest, ATaskRunsOnTheLoopThatHasCausedIt) {
  const auto engine = GetDefaultEventEngine();
  EXPECT_FALSE(engine->IsWorkerThread());
  for (size_t i = 0; i < loops_->size(); ++i) {
    Closure closure;
    Closure late_closure;
    std::promise<EventLoop*> ran;
    std::promise<EventLoop*> ran_late;
    RunOn(i, [&] {
      EXPECT_TRUE(engine->IsWorkerThread());
      engine->Run(&closure);
      engine->Run([&ran] { ran.set_value(EventLoop::Current()); });
      engine->RunAfter(std::chrono::milliseconds(1), &late_closure);
      engine->RunAfter(std::chrono::milliseconds(1), [&ran_late] { ran_late.set_value(EventLoop::Current()); });
    });
    for (std::promise<EventLoop*>* each : {&closure.ran, &ran, &late_closure.ran, &ran_late}) {
      EXPECT_EQ(each->get_future().get(), &(*loops_)[i]);
    }
  }
}

TEST_F(GrpcEngineTest, TasksOfOtherThreadsRunToo) {
  const auto engine = GetDefaultEventEngine();
  Closure closure;
  engine->Run(&closure);
  EXPECT_NE(closure.ran.get_future().get(), nullptr);
}

TEST_F(GrpcEngineTest, ATimerCanBeCancelledOnceFromAnyThread) {
  const auto engine = GetDefaultEventEngine();
  for (size_t i = 0; i < loops_->size(); ++i) {
    auto used = std::make_shared<int>(0);
    EventEngine::TaskHandle handle = EventEngine::TaskHandle::kInvalid;
    RunOn(i, [&] { handle = engine->RunAfter(std::chrono::hours(1), [used] { ++*used; }); });
    EXPECT_TRUE(engine->Cancel(handle));
    EXPECT_EQ(used.use_count(), 1);
    EXPECT_FALSE(engine->Cancel(handle));
  }
  EXPECT_FALSE(engine->Cancel(EventEngine::TaskHandle::kInvalid));
}

TEST_F(GrpcEngineTest, GrpcNeitherListensNorConnects) {
  const auto engine = GetDefaultEventEngine();
  EXPECT_EQ(engine->GetDNSResolver({}).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace stampgate
