// The open streams of server reflection: ends those that are idle, and those whose connections end.
#ifndef STAMPGATE_GATEWAY_REFLECTION_OPEN_STREAMS_H_
#define STAMPGATE_GATEWAY_REFLECTION_OPEN_STREAMS_H_

#include <chrono>
#include <functional>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"

namespace stampgate {

// Thread-safe.
class OpenStreams {
 public:
  using Clock = std::chrono::steady_clock;

  // OpenStreams calls these functions while it holds its lock. So they must neither block nor call OpenStreams.
  class Stream {
   public:
    virtual ~Stream() = default;
    // Begins to read. Called once, before the other functions.
    virtual void Begin() = 0;
    // Ends the stream, because it is idle.
    virtual void Expire() = 0;
    // Ends the stream with `why`, or does nothing if the stream is sending a response. The stream must then end when it
    // has sent the response.
    virtual void Leave(const absl::Status& why) = 0;
  };

  struct Options {
    absl::Duration idle_timeout = absl::Seconds(60);
    std::function<Clock::time_point()> now = Clock::now;
  };

  explicit OpenStreams(Options options);

  OpenStreams(const OpenStreams&) = delete;
  OpenStreams& operator=(const OpenStreams&) = delete;

  // Adds `stream`, which must end at `end` because of the age of its connection, and begins it. Error: UNAVAILABLE
  // (SHUTTING_DOWN) after Drain.
  absl::Status Open(Stream& stream, Clock::time_point end = Clock::time_point::max());

  // Records that `stream` is not idle. `stream` must be open.
  void Touch(const Stream& stream);

  // When Close returns, this object no longer uses `stream`. Does nothing if `stream` is not open.
  void Close(const Stream& stream);

  // Expires the streams that have been idle for the timeout, and makes those leave whose end has come. A stream that
  // does not end is expired again the next time.
  void EndDue();

  // Drains all streams. From now on, no stream can be opened.
  void Drain();

  // Returns the error with which `stream` must end when it has sent a response: UNAVAILABLE (SHUTTING_DOWN) after Drain
  // or after its end; OK if it may continue. `stream` must be open.
  absl::Status WhyLeave(const Stream& stream) const;

 private:
  struct Entry {
    Stream* stream;
    Clock::time_point touched;
    Clock::time_point end;
  };

  const Options options_;
  mutable Mutex mutex_;
  std::unordered_map<const Stream*, Entry> streams_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_REFLECTION_OPEN_STREAMS_H_
