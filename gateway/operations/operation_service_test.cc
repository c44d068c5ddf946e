#include "gateway/operations/operation_service.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/rpc_method.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/calls/call_trace.h"
#include "gateway/operations/testing.h"
#include "translate/operation_table.h"

namespace stampgate {
namespace {

using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kGetPolicy[] = "/stampgate.v1.PolicyService/GetPolicy";
constexpr char kCreatePolicies[] = "/stampgate.v1.PolicyService/CreatePolicies";

std::chrono::system_clock::time_point Hang() { return std::chrono::system_clock::now() + std::chrono::minutes(1); }

grpc::ByteBuffer Message() {
  const grpc::Slice slice(std::string("\x0a\x01o"));
  return {&slice, 1};
}

// Returns a table that has only the operation of one method.
std::shared_ptr<const OperationTable> TableOf(absl::string_view full_name) {
  std::vector<ApiMethod> methods = OperationSet::BuiltIn()->methods();
  methods.erase(std::remove_if(methods.begin(), methods.end(),
                               [&](const ApiMethod& method) { return method.full_name != full_name; }),
                methods.end());
  absl::StatusOr<std::unique_ptr<const OperationTable>> table =
      OperationTable::Create("Service", OperationSet::BuiltIn(), methods);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

// The server of these tests has gRPC's own port, so its clients are strangers: a call whose handler runs ends with
// UNAUTHENTICATED.
class OperationServiceTest : public CallTest {
 protected:
  struct Ended {
    StatusCode code;
    bool has_request_id;
  };

  OperationServiceTest() {
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    channel_ = server_->InProcessChannel(grpc::ChannelArguments());
  }

  ~OperationServiceTest() override { Shutdown(); }

  void Shutdown() {
    if (server_ == nullptr) return;
    channel_ = nullptr;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_ = nullptr;
  }

  Ended Call(const std::string& method) {
    grpc::ClientContext context;
    context.set_deadline(Hang());
    const grpc::ByteBuffer request = Message();
    grpc::ByteBuffer response;
    std::promise<grpc::Status> status;
    grpc::GenericStub(channel_).UnaryCall(&context, method, {}, &request, &response,
                                          [&](grpc::Status result) { status.set_value(std::move(result)); });
    return EndOf(status.get_future().get(), context);
  }

  // Makes a call that sends `messages` messages. Then ends the request or, if `cancel`, cancels the call.
  Ended Stream(const char* method, int messages, bool cancel = false) {
    grpc::ClientContext context;
    context.set_deadline(Hang());
    const grpc::internal::RpcMethod rpc(method, grpc::internal::RpcMethod::BIDI_STREAMING, channel_);
    const std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream(
        grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(channel_.get(), rpc,
                                                                                              &context));
    for (int i = 0; i < messages; ++i) stream->Write(Message());
    if (cancel) {
      context.TryCancel();
    } else {
      stream->WritesDone();
    }
    return EndOf(stream->Finish(), context);
  }

  CallsInFlight<grpc::CallbackServerContext>& in_flight() { return environment().in_flight; }

 private:
  static Ended EndOf(const grpc::Status& status, const grpc::ClientContext& context) {
    return {status.error_code(), context.GetServerTrailingMetadata().count(kRequestId) > 0};
  }

  OperationService service_{environment()};
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(OperationServiceTest, ServesEveryOperationAndPrepare) {
  std::vector<std::string> names = {"/stampgate.v1.StampService/Prepare"};
  for (const Operation& operation : operations()->operations()) names.push_back(operation.full_name);
  for (const std::string& name : names) {
    const Ended ended = Call(name);
    EXPECT_EQ(ended.code, StatusCode::UNAUTHENTICATED) << name;
    EXPECT_TRUE(ended.has_request_id) << name;
  }
}

TEST_F(OperationServiceTest, AnUnknownMethodEndsWithUnimplementedAndIsNoCall) {
  for (const char* method : {"/stampgate.v1.PolicyService/GetNothing", "/stampgate.v1.StampService/Nothing",
                             "/stampgate.v1.EventService/Subscribe", "/no.Service/Method", "/", "nothing"}) {
    const Ended ended = Call(method);
    EXPECT_EQ(ended.code, StatusCode::UNIMPLEMENTED) << method;
    EXPECT_FALSE(ended.has_request_id) << method;
  }
  Shutdown();
  EXPECT_THAT(LogEvents(), IsEmpty());
}

TEST_F(OperationServiceTest, ServesTheTableInForce) {
  SetOperations(TableOf(kGetPolicy));
  EXPECT_EQ(Call(kGetPolicy).code, StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Call(kCreatePolicies).code, StatusCode::UNIMPLEMENTED);
  SetOperations(TableOf(kCreatePolicies));
  EXPECT_EQ(Call(kGetPolicy).code, StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Call(kCreatePolicies).code, StatusCode::UNAUTHENTICATED);
}

TEST_F(OperationServiceTest, TheHandlerRunsForZeroOneAndTwoMessages) {
  for (int messages = 0; messages < 3; ++messages) {
    const Ended ended = Stream(kGetPolicy, messages);
    EXPECT_EQ(ended.code, StatusCode::UNAUTHENTICATED) << messages;
    EXPECT_TRUE(ended.has_request_id) << messages;
  }
}

TEST_F(OperationServiceTest, ACallThatIsCancelledBeforeItsMessageEnds) {
  EXPECT_EQ(Stream(kGetPolicy, /*messages=*/0, /*cancel=*/true).code, StatusCode::CANCELLED);
  // The server ends only when all of its calls have ended.
  Shutdown();
  EXPECT_TRUE(in_flight().WaitUntilNone(std::chrono::steady_clock::now()));
}

TEST_F(OperationServiceTest, ACallThatEndsIsNoLongerInFlight) {
  Call(kGetPolicy);
  Stream(kGetPolicy, /*messages=*/1, /*cancel=*/true);
  EXPECT_TRUE(in_flight().WaitUntilNone(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
}

TEST_F(OperationServiceTest, ADrainRefusesCalls) {
  in_flight().Drain();
  const Ended ended = Call(kGetPolicy);
  EXPECT_EQ(ended.code, StatusCode::UNAVAILABLE);
  EXPECT_TRUE(ended.has_request_id);
  EXPECT_EQ(Call("/no.Service/Method").code, StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(in_flight().WaitUntilNoneRefused(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
  EXPECT_THAT(LogEvents(), ElementsAre("call_refused"));
  EXPECT_THAT(LogMethods(), ElementsAre(kGetPolicy));
}

}  // namespace
}  // namespace stampgate
