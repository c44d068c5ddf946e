#include "gateway/reflection/reactor.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/callers/authenticator.h"
#include "gateway/callers/peer_of_call.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/call_trace.h"
#include "gateway/calls/caller_quota.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"
#include "gateway/calls/request_message.h"
#include "gateway/memory/held_bytes.h"
#include "gateway/reflection/answers.h"

namespace stampgate {
namespace {

using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

absl::Status Decode(const grpc::ByteBuffer& bytes, grpc::reflection::v1::ServerReflectionRequest& request) {
  if (bytes.Length() <= kMaxReflectionRequestBytes) return DecodeRequest(bytes, request);
  return InvalidRequest(absl::StrCat("the request message is ", bytes.Length(), " bytes long; the limit is ",
                                     kMaxReflectionRequestBytes));
}

absl::Status CallerGone() { return absl::CancelledError("the caller has left"); }

// Deletes itself when gRPC no longer needs it: after Finish, and after gRPC has called every other reaction.
//
// gRPC calls the reactions one after the other, but OpenStreams can end the stream at the same time. `state_` decides
// which of them ends the stream.
class ReflectionReactor : public Reactor, public OpenStreams::Stream {
 public:
  ReflectionReactor(const ReflectionEnvironment& environment, grpc::CallbackServerContext& context, const char* method)
      : environment_(environment),
        context_(context),
        held_(HolderOf(context)),
        record_(environment.recorders, method, TraceOf(context, environment.random)) {}

  void Start() {
    Authenticate(environment_.access, context_, [this](absl::StatusOr<KnownCaller> caller) {
      if (!caller.ok()) {
        record_.DenyStranger(StrangerName(PeerOf(context_)), caller.status());
        return End(caller.status());
      }
      record_.SetCaller(*caller);
      if (absl::Status status = environment_.in_flight.SetCaller(context_, caller->caller->name()); !status.ok()) {
        return End(status);
      }
      absl::StatusOr<CallerShare> share = environment_.quota.TakeFor(caller->caller->name());
      if (!share.ok()) return End(share.status());
      share_ = *std::move(share);
      const auto end = TimeOfAge(context_, environment_.end_of_streams);
      if (absl::Status status = environment_.streams.Open(*this, end); !status.ok()) End(status);
    });
  }

 private:
  enum class State { kReading, kSending, kEnded };

  void Begin() override { StartRead(&request_); }

  void Expire() override {
    if (EndReading(absl::OkStatus())) return;
    // The caller does not read. gRPC could send a status only after the response, so this cancels the call.
    if (state_ == State::kSending) context_.TryCancel();
  }

  void Leave(const absl::Status& why) override { EndReading(why); }

  void OnReadDone(bool ok) override {
    if (!ok) return End(context_.IsCancelled() ? CallerGone() : absl::OkStatus());
    environment_.streams.Touch(*this);
    grpc::reflection::v1::ServerReflectionRequest request;
    if (absl::Status status = Decode(request_, request); !status.ok()) return End(status);
    const auto response = AnswerReflection(environment_.access.Get()->operations->set(), request);
    if (absl::Status status = held_.Resize(response.ByteSizeLong()); !status.ok()) return End(status);
    response_ = EncodeResponse(response);
    State reading = State::kReading;
    if (state_.compare_exchange_strong(reading, State::kSending)) StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(CallerGone());
    response_.Clear();
    held_.Free();
    environment_.streams.Touch(*this);
    state_ = State::kReading;
    // A drain that began during the write has not ended the stream.
    if (absl::Status why = environment_.streams.WhyLeave(*this); !why.ok()) return End(why);
    StartRead(&request_);
  }

  void OnDone() override {
    environment_.streams.Close(*this);
    environment_.in_flight.End(context_);
    delete this;
  }

  // Ends the stream, unless it has ended already.
  void End(const absl::Status& status) {
    if (state_.exchange(State::kEnded) != State::kEnded) Record(status);
  }

  // Ends the stream if it is reading. Returns whether it was reading.
  bool EndReading(const absl::Status& status) {
    State reading = State::kReading;
    if (!state_.compare_exchange_strong(reading, State::kEnded)) return false;
    Record(status);
    return true;
  }

  void Record(const absl::Status& status) {
    record_.End(status);
    Finish(ToGrpcStatus(status));
  }

  const ReflectionEnvironment& environment_;
  grpc::CallbackServerContext& context_;
  HeldBytes held_;  // the message that gRPC is writing
  CallRecord record_;
  std::optional<CallerShare> share_;
  std::atomic<State> state_ = State::kReading;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;  // the message that gRPC is writing
};

}  // namespace

Reactor* StartReflection(const ReflectionEnvironment& environment, grpc::CallbackServerContext* context,
                         const char* method) {
  if (const absl::Status admitted = environment.in_flight.Begin(*context); !admitted.ok()) {
    return new RefusedCall<Reactor>(environment, *context, method, admitted);
  }
  auto* reactor = new ReflectionReactor(environment, *context, method);
  reactor->Start();
  return reactor;
}

}  // namespace stampgate
