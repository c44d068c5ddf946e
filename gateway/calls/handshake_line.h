// The log line of a failed TLS handshake.
#ifndef STAMPGATE_GATEWAY_CALLS_HANDSHAKE_LINE_H_
#define STAMPGATE_GATEWAY_CALLS_HANDSHAKE_LINE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "gateway/calls/call_lines.h"

namespace stampgate {

struct HandshakeLine {
  absl::string_view port;    // "grpc" or "webhooks"
  std::string address;       // the client's IP address
  absl::string_view reason;  // one word, such as "no_certificate"; empty at a port that asks for no certificates
  std::string certificate;   // the names in the client's certificate; empty if it has sent none
  std::string message;       // the cause, and what can be done
};

// Writes the line "handshake_failed". Everybody who reaches the port can cause it, so each IP address has at most
// CallLines::kWrittenOfAnybody lines a minute.
void LogFailedHandshake(CallLines& lines, const HandshakeLine& line);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_HANDSHAKE_LINE_H_
