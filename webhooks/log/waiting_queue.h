// A queue of entries that wait until a log stores them, in the order of their arrival, with limits of memory.
#ifndef STAMPGATE_WEBHOOKS_LOG_WAITING_QUEUE_H_
#define STAMPGATE_WEBHOOKS_LOG_WAITING_QUEUE_H_

#include <cstddef>
#include <deque>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace stampgate {

// `size_t QueuedBytes(const Entry&)` returns the approximate memory of an entry that waits. Not thread-safe.
template <typename Entry>
class WaitingQueue {
 public:
  struct Limits {
    size_t bytes;  // of the entries that were pushed and not released
    // Of one batch, but a batch has at least one entry.
    size_t batch_entries;
    size_t batch_bytes;
  };

  // `entries` names the entries in the text of an error.
  WaitingQueue(std::string entries, const Limits& limits) : entries_(std::move(entries)), limits_(limits) {}

  // Adds an entry. If there is not enough memory for it, returns kResourceExhausted and leaves `entry` unchanged.
  absl::Status Push(Entry& entry) {
    const size_t bytes = QueuedBytes(entry);
    if (bytes > limits_.bytes - bytes_) {
      return absl::ResourceExhaustedError(absl::StrCat("too many ", entries_, " wait to be stored"));
    }
    bytes_ += bytes;
    queue_.push_back(std::move(entry));
    return absl::OkStatus();
  }

  bool empty() const { return queue_.empty(); }

  // Removes the entries of the next transaction. Their number and size are limited, because otherwise the first of many
  // entries would wait until all others are stored.
  std::vector<Entry> TakeBatch() {
    std::vector<Entry> batch;
    size_t bytes = 0;
    while (!queue_.empty() && batch.size() < limits_.batch_entries) {
      bytes += QueuedBytes(queue_.front());
      if (!batch.empty() && bytes > limits_.batch_bytes) break;
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    return batch;
  }

  // Removes all entries.
  std::vector<Entry> TakeAll() {
    std::vector<Entry> all(std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
    queue_.clear();
    return all;
  }

  // Returns the memory of entries that were taken. Call it when they are stored, before their outcomes are reported.
  void Release(const std::vector<Entry>& batch) {
    for (const Entry& entry : batch) bytes_ -= QueuedBytes(entry);
  }

 private:
  const std::string entries_;
  const Limits limits_;
  std::deque<Entry> queue_;
  size_t bytes_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_WAITING_QUEUE_H_
