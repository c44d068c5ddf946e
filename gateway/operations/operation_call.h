// One call of an operation, from the authenticated caller to the reply.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_OPERATION_CALL_H_
#define STAMPGATE_GATEWAY_OPERATIONS_OPERATION_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/loop/event_loop.h"
#include "base/threads/mutex.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/trace_context.h"
#include "gateway/memory/account.h"
#include "gateway/memory/held_bytes.h"
#include "gateway/operations/authorization.h"
#include "gateway/operations/dispatch.h"
#include "gateway/operations/environment.h"
#include "gateway/operations/keyed_submit.h"
#include "gateway/operations/unary_handler.h"
#include "gateway/store/call_store.h"
#include "gateway/upstream/client.h"
#include "gateway/waiting/activity_waits.h"
#include "stamp/client_stamp.h"
#include "stamp/request_body.h"
#include "stamp/stamped_request.h"
#include "translate/activity_summary.h"
#include "translate/message/parsed_message.h"
#include "translate/message/request_memory.h"
#include "translate/operation_table.h"
#include "translate/request_translator.h"
#include "translate/response_translator.h"
#include "translate/upstream_error.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Handles one call. A shared_ptr must own this object. It lives until the reply or, if the exchange with upstream
// continues after the reply, until the outcome is recorded.
//
// Only one step runs at a time, but Cancel can run at the same time as a step. The thread that calls Start runs the
// first steps, usually the event loop of the caller's connection. After a step that waits for a disk or for a slow
// signer, this loop runs the next steps. The loop on which the exchange with upstream began, which is nearly always the
// same one, translates the outcome and replies.
class OperationCall final : public UnaryHandler, public std::enable_shared_from_this<OperationCall> {
 public:
  // `environment` must outlive this. `operation` must be an operation of `operations`. `holder` counts what the call
  // holds, and may be null.
  OperationCall(const CallEnvironment& environment, std::shared_ptr<const OperationTable> operations,
                const Operation& operation, const TraceContext& trace, Reply reply,
                std::shared_ptr<MemoryHolder> holder = nullptr);

  void Start(absl::StatusOr<KnownCaller> caller, const std::string& stranger, const grpc::ByteBuffer& request,
             absl::Duration time_left) override;

  void Cancel() override;

  // Ends the wait for the end of the activity: the caller gets the activity as upstream has responded.
  void Dismiss() override;

 private:
  // The ways in which the gateway can send the request.
  struct Discover {};  // sends a GET without a stamp
  struct Forward {     // sends a POST with the client's stamp
    ClientStamp stamp;
  };
  struct SignWith {  // sends a POST with the stamp of a key of the gateway
    const NamedSigner* key = nullptr;
  };

  // The answer of the call store, and what the call had rendered before it asked the store.
  struct StoreAnswer {
    RenderedRequest rendered;
    absl::Status fit;  // see Remember
    absl::StatusOr<CallStore::Begun> begun;
  };

  // The steps, in the order in which they run. If a step fails, the call ends with the step's status.
  absl::Status Authenticate(absl::StatusOr<KnownCaller> caller, const std::string& stranger);
  absl::Status CheckMethod();
  absl::Status Decode(const grpc::ByteBuffer& bytes);
  absl::Status CheckGrants();
  absl::Status Validate();
  absl::Status Authorize();
  absl::Status SetDeadline(absl::Duration time_left);
  absl::Status ChooseKey();
  void Admit();
  void Render();
  void Remember(RenderedRequest rendered, absl::Status fit);
  void OnDecided();
  void OnRemembered(StoreAnswer answer);
  void OnBegun(StoreAnswer answer);
  void Record();
  void OnRecorded(const absl::Status& recorded);
  void OnWritten();
  void ObserveWrite(Histogram& write, absl::Time began);
  void SendAs(const Discover& way);
  void SendAs(const Forward& way);
  void SendAs(const SignWith& way);
  void Sign(const NamedSigner& key);
  void OnSigned(absl::StatusOr<StampedRequest> request);
  void Send(StampedRequest request);
  void OnOutcome(UpstreamOutcome outcome);
  void OnLateOutcome(UpstreamOutcome outcome);
  void AnnounceWait();
  std::shared_ptr<ActivityWait> AnnouncedWait();
  void EndWait(WaitEnd end);
  bool WaitsForEnd() const;
  void WaitForEnd(TranslatedResponse response, bool urgent);
  void OnWaitEnd(const ActivityWaits::Ended& ended);
  void Answer(const absl::StatusOr<TranslatedResponse>& response);
  void End(const absl::Status& status, const grpc::ByteBuffer& response = {});
  absl::Status Hold(size_t bytes);

  void FixBody(uint64_t timestamp_ms, RequestBody body);
  void EndUnsent(const absl::Status& status);
  void EndAttempt(const std::optional<TransportFailure>& failure, const absl::Status& status,
                  const ActivitySummary& activity);
  RequestedOperation Requested() const;
  SentCall Sent() const;
  CallFacts Facts(const ActivitySummary& activity) const;
  void TraceRequest(absl::string_view http_method);
  bool EndIfCallerLeft();

  const CallEnvironment& environment_;
  const std::shared_ptr<const OperationTable> operations_;
  const Operation& operation_;  // of operations_
  EventLoop& loop_;             // the loop of the call
  const TraceContext trace_;
  Reply reply_;
  CallRecord record_;
  RequestMemory memory_;
  grpc::Slice bytes_;      // of the request; empty from Validate on if a client has stamped it
  ParsedMessage request_;  // refers to bytes_ and memory_; empty until Decode
  HeldBytes held_;         // what memory_ holds, and the body or the response

  KnownCaller caller_;
  bool client_stamped_ = false;
  std::optional<CheckedRequest> checked_;  // set from Validate to Render
  std::variant<Discover, Forward, SignWith> way_;
  Permission permission_;
  UpstreamClient::Clock::time_point started_;
  UpstreamClient::Clock::time_point deadline_;
  // The writes for which the call waits.
  std::optional<absl::Time> store_began_;  // a time of SteadyNow; set while the call store writes
  std::optional<absl::Time> audit_began_;  // a time of SteadyNow; set while the audit log writes
  std::optional<StoreAnswer> stored_;      // set while only the audit log writes
  std::optional<absl::Status> recorded_;   // set when the audit log has written the decision about body_
  std::string path_;
  std::optional<RequestBody> body_;                  // the bytes that are stamped; set from Render to Send
  uint64_t timestamp_ms_ = 0;                        // set for a submit
  std::string fingerprint_;                          // set for a submit
  std::array<uint8_t, 32> request_sha256_ = {};      // set for a submit with an idempotency key
  SubmitAttempt attempt_;                            // set for a submit with an idempotency key
  ActivitySummary activity_;                         // of the response
  UpstreamClient::Clock::time_point wait_deadline_;  // when the call no longer waits for the end of its activity
  TranslatedResponse pending_;                       // the response, while the call waits for the end of its activity
  std::atomic<bool> dismissed_ = false;
  bool goes_on_ = false;  // whether the exchange continues after the reply, until OnLateOutcome

  RequestKind kind_ = RequestKind::kQuery;  // set from Render on
  Dispatch dispatch_;

  Mutex mutex_;
  // Set if the call waits, or will wait, for the end of its activity.
  std::shared_ptr<ActivityWait> wait_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_OPERATION_CALL_H_
