#include "gateway/operations/testing.h"

#include <chrono>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gateway/calls/request_message.h"
#include "gateway/process/steady_now.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

// If an expected event does not happen within this time, the test fails.
constexpr std::chrono::minutes kHang(1);

// The JSON reader needs this spare capacity after each body. UpstreamClient guarantees it.
constexpr size_t kSpareBytes = 64;

UpstreamOutcome Spared(UpstreamOutcome outcome) {
  if (auto* answer = std::get_if<HttpAnswer>(&outcome)) answer->body.reserve(answer->body.size() + kSpareBytes);
  return outcome;
}

TransportFailure Shutdown() { return {TransportFailure::Cause::kShutdown, false, "the client is shut down"}; }

config::v1::Key KeyFor(const std::string& name, const std::string& organization) {
  config::v1::Key key;
  key.set_name(name);
  key.add_organizations(organization);
  return key;
}

}  // namespace

std::vector<FakeUpstream::Sent> FakeUpstream::sent() const {
  MutexLock lock(mutex_);
  return sent_;
}

FakeUpstream::Sent FakeUpstream::WaitForSent(size_t count) const {
  MutexLock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + kHang;
  while (sent_.size() < count && !changed_.WaitUntil(mutex_, deadline)) {
  }
  if (sent_.size() < count) {
    ADD_FAILURE() << "nothing was sent";
    return {};
  }
  return sent_[count - 1];
}

std::vector<UpstreamClient::CallId> FakeUpstream::cancelled() const {
  MutexLock lock(mutex_);
  return cancelled_;
}

void FakeUpstream::End(CallId id, UpstreamOutcome outcome) {
  const auto* failure = std::get_if<TransportFailure>(&outcome);
  Done done;
  Done late;  // destroyed after `done` has returned, as in the real client
  {
    MutexLock lock(mutex_);
    const auto found = exchanges_.find(id);
    ASSERT_TRUE(found != exchanges_.end() && found->second.done)
        << "the Done of exchange " << id << " was already called";
    done = std::exchange(found->second.done, nullptr);
    if (failure == nullptr || !failure->goes_on) {
      late = std::move(found->second.late);
      exchanges_.erase(found);
    }
  }
  done(Spared(std::move(outcome)));
}

void FakeUpstream::EndLate(CallId id, UpstreamOutcome outcome) {
  Done late;
  {
    MutexLock lock(mutex_);
    const auto found = exchanges_.find(id);
    ASSERT_TRUE(found != exchanges_.end() && !found->second.done) << "exchange " << id << " did not continue";
    late = std::move(found->second.late);
    exchanges_.erase(found);
  }
  late(Spared(std::move(outcome)));
}

UpstreamClient::CallId FakeUpstream::Post(StampedRequest request, const CallOptions& options, Done done, Done late) {
  return Begin({.path = request.path(),
                .body = request.body(),
                .header_name = request.header_name(),
                .header_value = request.header_value(),
                .options = options},
               std::move(done), std::move(late));
}

UpstreamClient::CallId FakeUpstream::Get(DiscoveryRequest request, const CallOptions& options, Done done) {
  return Begin({.is_get = true, .path = request.path, .options = options}, std::move(done), nullptr);
}

UpstreamClient::CallId FakeUpstream::Begin(Sent sent, Done done, Done late) {
  // Each call gets its slot, and is sent, at once. The stored options must not own the call.
  const auto on_slot = std::exchange(sent.options.on_slot, nullptr);
  const auto on_sending = std::exchange(sent.options.on_sending, nullptr);
  if (gives_slots && on_slot) on_slot();
  if (gives_slots && on_sending) on_sending();
  CallId id = 0;
  bool shut_down = false;
  {
    MutexLock lock(mutex_);
    id = sent_.size() + 1;
    sent.id = id;
    sent_.push_back(std::move(sent));
    exchanges_[id] = {std::move(done), std::move(late)};
    shut_down = shut_down_;
  }
  changed_.WakeAll();
  if (shut_down) End(id, stampgate::Shutdown());
  if (while_posting) while_posting(id);
  return id;
}

void FakeUpstream::Cancel(CallId id) {
  {
    MutexLock lock(mutex_);
    cancelled_.push_back(id);
  }
  changed_.WakeAll();
}

void FakeUpstream::Shutdown(absl::Duration /*grace*/) {
  std::map<CallId, Exchange> left;
  {
    MutexLock lock(mutex_);
    shut_down_ = true;
    left.swap(exchanges_);
  }
  for (auto& [id, exchange] : left) (exchange.done ? exchange.done : exchange.late)(stampgate::Shutdown());
}

HttpAnswer AnswerOf(int status, std::string body) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

void FakeSigner::Sign(const RequestBody& body, Done done) const {
  if (while_signing) while_signing();
  absl::Status error;
  {
    MutexLock lock(mutex_);
    ++signatures_;
    thread_ = std::this_thread::get_id();
    error = error_;
    if (hold_) {
      waiting_ = std::move(done);
      changed_.WakeAll();
      return;
    }
  }
  if (!error.ok()) return std::move(done)(error);
  std::move(done)(std::string("30"));
}

void FakeSigner::Hold() {
  MutexLock lock(mutex_);
  hold_ = true;
}

void FakeSigner::WaitUntilAsked() const {
  MutexLock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + kHang;
  while (waiting_ == nullptr && !changed_.WaitUntil(mutex_, deadline)) {
  }
  EXPECT_TRUE(waiting_ != nullptr) << "Sign was not called";
}

void FakeSigner::Answer(absl::StatusOr<std::string> signature) {
  Done done;
  {
    MutexLock lock(mutex_);
    done = std::exchange(waiting_, nullptr);
  }
  std::move(done)(std::move(signature));
}

void FakeSigner::Fail(absl::Status error) {
  MutexLock lock(mutex_);
  error_ = std::move(error);
}

int FakeSigner::signatures() const {
  MutexLock lock(mutex_);
  return signatures_;
}

std::thread::id FakeSigner::thread() const {
  MutexLock lock(mutex_);
  return thread_;
}

void FakeStore::Begin(KeyedSubmit submit, OnDecided on_decided, OnBegun done) {
  waiting_.push_back({std::move(on_decided), std::move(done)});
  const MutexLock lock(mutex_);
  submits_.push_back(std::move(submit));
  changed_.WakeAll();
}

void FakeStore::WaitForSubmits(size_t count) {
  MutexLock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + kHang;
  while (submits_.size() < count && !changed_.WaitUntil(mutex_, deadline)) {
  }
  EXPECT_GE(submits_.size(), count) << "Begin was not called";
}

void FakeStore::Decide() {
  ASSERT_FALSE(waiting_.empty()) << "no Begin waits for an answer";
  waiting_.back().on_decided();
}

void FakeStore::Answer(absl::StatusOr<Begun> begun) {
  ASSERT_FALSE(waiting_.empty()) << "no Begin waits for an answer";
  auto done = std::move(waiting_.front().done);
  waiting_.erase(waiting_.begin());
  done(std::move(begun));
}

UnaryHandler::Reply Replies::Callback() {
  return [state = state_](const absl::Status& status, UnaryResponse response) {
    {
      MutexLock lock(state->mutex);
      ++state->count;
      state->status = status;
      state->bytes = response.message;
      state->held = std::move(response.held);
    }
    state->changed.WakeAll();
  };
}

int Replies::count() const {
  MutexLock lock(state_->mutex);
  return state_->count;
}

absl::Status Replies::Wait() const {
  MutexLock lock(state_->mutex);
  const auto deadline = std::chrono::steady_clock::now() + kHang;
  while (state_->count == 0 && !state_->changed.WaitUntil(state_->mutex, deadline)) {
  }
  if (state_->count == 0) {
    ADD_FAILURE() << "there is no reply";
    return absl::UnknownError("there is no reply");
  }
  return state_->status;
}

std::unique_ptr<google::protobuf::Message> Replies::WaitFor(const std::string& type) const {
  EXPECT_EQ(Wait(), absl::OkStatus());
  std::unique_ptr<google::protobuf::Message> response = testing::NewMessage(type);
  MutexLock lock(state_->mutex);
  EXPECT_EQ(DecodeRequest(state_->bytes, *response), absl::OkStatus());
  return response;
}

CallTest::CallTest()
    : current_access_(access_),
      audit_path_(NewFolder() + "audit.log"),
      signing_(std::make_unique<WorkerThreads>("signing", 1)),
      lines_({.every_call = true,
              .now = [this] { return now_; },
              .write =
                  [this](Severity, absl::string_view event, const LogFields& fields) {
                    MutexLock lock(mutex_);
                    events_.emplace_back(event);
                    for (const auto& [name, value] : fields) {
                      if (name == "method") methods_.push_back(std::get<std::string>(value));
                    }
                  }}) {
  access_->version = "policy-1";
  // The table lives as long as the test program.
  access_->operations = testing::SharedOperations();
  access_->keys.Add(KeyFor("main", "o"), signer_);
  SetGrants(R"pb(grants {
                   classes: [ POLICY_CLASS_QUERY, POLICY_CLASS_LOGIN, POLICY_CLASS_WRITE, POLICY_CLASS_DANGEROUS ]
                   organizations: [ 'o', 'keyless' ]
                 })pb");
}

CallTest::~CallTest() = default;

void CallTest::TearDown() {
  // Waits until the audit log's thread, the loop and the signing threads have finished their work.
  if (audit_ != nullptr) audit_->Close();
  loops_.WaitForTasks();
  signing_ = nullptr;
  loops_.WaitForTasks();
  // As the real client does at its end. A reading can still be in progress when its call has ended.
  upstream_.Shutdown(absl::ZeroDuration());
  loops_.WaitForTasks();
  for (const Watched& watched : watched_) {
    EXPECT_EQ(watched.replies.count(), 1);
    EXPECT_TRUE(watched.call.expired()) << "something still holds the call";
  }
}

void CallTest::SetGrants(const std::string& grants) {
  caller_ = std::make_unique<const Caller>(
      testing::Proto<config::v1::Caller>(absl::StrCat("name: 'payments' loopback: true ", grants)),
      operations()->set());
}

void CallTest::UseAudit() {
  audit_ = AuditLog::Open({.file = audit_path_, .key = TestAuditKey(), .now = [this] { return now_; }, .calls = &disk_})
               .value();
}

void CallTest::AnswerStore(absl::StatusOr<CallStore::Begun> begun) {
  store_.Answer(std::move(begun));
  RunTasks();
}

void CallTest::UseRates(std::vector<RateLimit> rates, absl::Duration max_wait) {
  AdmissionOptions options;
  options.rates = std::move(rates);
  UseAdmission(std::move(options), max_wait);
}

void CallTest::UseAdmission(AdmissionOptions options, absl::Duration max_wait) {
  options.max_wait = max_wait;
  options.now = SteadyNow;
  options.run_after = [this](absl::Duration delay, EventLoop::Task task) {
    loops_[0].RunAfter(delay, std::move(task));
  };
  admission_ = Admission::Create(std::move(options), admission_metrics_);
}

const CallEnvironment& CallTest::environment() {
  if (!environment_.has_value()) {
    wait_options_.is_final = [](absl::string_view status) { return testing::Operations().IsFinalStatus(status); };
    activity_waits_ = std::make_shared<ActivityWaits>(wait_options_, loops_[0], wait_metrics_);
    environment_.emplace(CallEnvironment{.access = current_access_,
                                         .timestamps = timestamps_,
                                         .upstream = upstream_,
                                         .admission = *admission_,
                                         .retries = with_retries_ ? &retries_ : nullptr,
                                         .submit_breaker = with_retries_ ? &submit_breaker_ : nullptr,
                                         .query_breaker = with_retries_ ? &query_breaker_ : nullptr,
                                         .loops = loops_,
                                         .signing = *signing_,
                                         .in_flight = in_flight_,
                                         .store = with_store_ ? &store_ : nullptr,
                                         .recorders = {.audit = audit_.get(),
                                                       .disk_waits = waits_,
                                                       .metrics = call_metrics_,
                                                       .lines = &lines_,
                                                       .tracer = tracer_},
                                         .metrics = metrics_,
                                         .default_deadline = absl::Seconds(30),
                                         .max_deadline = absl::Seconds(60),
                                         .waits = *activity_waits_,
                                         .max_wait = max_wait_,
                                         .forward_traceparent = forward_traceparent_,
                                         .now = [this] { return now_; },
                                         .random = [] { return 7; }});
  }
  return *environment_;
}

std::vector<std::string> CallTest::AuditLines(const std::string& kind) {
  audit_->Close();
  return LinesWith(audit_path_, absl::StrCat("\"kind\":\"", kind, "\""));
}

std::vector<std::string> CallTest::LogMethods() const {
  MutexLock lock(mutex_);
  return methods_;
}

std::vector<std::string> CallTest::LogEvents() const {
  MutexLock lock(mutex_);
  return events_;
}

void CallTest::Watch(const std::shared_ptr<UnaryHandler>& call, const Replies& replies) {
  watched_.push_back({call, replies});
}

grpc::ByteBuffer BytesOf(const google::protobuf::Message& message) { return EncodeResponse(message); }

grpc::ByteBuffer BytesOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace stampgate
