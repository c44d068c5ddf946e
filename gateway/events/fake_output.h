// A fake output of a stream call. Stores the messages that the call sends, and fails the test if the call breaks the
// rules.
#ifndef STAMPGATE_GATEWAY_EVENTS_FAKE_OUTPUT_H_
#define STAMPGATE_GATEWAY_EVENTS_FAKE_OUTPUT_H_

#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/threads/mutex.h"
#include "gateway/events/stream_call.h"

namespace stampgate {

// Thread-safe. The rules are: the call sends one message at a time, and ends once. While `is_busy` returns true, the
// call neither sends nor ends.
class FakeOutput : public StreamCall::Output {
 public:
  explicit FakeOutput(std::function<bool()> is_busy = [] { return false; }) : is_busy_(std::move(is_busy)) {}

  void Send(const grpc::ByteBuffer& message) override {
    EXPECT_FALSE(is_busy_()) << "a message during a read";
    MutexLock lock(mutex_);
    EXPECT_FALSE(message_.has_value()) << "a second message before OnSent";
    EXPECT_FALSE(end_.has_value()) << "a message after the end";
    message_ = message;
    ++messages_;
    changed_.WakeAll();
  }

  void End(const absl::Status& status) override {
    EXPECT_FALSE(is_busy_()) << "the end during a read";
    MutexLock lock(mutex_);
    EXPECT_FALSE(message_.has_value()) << "the end before the OnSent of a message";
    EXPECT_FALSE(end_.has_value()) << "a second end: " << *end_ << ", " << status;
    end_ = status;
    changed_.WakeAll();
  }

  // Waits until a sent message can be taken, or until the call has ended. Returns whether there is such a message.
  bool Wait() {
    MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!message_.has_value() && !end_.has_value() && !changed_.WaitUntil(mutex_, deadline)) {
    }
    EXPECT_TRUE(message_.has_value() || end_.has_value()) << "the call hangs";
    return message_.has_value();
  }

  bool has_message() const {
    MutexLock lock(mutex_);
    return message_.has_value();
  }
  // Returns how many messages the call has sent.
  int messages() const {
    MutexLock lock(mutex_);
    return messages_;
  }
  // Returns the status with which the call has ended, or nullopt if it has not ended.
  std::optional<absl::Status> end() const {
    MutexLock lock(mutex_);
    return end_;
  }

  // Removes the sent message and returns it. After Take, the test may call OnSent.
  std::string Take() {
    MutexLock lock(mutex_);
    if (!message_.has_value()) {
      ADD_FAILURE() << "no message was sent";
      return "";
    }
    grpc::Slice slice;
    EXPECT_TRUE(message_->DumpToSingleSlice(&slice).ok());
    message_.reset();
    return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }

 private:
  const std::function<bool()> is_busy_;
  mutable Mutex mutex_;
  Condition changed_;
  std::optional<grpc::ByteBuffer> message_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  int messages_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_FAKE_OUTPUT_H_
