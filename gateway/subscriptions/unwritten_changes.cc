#include "gateway/subscriptions/unwritten_changes.h"

#include <algorithm>
#include <utility>

#include "webhooks/log/partition.h"

namespace stampgate {

void UnwrittenChanges::Forget(size_t partition) {
  for (Changes* changes : {&gathered_, under_way_.has_value() ? &*under_way_ : nullptr}) {
    if (changes == nullptr) continue;
    changes->progress.erase(partition);
    std::erase_if(changes->rows, [partition](const auto& entry) { return entry.second.partition == partition; });
    std::erase_if(changes->lagging, [partition](const auto& entry) { return PartitionOf(entry.first) == partition; });
    std::erase_if(changes->answers, [partition](const auto& entry) { return entry.second.first == partition; });
  }
  std::erase_if(stored_, [partition](const auto& entry) { return entry.second == partition; });
}

bool UnwrittenChanges::Has(size_t partition) const {
  const auto has = [partition](const Changes& changes) {
    return changes.head.has_value() || changes.progress.contains(partition) ||
           std::any_of(changes.rows.begin(), changes.rows.end(),
                       [&](const auto& entry) { return entry.second.partition == partition; }) ||
           std::any_of(changes.lagging.begin(), changes.lagging.end(),
                       [&](const auto& entry) { return PartitionOf(entry.first) == partition; }) ||
           std::any_of(changes.answers.begin(), changes.answers.end(),
                       [&](const auto& entry) { return entry.second.first == partition; });
  };
  return has(gathered_) || (under_way_.has_value() && has(*under_way_));
}

void UnwrittenChanges::Put(SubscriptionRow row) {
  const Position position = row.position;
  const size_t partition = row.partition;
  gathered_.rows[position] = {partition, std::move(row)};
}

void UnwrittenChanges::Erase(Position position) {
  if (const auto it = stored_.find(position); it != stored_.end()) {
    gathered_.rows[position] = {it->second, std::nullopt};
  } else {
    gathered_.rows.erase(position);
  }
}

SubscriptionChange UnwrittenChanges::Take(const std::string& subscription) {
  SubscriptionChange change;
  change.subscription = subscription;
  change.head = gathered_.head;
  change.progress = gathered_.progress;
  for (const auto& [position, changed] : gathered_.rows) {
    if (changed.row.has_value()) {
      change.put.push_back(*changed.row);
      stored_[position] = changed.partition;
    } else {
      change.erase.push_back(position);
    }
  }
  for (const auto& [key, position] : gathered_.lagging) {
    if (position.has_value()) {
      change.put_lagging.emplace_back(key, *position);
    } else {
      change.erase_lagging.push_back(key);
    }
  }
  for (const auto& [request, answer] : gathered_.answers) change.answers.emplace_back(request, answer.second);
  under_way_ = std::exchange(gathered_, {});
  ++next_;
  return change;
}

void UnwrittenChanges::Finish(bool written) {
  Changes taken = *std::exchange(under_way_, std::nullopt);
  if (written) {
    written_ = next_ - 1;
    for (const auto& [position, changed] : taken.rows) {
      if (!changed.row.has_value()) stored_.erase(position);
    }
    return;
  }
  if (!gathered_.head.has_value()) gathered_.head = taken.head;
  gathered_.progress.merge(taken.progress);
  gathered_.rows.merge(taken.rows);
  gathered_.lagging.merge(taken.lagging);
  gathered_.answers.merge(taken.answers);
}

}  // namespace stampgate
