#include "gateway/config/memory_rules.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "absl/time/time.h"
#include "gateway/config/duration_range.h"
#include "google/protobuf/util/time_util.h"

namespace stampgate {
namespace {

constexpr uint64_t kMebibyte = 1 << 20;

// An earlier setting limited the bytes of requests. A call holds up to this multiple of its request.
constexpr uint64_t kBytesOfRequest = 4;

// Returns `setting` or, if it is not given, the largest of its earlier names that are given.
uint64_t ValueOf(uint64_t setting, std::initializer_list<uint64_t> earlier, uint64_t otherwise) {
  if (setting != 0) return setting;
  const uint64_t largest = std::max(earlier);
  return largest != 0 ? largest : otherwise;
}

}  // namespace

void CheckMemory(config::v1::Config& config, ConfigReport& report) {
  config::v1::Memory& memory = *config.mutable_memory();
  config::v1::Calls& calls = *config.mutable_calls();
  config::v1::Connections& connections = *config.mutable_connections();
  config::v1::Events& events = *config.mutable_events();
  const uint64_t bytes =
      ValueOf(memory.max_bytes(),
              {connections.max_bytes(), kBytesOfRequest * calls.max_in_flight_bytes(), events.max_unsent_bytes()},
              256 * kMebibyte);
  const uint64_t of_identity =
      ValueOf(memory.max_bytes_per_identity(),
              {connections.max_bytes_per_identity(), kBytesOfRequest * calls.max_in_flight_bytes_per_caller(),
               events.max_unsent_bytes_per_caller()},
              128 * kMebibyte);
  const uint64_t of_connection =
      ValueOf(memory.max_bytes_per_connection(), {connections.max_bytes_per_connection()}, 64 * kMebibyte);
  memory.set_max_bytes(bytes);
  memory.set_max_bytes_per_identity(std::min(of_identity, bytes));
  memory.set_max_bytes_per_connection(std::min(of_connection, memory.max_bytes_per_identity()));
  if (!memory.has_max_unread_time()) {
    *memory.mutable_max_unread_time() = google::protobuf::util::TimeUtil::SecondsToDuration(30);
  }
  calls.clear_max_in_flight_bytes();
  calls.clear_max_in_flight_bytes_per_caller();
  connections.clear_max_bytes();
  connections.clear_max_bytes_per_identity();
  connections.clear_max_bytes_per_connection();
  events.clear_max_unsent_bytes();
  events.clear_max_unsent_bytes_per_caller();
  CheckRange(memory.max_unread_time(), absl::Seconds(1), "memory.max_unread_time", report);
}

}  // namespace stampgate
