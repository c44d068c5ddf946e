#include "gateway/log.h"

#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "translate/json_writer.h"

namespace stampgate {
namespace {

constexpr size_t kQueuedLines = 8192;

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger>& logger = *[] {
    spdlog::init_thread_pool(kQueuedLines, 1);
    auto* created =
        new std::shared_ptr<spdlog::logger>(spdlog::create_async_nb<spdlog::sinks::stderr_sink_mt>("stampgate"));
    (*created)->set_pattern("%v");
    return created;
  }();
  return *logger;
}

absl::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "INFO";
    case Severity::kWarning:
      return "WARNING";
  }
  return "";
}

}  // namespace

void Log(Severity severity, absl::string_view event, const LogFields& fields) {
  std::string line = "{\"time\":\"";
  line += absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  line += "\",\"severity\":";
  AppendJsonString(Name(severity), line);
  line += ",\"event\":";
  AppendJsonString(event, line);
  for (const auto& [name, value] : fields) {
    line += ',';
    AppendJsonString(name, line);
    line += ':';
    AppendJsonString(value, line);
  }
  line += '}';
  Logger().info(spdlog::string_view_t(line.data(), line.size()));
}

void FlushLog() {
  Logger().flush();
  spdlog::shutdown();
}

}  // namespace stampgate
