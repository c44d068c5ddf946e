#include "gateway/calls/descriptors_line.h"

#include <string>

namespace stampgate {

void LogDescriptorsShort(CallLines& lines, absl::string_view port) {
  constexpr absl::string_view kEvent = "descriptors_short";
  if (!lines.Admit(kEvent, port, CallLines::kWrittenOfAnybody)) return;
  lines.WriteLine(Severity::kWarning, kEvent,
                  {{"port", std::string(port)},
                   {"message",
                    "the port closes new connections, because the process has only the descriptors left that reloads "
                    "and its other parts need: raise the limit (ulimit -Hn)"}});
}

}  // namespace stampgate
