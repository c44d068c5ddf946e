// Tests that a signer that calls back late, for example because it uses a network, delays only its own call.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/loop/event_loops.h"
#include "base/threads/mutex.h"
#include "gateway/config/config.h"
#include "gateway/config/testing.h"
#include "gateway/metrics/registry.h"
#include "gateway/server/room_metrics.h"
#include "gateway/server/server.h"
#include "gateway/upstream/scripted_server.h"
#include "stamp/request_body.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

constexpr int kCalls = 40;
constexpr absl::Duration kHang = absl::Seconds(60);

// Waits until all kCalls calls have requested a signature. After that, signs for all of these calls on its own thread.
// If one call waited for the signature of another call, this signer would never sign.
class PatientSigner : public Signer {
 public:
  ~PatientSigner() override {
    if (thread_.joinable()) thread_.join();
  }

  absl::string_view public_key_hex() const override { return "02"; }
  absl::string_view scheme() const override { return "SIGNATURE_SCHEME_TK_API_P256"; }

  void Sign(const RequestBody&, Done done) const override {
    MutexLock lock(mutex_);
    waiting_.push_back(std::move(done));
    if (waiting_.size() < kCalls) return;
    thread_ = std::thread([waiting = std::move(waiting_)]() mutable {
      for (Done& one : waiting) std::move(one)(std::string("00"));
    });
    waiting_.clear();
  }

 private:
  mutable Mutex mutex_;
  mutable std::vector<Done> waiting_ ABSL_GUARDED_BY(mutex_);
  mutable std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

constexpr char kAnswer[] =
    R"({"policy":{"policyId":"p","policyName":"n","effect":"EFFECT_ALLOW","notes":"","createdAt":{"seconds":"1","nanos":"0"},"updatedAt":{"seconds":"1","nanos":"0"}}})";

TEST(SlowSignerTest, ASlowSignatureDelaysNoOtherCall) {
  ScriptedServer upstream(ScriptedServer::Always(
      absl::StrCat("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ", sizeof(kAnswer) - 1,
                   "\r\n\r\n", kAnswer)));
  const absl::StatusOr<ParsedConfig> parsed = ParseConfig(TestSnapshot(
      absl::StrCat("listen_address: 127.0.0.1:0\n", "upstream: {base_url: 'http://127.0.0.1:", upstream.port(), "'}\n",
                   "keys: [{name: slow, file: none, all_organizations: true}]\n",
                   "callers: [{name: c, loopback: true, grants: [{classes: [query], all_organizations: true}]}]\n"),
      "config.yaml"));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Config& config = parsed->config;
  auto access = std::make_shared<Access>();
  access->operations = testing::SharedOperations();
  access->keys.Add(config->keys(0), std::make_shared<PatientSigner>());
  access->callers = CallerDirectory(*config, access->operations->set());
  const CurrentAccess current(std::move(access));
  MetricRegistry registry;
  RoomMetrics metrics(registry, "1");
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(config, {.access = current, .metrics = metrics, .loops = std::make_shared<EventLoops>(2)});
  ASSERT_TRUE(server.ok()) << server.status();

  grpc::GenericStub stub(grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials()));
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer response;
    grpc::Status status;
  };
  const auto request =
      testing::MessageOf("stampgate.v1.GetPolicyRequest", R"pb(organization_id: "o" policy_id: "p")pb");
  std::vector<Call> calls(kCalls);
  Mutex mutex;
  Condition changed;
  int ended = 0;
  for (Call& call : calls) {
    call.context.set_deadline(absl::ToChronoTime(absl::Now() + kHang));
    const grpc::Slice bytes(request->SerializeAsString());
    call.request = grpc::ByteBuffer(&bytes, 1);
    stub.UnaryCall(&call.context, "/stampgate.v1.PolicyService/GetPolicy", {}, &call.request, &call.response,
                   [&](grpc::Status status) {
                     call.status = std::move(status);
                     MutexLock lock(mutex);
                     ++ended;
                     changed.WakeOne();
                   });
  }
  MutexLock lock(mutex);
  while (ended != kCalls) changed.Wait(mutex);
  for (const Call& call : calls) {
    EXPECT_TRUE(call.status.ok()) << call.status.error_message();
    grpc::Slice bytes;
    ASSERT_TRUE(call.response.DumpToSingleSlice(&bytes).ok());
    const auto response = testing::MessageIn("stampgate.v1.GetPolicyResponse",
                                             {reinterpret_cast<const char*>(bytes.begin()), bytes.size()});
    EXPECT_EQ(testing::ValueAt(*response, "policy.policy_id"), "p");
  }
}

}  // namespace
}  // namespace stampgate
