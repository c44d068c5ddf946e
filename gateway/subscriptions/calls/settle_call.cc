#include "gateway/subscriptions/calls/settle_call.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/subscriptions/calls/delivery_token.h"
#include "gateway/subscriptions/calls/method.h"
#include "gateway/subscriptions/calls/unary_call.h"
#include "translate/error.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

// Checks that the request has only the options of its outcome.
absl::Status CheckOptions(const SettleFields& fields, const ParsedMessage& request, SettleOutcome outcome) {
  Violations violations;
  const auto check = [&](const FieldPlan& field, SettleOutcome allowed, const char* name) {
    if (outcome == allowed || !request.Has(field)) return;
    violations.Add([&] {
      return Violation{std::string(field.field->name()), std::string("may be set only with the outcome ") + name};
    });
  };
  check(*fields.retry_delay_ms, SettleOutcome::kRetry, "SETTLE_OUTCOME_RETRY");
  check(*fields.park_reason, SettleOutcome::kPark, "SETTLE_OUTCOME_PARK");
  return violations.empty() ? absl::OkStatus() : ViolationError(std::move(violations));
}

std::string EncodeSuperseded(const UnaryCall& call, const std::vector<size_t>& superseded) {
  const SettleFields& fields = call.environment().messages.settle();
  const absl::Span<const FieldValue> tokens = call.request().Values(*fields.tokens);
  WireWriter out;
  for (const size_t index : superseded) {
    out.String(call.environment().messages.responses().settle_superseded_tokens, tokens[index].text());
  }
  return out.Take();
}

void SettleDeliveries(const std::shared_ptr<UnaryCall>& call) {
  const SettleFields& fields = call->environment().messages.settle();
  const ParsedMessage& request = call->request();
  const SettleOutcome outcome = fields.outcomes.at(request.Number(*fields.outcome));
  if (absl::Status status = CheckOptions(fields, request, outcome); !status.ok()) return call->End(status);
  const absl::StatusOr<std::vector<DeliveryId>> deliveries =
      ReadDeliveryTokens(call->log().identity, call->subscription().name(), *fields.tokens, request);
  if (!deliveries.ok()) return call->End(deliveries.status());
  const absl::Duration delay = absl::Milliseconds(request.Number(*fields.retry_delay_ms));
  call->subscription().Settle(*deliveries, outcome, delay, std::string(request.Text(*fields.park_reason)),
                              [call](absl::StatusOr<std::vector<size_t>> superseded) {
                                if (!superseded.ok()) return call->End(superseded.status());
                                call->Respond(EncodeSuperseded(*call, *superseded));
                              });
}

}  // namespace

void Settle(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
            const grpc::ByteBuffer& request, OnEventResponse on_response) {
  UnaryCall::Start(environment, std::move(identity), trace, request, std::move(on_response),
                   {.name = kSettle,
                    .request = environment.messages.settle(),
                    .recorded = UnaryCall::Recorded::kNot,
                    .step = SettleDeliveries});
}

}  // namespace stampgate
