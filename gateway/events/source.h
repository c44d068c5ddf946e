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

// Thread-safe; no call blocks. Each callback is called once: on a thread of the source, which it must not block, or on
// the thread that calls Cancel or ends the source.
class EventSource {
 public:
  // One reader. It has one Next at a time.
  using ReaderId = uint64_t;
  using OnPage = absl::AnyInvocable<void(absl::StatusOr<EventPage>)>;
  using OnReader = absl::AnyInvocable<void(absl::StatusOr<EventReader*>)>;

  struct Request {
    EventPlace after;
    std::shared_ptr<const EventFilter> filter;
    PageLimits limits;
    // How long to wait if the log has no event after `after`. Zero: not at all.
    absl::Duration patience;
  };

  virtual ~EventSource() = default;

  // An id that no other reader has.
  virtual ReaderId NewReaderId() = 0;

  // Returns the next page: of events that are there, else of those that come, else an empty page when `patience` has
  // passed. A page may be empty before the log's end, if no event in a stretch of the log passes the filter; its
  // `through` is then after that stretch. Errors: those of ToCallerError; kCancelled after Cancel; kAborted for
  // requests with patience once the gateway drains, and for all when the source ends.
  virtual void Next(ReaderId id, Request request, OnPage on_page) = 0;

  // Ends the reader's Next, if there is one: at once, or when the read in progress has ended.
  virtual void Cancel(ReaderId id) = 0;

  // Calls `on_reader` with a reader of the log, which is valid until `on_reader` returns. Errors: kAborted if the
  // source ends first.
  virtual void Run(OnReader on_reader) = 0;

  // The newest position that readers see.
  virtual Position latest() const = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_SOURCE_H_
