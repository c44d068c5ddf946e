#include "webhooks/log/change_queue.h"

#include <string>
#include <utility>

namespace stampgate {

size_t QueuedBytes(const WaitingChange& waiting) {
  const SubscriptionChange& change = waiting.change;
  size_t bytes = sizeof(WaitingChange) + change.subscription.size() + change.erase.size() * sizeof(Position) + 512;
  for (const SubscriptionRow& row : change.put) bytes += sizeof(SubscriptionRow) + row.reason.size();
  for (const std::string& key : change.erase_lagging) bytes += sizeof(std::string) + key.size();
  for (const auto& lagging : change.put_lagging) bytes += sizeof(lagging) + lagging.first.size();
  for (const auto& answer : change.answers) bytes += sizeof(answer) + answer.second.size();
  return bytes;
}

}  // namespace stampgate
