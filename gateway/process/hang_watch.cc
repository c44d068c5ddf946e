#include "gateway/process/hang_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/threads/wait_clock.h"
#include "gateway/process/log.h"

namespace stampgate {

HangWatch::HangWatch(Options options) : options_(std::move(options)) {}

void HangWatch::Look() {
  const absl::Duration under_way = options_.under_way();
  if (options_.observe) options_.observe(under_way);
  const bool hangs = under_way > kWriteHangsAfter;
  if (std::exchange(hangs_, hangs) == hangs) return;
  if (hangs) {
    Log(Severity::kWarning, absl::StrCat(options_.what, "_hangs"),
        {{"message",
          absl::StrCat(options_.waits_for, " has not answered for ", absl::ToInt64Seconds(under_way), " seconds")}});
  } else {
    Log(Severity::kInfo, absl::StrCat(options_.what, "_works_again"), {});
  }
  if (options_.on_change) options_.on_change(hangs);
}

}  // namespace stampgate
