// Checks the limits of memory in the config.
#ifndef STAMPGATE_GATEWAY_CONFIG_RULES_MEMORY_RULES_H_
#define STAMPGATE_GATEWAY_CONFIG_RULES_MEMORY_RULES_H_

#include <cstdint>

#include "gateway/config/rules/fault_report.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Sets the defaults of `memory`, or the values of earlier names of its settings, and checks the values. Then no earlier
// name is set, and no limit is larger than one that contains it. Must be called after the defaults of `webhooks` are
// set.
void CheckMemory(config::v1::Config& config, ConfigReport& report);

// Returns the part of `memory.max_bytes` that the clients of the gRPC port can use: the webhook port has
// another part, and an eighth of the rest is for what the allocator loses.
uint64_t MemoryOfCallers(const config::v1::Config& config);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RULES_MEMORY_RULES_H_
