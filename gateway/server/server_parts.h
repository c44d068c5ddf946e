// The objects that a server uses.
#ifndef STAMPGATE_GATEWAY_SERVER_SERVER_PARTS_H_
#define STAMPGATE_GATEWAY_SERVER_SERVER_PARTS_H_

#include <functional>
#include <memory>
#include <optional>

#include "base/http/current_tls.h"
#include "base/loop/event_loops.h"
#include "gateway/audit/log.h"
#include "gateway/callers/access.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/deliveries/pipeline.h"
#include "gateway/server/connection_ages.h"
#include "gateway/server/room_metrics.h"
#include "gateway/telemetry/tracer.h"

namespace stampgate {

// What they refer to must outlive the server.
struct ServerParts {
  const CurrentAccess& access;
  RoomMetrics& metrics;
  std::shared_ptr<EventLoops> loops;     // the loops on which the calls run
  AuditLog* audit = nullptr;             // if null, the server records no calls
  Tracer* tracer = nullptr;              // if null, the server traces no calls
  const CurrentTls* tls = nullptr;       // if null, the server uses no TLS, which is allowed on loopback only
  EventPipeline::Observers events = {};  // for the event log
  std::optional<ConnectionAges> ages = std::nullopt;  // for tests; otherwise those of the config
  // Called on any thread when the disk of the audit log, or the disk or server of the call store, begins to hang and
  // when it works again. Must not block.
  std::function<void(DiskWaits::Writer writer, bool hangs)> on_hanging = {};
  // Called on any thread if the call store has failed and cannot continue. The process should then end.
  std::function<void()> on_fatal = {};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_SERVER_PARTS_H_
