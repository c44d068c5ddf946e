// Counts the deliveries in progress, and stops new ones during a drain.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_DELIVERY_COUNT_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_DELIVERY_COUNT_H_

#include <chrono>
#include <memory>
#include <utility>

#include "base/threads/mutex.h"

namespace stampgate {

// The number of deliveries in progress. Thread-safe.
class DeliveryCount {
 public:
  // A token counts one delivery until the token is destroyed. A token may outlive the DeliveryCount.
  class Token;

  // Starts to count a delivery. Returns null after Close.
  std::unique_ptr<Token> Begin();

  bool closed() const;

  // Makes each later Begin return null.
  void Close();
  // Returns when no delivery is in progress, or at `deadline`.
  void WaitForEnd(std::chrono::steady_clock::time_point deadline);

 private:
  struct State {
    Mutex mutex;
    Condition ended;
    bool closed ABSL_GUARDED_BY(mutex) = false;
    int count ABSL_GUARDED_BY(mutex) = 0;
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
