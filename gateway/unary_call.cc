#include "gateway/unary_call.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "gateway/authenticator.h"
#include "gateway/denial.h"
#include "gateway/grpc_status.h"
#include "gateway/log.h"
#include "gateway/request_message.h"
#include "google/protobuf/arena.h"
#include "stamp/fingerprint.h"
#include "stamp/stamper.h"
#include "translate/error.h"
#include "translate/request_translator.h"
#include "translate/response_translator.h"

namespace stampgate {
namespace {

using absl::StatusCode;
using google::protobuf::Message;

// Only these are worth a line: the operator can do something about them.
bool ConcernsOperator(StatusCode code) {
  return code == StatusCode::kInternal || code == StatusCode::kUnknown || code == StatusCode::kUnavailable;
}

// The steps stand in the order in which they happen; each ends the call or goes on to the next.
class UnaryCall : public grpc::ServerUnaryReactor, public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(const CallEnvironment& environment, const Operation& operation, grpc::CallbackServerContext* context,
            grpc::ByteBuffer* response)
      : environment_(environment),
        operation_(operation),
        context_(context),
        response_bytes_(response),
        request_(operation.request_prototype->New(&arena_)),
        response_(operation.response_prototype->New(&arena_)),
        started_(environment.now()) {}

  void Start(const grpc::ByteBuffer& bytes) {
    self_ = shared_from_this();
    environment_.in_flight.Begin();
    Authenticate(environment_.access, *context_,
                 [call = shared_from_this(), &bytes](absl::StatusOr<KnownCaller> caller) {
                   call->Decide(std::move(caller), bytes);
                 });
  }

 private:
  void Decide(absl::StatusOr<KnownCaller> caller, const grpc::ByteBuffer& bytes) {
    if (!caller.ok()) return End(caller.status());
    caller_ = *std::move(caller);
    if (absl::Status status = DecodeRequest(bytes, environment_.max_request_bytes, *request_); !status.ok()) {
      return End(status);
    }
    // What breaks rules is told so whoever sent it: that depends on the request alone, and on nothing that there is.
    absl::StatusOr<RenderedRequest> rendered = TranslateRequest(environment_.operations, operation_, *request_);
    if (!rendered.ok()) return End(rendered.status());
    decision_ = caller_.caller->Decide(QuestionOf(operation_, *request_));
    if (!decision_.allowed) return End(Denied());
    if (absl::Status status = SetDeadline(); !status.ok()) return End(status);
    if (operation_.kind == v1::OPERATION_KIND_DISCOVERY) return Discover(*std::move(rendered));
    Stamp(*std::move(rendered));
  }

  absl::Status SetDeadline() {
    const absl::Time asked = absl::FromChrono(context_->deadline());
    // gRPC gives a call without a deadline one in the far future.
    const bool has_deadline = asked < started_ + absl::Hours(24 * 365);
    const absl::Time deadline =
        has_deadline ? std::min(asked, started_ + environment_.max_deadline) : started_ + environment_.default_deadline;
    deadline_ = deadline - kAnswerTime;
    if (deadline_ > environment_.now()) return absl::OkStatus();
    return ToStatus(GatewayError(StatusCode::kDeadlineExceeded, v1::ERROR_REASON_DEADLINE_TOO_SHORT,
                                 absl::StrCat("the deadline leaves no time for a call upstream: it must be more than ",
                                              absl::ToInt64Milliseconds(kAnswerTime), " ms ahead")));
  }

  void Discover(RenderedRequest rendered) {
    SetExchange(environment_.upstream.Get({std::move(rendered.path)}, {deadline_}, OnOutcome()));
  }

  void Stamp(RenderedRequest rendered) {
    const NamedSigner* key = caller_.access->keys.Find(rendered.organization_id, decision_.key);
    if (key == nullptr) {
      return End(ToStatus(GatewayError(StatusCode::kPermissionDenied, v1::ERROR_REASON_ORGANIZATION_NOT_SERVED,
                                       "there is no key for this organization_id")));
    }
    key_name_ = key->name;
    std::string body;
    if (operation_.is_submit()) {
      std::optional<uint64_t> timestamp_ms = ChooseTimestamp(rendered);
      if (!timestamp_ms.has_value()) return;
      timestamp_ms_ = *timestamp_ms;
      body = rendered.SubmitBody(timestamp_ms_);
      fingerprint_ = Fingerprint(body);
    } else {
      body = rendered.QueryBody();
    }
    Stamper::Stamp(
        key->signer, std::move(rendered.path), std::move(body),
        [call = shared_from_this()](absl::StatusOr<StampedRequest> request) { call->Send(std::move(request)); });
  }

  // Nothing if the call has ended.
  std::optional<uint64_t> ChooseTimestamp(const RenderedRequest& rendered) {
    const absl::Time now = environment_.now();
    const uint64_t content = absl::HashOf(rendered.type_member, rendered.members);
    if (rendered.timestamp_ms.has_value()) {
      environment_.timestamps.Note(content, *rendered.timestamp_ms, now);
      return rendered.timestamp_ms;
    }
    std::optional<uint64_t> timestamp_ms = environment_.timestamps.Choose(content, now);
    if (!timestamp_ms.has_value()) {
      Error error = GatewayError(StatusCode::kResourceExhausted, v1::ERROR_REASON_TIMESTAMPS_EXHAUSTED,
                                 "too many equal calls at once: no timestamp is free that would keep them apart");
      error.retry_delay = environment_.timestamps.RetryDelay();
      End(ToStatus(error));
    }
    return timestamp_ms;
  }

  void Send(absl::StatusOr<StampedRequest> request) {
    if (!request.ok()) {
      return End(ToStatus(
          GatewayError(StatusCode::kInternal, v1::ERROR_REASON_SIGNING_FAILED, "the request could not be signed")));
    }
    UpstreamClient::CallOptions options;
    options.deadline = deadline_;
    UpstreamClient::Done late;
    if (operation_.is_submit()) {
      // A submit that has left may be carried out, whoever still waits: its outcome is worth knowing.
      options.on_abandon = UpstreamClient::OnAbandon::kDetach;
      late = [method = operation_.full_name, fingerprint = fingerprint_](const UpstreamOutcome& outcome) {
        LogLate(method, fingerprint, outcome);
      };
    }
    SetExchange(environment_.upstream.Post(*std::move(request), options, OnOutcome(), std::move(late)));
  }

  UpstreamClient::Done OnOutcome() {
    return [call = shared_from_this()](UpstreamOutcome outcome) { call->Answer(std::move(outcome)); };
  }

  void Answer(UpstreamOutcome outcome) {
    const SentCall sent{operation_, *request_, timestamp_ms_, fingerprint_};
    absl::Status status = TranslateOutcome(std::move(outcome), sent, *response_);
    if (status.ok()) *response_bytes_ = EncodeResponse(*response_);
    End(status);
  }

  void End(const absl::Status& status) {
    if (ConcernsOperator(status.code())) {
      Log(Severity::kWarning, "call_failed",
          {{"method", operation_.full_name},
           {"code", absl::StatusCodeToString(status.code())},
           {"message", LogMessage(status)},
           {"key", std::string(key_name_)},
           {"fingerprint", fingerprint_},
           {"duration_ms", absl::StrCat(absl::ToInt64Milliseconds(environment_.now() - started_))}});
    }
    Finish(ToGrpcStatus(status));
  }

  // Upstream's own words may repeat what the caller sent; ours do not.
  static std::string LogMessage(const absl::Status& status) {
    return IsGatewayError(status) ? std::string(status.message()) : "upstream's own error";
  }

  static void LogLate(const std::string& method, const std::string& fingerprint, const UpstreamOutcome& outcome) {
    LogFields fields = {{"method", method}, {"fingerprint", fingerprint}};
    if (const auto* answer = std::get_if<HttpAnswer>(&outcome)) {
      fields.emplace_back("http_status", absl::StrCat(answer->status));
    } else {
      fields.emplace_back("failure", std::get<TransportFailure>(outcome).detail);
    }
    Log(Severity::kInfo, "late_outcome", fields);
  }

  // The caller may go away before, while or after the exchange is started: whoever comes second cancels it.
  void SetExchange(UpstreamClient::CallId id) {
    {
      std::lock_guard lock(mutex_);
      exchange_ = id;
      if (!cancelled_) return;
    }
    environment_.upstream.Cancel(id);
  }

  void OnCancel() override {
    std::optional<UpstreamClient::CallId> id;
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
      id = exchange_;
    }
    if (id.has_value()) environment_.upstream.Cancel(*id);
  }

  void OnDone() override {
    environment_.in_flight.End();
    self_.reset();
  }

  // Lets gRPC run OnCancel and OnDone where it is, instead of handing each to a thread of its own (a sixth of a call's
  // CPU). They must then be short and must not block: one queues a task, the other frees memory.
  bool InternalInlineable() override { return true; }

  const CallEnvironment& environment_;
  const Operation& operation_;
  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer* const response_bytes_;
  google::protobuf::Arena arena_;
  Message* const request_;   // on the arena
  Message* const response_;  // on the arena
  const absl::Time started_;
  absl::Time deadline_;
  uint64_t timestamp_ms_ = 0;
  std::string fingerprint_;
  KnownCaller caller_;
  Caller::Decision decision_;
  absl::string_view key_name_;  // in `caller_`

  std::mutex mutex_;  // for the two below
  bool cancelled_ = false;
  std::optional<UpstreamClient::CallId> exchange_;

  // gRPC needs the reactor until OnDone; the exchange may need it longer.
  std::shared_ptr<UnaryCall> self_;
};

}  // namespace

grpc::ServerUnaryReactor* StartUnaryCall(const CallEnvironment& environment, const Operation& operation,
                                         grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) {
  auto call = std::make_shared<UnaryCall>(environment, operation, context, response);
  call->Start(*request);
  return call.get();
}

}  // namespace stampgate
