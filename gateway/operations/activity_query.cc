#include "gateway/operations/activity_query.h"

#include <cassert>
#include <memory>
#include <optional>
#include <utility>

#include "base/loop/event_loop.h"
#include "gateway/calls/call_audit.h"
#include "gateway/memory/account.h"
#include "gateway/operations/dispatch.h"
#include "stamp/request_body.h"
#include "stamp/stamper.h"
#include "translate/activity_summary.h"
#include "translate/message/parsed_message.h"
#include "translate/message/plan.h"
#include "translate/message/request_memory.h"
#include "translate/request_translator.h"
#include "translate/response_translator.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

constexpr char kGetActivity[] = "/stampgate.v1.ActivityService/GetActivity";

// What all readings for one call have in common.
struct Purpose {
  const CallEnvironment& environment;
  std::shared_ptr<const OperationTable> operations;
  const Operation& operation;
  KnownCaller caller;
  std::string key_name;
  ActivityName activity;
  std::string request_id;
  std::shared_ptr<MemoryHolder> holder;
};

// Returns the bytes of a GetActivityRequest. `plan` is the plan of this message.
std::string RequestFor(const MessagePlan& plan, const ActivityName& activity) {
  const FieldPlan* organization_id = plan.Find("organization_id");
  const FieldPlan* activity_id = plan.Find("activity_id");
  assert(organization_id != nullptr && activity_id != nullptr);
  WireWriter request;
  request.String(organization_id->field->number(), activity.first);
  request.String(activity_id->field->number(), activity.second);
  return request.Take();
}

// One reading. Lives until `done` has been called.
class ActivityQuery : public std::enable_shared_from_this<ActivityQuery> {
 public:
  ActivityQuery(std::shared_ptr<const Purpose> purpose, ActivityWaits::Time deadline, ActivityWaits::Done done)
      : purpose_(std::move(purpose)),
        deadline_(deadline),
        done_(std::move(done)),
        caller_(purpose_->caller),
        audit_(environment().recorders.audit, environment().recorders.disk_waits, operation().full_name,
               purpose_->request_id),
        loop_(environment().loops[environment().loops.Here()]),
        bytes_(RequestFor(*operation().request, purpose_->activity)),
        request_(*operation().request),
        dispatch_(environment(), loop_, /*trace=*/nullptr, /*spans=*/nullptr) {}

  // A wait can be longer than a reload, so each reading uses the key of the current state, if it still may sign.
  void Start() {
    caller_.access = environment().access.Get();
    key_ = caller_.access->keys.Find(purpose_->activity.first, purpose_->key_name);
    if (key_ == nullptr) return done_(std::nullopt);
    const absl::StatusOr<const ParsedMessage*> request = ParseMessage(*operation().request, bytes_, memory_);
    if (!request.ok()) return done_(std::nullopt);
    request_ = **request;
    absl::StatusOr<CheckedRequest> checked =
        CheckedRequest::Check(*purpose_->operations, operation(), request_, memory_);
    // The check fails if upstream has given the activity an empty id.
    if (!checked.ok()) return done_(std::nullopt);
    absl::StatusOr<RenderedRequest> rendered = (*std::move(checked)).Render();
    if (!rendered.ok()) return done_(std::nullopt);
    path_ = std::move(rendered->path);
    body_.emplace(rendered->QueryBody());
    Admit();
  }

 private:
  const CallEnvironment& environment() const { return purpose_->environment; }
  const Operation& operation() const { return purpose_->operation; }

  // Nobody waits for this response as for that of a call: if upstream's rate is short, calls go before readings.
  void Admit() {
    Dispatch::Terms terms;
    terms.caller = caller_.caller->name();
    terms.weight = caller_.caller->weight();
    terms.organization = purpose_->activity.first;
    terms.operation = path_;
    terms.call_class = CallClass::kBackground;
    terms.deadline = deadline_;
    terms.holder = purpose_->holder;
    dispatch_.Admit(shared_from_this(), std::move(terms), [this](const absl::Status& admitted) {
      if (!admitted.ok()) return done_(std::nullopt);
      Record();
    });
  }

  void Record() {
    AuditDecision decision;
    decision.organization_id = purpose_->activity.first;
    decision.key = key_->name;
    decision.body_sha256 = body_->HexDigest();
    audit_.Allow(caller_, std::move(decision), [self = shared_from_this()](const absl::Status& recorded) {
      self->loop_.Run([self, recorded] {
        if (recorded.ok()) return self->Sign();
        self->done_(std::nullopt);
      });
    });
  }

  void Sign() {
    const auto sign = [self = shared_from_this()] {
      Stamper::Stamp(self->key_->signer, std::move(self->path_), *std::move(self->body_),
                     [self](absl::StatusOr<StampedRequest> request) {
                       self->loop_.Run([self, request = std::move(request)]() mutable {
                         if (request.ok()) return self->Send(*std::move(request));
                         self->End(request.status(), std::nullopt, {});
                       });
                     });
    };
    if (!key_->signer->is_slow()) return sign();
    environment().signing.Run(sign);
  }

  void Send(StampedRequest request) {
    dispatch_.Post(
        shared_from_this(), std::move(request), RequestKind::kQuery,
        [this](UpstreamOutcome outcome) { OnOutcome(std::move(outcome)); }, nullptr);
  }

  void OnOutcome(UpstreamOutcome outcome) {
    std::optional<std::string> answer;
    if (const auto* http = std::get_if<HttpAnswer>(&outcome)) answer = http->body;
    const absl::StatusOr<TranslatedResponse> response =
        TranslateOutcome(std::move(outcome), {operation(), request_, 0, ""});
    if (!response.ok()) return End(response.status(), std::nullopt, {});
    End(absl::OkStatus(), std::move(answer), response->activity);
  }

  void End(const absl::Status& status, std::optional<std::string> answer, const ActivitySummary& activity) {
    audit_.End(status, activity, /*fingerprint=*/"", dispatch_.attempts());
    done_(std::move(answer));
  }

  const std::shared_ptr<const Purpose> purpose_;
  const ActivityWaits::Time deadline_;
  ActivityWaits::Done done_;
  KnownCaller caller_;                // with the current access; the caller itself belongs to the access of `purpose_`
  const NamedSigner* key_ = nullptr;  // of caller_.access
  CallAudit audit_;
  EventLoop& loop_;
  RequestMemory memory_;
  const std::string bytes_;
  ParsedMessage request_;  // refers to bytes_ and memory_
  std::string path_;
  std::optional<RequestBody> body_;
  Dispatch dispatch_;
};

}  // namespace

ActivityWaits::ReadActivity ReaderOf(const CallEnvironment& environment,
                                     std::shared_ptr<const OperationTable> operations, KnownCaller caller,
                                     const NamedSigner& key, ActivityName activity, absl::string_view request_id,
                                     std::shared_ptr<MemoryHolder> holder) {
  const Operation* operation = operations->Find(kGetActivity);
  assert(operation != nullptr);
  auto purpose = std::make_shared<const Purpose>(Purpose{environment, std::move(operations), *operation,
                                                         std::move(caller), key.name, std::move(activity),
                                                         std::string(request_id), std::move(holder)});
  return [purpose = std::move(purpose)](ActivityWaits::Time deadline, ActivityWaits::Done done) {
    std::make_shared<ActivityQuery>(purpose, deadline, std::move(done))->Start();
  };
}

}  // namespace stampgate
