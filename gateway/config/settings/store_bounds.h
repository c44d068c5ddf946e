// What the config says about the time for which a store keeps events and idempotency keys.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTINGS_STORE_BOUNDS_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTINGS_STORE_BOUNDS_H_

#include <cstdint>

#include "base/postgres/store_bounds.h"
#include "base/time/duration.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

inline StoreBounds StoreBoundsOf(const config::v1::Config& config) {
  const config::v1::Events& events = config.events();
  return {.retention_age = ToDuration(events.retention_age()),
          .retention_bytes = static_cast<int64_t>(events.retention_bytes()),
          .deduplication_age = ToDuration(events.deduplication_age()),
          .key_retention = ToDuration(config.store().key_retention())};
}

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTINGS_STORE_BOUNDS_H_
