// The interface through which the calls of the event service read the log.
#ifndef STAMPGATE_GATEWAY_EVENTS_SOURCE_H_
#define STAMPGATE_GATEWAY_EVENTS_SOURCE_H_

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/events/page.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Thread-safe. No function blocks. Each callback is called once: on a thread of the source, on the thread that calls
// Cancel, or on the thread that ends the source. A callback must not block.
class EventSource {
 public:
  // Identifies a reader, which may have only one Next at a time.
  using ReaderId = uint64_t;
  using OnPage = absl::AnyInvocable<void(absl::StatusOr<EventPage>)>;
  using OnReader = absl::AnyInvocable<void(absl::StatusOr<EventReader*>)>;

  struct Request {
    EventPlace after;
    std::shared_ptr<const EventFilter> filter;
    PageLimits limits;
    // How long to wait if the log has no event after `after`. If zero, Next does not wait.
    absl::Duration patience;
  };

  virtual ~EventSource() = default;

  // Returns an id that no other reader has.
  virtual ReaderId NewReaderId() = 0;

  // Passes the next page to `on_page`. If the log has no event after `request.after`, waits for new events; if there
  // are none until `patience` has passed, the page is empty. A page is also empty if no event in a stretch of the log
  // passes the filter. The page's `through` is then the end of that stretch, which may be before the log's end.
  //
  // Errors: those of ToCallerError; kCancelled after Cancel; kAborted for requests with patience once the gateway
  // drains, and for all requests when the source ends.
  virtual void Next(ReaderId id, Request request, OnPage on_page) = 0;

  // Ends the reader's Next, if it has one: before Cancel returns, or when the read in progress has ended.
  virtual void Cancel(ReaderId id) = 0;

  // Calls `on_reader` with a reader of the log, which is valid until `on_reader` returns. Errors: kAborted if the
  // source ends first.
  virtual void Run(OnReader on_reader) = 0;

  // Returns the newest position that readers see.
  virtual Position latest() const = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_SOURCE_H_
