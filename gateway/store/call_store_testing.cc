#include "gateway/store/call_store_testing.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

namespace stampgate {
namespace {

AttemptEnd EndWith(AttemptEnd::Kind kind) {
  AttemptEnd end;
  end.kind = kind;
  return end;
}

}  // namespace

KeyedSubmit MakeSubmit(const std::string& key, uint8_t request, uint8_t body, uint64_t timestamp_ms) {
  KeyedSubmit submit;
  submit.caller = "caller";
  submit.key = key;
  submit.request_sha256.fill(request);
  submit.body_sha256.fill(body);
  submit.timestamp_ms = timestamp_ms;
  return submit;
}

AttemptEnd NotSent() { return EndWith(AttemptEnd::Kind::kNotSent); }

AttemptEnd Unknown() { return EndWith(AttemptEnd::Kind::kUnknown); }

AttemptEnd Refused(const std::string& reason) {
  AttemptEnd end = EndWith(AttemptEnd::Kind::kRefused);
  end.code = absl::StatusCode::kFailedPrecondition;
  end.domain = "upstream";
  end.reason = reason;
  return end;
}

AttemptEnd Done(const std::string& activity_id) {
  AttemptEnd end = EndWith(AttemptEnd::Kind::kDone);
  end.activity_id = activity_id;
  end.activity_status = "ACTIVITY_STATUS_COMPLETED";
  return end;
}

absl::StatusOr<CallStore::Begun> BeginAndWait(CallStore& store, const KeyedSubmit& submit) {
  auto answer = std::make_shared<std::promise<absl::StatusOr<CallStore::Begun>>>();
  std::future<absl::StatusOr<CallStore::Begun>> future = answer->get_future();
  store.Begin(submit, nullptr,
              [answer](absl::StatusOr<CallStore::Begun> begun) { answer->set_value(std::move(begun)); });
  if (future.wait_for(std::chrono::minutes(1)) != std::future_status::ready) {
    return absl::DeadlineExceededError("the store did not respond");
  }
  return future.get();
}

absl::Status RaiseAndWait(CallStore& store, uint64_t ms) {
  auto answer = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> future = answer->get_future();
  store.RaiseTimestamps(ms, [answer](absl::Status status) { answer->set_value(std::move(status)); });
  if (future.wait_for(std::chrono::minutes(1)) != std::future_status::ready) {
    return absl::DeadlineExceededError("the store did not respond");
  }
  return future.get();
}

}  // namespace stampgate
