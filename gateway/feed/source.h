// The interface through which the calls of the event service read the log.
#ifndef STAMPGATE_GATEWAY_FEED_SOURCE_H_
#define STAMPGATE_GATEWAY_FEED_SOURCE_H_

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/feed/page.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Thread-safe. No function blocks. The source calls each callback once: on one of its threads, on the thread that calls
// Cancel, or on the thread that ends the source. A callback must not block.
class EventSource {
 public:
  // Identifies a reader, which may have only one Next at a time.
  using ReaderId = uint64_t;
  using OnPage = absl::AnyInvocable<void(absl::StatusOr<EventPage>)>;
  using OnReader = absl::AnyInvocable<void(absl::StatusOr<EventReader*>)>;

  struct Request {
    LogPoint after;
    std::shared_ptr<const EventFilter> filter;
    PageLimits limits;
    // How long Next waits if the log has no event after `after`. If `patience` is zero, Next does not wait.
    absl::Duration patience;
  };

  virtual ~EventSource() = default;

  // Returns an id that no other reader has.
  virtual ReaderId NewReaderId() = 0;

  // Passes the next page to `on_page`. If the log has no event after `request.after`, waits for new events. If no event
  // arrives within `patience`, the page is empty. The page is also empty if Next has read a stretch of the log in which
  // no event passes the filter. The page's `through` is then the end of this stretch, which can be before the log's
  // end.
  //
  // Errors: kCancelled after Cancel, kAborted, and those of ToCallerError. Once the gateway drains, requests with
  // patience end with kAborted. When the source ends, all requests end with kAborted.
  virtual void Next(ReaderId id, Request request, OnPage on_page) = 0;

  // Ends the reader's Next if it has one. The Next ends before Cancel returns or, if a read is in progress, when this
  // read has ended.
  virtual void Cancel(ReaderId id) = 0;

  // Calls `on_reader` with a reader of the log, which is valid until `on_reader` returns. Errors: kAborted if the
  // source ends first.
  virtual void Run(OnReader on_reader) = 0;

  // Returns the position of the newest event that readers can see.
  virtual Position latest() const = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_SOURCE_H_
