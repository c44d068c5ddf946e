#include "gateway/server/grpc_port_options.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/time/duration.h"
#include "gateway/audit/record.h"
#include "gateway/callers/peer.h"
#include "gateway/calls/call_lines.h"
#include "gateway/calls/descriptors_line.h"
#include "gateway/calls/handshake_line.h"
#include "gateway/config/rules/memory_rules.h"
#include "gateway/grpc_port/excess.h"
#include "gateway/memory/account.h"
#include "gateway/process/descriptor_limit.h"
#include "gateway/process/log.h"

namespace stampgate {
namespace {

constexpr int kMillis = 1000;

// The header files of Debian 12's gRPC do not define this name.
constexpr char kAbsoluteMaxMetadataSize[] = "grpc.absolute_max_metadata_size";

// gRPC rejects a call whose metadata is too large. The gateway closes a connection that sends this multiple.
constexpr size_t kHeaderBytesFactor = 4;

void SetAges(const ConnectionAges& ages, grpc::ServerBuilder& builder) {
  if (ages.goaway == absl::InfiniteDuration()) return;
  const auto millis = [](absl::Duration age) { return static_cast<int>(absl::ToInt64Milliseconds(age)); };
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, millis(ages.goaway));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, millis(ages.grace));
}

// Logs that the gateway has ended the connection of `peer`.
void LogConnection(const CallRecorders& recorders, absl::string_view event, const Peer& peer, absl::string_view why) {
  const std::string name = AuditValue(StrangerName(peer));
  if (recorders.lines == nullptr || !recorders.lines->Admit(event, name)) return;
  recorders.lines->WriteLine(Severity::kWarning, event, {{"peer", name}, {"message", std::string(why)}});
}

// Logs a client that has not got into the port. A client with a valid certificate has a line of its identity. All other
// clients, who can be anybody, have fewer lines.
void LogHandshake(const CallRecorders& recorders, const FailedHandshake& failed) {
  if (recorders.lines == nullptr) return;
  const absl::string_view reason = NameOf(failed.failure);
  if (failed.failure != HandshakeFailure::kNoCaller) {
    return LogFailedHandshake(*recorders.lines, {"grpc", failed.address, reason, failed.names, failed.why});
  }
  const std::string name = AuditValue(StrangerName(failed.peer));
  if (!recorders.lines->Admit("connection_refused", name)) return;
  recorders.lines->WriteLine(
      Severity::kWarning, "connection_refused",
      {{"peer", name}, {"address", failed.address}, {"certificate", failed.names}, {"message", failed.why}});
}

}  // namespace

void SetGrpcLimits(const config::v1::Config& config, const ConnectionAges& ages, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(config.calls().max_request_bytes()));
  // Turns off compression, because gRPC decompresses a message before it checks the size.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  const int header_bytes = static_cast<int>(config.connections().max_header_bytes());
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, static_cast<int>(config.connections().max_streams()));
  // gRPC rejects some calls between the two limits at random.
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, header_bytes);
  builder.AddChannelArgument(kAbsoluteMaxMetadataSize, header_bytes);
  // The time until a new connection has sent its HTTP/2 settings.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 5 * kMillis);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60 * kMillis);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20 * kMillis);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 30 * kMillis);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 15 * 60 * kMillis);
  SetAges(ages, builder);
}

GrpcPort::Options GrpcPortOptionsOf(const config::v1::Config& config, const CurrentTls* tls,
                                    const CurrentAccess& access, const CallRecorders& recorders,
                                    GrpcPortMetrics& metrics) {
  const config::v1::Connections& connections = config.connections();
  GrpcPort::Options options{.address = config.listen_address(), .tls = tls};
  const ConnectionBounds bounds(config);
  options.max_connections = bounds.callers;
  options.max_handshakes = bounds.handshakes;
  options.max_descriptor = bounds.max_descriptor;
  options.handshake_timeout = ToDuration(connections.handshake_timeout());
  options.frames.max_header_bytes = kHeaderBytesFactor * connections.max_header_bytes();
  options.frames.max_resets_per_second = static_cast<int>(connections.max_resets_per_second());
  options.frames.max_control_frames_per_second = static_cast<int>(connections.max_control_frames_per_second());
  options.memory.max_connections_per_identity = connections.max_per_identity();
  options.memory.max_bytes = static_cast<int64_t>(MemoryOfCallers(config));
  options.memory.max_bytes_per_identity = static_cast<int64_t>(config.memory().max_bytes_per_identity());
  options.memory.max_bytes_per_connection = static_cast<int64_t>(config.memory().max_bytes_per_connection());
  options.max_unread_time = ToDuration(config.memory().max_unread_time());
  options.is_caller = [&access](const Peer& peer) { return !access.Get()->callers.Find(peer).empty(); };
  options.on_failed_handshake = [&recorders, &metrics](const FailedHandshake& failed) {
    metrics.failed_handshakes[failed.failure].Increment();
    if (!failed.why.empty()) LogHandshake(recorders, failed);
  };
  options.on_no_descriptor = [&recorders] {
    if (recorders.lines != nullptr) LogDescriptorsShort(*recorders.lines, "grpc");
  };
  options.on_unread = [&recorders, &metrics](const Peer& peer, size_t streams) {
    metrics.unread_responses.Increment(static_cast<double>(streams));
    LogConnection(recorders, "response_unread", peer, MessageOf(Excess::kUnread));
  };
  options.on_excess = [&recorders, &metrics](const Peer& peer, Excess excess) {
    metrics.closed_connections[excess].Increment();
    LogConnection(recorders, "connection_closed", peer, MessageOf(excess));
  };
  return options;
}

}  // namespace stampgate
