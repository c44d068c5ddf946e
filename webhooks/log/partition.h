// The partition of a key. Each gateway that serves a subscription has some of the partitions.
#ifndef STAMPGATE_WEBHOOKS_LOG_PARTITION_H_
#define STAMPGATE_WEBHOOKS_LOG_PARTITION_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns the partition of a key with this name, from 0 to kPartitions - 1. Stores have rows by partitions, so the
// result never changes.
size_t PartitionOf(absl::string_view name);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_PARTITION_H_
