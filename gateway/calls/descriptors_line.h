// The log line of a port that closes new connections because file descriptors are short.
#ifndef STAMPGATE_GATEWAY_CALLS_DESCRIPTORS_LINE_H_
#define STAMPGATE_GATEWAY_CALLS_DESCRIPTORS_LINE_H_

#include "absl/strings/string_view.h"
#include "gateway/calls/call_lines.h"

namespace stampgate {

// Writes the line "descriptors_short" about `port`, "grpc" or "webhooks", at most CallLines::kWrittenOfAnybody times a
// minute for each port.
void LogDescriptorsShort(CallLines& lines, absl::string_view port);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_DESCRIPTORS_LINE_H_
