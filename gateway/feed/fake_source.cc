#include "gateway/feed/fake_source.h"

#include <gtest/gtest.h>

#include <utility>

namespace stampgate {

void FakeEventSource::Next(ReaderId id, Request request, OnPage on_page) {
  EXPECT_FALSE(next_.has_value()) << "a reader has one Next at a time";
  if (on_next_) std::exchange(on_next_, nullptr)();
  next_ = Asked{id, std::move(request), std::move(on_page)};
}

void FakeEventSource::Cancel(ReaderId id) {
  if (!next_.has_value() || next_->id != id) return;
  if (next_->is_read) {
    next_->is_cancelled = true;
    return;
  }
  Answer(absl::CancelledError("the caller has left"));
}

void FakeEventSource::Serve() {
  ASSERT_FALSE(tasks_.empty());
  OnReader on_reader = std::move(tasks_.front());
  tasks_.pop_front();
  on_reader(reader_.get());
}

void FakeEventSource::Give(absl::StatusOr<EventPage> page) {
  ASSERT_TRUE(next_.has_value());
  if (next_->is_cancelled) page = absl::CancelledError("the caller has left");
  Answer(std::move(page));
}

void FakeEventSource::End() {
  const absl::Status ended = absl::AbortedError("the source has ended");
  if (next_.has_value()) Answer(ended);
  while (!tasks_.empty()) {
    OnReader on_reader = std::move(tasks_.front());
    tasks_.pop_front();
    on_reader(ended);
  }
}

void FakeEventSource::Answer(absl::StatusOr<EventPage> page) {
  OnPage on_page = std::move(next_->on_page);
  next_.reset();
  on_page(std::move(page));
}

}  // namespace stampgate
