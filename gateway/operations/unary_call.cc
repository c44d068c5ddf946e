#include "gateway/operations/unary_call.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "gateway/callers/authenticator.h"
#include "gateway/callers/denial.h"
#include "gateway/callers/peer.h"
#include "gateway/calls/call_audit.h"
#include "gateway/calls/call_log.h"
#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"
#include "gateway/calls/request_message.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/metrics/call_metrics.h"
#include "gateway/operations/answer_margin.h"
#include "gateway/operations/client_stamp_field.h"
#include "gateway/operations/keyed_submit.h"
#include "gateway/operations/submit_timestamp.h"
#include "google/protobuf/arena.h"
#include "stamp/client_stamp.h"
#include "stamp/fingerprint.h"
#include "stamp/secret/sha256.h"
#include "stamp/stamper.h"
#include "translate/activity_summary.h"
#include "translate/answer_size.h"
#include "translate/error.h"
#include "translate/request_translator.h"
#include "translate/response_translator.h"

namespace stampgate {
namespace {

using absl::StatusCode;
using google::protobuf::Message;
using Clock = std::chrono::steady_clock;
using Lane = UpstreamClient::Lane;

// How long the caller still waits; infinite if it brought no deadline. Never by the wall clock, which may be stepped.
absl::Duration TimeLeft(const grpc::CallbackServerContext& context) {
  const gpr_timespec deadline = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_MONOTONIC);
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(GPR_CLOCK_MONOTONIC));
  if (gpr_time_cmp(left, gpr_inf_future(GPR_TIMESPAN)) == 0) return absl::InfiniteDuration();
  return absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
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
        trace_(TraceOf(*context, environment.random)),
        audit_(environment.audit, environment.disk_waits, operation.full_name, trace_.trace_id()),
        metrics_(environment.metrics, operation.full_name),
        log_(environment.lines, operation.full_name, trace_.trace_id()) {}

  void Start(const grpc::ByteBuffer& bytes) {
    self_ = shared_from_this();
    Authenticate(environment_.access, *context_,
                 [call = shared_from_this(), &bytes](absl::StatusOr<KnownCaller> caller) {
                   call->Decide(std::move(caller), bytes);
                 });
  }

 private:
  void Decide(absl::StatusOr<KnownCaller> caller, const grpc::ByteBuffer& bytes) {
    if (!caller.ok()) {
      log_.SetCaller(StrangerName(PeerOf(*context_)));
      audit_.DenyStranger(*context_, caller.status());
      return End(caller.status());
    }
    caller_ = *std::move(caller);
    log_.SetCaller(caller_.caller->name());
    if (absl::Status status = DecodeRequest(bytes, environment_.max_request_bytes, *request_); !status.ok()) {
      return End(status);
    }
    // The rules take time for every byte of the request, so they are not checked for a caller whose grants lack the
    // method or the organization in any case.
    if (absl::Status status = CheckGrants(); !status.ok()) return End(status);
    // Every other caller gets the same error for a request that breaks rules: it depends on the request alone.
    absl::StatusOr<RenderedRequest> rendered = TranslateRequest(environment_.operations, operation_, *request_);
    if (!rendered.ok()) return End(rendered.status());
    if (rendered->client_stamp.has_value()) {
      absl::StatusOr<ClientStamp> stamp = ReadClientStamp(*rendered->client_stamp);
      if (!stamp.ok()) return End(stamp.status());
      client_stamp_ = *std::move(stamp);
    }
    const Question question = QuestionOf(operation_, *request_);
    AuditDecision record = DecisionAbout(question);
    record.client_stamped = client_stamp_.has_value();
    Caller::Decision decision = caller_.caller->Decide(question);
    if (!decision.allowed) return Refuse(std::move(record), std::move(decision.why));
    if (absl::Status status = SetDeadline(); !status.ok()) return End(status);
    Allow(*std::move(rendered), decision.key, std::move(record));
  }

  // PERMISSION_DENIED, which is recorded, if no grant can allow the call whatever its values are.
  absl::Status CheckGrants() {
    Caller::Decision decision = DecideByGrants(*caller_.caller, operation_, *request_);
    if (decision.allowed) return absl::OkStatus();
    AuditDecision record = DecisionAbout(QuestionOf(operation_, *request_));
    const google::protobuf::FieldDescriptor* stamp = operation_.request->client_stamp;
    record.client_stamped = stamp != nullptr && request_->GetReflection()->HasField(*request_, stamp);
    record.reason = std::move(decision.why);
    audit_.Deny(caller_, std::move(record));
    return Denied(*caller_.caller, operation_.full_name);
  }

  void Refuse(AuditDecision decision, std::string why) {
    Refuse(std::move(decision), std::move(why), Denied(*caller_.caller, operation_.full_name));
  }

  void Refuse(AuditDecision decision, std::string why, const absl::Status& status) {
    decision.reason = std::move(why);
    audit_.Deny(caller_, std::move(decision));
    End(status);
  }

  absl::Status SetDeadline() {
    const absl::Duration asked = TimeLeft(*context_);
    const absl::Duration margin = AnswerMargin(asked);
    if (asked <= margin) {
      return ToStatus(
          GatewayError(StatusCode::kDeadlineExceeded, v1::ERROR_REASON_DEADLINE_TOO_SHORT,
                       absl::StrCat("the deadline leaves no time for a call upstream: it must be more than ",
                                    absl::ToInt64Milliseconds(margin), " ms ahead")));
    }
    const absl::Duration time = asked == absl::InfiniteDuration() ? environment_.default_deadline
                                                                  : std::min(asked - margin, environment_.max_deadline);
    deadline_ = Clock::now() + absl::ToChronoNanoseconds(time);
    return absl::OkStatus();
  }

  // Chooses the key and the bytes.
  void Allow(RenderedRequest rendered, const std::string& key_name, AuditDecision decision) {
    if (is_stamped() && !client_stamp_.has_value()) {
      key_ = caller_.access->keys.Find(rendered.organization_id, key_name);
      if (key_ == nullptr) {
        return Refuse(std::move(decision), "no key signs for this organization",
                      ToStatus(GatewayError(StatusCode::kPermissionDenied, v1::ERROR_REASON_ORGANIZATION_NOT_SERVED,
                                            "there is no key for this organization_id")));
      }
      decision.key = key_->name;
    }
    if (operation_.is_submit()) {
      absl::StatusOr<uint64_t> timestamp_ms = TimestampOf(rendered, environment_.timestamps, environment_.now());
      absl::Status fit = timestamp_ms.status();
      if (fit.ok()) Fix(rendered, *timestamp_ms);
      if (!rendered.idempotency_key.empty()) {
        if (fit.ok()) fit = CheckTimestampOfKey(*timestamp_ms, environment_.now());
        return Remember(std::move(rendered), std::move(decision), std::move(fit));
      }
      if (!fit.ok()) return End(fit);
    } else if (is_stamped()) {
      body_ = rendered.QueryBody();
    }
    Record(std::move(rendered.path), std::move(decision));
  }

  // Fixes the bytes of a submit.
  void Fix(const RenderedRequest& rendered, uint64_t timestamp_ms) {
    timestamp_ms_ = timestamp_ms;
    body_ = rendered.SubmitBody(timestamp_ms);
    fingerprint_ = Fingerprint(body_);
  }

  // Has it stored what the caller's key stands for, before a byte of it leaves. If the timestamp is not `fit`, only a
  // submit of before can go out again.
  void Remember(RenderedRequest rendered, AuditDecision decision, absl::Status fit) {
    if (environment_.store == nullptr) return End(NoStore());
    KeyedSubmit submit;
    submit.caller = caller_.caller->name();
    submit.key = rendered.idempotency_key;
    submit.request_sha256 = DigestOfRequest(operation_, *request_);
    submit.body_sha256 = Sha256(body_);
    submit.timestamp_ms = timestamp_ms_;
    submit.begins = fit.ok();
    auto guarded = environment_.disk_waits.Guard<CallStore::Begun>(
        [call = shared_from_this(), rendered = std::move(rendered), decision = std::move(decision),
         fit = std::move(fit)](absl::StatusOr<CallStore::Begun> begun) mutable {
          call->OnRemembered(std::move(rendered), std::move(decision), fit, std::move(begun));
        },
        [store = environment_.store](const CallStore::Begun& begun) {
          if (begun.attempt.has_value()) store->End(*begun.attempt, {.kind = AttemptEnd::Kind::kNotSent});
        });
    environment_.store->Begin(std::move(submit), std::move(guarded));
  }

  void OnRemembered(RenderedRequest rendered, AuditDecision decision, const absl::Status& fit,
                    absl::StatusOr<CallStore::Begun> begun) {
    if (!begun.ok()) return End(StoreUnavailable());
    if (begun->attempt.has_value()) {
      attempt_ = SubmitAttempt(*environment_.store, *begun->attempt);
      return Record(std::move(rendered.path), std::move(decision));
    }
    if (!begun->record.has_value()) {
      return End(begun->unknown_until > absl::ZeroDuration() ? KeyUncertain(begun->unknown_until) : fit);
    }
    const KeyRecord& record = *begun->record;
    const std::array<uint8_t, 32> digest = DigestOfRequest(operation_, *request_);
    // The same submit as before: its bytes go out again. The store is asked once with them.
    if (record.request_sha256 == digest && record.timestamp_ms != timestamp_ms_ &&
        MayRepeat(record, rendered, environment_.now())) {
      Fix(rendered, record.timestamp_ms);
      return Remember(std::move(rendered), std::move(decision), absl::OkStatus());
    }
    Respond(StoredAnswer(record, digest, operation_, *response_));
  }

  // Has it recorded that the bytes may go out, before anything is stamped.
  void Record(std::string path, AuditDecision decision) {
    if (is_stamped() && environment_.audit != nullptr) decision.body_sha256 = HexSha256(body_);
    path_ = std::move(path);
    audit_.Allow(caller_, std::move(decision), [call = shared_from_this()](const absl::Status& status) {
      if (!status.ok()) return call->EndUnsent(status);
      call->GoOut();
    });
  }

  void GoOut() {
    if (!is_stamped()) {
      return SetExchange(environment_.upstream.Get({std::move(path_)}, OptionsIn(Lane::kQuery), OnOutcome()));
    }
    if (client_stamp_.has_value()) return Send(client_stamp_->Stamp(std::move(path_), std::move(body_)));
    Stamper::Stamp(
        key_->signer, std::move(path_), std::move(body_),
        [call = shared_from_this()](absl::StatusOr<StampedRequest> request) { call->Send(std::move(request)); });
  }

  void Send(absl::StatusOr<StampedRequest> request) {
    if (!request.ok()) {
      return EndUnsent(ToStatus(
          GatewayError(StatusCode::kInternal, v1::ERROR_REASON_SIGNING_FAILED, "the request could not be signed")));
    }
    const Lane lane = operation_.is_submit() ? Lane::kSubmit : Lane::kQuery;
    SetExchange(environment_.upstream.Post(
        *std::move(request), OptionsIn(lane), OnOutcome(),
        [call = shared_from_this()](UpstreamOutcome outcome) { call->RecordLate(std::move(outcome)); }));
  }

  UpstreamClient::CallOptions OptionsIn(Lane lane) const {
    UpstreamClient::CallOptions options{lane, deadline_, ""};
    if (environment_.forward_traceparent) options.traceparent = trace_.Traceparent(environment_.random);
    return options;
  }

  UpstreamClient::Done OnOutcome() {
    return [call = shared_from_this()](UpstreamOutcome outcome) { call->Answer(std::move(outcome)); };
  }

  void Answer(UpstreamOutcome outcome) {
    const std::optional<TransportFailure> failure = FailureOf(outcome);
    goes_on_ = failure.has_value() && failure->goes_on;
    const absl::Status status = Translate(std::move(outcome), *response_);
    if (!goes_on_) EndAttempt(failure, status, *response_);
    Respond(status);
  }

  void Respond(const absl::Status& status) {
    if (!status.ok()) return End(status);
    *response_bytes_ = EncodeResponse(*response_);
    const size_t size = response_bytes_->Length();
    if (size <= kMaxAnswerBytes) return End(status);
    response_bytes_->Clear();
    End(AnswerTooLarge(Sent(), *response_, size));
  }

  static std::optional<TransportFailure> FailureOf(const UpstreamOutcome& outcome) {
    const auto* failure = std::get_if<TransportFailure>(&outcome);
    return failure == nullptr ? std::nullopt : std::optional<TransportFailure>(*failure);
  }

  void EndAttempt(const std::optional<TransportFailure>& failure, const absl::Status& status, const Message& response) {
    attempt_.End(EndOf(failure.has_value() ? &*failure : nullptr, status,
                       status.ok() ? SummaryOf(*operation_.response, response) : ActivitySummary()));
  }

  // Before anything was sent.
  void EndUnsent(const absl::Status& status) {
    attempt_.End({.kind = AttemptEnd::Kind::kNotSent});
    End(status);
  }

  SentCall Sent() const {
    SentCall sent{operation_, *request_, timestamp_ms_, fingerprint_};
    if (client_stamp_.has_value()) sent.client_stamp = client_stamp_->value();
    return sent;
  }

  absl::Status Translate(UpstreamOutcome outcome, Message& response) const {
    return TranslateOutcome(std::move(outcome), Sent(), response);
  }

  void RecordLate(UpstreamOutcome outcome) {
    LogLate(outcome);
    const std::unique_ptr<Message> response(operation_.response_prototype->New());
    const std::optional<TransportFailure> failure = FailureOf(outcome);
    const absl::Status status = Translate(std::move(outcome), *response);
    EndAttempt(failure, status, *response);
    RecordEnd(status, *response);
  }

  // `response` is empty if there was no answer. An answer that was too large for the caller has an activity too.
  void RecordEnd(const absl::Status& status, const Message& response) {
    audit_.End(status, SummaryOf(*operation_.response, response), fingerprint_);
  }

  void End(const absl::Status& status) {
    if (!goes_on_) RecordEnd(status, *response_);
    metrics_.End(status);
    log_.End(status, [&] { return Facts(status); });
    Finish(ToGrpcStatus(status));
  }

  CallFacts Facts(const absl::Status& status) const {
    CallFacts facts;
    facts.organization_id = std::string(QuestionOf(operation_, *request_).organization_id.value_or(""));
    if (key_ != nullptr) facts.key = key_->name;
    if (status.ok()) facts.activity_id = SummaryOf(*operation_.response, *response_).id;
    facts.fingerprint = fingerprint_;
    return facts;
  }

  void LogLate(const UpstreamOutcome& outcome) {
    if (const auto* answer = std::get_if<HttpAnswer>(&outcome)) {
      log_.LogLate({{"http_status", answer->status}}, fingerprint_);
    } else {
      log_.LogLate({{"failure", std::get<TransportFailure>(outcome).detail}}, fingerprint_);
    }
  }

  // The caller may go away before, while or after the exchange is started: the second of the two cancels it.
  void SetExchange(UpstreamClient::CallId id) {
    {
      std::lock_guard lock(mutex_);
      exchange_ = id;
      if (!cancelled_) return;
    }
    environment_.upstream.Cancel(id);
  }

  bool is_stamped() const { return operation_.kind != v1::OPERATION_KIND_DISCOVERY; }

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
    environment_.in_flight.End(*context_);
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
  Clock::time_point deadline_;
  uint64_t timestamp_ms_ = 0;
  std::string fingerprint_;
  const TraceContext trace_;
  CallAudit audit_;
  CallMetrics metrics_;
  CallLog log_;
  KnownCaller caller_;
  std::optional<ClientStamp> client_stamp_;
  const NamedSigner* key_ = nullptr;  // in `caller_`; null where the gateway does not sign
  std::string path_;
  std::string body_;
  SubmitAttempt attempt_;  // of a submit with an idempotency key
  bool goes_on_ = false;   // the exchange does, without the caller, and ends in RecordLate

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
  if (!environment.in_flight.Begin(*context)) {
    return new RefusedCall<grpc::ServerUnaryReactor>(environment, *context, operation.full_name, ShuttingDown());
  }
  auto call = std::make_shared<UnaryCall>(environment, operation, context, response);
  call->Start(*request);
  return call.get();
}

}  // namespace stampgate
