#include "gateway/subscriptions/unwritten_changes.h"

#include <utility>

namespace stampgate {

UnwrittenChanges::UnwrittenChanges(const std::vector<SubscriptionRow>& rows) {
  for (const SubscriptionRow& row : rows) stored_.insert(row.position);
}

void UnwrittenChanges::Put(SubscriptionRow row) {
  const Position position = row.position;
  gathered_.rows[position] = std::move(row);
}

void UnwrittenChanges::Erase(Position position) {
  if (stored_.contains(position)) {
    gathered_.rows[position] = std::nullopt;
  } else {
    gathered_.rows.erase(position);
  }
}

SubscriptionChange UnwrittenChanges::Take(const std::string& subscription) {
  SubscriptionChange change;
  change.subscription = subscription;
  change.head = gathered_.head;
  for (const auto& [position, row] : gathered_.rows) {
    if (row.has_value()) {
      change.put.push_back(*row);
      stored_.insert(position);
    } else {
      change.erase.push_back(position);
      stored_.erase(position);
    }
  }
  for (const auto& [key, position] : gathered_.lagging) {
    if (position.has_value()) {
      change.put_lagging.emplace_back(key, *position);
    } else {
      change.erase_lagging.push_back(key);
    }
  }
  under_way_ = std::exchange(gathered_, {});
  ++next_;
  return change;
}

void UnwrittenChanges::Finish(bool written) {
  Changes failed = *std::exchange(under_way_, std::nullopt);
  if (written) {
    written_ = next_ - 1;
    return;
  }
  if (!gathered_.head.has_value()) gathered_.head = failed.head;
  gathered_.rows.merge(failed.rows);
  gathered_.lagging.merge(failed.lagging);
}

}  // namespace stampgate
