// Helpers for tests that use a call store.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_STORE_TESTING_H_
#define STAMPGATE_GATEWAY_STORE_CALL_STORE_TESTING_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/disk/disk.h"
#include "base/disk/test_disk.h"
#include "gateway/store/call_store.h"

namespace stampgate {

// Returns a submit of the caller named "caller". `request` and `body` are numbers: different numbers give different
// hashes.
KeyedSubmit MakeSubmit(const std::string& key, uint8_t request, uint8_t body, uint64_t timestamp_ms = 1000);

AttemptEnd NotSent();
AttemptEnd Unknown();
AttemptEnd Refused(const std::string& reason);
AttemptEnd Done(const std::string& activity_id);

// Begins an attempt and waits for the result. Returns kDeadlineExceeded if there is no result within a minute.
absl::StatusOr<CallStore::Begun> BeginAndWait(CallStore& store, const KeyedSubmit& submit);

// Calls RaiseTimestamps and waits for the result. Returns kDeadlineExceeded if there is no result within a minute.
absl::Status RaiseAndWait(CallStore& store, uint64_t ms);

// Wraps a TestDisk and records for which files Settle was called. Only one thread may use this object at a time.
class DiskOfTest final : public Disk {
 public:
  explicit DiskOfTest(TestDisk& disk) : disk_(disk) {}

  std::string vfs() const override { return disk_.vfs(); }
  absl::Status Settle(const std::string& path) override {
    settled_.insert(path);
    return path == unsettled_ ? absl::UnavailableError("cannot be written to disk") : disk_.Settle(path);
  }

  // Makes each later Settle of this file fail.
  void DoNotSettle(const std::string& path) { unsettled_ = path; }

  // The files for which Settle was called.
  const std::set<std::string>& settled() const { return settled_; }

 private:
  TestDisk& disk_;
  std::string unsettled_;
  std::set<std::string> settled_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_STORE_TESTING_H_
