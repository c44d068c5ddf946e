#include "webhooks/receiver/delivery_count.h"

namespace stampgate {

std::unique_ptr<DeliveryCount::Token> DeliveryCount::Begin() {
  MutexLock lock(state_->mutex);
  if (state_->closed) return nullptr;
  ++state_->count;
  return std::unique_ptr<Token>(new Token(state_));
}

bool DeliveryCount::closed() const {
  MutexLock lock(state_->mutex);
  return state_->closed;
}

void DeliveryCount::Close() {
  MutexLock lock(state_->mutex);
  state_->closed = true;
}

void DeliveryCount::WaitForEnd(std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(state_->mutex);
  while (state_->count != 0 && !state_->ended.WaitUntil(state_->mutex, deadline)) {
  }
}

DeliveryCount::Token::~Token() {
  MutexLock lock(state_->mutex);
  if (--state_->count == 0) state_->ended.WakeAll();
}

}  // namespace stampgate
