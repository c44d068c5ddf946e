// Tests that calls on connections over TLS end by themselves before gRPC closes connections because of their age.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/client_callback.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/http/current_tls.h"
#include "base/http/test_certificates.h"
#include "base/loop/event_loops.h"
#include "gateway/config/config.h"
#include "gateway/config/testing.h"
#include "gateway/metrics/registry.h"
#include "gateway/server/room_metrics.h"
#include "gateway/server/server.h"
#include "gateway/upstream/scripted_server.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "stamp/request_body.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

constexpr absl::Duration kHang = absl::Minutes(5);

// gRPC asks for a new connection after about a second, and would close this one long after the test. What ends earlier,
// the gateway has ended.
constexpr ConnectionAges kAges = {
    .goaway = absl::Seconds(1), .end_of_streams = absl::Seconds(2), .grace = absl::Hours(1)};

constexpr char kPending[] =
    R"({"activity":{"id":"a-1","organizationId":"o","status":"ACTIVITY_STATUS_PENDING","type":"ACTIVITY_TYPE_CREATE_POLICIES"}})";

class FakeSigner : public Signer {
 public:
  absl::string_view public_key_hex() const override { return "02"; }
  absl::string_view scheme() const override { return "SIGNATURE_SCHEME_TK_API_P256"; }
  void Sign(const RequestBody&, Done done) const override { std::move(done)(std::string("00")); }
};

// Reads the messages of a subscription until it ends.
class Subscriber : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Subscriber(const std::shared_ptr<grpc::Channel>& channel, const std::string& start) {
    const auto request = testing::MessageOf("stampgate.v1.SubscribeRequest", start);
    const grpc::Slice bytes(request->SerializeAsString());
    request_ = grpc::ByteBuffer(&bytes, 1);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + kHang));
    grpc::GenericStub stub(channel);
    stub.PrepareBidiStreamingCall(&context_, "/stampgate.v1.EventService/Subscribe", {}, this);
    StartWriteLast(&request_, {});
    StartRead(&message_);
    StartCall();
  }

  // Waits until the subscription has ended.
  grpc::Status End() { return status_.get_future().get(); }
  // Returns how many messages have arrived.
  int messages() const { return messages_; }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    ++messages_;
    StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override { status_.set_value(status); }

  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer message_;
  std::atomic<int> messages_ = 0;
  std::promise<grpc::Status> status_;
};

// A call that waits for the end of an activity, which does not end.
class WaitingCall {
 public:
  explicit WaitingCall(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {
    const auto request =
        testing::MessageOf("stampgate.v1.CreatePoliciesRequest",
                           R"pb(organization_id: "o"
                                wait_until: WAIT_UNTIL_FINAL
                                parameters { policies { policy_name: "n" effect: EFFECT_ALLOW notes: "" } })pb");
    const grpc::Slice bytes(request->SerializeAsString());
    request_ = grpc::ByteBuffer(&bytes, 1);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + kHang));
    stub_.UnaryCall(&context_, "/stampgate.v1.PolicyService/CreatePolicies", {}, &request_, &response_,
                    [this](grpc::Status status) { status_.set_value(std::move(status)); });
  }

  // Waits for the end of the call, and returns the status of the activity in its response.
  std::string ActivityStatus() {
    const grpc::Status status = status_.get_future().get();
    if (!status.ok()) return status.error_message();
    grpc::Slice bytes;
    EXPECT_TRUE(response_.DumpToSingleSlice(&bytes).ok());
    const auto message = testing::MessageIn("stampgate.v1.CreatePoliciesResponse",
                                            {reinterpret_cast<const char*>(bytes.begin()), bytes.size()});
    return testing::ValueAt(*message, "activity.status");
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::promise<grpc::Status> status_;
};

// Returns the details in `status`; an empty message if there are none.
google::rpc::ErrorInfo InfoOf(const grpc::Status& status) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (!details.ParseFromString(status.error_details())) return info;
  for (const auto& detail : details.details()) {
    if (!detail.Is<google::rpc::ErrorInfo>()) continue;
    EXPECT_TRUE(detail.UnpackTo(&info));
  }
  return info;
}

class AgedConnectionsTest : public ::testing::Test {
 protected:
  // A call waits for the end of an activity for at most `max_wait`.
  void Start(const ConnectionAges& ages, const std::string& max_wait = "5s") {
    const TlsFiles files = {.certificate_file = folder_.Write("tls.crt", server_identity_.certificate),
                            .private_key_file = folder_.Write("tls.key", server_identity_.key),
                            .client_ca_file = folder_.Write("ca.crt", authority_.certificate())};
    absl::StatusOr<std::unique_ptr<CurrentTls>> tls = CurrentTls::Load(files, TlsProtocol::kHttp2, absl::Now());
    ASSERT_TRUE(tls.ok()) << tls.status();
    tls_ = *std::move(tls);
    const absl::StatusOr<ParsedConfig> parsed = ParseConfig(TestSnapshot(
        absl::StrCat("listen_address: 127.0.0.1:0\n", "upstream: {base_url: 'http://127.0.0.1:", upstream_.port(),
                     "'}\n", "tls: {certificate_file: '", files.certificate_file, "', private_key_file: '",
                     files.private_key_file, "', client_ca_file: '", files.client_ca_file, "'}\n",
                     "store: {sqlite: {folder: '", folder_.Path("."), "'}}\n", "activities: {max_wait: ", max_wait,
                     "}\n", "keys: [{name: k, file: none, all_organizations: true}]\n",
                     "callers: [{name: c, spiffe_ids: ['spiffe://test/c'], grants: [{classes: [dangerous, events], "
                     "all_organizations: true}]}]\n"),
        "config.yaml"));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const Config& config = parsed->config;
    auto access = std::make_shared<Access>();
    access->operations = testing::SharedOperations();
    access->keys.Add(config->keys(0), std::make_shared<FakeSigner>());
    access->callers = CallerDirectory(*config, access->operations->set());
    access_.Set(std::move(access));
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(config, {.access = access_,
                                                                            .metrics = metrics_,
                                                                            .loops = std::make_shared<EventLoops>(2),
                                                                            .tls = tls_.get(),
                                                                            .ages = ages});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority_.certificate();
    options.pem_cert_chain = client_.certificate;
    options.pem_private_key = client_.key;
    channel_ = grpc::CreateChannel(absl::StrCat("ipv4:", server_->address()), grpc::SslCredentials(options));
  }

  const TestAuthority authority_{"authority"};
  const TestIdentity server_identity_ = authority_.IssueServer();
  const TestIdentity client_ = authority_.Issue({.names = {{GEN_URI, "spiffe://test/c"}}});
  const TestFolder folder_;
  ScriptedServer upstream_{ScriptedServer::Always(JsonResponse(kPending))};
  std::unique_ptr<CurrentTls> tls_;
  CurrentAccess access_{nullptr};
  MetricRegistry registry_;
  RoomMetrics metrics_{registry_, "1"};
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(AgedConnectionsTest, ASubscriptionEndsWithItsCursorAndContinuesOnAnotherConnection) {
  Start(kAges);
  std::string start = "end: LOG_END_EARLIEST";
  for (int i = 0; i < 2; ++i) {
    Subscriber subscriber(channel_, start);
    const grpc::Status end = subscriber.End();
    EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE) << end.error_message();
    const google::rpc::ErrorInfo info = InfoOf(end);
    EXPECT_EQ(info.reason(), "SHUTTING_DOWN");
    EXPECT_GE(subscriber.messages(), 1);
    ASSERT_TRUE(info.metadata().contains("cursor"));
    start = absl::StrCat("cursor: '", info.metadata().at("cursor"), "'");
  }
}

// The wait lasts longer than the age at which gRPC asks for a new connection, and at which streams end.
TEST_F(AgedConnectionsTest, AWaitForTheEndOfAnActivityIsNotCut) {
  Start(kAges);
  EXPECT_EQ(WaitingCall(channel_).ActivityStatus(), "ACTIVITY_STATUS_PENDING");
}

// Shows that gRPC would close the connection of a stream that the gateway does not end, and that its caller would then
// get no cursor.
TEST_F(AgedConnectionsTest, GrpcClosesAConnectionWhoseStreamDoesNotEnd) {
  Start({.goaway = absl::Seconds(1), .grace = absl::Seconds(1)});
  Subscriber subscriber(channel_, "end: LOG_END_EARLIEST");
  const grpc::Status end = subscriber.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE) << end.error_message();
  EXPECT_EQ(InfoOf(end).reason(), "");
}

// Otherwise the wait would last for ten minutes, and the subscription until the next heartbeat. The connection ends
// four seconds after the change of the policy.
TEST_F(AgedConnectionsTest, TheCallsOfACallerThatIsRemovedEndBeforeItsConnectionDoes) {
  Start({}, "10m");
  Subscriber subscriber(channel_, "end: LOG_END_EARLIEST");
  WaitingCall call(channel_);
  const absl::Time bound = absl::Now() + kHang;
  while (subscriber.messages() == 0 || upstream_.requests().empty()) {
    ASSERT_LT(absl::Now(), bound);
    absl::SleepFor(absl::Milliseconds(1));
  }
  auto access = std::make_shared<Access>();
  access->operations = testing::SharedOperations();
  access_.Set(std::move(access));
  server_->DismissStrangers();
  const grpc::Status end = subscriber.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAUTHENTICATED) << end.error_message();
  EXPECT_EQ(InfoOf(end).reason(), "CALLER_NOT_RECOGNIZED");
  EXPECT_EQ(call.ActivityStatus(), "ACTIVITY_STATUS_PENDING");
}

}  // namespace
}  // namespace stampgate
