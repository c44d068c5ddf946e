#include "webhooks/receiver/delivery_count.h"

namespace stampgate {

std::unique_ptr<DeliveryCount::Token> DeliveryCount::Begin() {
  std::lock_guard lock(state_->mutex);
  if (state_->closed) return nullptr;
  ++state_->count;
  return std::unique_ptr<Token>(new Token(state_));
}

bool DeliveryCount::closed() const {
  std::lock_guard lock(state_->mutex);
  return state_->closed;
}

void DeliveryCount::Close() {
  std::lock_guard lock(state_->mutex);
  state_->closed = true;
}

void DeliveryCount::WaitForEnd(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(state_->mutex);
  state_->ended.wait_until(lock, deadline, [this] { return state_->count == 0; });
}

DeliveryCount::Token::~Token() {
  std::lock_guard lock(state_->mutex);
  if (--state_->count == 0) state_->ended.notify_all();
}

}  // namespace stampgate
