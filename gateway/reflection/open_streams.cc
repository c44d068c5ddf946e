#include "gateway/reflection/open_streams.h"

#include <utility>

#include "gateway/calls/shutting_down.h"

namespace stampgate {

OpenStreams::OpenStreams(Options options) : options_(std::move(options)) {}

absl::Status OpenStreams::Open(Stream& stream, Clock::time_point end) {
  const MutexLock lock(mutex_);
  if (draining_) return ShuttingDown();
  streams_[&stream] = {&stream, options_.now(), end};
  // Holds the lock, so that the stream cannot end, and be destroyed, before Begin has returned.
  stream.Begin();
  return absl::OkStatus();
}

void OpenStreams::Touch(const Stream& stream) {
  const MutexLock lock(mutex_);
  streams_.at(&stream).touched = options_.now();
}

void OpenStreams::Close(const Stream& stream) {
  const MutexLock lock(mutex_);
  streams_.erase(&stream);
}

void OpenStreams::EndDue() {
  const MutexLock lock(mutex_);
  const Clock::time_point now = options_.now();
  const Clock::time_point limit = now - absl::ToChronoNanoseconds(options_.idle_timeout);
  for (const auto& [key, entry] : streams_) {
    if (entry.touched <= limit) {
      entry.stream->Expire();
    } else if (entry.end <= now) {
      entry.stream->Leave(ConnectionTooOld());
    }
  }
}

void OpenStreams::Drain() {
  const MutexLock lock(mutex_);
  draining_ = true;
  for (const auto& [key, entry] : streams_) entry.stream->Leave(ShuttingDown());
}

absl::Status OpenStreams::WhyLeave(const Stream& stream) const {
  const MutexLock lock(mutex_);
  if (draining_) return ShuttingDown();
  return streams_.at(&stream).end <= options_.now() ? ConnectionTooOld() : absl::OkStatus();
}

}  // namespace stampgate
