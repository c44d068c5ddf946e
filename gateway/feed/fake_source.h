// A fake source of events. The test decides when each read ends, and what it returns.
#ifndef STAMPGATE_GATEWAY_FEED_FAKE_SOURCE_H_
#define STAMPGATE_GATEWAY_FEED_FAKE_SOURCE_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "gateway/feed/source.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Stores the requests of calls until the test serves them. Not thread-safe.
class FakeEventSource : public EventSource {
 public:
  explicit FakeEventSource(EventLog& log) : reader_(*log.NewReader()) {}

  ReaderId NewReaderId() override { return ++last_id_; }
  // Stores the request. All calls of the test together may have only one Next at a time.
  void Next(ReaderId id, Request request, OnPage on_page) override;
  void Cancel(ReaderId id) override;
  void Run(OnReader on_reader) override { tasks_.push_back(std::move(on_reader)); }
  Position latest() const override { return reader_->Extent()->latest; }

  // Whether a call waits for a reader or for a page.
  bool is_busy() const { return !tasks_.empty() || next_.has_value(); }
  bool has_task() const { return !tasks_.empty(); }
  // Returns the request with which a call waits for a page, or null if no call waits.
  const Request* asked() const { return next_.has_value() ? &next_->request : nullptr; }

  // Returns the reader of the current Next.
  ReaderId asked_by() const { return next_->id; }

  // Serves the oldest Run that has not been served.
  void Serve();
  // Begins the read for the current Next. From now on, a Cancel does not end this Next until the read has ended.
  void BeginRead() { next_->is_read = true; }
  // Ends the current Next with `page`, or with kCancelled if Cancel was called during the read.
  void Give(absl::StatusOr<EventPage> page);
  // Ends every Run and Next that waits, as the destructor of a feed does.
  void End();
  // Calls `on_next` once, at the beginning of the next call of Next.
  void OnNext(std::function<void()> on_next) { on_next_ = std::move(on_next); }

 private:
  struct Asked {
    ReaderId id = 0;
    Request request;
    OnPage on_page;
    bool is_read = false;
    bool is_cancelled = false;
  };

  void Answer(absl::StatusOr<EventPage> page);

  const std::unique_ptr<EventReader> reader_;
  ReaderId last_id_ = 0;
  std::deque<OnReader> tasks_;
  std::optional<Asked> next_;
  std::function<void()> on_next_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_FAKE_SOURCE_H_
