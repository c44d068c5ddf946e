#include "gateway/reflection/service.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/loop/event_loops.h"
#include "base/threads/mutex.h"
#include "gateway/callers/directory.h"
#include "gateway/calls/call_lines.h"
#include "gateway/calls/call_metrics.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/grpc_port/grpc_port.h"
#include "gateway/metrics/registry.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using grpc::StatusCode;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using ::testing::ElementsAre;
using testing::Proto;

constexpr char kV1[] = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
constexpr char kV1Alpha[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

std::chrono::system_clock::time_point Deadline() { return std::chrono::system_clock::now() + std::chrono::minutes(1); }

ServerReflectionRequest ListServices() { return Proto<ServerReflectionRequest>("list_services: '*'"); }
ServerReflectionRequest Describe(const std::string& symbol) {
  return Proto<ServerReflectionRequest>(absl::StrCat("file_containing_symbol: '", symbol, "'"));
}

// One stream of a client. No function blocks for longer than a minute.
class ClientStream {
 public:
  ClientStream(const std::shared_ptr<grpc::Channel>& channel, const char* method) {
    context_.set_deadline(Deadline());
    const grpc::internal::RpcMethod rpc(method, grpc::internal::RpcMethod::BIDI_STREAMING, channel);
    stream_.reset(grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
        channel.get(), rpc, &context_));
  }

  bool Send(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    return stream_->Write(grpc::ByteBuffer(&slice, 1));
  }
  bool Send(const ServerReflectionRequest& request) { return Send(request.SerializeAsString()); }

  // Returns the bytes of the next response, or nullopt if the stream has ended.
  std::optional<std::string> Receive() {
    grpc::ByteBuffer buffer;
    grpc::Slice slice;
    if (!stream_->Read(&buffer) || !buffer.DumpToSingleSlice(&slice).ok()) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }

  // Sends a request, and returns the bytes of its response.
  std::optional<std::string> Ask(const ServerReflectionRequest& request) {
    return Send(request) ? Receive() : std::nullopt;
  }

  void EndSending() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }

  // Waits for the end of a stream that has no further response.
  StatusCode End() { return stream_->Finish().error_code(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
};

class ReflectionServiceTest : public ::testing::Test {
 protected:
  ReflectionServiceTest() { SetCallers("callers { name: 'reader' loopback: true }"); }

  ~ReflectionServiceTest() override {
    channel_ = nullptr;
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  void SetCallers(const std::string& callers) {
    auto access = std::make_shared<Access>();
    access->operations = testing::SharedOperations();
    access->callers = CallerDirectory(Proto<config::v1::Config>(callers), access->operations->set());
    access_.Set(std::move(access));
  }

  void Start(const OpenStreams::Options& streams = {}, size_t max_streams_per_caller = 250) {
    service_.emplace(ReflectionService::Options{.access = access_,
                                                .recorders = {nullptr, disk_waits_, call_metrics_, &call_lines_},
                                                .in_flight = in_flight_,
                                                .random = [] { return 1; },
                                                .max_streams_per_caller = max_streams_per_caller,
                                                .streams = streams});
    grpc::ServerBuilder builder;
    auto port = GrpcPort::Create({.address = "127.0.0.1:0"}, loops_, builder);
    ASSERT_TRUE(port.ok()) << port.status();
    port_ = *std::move(port);
    builder.RegisterService(&*service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    port_->Open();
    // Otherwise the client's window could grow until it holds all responses of a test.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    channel_ = grpc::CreateCustomChannel(port_->address(), grpc::InsecureChannelCredentials(), arguments);
  }

  std::unique_ptr<ClientStream> Open(const char* method = kV1) const {
    return std::make_unique<ClientStream>(channel_, method);
  }

  bool AllEnded() { return in_flight_.WaitUntilNone(std::chrono::steady_clock::now() + std::chrono::minutes(1)); }

  // The events of the log lines about the calls that have ended.
  std::vector<std::string> Lines() const {
    MutexLock lock(mutex_);
    return lines_;
  }

  CurrentAccess access_{nullptr};
  MetricRegistry registry_;
  CallMetrics call_metrics_{registry_};
  DiskWaits disk_waits_;
  mutable Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  CallLines call_lines_{{.every_call = true,
                         .now = [] { return absl::UnixEpoch(); },
                         .write =
                             [this](Severity, absl::string_view event, const LogFields&) {
                               MutexLock lock(mutex_);
                               lines_.emplace_back(event);
                             }}};
  CallsInFlight<grpc::CallbackServerContext> in_flight_;
  std::optional<ReflectionService> service_;
  const std::shared_ptr<EventLoops> loops_ = std::make_shared<EventLoops>(1);
  std::unique_ptr<GrpcPort> port_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(ReflectionServiceTest, AnswersTheRequestsOfAStreamInTheirOrder) {
  Start();
  const auto stream = Open();
  for (const char* symbol : {"grpc.health.v1.Health", "nothing", "stampgate.v1.WalletService"}) {
    ASSERT_TRUE(stream->Send(Describe(symbol)));
  }
  for (const char* symbol : {"grpc.health.v1.Health", "nothing", "stampgate.v1.WalletService"}) {
    ServerReflectionResponse response;
    ASSERT_TRUE(response.ParseFromString(stream->Receive().value_or("none")));
    EXPECT_EQ(response.original_request().file_containing_symbol(), symbol);
  }
  stream->EndSending();
  EXPECT_EQ(stream->Receive(), std::nullopt);
  EXPECT_EQ(stream->End(), StatusCode::OK);
  EXPECT_TRUE(AllEnded());
  EXPECT_THAT(Lines(), ElementsAre("call_ended"));
}

TEST_F(ReflectionServiceTest, BothVersionsGiveEqualAnswers) {
  Start();
  const auto v1 = Open(kV1);
  const auto alpha = Open(kV1Alpha);
  for (const ServerReflectionRequest& request :
       {ListServices(), Describe("grpc.reflection.v1.ServerReflection"), Describe("nothing"), ServerReflectionRequest(),
        Proto<ServerReflectionRequest>("host: 'h' file_by_filename: 'stampgate/v1/options.proto'"),
        Proto<ServerReflectionRequest>("all_extension_numbers_of_type: 'google.protobuf.FieldOptions'")}) {
    const std::optional<std::string> answer = v1->Ask(request);
    ASSERT_TRUE(answer.has_value()) << request.DebugString();
    EXPECT_EQ(answer, alpha->Ask(request)) << request.DebugString();
  }
}

TEST_F(ReflectionServiceTest, AnUnknownCallerGetsUnauthenticated) {
  Start();
  SetCallers("callers { name: 'other' dns_names: 'other.example' }");
  for (const char* method : {kV1, kV1Alpha}) {
    const auto stream = Open(method);
    EXPECT_EQ(stream->Ask(ListServices()), std::nullopt);
    EXPECT_EQ(stream->End(), StatusCode::UNAUTHENTICATED);
  }
  EXPECT_TRUE(AllEnded());
  EXPECT_THAT(Lines(), ElementsAre("call_refused", "call_refused"));
}

TEST_F(ReflectionServiceTest, ARequestThatIsTooLongOrNoMessageEndsTheStream) {
  Start();
  for (const std::string& bytes : {Describe(std::string(4096, 'a')).SerializeAsString(), std::string("\x08")}) {
    const auto stream = Open();
    ASSERT_TRUE(stream->Ask(ListServices()).has_value());
    EXPECT_TRUE(stream->Send(bytes));
    EXPECT_EQ(stream->Receive(), std::nullopt);
    EXPECT_EQ(stream->End(), StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(ReflectionServiceTest, RefusesStreamsAboveTheLimitOfACallerUntilOneEnds) {
  Start({}, /*max_streams_per_caller=*/2);
  const auto first = Open();
  const auto second = Open(kV1Alpha);
  ASSERT_TRUE(first->Ask(ListServices()).has_value());
  ASSERT_TRUE(second->Ask(ListServices()).has_value());
  const auto refused = Open();
  EXPECT_EQ(refused->Ask(ListServices()), std::nullopt);
  EXPECT_EQ(refused->End(), StatusCode::RESOURCE_EXHAUSTED);
  first->EndSending();
  EXPECT_EQ(first->End(), StatusCode::OK);
  // The caller can learn of the end before the gateway has counted it.
  std::optional<std::string> answer;
  for (const absl::Time end = absl::Now() + absl::Minutes(1); !answer.has_value() && absl::Now() < end;) {
    answer = Open()->Ask(ListServices());
  }
  EXPECT_TRUE(answer.has_value());
}

TEST_F(ReflectionServiceTest, AnIdleStreamEndsWithOk) {
  Start({.idle_timeout = absl::Milliseconds(100)});
  const auto silent = Open();
  EXPECT_EQ(silent->Receive(), std::nullopt);
  EXPECT_EQ(silent->End(), StatusCode::OK);
  const auto asked = Open();
  EXPECT_TRUE(asked->Ask(ListServices()).has_value());
  EXPECT_EQ(asked->Receive(), std::nullopt);
  EXPECT_EQ(asked->End(), StatusCode::OK);
}

TEST_F(ReflectionServiceTest, AStreamWhoseCallerDoesNotReadIsCancelled) {
  Start({.idle_timeout = absl::Milliseconds(500)});
  // On a busy machine, this thread can be so slow that the stream is idle before the responses fill the window.
  StatusCode code = StatusCode::OK;
  for (int tries = 0; code == StatusCode::OK && tries < 50; ++tries) {
    const auto stream = Open();
    // The responses are larger than the flow-control window of HTTP/2, so the gateway cannot send all of them.
    for (int i = 0; i < 200; ++i) stream->Send(Describe("stampgate.v1.WalletService"));
    ASSERT_TRUE(AllEnded());
    while (stream->Receive().has_value()) continue;
    code = stream->End();
  }
  EXPECT_EQ(code, StatusCode::CANCELLED);
}

TEST_F(ReflectionServiceTest, ADrainEndsOpenStreamsAndRefusesNewOnes) {
  Start();
  const auto open = Open();
  ASSERT_TRUE(open->Ask(ListServices()).has_value());
  in_flight_.Drain();
  service_->Drain();
  EXPECT_EQ(open->Receive(), std::nullopt);
  EXPECT_EQ(open->End(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(AllEnded());
  const auto late = Open();
  EXPECT_EQ(late->Ask(ListServices()), std::nullopt);
  EXPECT_EQ(late->End(), StatusCode::UNAVAILABLE);
}

TEST_F(ReflectionServiceTest, AStreamThatItsCallerCancelsEnds) {
  Start();
  {
    const auto stream = Open();
    ASSERT_TRUE(stream->Ask(ListServices()).has_value());
    stream->Cancel();
    EXPECT_EQ(stream->End(), StatusCode::CANCELLED);
  }
  EXPECT_TRUE(AllEnded());
}

}  // namespace
}  // namespace stampgate
