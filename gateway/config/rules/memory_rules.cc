#include "gateway/config/rules/memory_rules.h"

#include <algorithm>

#include "gateway/config/settings/defaults.h"

namespace stampgate {
namespace {

constexpr uint64_t kMebibyte = 1 << 20;

// The memory that the webhook port must leave to callers.
constexpr uint64_t kLeastOfCallers = 64 * kMebibyte;

// The allocator loses a part of the memory between what is held.
constexpr uint64_t kLostPart = 8;

// An earlier setting limited the bytes of requests. A call holds up to this multiple of its request.
constexpr uint64_t kBytesOfRequest = 4;

uint64_t MemoryOfDeliveries(const config::v1::Config& config) {
  return config.webhooks().listen_address().empty() ? 0 : config.webhooks().max_bytes();
}

// The least value of an earlier name. Each of these settings limited only a part of what now counts.
constexpr uint64_t kLeastOfEarlier = 16 * kMebibyte;

// Returns the first of the values that is given, which is not zero.
uint64_t FirstOf(uint64_t setting, uint64_t earlier, uint64_t otherwise) {
  if (setting != 0) return setting;
  return earlier != 0 ? std::max(earlier, kLeastOfEarlier) : otherwise;
}

}  // namespace

void CheckMemory(config::v1::Config& config, ConfigReport& report) {
  config::v1::Memory& memory = *config.mutable_memory();
  config::v1::Calls& calls = *config.mutable_calls();
  config::v1::Connections& connections = *config.mutable_connections();
  config::v1::Events& events = *config.mutable_events();
  config::v1::Memory usual;
  SetUsualDefaults(usual);
  const uint64_t of_deliveries = MemoryOfDeliveries(config);
  if (memory.has_max_bytes() && memory.max_bytes() < of_deliveries + kLeastOfCallers) {
    report.Add("memory.max_bytes", "must be at least 64 MiB more than webhooks.max_bytes");
  }
  // The earlier names limited only what callers make the gateway hold.
  const uint64_t of_callers =
      std::max({connections.max_bytes(), kBytesOfRequest * calls.max_in_flight_bytes(), events.max_unsent_bytes()});
  const uint64_t earlier =
      of_callers == 0 ? 0 : std::max(of_callers * kLostPart / (kLostPart - 1), kLeastOfCallers) + of_deliveries;
  memory.set_max_bytes(
      FirstOf(memory.max_bytes(), earlier, std::max(usual.max_bytes(), of_deliveries + 2 * kLeastOfCallers)));
  const uint64_t of_identity =
      std::max({connections.max_bytes_per_identity(), kBytesOfRequest * calls.max_in_flight_bytes_per_caller(),
                events.max_unsent_bytes_per_caller()});
  memory.set_max_bytes_per_identity(std::min(
      MemoryOfCallers(config), FirstOf(memory.max_bytes_per_identity(), of_identity, usual.max_bytes_per_identity())));
  memory.set_max_bytes_per_connection(
      std::min(memory.max_bytes_per_identity(),
               FirstOf(memory.max_bytes_per_connection(), connections.max_bytes_per_connection(),
                       usual.max_bytes_per_connection())));
  calls.clear_max_in_flight_bytes();
  calls.clear_max_in_flight_bytes_per_caller();
  connections.clear_max_bytes();
  connections.clear_max_bytes_per_identity();
  connections.clear_max_bytes_per_connection();
  events.clear_max_unsent_bytes();
  events.clear_max_unsent_bytes_per_caller();
}

uint64_t MemoryOfCallers(const config::v1::Config& config) {
  const uint64_t of_deliveries = MemoryOfDeliveries(config);
  const uint64_t rest = config.memory().max_bytes() - std::min(config.memory().max_bytes(), of_deliveries);
  return rest - rest / kLostPart;
}

}  // namespace stampgate
