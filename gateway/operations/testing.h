// Helpers for the tests of calls: an environment whose upstream, keys, call store and clock the test controls.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_TESTING_H_
#define STAMPGATE_GATEWAY_OPERATIONS_TESTING_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/loop/event_loops.h"
#include "base/threads/mutex.h"
#include "gateway/admission/admission.h"
#include "gateway/admission/admission_metrics.h"
#include "gateway/admission/breaker.h"
#include "gateway/admission/retry_budget.h"
#include "gateway/audit/log.h"
#include "gateway/audit/testing.h"
#include "gateway/callers/access.h"
#include "gateway/callers/authenticator.h"
#include "gateway/callers/caller.h"
#include "gateway/calls/call_lines.h"
#include "gateway/calls/call_metrics.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/memory/held_bytes.h"
#include "gateway/metrics/registry.h"
#include "gateway/operations/environment.h"
#include "gateway/operations/operation_metrics.h"
#include "gateway/operations/timestamp_allocator.h"
#include "gateway/operations/unary_handler.h"
#include "gateway/process/worker_threads.h"
#include "gateway/store/call_store.h"
#include "gateway/telemetry/tracer.h"
#include "gateway/upstream/client.h"
#include "gateway/waiting/activity_waits.h"
#include "gateway/waiting/wait_metrics.h"
#include "gateway/waiting/wait_table.h"
#include "google/protobuf/message.h"
#include "stamp/request_body.h"
#include "stamp/signer.h"
#include "translate/operation_table.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// An upstream client that sends nothing. The test ends each exchange. Thread-safe.
class FakeUpstream final : public UpstreamClient {
 public:
  struct Sent {
    CallId id = 0;
    bool is_get = false;
    std::string path = {};
    std::string body = {};
    std::string header_name = {};
    std::string header_value = {};
    CallOptions options = {};
  };

  // Whether a request gets its slot, and is sent, at once. Otherwise it waits until the test ends its exchange.
  bool gives_slots = true;

  // Post and Get call this function after they have stored the exchange and before they return. The test must set it
  // before the call starts.
  std::function<void(CallId)> while_posting;

  // Returns all requests that were sent so far.
  std::vector<Sent> sent() const;
  // Waits until `count` requests have been sent, and returns request number `count`.
  Sent WaitForSent(size_t count = 1) const;
  // Returns the exchanges that were cancelled.
  std::vector<CallId> cancelled() const;

  // Passes `outcome` to the `done` of the exchange. The exchange then ends, unless `outcome` is a failure with
  // `goes_on`. Fails the test if `done` was already called.
  void End(CallId id, UpstreamOutcome outcome);
  // Ends an exchange that continued after End, and passes `outcome` to the `late` of the exchange.
  void EndLate(CallId id, UpstreamOutcome outcome);

  CallId Post(StampedRequest request, const CallOptions& options, Done done, Done late) override;
  CallId Get(DiscoveryRequest request, const CallOptions& options, Done done) override;
  void Cancel(CallId id) override;
  // Does not wait. Every exchange that has not ended ends with kShutdown. From now on, every new exchange ends with
  // kShutdown, too.
  void Shutdown(absl::Duration grace) override;

 private:
  struct Exchange {
    Done done;
    Done late;
  };

  CallId Begin(Sent sent, Done done, Done late);

  mutable Mutex mutex_;
  mutable Condition changed_;
  std::vector<Sent> sent_ ABSL_GUARDED_BY(mutex_);
  std::map<CallId, Exchange> exchanges_ ABSL_GUARDED_BY(mutex_);
  std::vector<CallId> cancelled_ ABSL_GUARDED_BY(mutex_);
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

HttpAnswer AnswerOf(int status, std::string body);

// A signer that returns the signature "30" before Sign returns. After Hold, it returns the signature that the test
// passes to Answer. Thread-safe.
class FakeSigner final : public Signer {
 public:
  absl::string_view public_key_hex() const override { return "02ab"; }
  absl::string_view scheme() const override { return "SCHEME"; }
  void Sign(const RequestBody& body, Done done) const override;
  bool is_slow() const override { return slow; }

  // The result of is_slow.
  bool slow = false;
  // Sign calls this function before it returns the signature. The test must set it before the call starts.
  std::function<void()> while_signing;

  // From now on, each signature waits until the test calls Answer.
  void Hold();
  // Waits until Sign was called and its signature waits for Answer.
  void WaitUntilAsked() const;
  void Answer(absl::StatusOr<std::string> signature);
  // From now on, every signature fails with `error`.
  void Fail(absl::Status error);

  int signatures() const;
  // Returns the thread of the last call of Sign.
  std::thread::id thread() const;

 private:
  mutable Mutex mutex_;
  mutable Condition changed_;
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  mutable int signatures_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable std::thread::id thread_ ABSL_GUARDED_BY(mutex_);
  mutable Done waiting_ ABSL_GUARDED_BY(mutex_);
};

// A call store that stores nothing. The test answers each Begin. Only WaitForSubmits may run at the same time as
// another function.
class FakeStore final : public CallStore {
 public:
  // Waits until Begin was called `count` times.
  void WaitForSubmits(size_t count);
  // Reports to the newest Begin that an attempt may begin.
  void Decide();
  // Answers the oldest Begin that the test has not answered.
  void Answer(absl::StatusOr<Begun> begun);

  // submits() returns the arguments of all calls of Begin, and ends() those of all calls of End.
  // submits() needs no lock, because no Begin runs at the same time.
  const std::vector<KeyedSubmit>& submits() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return submits_; }
  const std::vector<std::pair<AttemptId, AttemptEnd>>& ends() const { return ends_; }

  void Begin(KeyedSubmit submit, OnDecided on_decided, OnBegun done) override;
  void End(AttemptId attempt, AttemptEnd end) override { ends_.emplace_back(attempt, std::move(end)); }
  uint64_t timestamp_floor_ms() const override { return 0; }
  std::optional<TimestampLease> timestamp_lease() const override { return std::nullopt; }
  void RaiseTimestamps(uint64_t ms, absl::AnyInvocable<void(absl::Status)> done) override { done(absl::OkStatus()); }
  absl::Duration WriteUnderWay() const override { return absl::ZeroDuration(); }
  void Close(uint64_t next_timestamp_ms) override {}

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<KeyedSubmit> submits_ ABSL_GUARDED_BY(mutex_);
  struct Waiting {
    OnDecided on_decided;
    OnBegun done;
  };
  std::vector<Waiting> waiting_;
  std::vector<std::pair<AttemptId, AttemptEnd>> ends_;
};

// Receives the reply of one call.
class Replies {
 public:
  UnaryHandler::Reply Callback();

  int count() const;
  // Waits for the reply and returns its status. Fails the test if no reply arrives within a minute.
  absl::Status Wait() const;
  // Waits for the reply and returns its response, a message of the type `type`, such as
  // "stampgate.v1.GetPolicyResponse". Fails the test if the status is not OK.
  std::unique_ptr<google::protobuf::Message> WaitFor(const std::string& type) const;

 private:
  struct State {
    Mutex mutex;
    Condition changed;
    int count ABSL_GUARDED_BY(mutex) = 0;
    absl::Status status ABSL_GUARDED_BY(mutex);
    grpc::ByteBuffer bytes ABSL_GUARDED_BY(mutex);
    HeldBytes held ABSL_GUARDED_BY(mutex);
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

// The fixture of the tests of calls. Without an audit log and a call store, a call runs on the test's thread. With one
// of them, the loop runs the steps after the decision is written. If the signer is slow, a thread of `signing` signs.
//
// At the end of each test, the fixture checks that every call has replied once, and that nothing still refers to the
// call.
class CallTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kNowMs = 1'755'500'000'000;

  // The caller "payments" may call every typed operation for the organizations "o" and "keyless". The key "main" signs
  // for "o"; no key signs for "keyless".
  CallTest();
  ~CallTest() override;

  void TearDown() override;

  // Replaces the caller's grants. Must be called before the first call starts. `grants` contains fields of
  // config.v1.Caller in protobuf's text format.
  void SetGrants(const std::string& grants);
  void UseStore() { with_store_ = true; }
  // Lets the gateway repeat requests, and stop sending them while upstream fails.
  void UseRetries() { with_retries_ = true; }
  // Limits the requests to upstream.
  void UseRates(std::vector<RateLimit> rates, absl::Duration max_wait = absl::Milliseconds(200));
  // Sets the clock, the timer and the longest wait of `options`, and uses these.
  void UseAdmission(AdmissionOptions options, absl::Duration max_wait = absl::Milliseconds(200));
  void UseAudit();

  // Answers the oldest Begin of the store that the test has not answered, and waits for the next steps of its call.
  void AnswerStore(absl::StatusOr<CallStore::Begun> begun);
  // Waits until the loop has run the steps that it has now.
  void RunTasks() { loops_.WaitForTasks(); }

  KnownCaller caller() const { return {access_, caller_.get()}; }
  const CallEnvironment& environment();
  // The operations of new calls: those that the program contains, until SetOperations replaces them.
  std::shared_ptr<const OperationTable> operations() const { return current_access_.Get()->operations; }
  void SetOperations(std::shared_ptr<const OperationTable> operations) { access_->operations = std::move(operations); }

  // Closes the audit log, so that its file is complete. Returns the lines of `kind` in the file.
  std::vector<std::string> AuditLines(const std::string& kind);
  // The registry of the metrics of calls.
  MetricRegistry& registry() { return registry_; }
  // Returns the names of the events in the process's log.
  std::vector<std::string> LogEvents() const;
  // Returns the methods that the process's log names.
  std::vector<std::string> LogMethods() const;

  // Registers a call for the checks at the end of the test. Must be called before the call starts.
  void Watch(const std::shared_ptr<UnaryHandler>& call, const Replies& replies);

  FakeUpstream upstream_;
  FakeStore store_;
  FaultyCalls disk_;
  DiskWaits waits_;
  const std::shared_ptr<FakeSigner> signer_ = std::make_shared<FakeSigner>();
  TimestampAllocator timestamps_{/*floor_ms=*/0, {0, 1}};
  absl::Time now_ = absl::FromUnixMillis(kNowMs);
  bool forward_traceparent_ = false;
  WaitTable::Options wait_options_;  // must be set before the first call starts
  absl::Duration max_wait_ = absl::Minutes(1);

  // The waits of the calls; null before the first call of environment().
  ActivityWaits& activity_waits() { return *activity_waits_; }
  Tracer* tracer_ = nullptr;

 private:
  struct Watched {
    std::weak_ptr<UnaryHandler> call;
    Replies replies;
  };

  const std::shared_ptr<Access> access_ = std::make_shared<Access>();
  const CurrentAccess current_access_;
  std::unique_ptr<const Caller> caller_;
  const std::string audit_path_;
  std::unique_ptr<AuditLog> audit_;
  std::shared_ptr<ActivityWaits> activity_waits_;
  std::unique_ptr<WorkerThreads> signing_;
  CallsInFlight<grpc::CallbackServerContext> in_flight_;
  mutable Mutex mutex_;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> methods_ ABSL_GUARDED_BY(mutex_);
  CallLines lines_;
  bool with_store_ = false;
  bool with_retries_ = false;
  MetricRegistry registry_;
  AdmissionMetrics admission_metrics_{registry_};
  CallMetrics call_metrics_{registry_};
  OperationMetrics metrics_{registry_};
  WaitMetrics wait_metrics_{registry_};
  RetryBudget retries_{admission_metrics_};
  Breaker submit_breaker_{admission_metrics_.submit_breaker_open};
  Breaker query_breaker_{admission_metrics_.query_breaker_open};
  std::shared_ptr<Admission> admission_ = Admission::Create({}, admission_metrics_);
  std::optional<CallEnvironment> environment_;
  std::vector<Watched> watched_;
  // Must be destroyed first: until the loop has ended, its timers use the other members. The waits of the calls set a
  // timer even when their last call has ended.
  EventLoops loops_{1};
};

// The first function returns the serialized `message`. The second function returns `bytes` unchanged.
grpc::ByteBuffer BytesOf(const google::protobuf::Message& message);
grpc::ByteBuffer BytesOf(const std::string& bytes);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_TESTING_H_
