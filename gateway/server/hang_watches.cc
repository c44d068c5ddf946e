#include "gateway/server/hang_watches.h"

#include <utility>

namespace stampgate {

void HangWatches::Add(std::string what, std::string waits_for, LateGauge& write_seconds, DiskWaits::Writer writer,
                      std::function<absl::Duration()> under_way) {
  watches_.emplace_back(HangWatch::Options{
      .what = std::move(what),
      .waits_for = std::move(waits_for),
      .under_way = std::move(under_way),
      .observe = [&write_seconds](absl::Duration waited) { write_seconds.Set(absl::ToDoubleSeconds(waited)); },
      .on_change =
          [this, writer](bool hangs) {
            if (options_.on_hanging) options_.on_hanging(writer, hangs);
            if (hangs) options_.disk_waits.End(writer);
          }});
}

void HangWatches::AddQuotas(std::function<absl::Duration()> under_way) {
  watches_.emplace_back(HangWatch::Options{.what = "quota_store",
                                           .waits_for = "the disk or the server of the quotas",
                                           .under_way = std::move(under_way),
                                           // When the store works again, the thread of the quotas reports it.
                                           .on_change = [this](bool hangs) {
                                             if (hangs) options_.quotas_failing.Set(1);
                                           }});
}

void HangWatches::Start() {
  Look();
  watcher_.emplace("hang-watch", HangWatch::kInterval, [this] { Look(); });
}

void HangWatches::Look() {
  for (HangWatch& watch : watches_) watch.Look();
}

}  // namespace stampgate
