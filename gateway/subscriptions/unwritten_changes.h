// The changes of a subscription that its store does not have yet.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_UNWRITTEN_CHANGES_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_UNWRITTEN_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// Gathers changes while the store writes the change before. Writes have the numbers 1, 2, 3, ...: what a function below
// adds belongs to the write with the number `next()`, and the store has it once `written()` has reached this number.
// Not thread-safe.
class UnwrittenChanges {
 public:
  // The store has this row.
  void AddStored(const SubscriptionRow& row) { stored_[row.position] = row.partition; }
  // Forgets the changes of a partition, also of a write that is in progress.
  void Forget(size_t partition);

  // Whether the store may lack a change of the partition.
  bool Has(size_t partition) const;

  uint64_t next() const { return next_; }
  uint64_t written() const { return written_; }
  // The latest write that contains something: the next one, if something is gathered.
  uint64_t last() const { return gathered_.empty() ? next_ - 1 : next_; }

  void SetHead(const SubscriptionHead& head) { gathered_.head = head; }
  void SetProgress(size_t partition, const PartitionProgress& progress) { gathered_.progress[partition] = progress; }
  void Put(SubscriptionRow row);
  void Erase(Position position);
  void PutLagging(const std::string& key, Position position) { gathered_.lagging[key] = position; }
  void EraseLagging(const std::string& key) { gathered_.lagging[key] = std::nullopt; }
  // Adds the answer to a request that concerns a partition: see subscription_holds.h.
  void Answer(int64_t request, size_t partition, std::string answer) {
    gathered_.answers[request] = {partition, std::move(answer)};
  }

  // Whether an answer to the request was added that the store does not have yet.
  bool HasAnswer(int64_t request) const {
    return gathered_.answers.contains(request) || (under_way_.has_value() && under_way_->answers.contains(request));
  }

  // Whether Take would return a change: one was gathered, and no write is in progress.
  bool CanTake() const { return !under_way_.has_value() && !gathered_.empty(); }

  // Returns the gathered changes of `subscription` as one change, whose write begins now.
  SubscriptionChange Take(const std::string& subscription);

  // Ends the write. If the store does not have the change, a later write contains it.
  void Finish(bool written);

 private:
  struct Row {
    size_t partition = 0;
    std::optional<SubscriptionRow> row;
  };

  // For each row and key, what the store must have. Nothing: it must not have it.
  struct Changes {
    std::optional<SubscriptionHead> head;
    std::map<size_t, PartitionProgress> progress;
    std::map<Position, Row> rows;
    std::map<std::string, std::optional<Position>> lagging;
    std::map<int64_t, std::pair<size_t, std::string>> answers;  // by request, with its partition

    bool empty() const {
      return !head.has_value() && progress.empty() && rows.empty() && lagging.empty() && answers.empty();
    }
  };

  Changes gathered_;
  std::optional<Changes> under_way_;
  // The rows that the store has, or may have after a write that failed. A row that comes and goes between two writes
  // costs nothing.
  std::unordered_map<Position, size_t> stored_;  // with their partitions
  uint64_t next_ = 1;
  uint64_t written_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_UNWRITTEN_CHANGES_H_
