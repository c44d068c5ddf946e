#include "gateway/operations/operation_call.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "gateway/callers/denial.h"
#include "gateway/calls/request_message.h"
#include "gateway/operations/activity_query.h"
#include "gateway/operations/answer_margin.h"
#include "gateway/operations/client_stamp_field.h"
#include "gateway/operations/submit_timestamp.h"
#include "gateway/process/steady_now.h"
#include "gateway/upstream/options.h"
#include "stamp/stamper.h"
#include "translate/answer_size.h"
#include "translate/error.h"
#include "translate/upstream_error.h"

namespace stampgate {
namespace {

using absl::StatusCode;

std::optional<TransportFailure> FailureOf(const UpstreamOutcome& outcome) {
  const auto* failure = std::get_if<TransportFailure>(&outcome);
  return failure == nullptr ? std::nullopt : std::optional<TransportFailure>(*failure);
}

// The response to a request that was sent is discarded.
TransportFailure NoMemory(const absl::Status& why) {
  return {.cause = TransportFailure::Cause::kNoMemory, .body_sent = true, .detail = std::string(why.message())};
}

LogFields FieldOf(const UpstreamOutcome& outcome) {
  if (const auto* answer = std::get_if<HttpAnswer>(&outcome)) return {{"http_status", answer->status}};
  return {{"failure", std::get<TransportFailure>(outcome).detail}};
}

}  // namespace

OperationCall::OperationCall(const CallEnvironment& environment, std::shared_ptr<const OperationTable> operations,
                             const Operation& operation, const TraceContext& trace, Reply reply,
                             std::shared_ptr<MemoryHolder> holder)
    : environment_(environment),
      operations_(std::move(operations)),
      operation_(operation),
      loop_(environment.loops[environment.loops.Here()]),
      trace_(trace),
      reply_(std::move(reply)),
      record_(environment.recorders, operation.full_name, trace_),
      request_(*operation.request),
      held_(std::move(holder), MemoryAccount::kSmallCallBytes),
      dispatch_(environment, loop_, &trace_, &record_.spans()) {
  record_.spans().Begin(CallStage::kAuthenticate);
}

void OperationCall::Start(absl::StatusOr<KnownCaller> caller, const std::string& stranger,
                          const grpc::ByteBuffer& request, absl::Duration time_left) {
  started_ = UpstreamClient::Clock::now();
  absl::Status status = Authenticate(std::move(caller), stranger);
  if (status.ok()) record_.spans().Begin(CallStage::kTranslate);
  if (status.ok()) status = CheckMethod();
  if (status.ok()) status = Decode(request);
  if (status.ok()) status = CheckGrants();
  if (status.ok()) status = Validate();
  if (status.ok()) record_.spans().Begin(CallStage::kDecide);
  if (status.ok()) status = Authorize();
  if (status.ok()) status = SetDeadline(time_left);
  if (status.ok()) status = ChooseKey();
  if (!status.ok()) return End(status);
  Admit();
}

absl::Status OperationCall::Authenticate(absl::StatusOr<KnownCaller> caller, const std::string& stranger) {
  ABSL_RETURN_IF_ERROR(RecognizeCaller(caller, stranger, record_));
  caller_ = *std::move(caller);
  return absl::OkStatus();
}

absl::Status OperationCall::CheckMethod() {
  return stampgate::CheckMethod(caller_, operation_, RequestedOperation::Purpose::kSend, record_);
}

absl::Status OperationCall::Decode(const grpc::ByteBuffer& bytes) {
  ABSL_ASSIGN_OR_RETURN(const ParsedMessage request, ParseRequest(bytes, *operation_.request, bytes_, memory_));
  request_ = request;
  const FieldPlan* stamp = operation_.request->client_stamp;
  client_stamped_ = stamp != nullptr && request_.Has(*stamp);
  return absl::OkStatus();
}

absl::Status OperationCall::CheckGrants() { return stampgate::CheckGrants(caller_, Requested(), record_); }

absl::Status OperationCall::Validate() {
  ABSL_ASSIGN_OR_RETURN(CheckedRequest checked, CheckedRequest::Check(*operations_, operation_, request_, memory_));
  if (checked.client_stamp().has_value()) {
    ABSL_ASSIGN_OR_RETURN(ClientStamp stamp, ReadClientStamp(*checked.client_stamp()));
    way_ = Forward{std::move(stamp)};
  } else if (operation_.kind != v1::OPERATION_KIND_DISCOVERY) {
    way_ = SignWith();
  }
  request_ = checked.request();
  if (client_stamped_) {
    // The request does not refer to the bytes from here on, but to those of the stamped body.
    memory_.Release(bytes_.size());
    bytes_ = grpc::Slice();
  }
  checked_ = std::move(checked);
  if (checked_->carried().has_value()) record_.NoteOwnMethod(checked_->carried()->operation->full_name);
  return Hold(0);
}

absl::Status OperationCall::Authorize() {
  ABSL_ASSIGN_OR_RETURN(Permission permission, stampgate::Authorize(caller_, Requested(), record_));
  permission_ = std::move(permission);
  return absl::OkStatus();
}

absl::Status OperationCall::SetDeadline(absl::Duration time_left) {
  const UpstreamClient::Clock::time_point now = UpstreamClient::Clock::now();
  time_left -= absl::FromChrono(now - started_);
  const absl::Duration margin = AnswerMargin(time_left);
  if (time_left <= margin) {
    return ToStatus(GatewayError(StatusCode::kDeadlineExceeded, v1::ERROR_REASON_DEADLINE_TOO_SHORT,
                                 absl::StrCat("the deadline leaves no time for a call upstream: it must be more than ",
                                              absl::ToInt64Milliseconds(margin), " ms ahead")));
  }
  const absl::Duration time = time_left == absl::InfiniteDuration()
                                  ? environment_.default_deadline
                                  : std::min(time_left - margin, environment_.max_deadline);
  deadline_ = now + absl::ToChronoNanoseconds(time);
  wait_deadline_ = now + absl::ToChronoNanoseconds(std::min(time_left - margin, environment_.max_wait));
  return absl::OkStatus();
}

absl::Status OperationCall::ChooseKey() {
  auto* sign = std::get_if<SignWith>(&way_);
  if (sign == nullptr) return absl::OkStatus();
  AuditDecision& decision = permission_.decision;
  sign->key = caller_.access->keys.Find(decision.organization_id, permission_.key_name);
  if (sign->key != nullptr) {
    decision.key = sign->key->name;
    return absl::OkStatus();
  }
  decision.reason = "no key signs for this organization";
  record_.audit().Deny(caller_, std::move(decision));
  return ToStatus(GatewayError(StatusCode::kPermissionDenied, v1::ERROR_REASON_ORGANIZATION_NOT_SERVED,
                               "no key of the gateway signs for this organization_id"));
}

// Waits until the call may send its request within upstream's rates. A refused call costs no further work: it is not
// rendered, uses no timestamp, and is neither stored nor recorded as allowed.
void OperationCall::Admit() {
  Dispatch::Terms terms;
  terms.caller = caller_.caller->name();
  terms.weight = caller_.caller->weight();
  terms.organization = QuestionOf(operation_, request_).organization_id.value_or("");
  terms.operation = PathOf(operation_, request_);
  terms.call_class = operation_.is_submit() ? CallClass::kSubmit : CallClass::kQuery;
  terms.deadline = deadline_;
  terms.holder = held_.holder();
  dispatch_.Admit(shared_from_this(), std::move(terms), [this](const absl::Status& admitted) {
    if (EndIfCallerLeft()) return;
    if (!admitted.ok()) return End(admitted);
    Render();
  });
}

void OperationCall::Render() {
  record_.spans().Begin(CallStage::kTranslate);
  absl::StatusOr<RenderedRequest> checked = (*std::move(checked_)).Render();
  checked_.reset();
  if (!checked.ok()) {
    dispatch_.SendNothing();
    return End(checked.status());
  }
  RenderedRequest rendered = *std::move(checked);
  path_ = std::move(rendered.path);
  // The memory of a submit's response is reserved now, while the call can still end without an effect.
  const size_t body_bytes = rendered.members.size();
  const size_t response_bytes = operation_.is_submit() ? SubmitResponseBytes(body_bytes) : 0;
  if (absl::Status status = Hold(body_bytes + response_bytes); !status.ok()) return End(status);
  if (!operation_.is_submit()) {
    if (!std::holds_alternative<Discover>(way_)) body_.emplace(rendered.QueryBody());
    return Record();
  }
  const bool fixed = client_stamped_ || rendered.timestamp_ms.has_value() || !rendered.idempotency_key.empty();
  kind_ = fixed ? RequestKind::kFixedSubmit : RequestKind::kSubmit;
  const absl::StatusOr<uint64_t> timestamp_ms = TimestampOf(rendered, environment_.timestamps, environment_.now());
  absl::Status fit = timestamp_ms.status();
  if (fit.ok()) FixBody(*timestamp_ms, RequestBody(rendered.SubmitBody(*timestamp_ms)));
  if (!rendered.idempotency_key.empty()) {
    const bool is_of_caller = rendered.timestamp_ms.has_value();
    if (fit.ok()) fit = CheckTimestampOfKey(*timestamp_ms, is_of_caller, environment_.now());
    request_sha256_ = DigestOfRequest(operation_, request_);
    return Remember(std::move(rendered), std::move(fit));
  }
  if (!fit.ok()) return End(fit);
  Record();
}

// Makes the call store write which body belongs to the caller's idempotency key, before the gateway sends a byte of the
// body. `fit` is an error if the call has no usable timestamp for a new submit. The call can then only repeat an
// earlier submit.
void OperationCall::Remember(RenderedRequest rendered, absl::Status fit) {
  if (environment_.store == nullptr) return End(NoStore());
  record_.spans().Begin(CallStage::kStore);
  KeyedSubmit submit;
  submit.caller = caller_.caller->name();
  submit.key = rendered.idempotency_key;
  submit.request_sha256 = request_sha256_;
  if (body_.has_value()) submit.body_sha256 = body_->sha256();
  submit.timestamp_ms = timestamp_ms_;
  submit.begins = fit.ok();
  store_began_ = SteadyNow();
  recorded_.reset();
  CallStore::OnDecided on_decided;
  if (environment_.recorders.audit != nullptr) {
    // A store that hangs must not keep a call that has ended.
    on_decided = [weak = weak_from_this(), &loop = loop_] {
      loop.Run([weak] {
        if (const std::shared_ptr<OperationCall> call = weak.lock()) call->OnDecided();
      });
    };
  }
  auto guarded = environment_.recorders.disk_waits.Guard<CallStore::Begun>(
      DiskWaits::Writer::kCallStore,
      [call = shared_from_this(), rendered = std::move(rendered),
       fit = std::move(fit)](absl::StatusOr<CallStore::Begun> begun) mutable {
        EventLoop& loop = call->loop_;
        StoreAnswer answer{std::move(rendered), std::move(fit), std::move(begun)};
        loop.Run(
            [call = std::move(call), answer = std::move(answer)]() mutable { call->OnRemembered(std::move(answer)); });
      },
      [store = environment_.store](const CallStore::Begun& begun) {
        if (begun.attempt.has_value()) store->End(*begun.attempt, {.kind = AttemptEnd::Kind::kNotSent});
      });
  environment_.store->Begin(std::move(submit), std::move(on_decided), std::move(guarded));
}

// The store is about to write that this attempt begins. The audit log writes the decision at the same time, so that the
// call waits for the slower of the two disks, and not for both in turn.
void OperationCall::OnDecided() {
  if (store_began_.has_value()) Record();
}

void OperationCall::OnRemembered(StoreAnswer answer) {
  ObserveWrite(environment_.metrics.key_write, *std::exchange(store_began_, std::nullopt));
  // The step is empty if the audit log was faster.
  if (audit_began_.has_value() || recorded_.has_value()) record_.spans().Begin(CallStage::kAudit);
  stored_ = std::move(answer);
  OnWritten();
}

void OperationCall::OnBegun(StoreAnswer answer) {
  absl::StatusOr<CallStore::Begun>& begun = answer.begun;
  if (!begun.ok()) return End(StoreUnavailable());
  if (begun->attempt.has_value()) {
    attempt_ = SubmitAttempt(*environment_.store, *begun->attempt);
    return recorded_.has_value() ? OnWritten() : Record();
  }
  if (!begun->record.has_value()) {
    return End(begun->unknown_until > absl::ZeroDuration() ? KeyUncertain(begun->unknown_until) : answer.fit);
  }
  const KeyRecord& record = *begun->record;
  // If the store had decided otherwise before, the audit log has a decision about a body that is not sent.
  record_.audit().End(absl::AbortedError("the store began no attempt with this body"), {}, fingerprint_);
  // If the stored key belongs to this request, asks the store to begin an attempt with the earlier bytes, so that the
  // gateway can send these bytes again. A client that has stamped a body has fixed its bytes.
  const bool has_other_bytes =
      record.timestamp_ms != timestamp_ms_ || (body_.has_value() && record.body_sha256 != body_->sha256());
  if (record.request_sha256 == request_sha256_ && has_other_bytes && !client_stamped_) {
    if (body_.has_value()) answer.rendered.TakeBack((*std::exchange(body_, std::nullopt)).TakeBytes(), timestamp_ms_);
    const RequestForms forms{operation_, request_, memory_, answer.rendered};
    if (std::optional<RequestBody> body = BodyToRepeat(record, forms, environment_.now())) {
      const size_t size = body->bytes().size();
      if (absl::Status status = Hold(size + SubmitResponseBytes(size)); !status.ok()) {
        dispatch_.SendNothing();
        return End(status);
      }
      FixBody(record.timestamp_ms, *std::move(body));
      return Remember(std::move(answer.rendered), absl::OkStatus());
    }
  }
  dispatch_.SendNothing();
  absl::StatusOr<ActivitySummary> stored = StoredAnswer(record, request_sha256_);
  if (!stored.ok()) return End(stored.status());
  activity_ = *std::move(stored);
  std::string response = ResponseOf(*operation_.response, activity_);
  const size_t size = response.size();
  TranslatedResponse answered{std::move(response), size, activity_};
  if (WaitsForEnd()) return WaitForEnd(std::move(answered), /*urgent=*/true);
  Answer(std::move(answered));
}

// Reserves the memory of the request, of what was parsed, and of `bytes` of a body or a response. The request counts as
// arrived only until its stream ends, and a call can last longer. Only the steps of one loop at a time allocate before
// they reserve, and what they allocate has bounds of its own.
absl::Status OperationCall::Hold(size_t bytes) { return held_.Resize(memory_.held() + bytes); }

void OperationCall::FixBody(uint64_t timestamp_ms, RequestBody body) {
  timestamp_ms_ = timestamp_ms;
  fingerprint_ = body.Fingerprint();
  body_ = std::move(body);
}

// Makes the audit log write the decision to allow the body, before the gateway stamps anything.
void OperationCall::Record() {
  if (!store_began_.has_value()) record_.spans().Begin(CallStage::kAudit);
  if (environment_.recorders.audit == nullptr) {
    recorded_ = absl::OkStatus();
    return OnWritten();
  }
  audit_began_ = SteadyNow();
  AuditDecision decision = permission_.decision;
  if (body_.has_value()) decision.body_sha256 = body_->HexDigest();
  record_.audit().Allow(caller_, std::move(decision), [call = shared_from_this()](const absl::Status& recorded) {
    call->loop_.Run([call, recorded] { call->OnRecorded(recorded); });
  });
}

void OperationCall::OnRecorded(const absl::Status& recorded) {
  ObserveWrite(environment_.metrics.decision_write, *std::exchange(audit_began_, std::nullopt));
  recorded_ = recorded;
  OnWritten();
}

// Continues when neither the store nor the audit log still writes.
void OperationCall::OnWritten() {
  if (store_began_.has_value() || audit_began_.has_value()) return;
  if (stored_.has_value()) return OnBegun(*std::exchange(stored_, std::nullopt));
  if (!recorded_->ok()) return EndUnsent(*recorded_);
  if (EndIfCallerLeft()) return;
  std::visit([this](const auto& way) { SendAs(way); }, way_);
}

void OperationCall::ObserveWrite(Histogram& write, absl::Time began) {
  write.Observe(absl::ToDoubleSeconds(SteadyNow() - began));
}

void OperationCall::SendAs(const Discover& /*way*/) {
  TraceRequest("GET");
  dispatch_.Get(shared_from_this(), {std::move(path_)},
                [this](UpstreamOutcome outcome) { OnOutcome(std::move(outcome)); });
}

void OperationCall::SendAs(const Forward& way) {
  Send(way.stamp.Stamp(std::move(path_), (*std::move(body_)).TakeBytes()));
}

void OperationCall::SendAs(const SignWith& way) {
  record_.spans().Begin(CallStage::kSign);
  if (!way.key->signer->is_slow()) return Sign(*way.key);
  environment_.signing.Run([call = shared_from_this(), key = way.key] { call->Sign(*key); });
}

void OperationCall::Sign(const NamedSigner& key) {
  // A fast signer returns its signature on this thread, and the call stays on it.
  const std::thread::id here = key.signer->is_slow() ? std::thread::id() : std::this_thread::get_id();
  Stamper::Stamp(
      key.signer, std::move(path_), *std::move(body_),
      [call = shared_from_this(), here](absl::StatusOr<StampedRequest> request) {
        if (std::this_thread::get_id() == here) return call->OnSigned(std::move(request));
        call->loop_.Run([call, request = std::move(request)]() mutable { call->OnSigned(std::move(request)); });
      });
}

void OperationCall::OnSigned(absl::StatusOr<StampedRequest> request) {
  if (request.ok()) return Send(*std::move(request));
  EndUnsent(ToStatus(
      GatewayError(StatusCode::kInternal, v1::ERROR_REASON_SIGNING_FAILED, "the request could not be signed")));
}

void OperationCall::Send(StampedRequest request) {
  if (EndIfCallerLeft()) return;
  if (operation_.wait_until != nullptr && request_.Has(*operation_.wait_until)) AnnounceWait();
  TraceRequest("POST");
  dispatch_.Post(
      shared_from_this(), std::move(request), kind_, [this](UpstreamOutcome outcome) { OnOutcome(std::move(outcome)); },
      [this](UpstreamOutcome outcome) { OnLateOutcome(std::move(outcome)); });
}

void OperationCall::TraceRequest(absl::string_view http_method) {
  CallSpans& spans = record_.spans();
  if (!spans.sampled()) return;
  const bool is_general = operation_.path_segment != nullptr;
  spans.SetRequest(http_method, absl::StrCat(operation_.path, is_general ? "{operation}" : ""));
}

void OperationCall::Cancel() {
  dispatch_.Cancel();
  EndWait(WaitEnd::kLeft);
}

void OperationCall::Dismiss() {
  dismissed_ = true;
  EndWait(WaitEnd::kDismissed);
}

void OperationCall::EndWait(WaitEnd end) {
  const std::shared_ptr<ActivityWait> wait = AnnouncedWait();
  if (wait != nullptr) wait->End(end);
}

// The call runs this function after each step that can wait: for a place, for the disk, or for a signature.
bool OperationCall::EndIfCallerLeft() {
  if (!dispatch_.caller_left()) return false;
  TransportFailure unsent;
  unsent.cause = TransportFailure::Cause::kCancelled;
  unsent.detail = "the caller has left";
  OnOutcome(std::move(unsent));
  return true;
}

void OperationCall::OnOutcome(UpstreamOutcome outcome) {
  const std::optional<TransportFailure> failure = FailureOf(outcome);
  goes_on_ = failure.has_value() && failure->goes_on;
  absl::StatusOr<TranslatedResponse> response = TranslateOutcome(std::move(outcome), Sent());
  if (response.ok()) activity_ = response->activity;
  if (response.ok() && response->has_unrecognized) {
    environment_.metrics.unrecognized.Count(operation_.full_name, UnrecognizedKind::kValue);
  }
  if (!goes_on_) EndAttempt(failure, response.status(), activity_);
  if (response.ok() && WaitsForEnd()) return WaitForEnd(*std::move(response), /*urgent=*/false);
  Answer(response);
}

// The call must announce its wait before it sends the submit, because an event can report the end of the activity
// before upstream's response arrives.
void OperationCall::AnnounceWait() {
  std::shared_ptr<ActivityWait> wait = environment_.waits.Announce();
  MutexLock lock(mutex_);
  wait_ = std::move(wait);
}

// Returns null if the call has announced no wait.
std::shared_ptr<ActivityWait> OperationCall::AnnouncedWait() {
  MutexLock lock(mutex_);
  return wait_;
}

// Whether the caller wants to wait for the end of the activity in the response, and this activity has not ended. An
// activity whose status this gateway does not know has not ended.
bool OperationCall::WaitsForEnd() const {
  return operation_.wait_until != nullptr && request_.Has(*operation_.wait_until) && !activity_.id.empty() &&
         !operations_->IsFinalStatus(activity_.status);
}

// `response` is upstream's response, or the stored outcome of an earlier call. Upstream has done its part of the call,
// so the audit log gets its outcome now: the wait could otherwise keep it open for long.
void OperationCall::WaitForEnd(TranslatedResponse response, bool urgent) {
  record_.audit().End(absl::OkStatus(), activity_, fingerprint_, dispatch_.attempts());
  record_.spans().Begin(CallStage::kWait);
  // Without memory for the response, the call does not wait.
  if (absl::Status status = Hold(response.size); !status.ok()) return Answer(std::move(response));
  pending_ = std::move(response);
  if (AnnouncedWait() == nullptr) AnnounceWait();
  const ActivityName activity(QuestionOf(operation_, request_).organization_id.value_or(""), activity_.id);
  auto read = ReaderOf(environment_, operations_, caller_, *std::get<SignWith>(way_).key, activity, trace_.trace_id(),
                       held_.holder());
  const std::shared_ptr<ActivityWait> wait = AnnouncedWait();
  wait->Begin(caller_.caller->name(), caller_.caller->weight(), activity, urgent, wait_deadline_, std::move(read),
              [call = shared_from_this()](ActivityWaits::Ended ended) {
                call->loop_.Run([call, ended = std::move(ended)] { call->OnWaitEnd(ended); });
              });
  // If Cancel or Dismiss ran before wait_ was set, it did not end the wait.
  if (dispatch_.caller_left()) wait->End(WaitEnd::kLeft);
  if (dismissed_) wait->End(WaitEnd::kDismissed);
}

// Replies with what the gateway last knew about the activity. A text that is no response of this operation, or a
// pending activity that is too large, does not replace the response that the call already has.
void OperationCall::OnWaitEnd(const ActivityWaits::Ended& ended) {
  record_.spans().Begin(CallStage::kMap);
  if (ended.text == nullptr) return Answer(std::move(pending_));
  HttpAnswer answer;
  answer.status = 200;
  answer.body = *ended.text;
  const absl::StatusOr<TranslatedResponse> response = TranslateOutcome(std::move(answer), Sent());
  if (!response.ok()) return Answer(std::move(pending_));
  activity_ = response->activity;
  Answer(response);
}

void OperationCall::OnLateOutcome(UpstreamOutcome outcome) {
  const LogFields field = FieldOf(outcome);
  const std::optional<TransportFailure> failure = FailureOf(outcome);
  const absl::StatusOr<TranslatedResponse> response = TranslateOutcome(std::move(outcome), Sent());
  ActivitySummary activity;
  if (response.ok()) activity = response->activity;
  EndAttempt(failure, response.status(), activity);
  record_.EndLate(response.status(), Facts(activity), field);
}

void OperationCall::Answer(const absl::StatusOr<TranslatedResponse>& response) {
  if (!response.ok()) return End(response.status());
  if (response->size > kMaxAnswerBytes) return End(AnswerTooLarge(Sent(), activity_, response->size));
  const absl::Status held = held_.Resize(response->size);
  if (!held.ok()) {
    return End(ErrorFromFailure(NoMemory(held), Sent()));
  }
  End(absl::OkStatus(), BufferOf(response->bytes));
}

// Ends a call that has sent nothing upstream.
void OperationCall::EndUnsent(const absl::Status& status) {
  attempt_.End({.kind = AttemptEnd::Kind::kNotSent});
  End(status);
}

void OperationCall::End(const absl::Status& status, const grpc::ByteBuffer& response) {
  const auto facts = [this] { return Facts(activity_); };
  if (goes_on_) {
    record_.Answer(status, facts);
  } else {
    record_.End(status, facts);
  }
  UnaryResponse answer{response};
  if (!goes_on_) {
    // A caller can take long to read the response. Meanwhile, the call holds nothing else.
    checked_.reset();
    request_ = ParsedMessage(*operation_.request);
    memory_.Free();
    bytes_ = grpc::Slice();
    answer.held = std::move(held_);
  }
  std::exchange(reply_, nullptr)(status, std::move(answer));
}

void OperationCall::EndAttempt(const std::optional<TransportFailure>& failure, const absl::Status& status,
                               const ActivitySummary& activity) {
  if (attempt_.is_open()) attempt_.End(EndOf(failure.has_value() ? &*failure : nullptr, status, activity));
}

RequestedOperation OperationCall::Requested() const {
  using Purpose = RequestedOperation::Purpose;
  const bool is_carried = checked_.has_value() && checked_->carried().has_value();
  return {operation_, request_, client_stamped_ ? Purpose::kSendStamped : Purpose::kSend,
          is_carried ? checked_->carried()->request : request_};
}

SentCall OperationCall::Sent() const {
  SentCall sent{operation_, request_, timestamp_ms_, fingerprint_};
  sent.earlier_unknown = dispatch_.earlier_unknown();
  if (const auto* forward = std::get_if<Forward>(&way_)) sent.client_stamp = forward->stamp.value();
  return sent;
}

// `activity` is empty if upstream did not answer. The response can be too large to be sent to the caller.
CallFacts OperationCall::Facts(const ActivitySummary& activity) const {
  CallFacts facts;
  facts.organization_id = std::string(QuestionOf(operation_, request_).organization_id.value_or(""));
  if (const auto* sign = std::get_if<SignWith>(&way_); sign != nullptr && sign->key != nullptr) {
    facts.key = sign->key->name;
  }
  facts.activity = activity;
  facts.fingerprint = fingerprint_;
  facts.attempts = dispatch_.attempts();
  return facts;
}

}  // namespace stampgate
