// How many deliveries are being worked on, and whether more may be.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_DELIVERY_COUNT_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_DELIVERY_COUNT_H_

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

namespace stampgate {

// Thread-safe.
class DeliveryCount {
 public:
  // One delivery, counted for as long as this lives. May outlive the count.
  class Token;

  // Null once the count is closed.
  std::unique_ptr<Token> Begin();

  bool closed() const;

  // From here on none begins.
  void Close();
  // Returns when all have ended, or at `deadline`.
  void WaitForEnd(std::chrono::steady_clock::time_point deadline);

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable ended;
    bool closed = false;
    int count = 0;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class DeliveryCount::Token {
 public:
  ~Token();

  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;

 private:
  friend class DeliveryCount;

  explicit Token(std::shared_ptr<State> state) : state_(std::move(state)) {}

  const std::shared_ptr<State> state_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_DELIVERY_COUNT_H_
