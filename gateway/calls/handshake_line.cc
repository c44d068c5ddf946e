#include "gateway/calls/handshake_line.h"

namespace stampgate {

void LogFailedHandshake(CallLines& lines, const HandshakeLine& line) {
  constexpr absl::string_view kEvent = "handshake_failed";
  if (!lines.Admit(kEvent, line.address, CallLines::kWrittenOfAnybody)) return;
  LogFields fields = {{"port", std::string(line.port)}, {"address", line.address}};
  if (!line.reason.empty()) fields.emplace_back("reason", std::string(line.reason));
  if (!line.certificate.empty()) fields.emplace_back("certificate", line.certificate);
  fields.emplace_back("message", line.message);
  lines.WriteLine(Severity::kWarning, kEvent, fields);
}

}  // namespace stampgate
