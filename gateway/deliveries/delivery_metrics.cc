#include "gateway/deliveries/delivery_metrics.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace stampgate {

void DeliveryMetrics::ExpectDeliveries() {
  for (const std::string& outcome : Intake::Outcomes()) deliveries_.Add({{"outcome", outcome}});
}

void DeliveryMetrics::Count(const Intake::Report& report) {
  deliveries_.Add({{"outcome", report.outcome}}).Increment();
  if (!report.times.has_value() || !report.times->stored.has_value()) return;
  event_write_.Observe(std::chrono::duration<double>(*report.times->stored - report.times->verified).count());
}

void DeliveryMetrics::ShowPeers(const PeerTable::Counts& peers, size_t held_bytes) {
  const auto raise = [](Counter& counter, uint64_t to) {
    counter.Increment(static_cast<double>(to) - counter.Value());
  };
  peers_.Add({{"peer", "unproven"}}).Set(static_cast<double>(peers.unproven));
  peers_.Add({{"peer", "proven"}}).Set(static_cast<double>(peers.proven));
  raise(displaced_peers_.Add({{"peer", "unproven"}}), peers.unproven_displaced);
  raise(displaced_peers_.Add({{"peer", "proven"}}), peers.proven_displaced);
  raise(refused_peers_.Add({}), peers.refused);
  held_bytes_.Set(static_cast<double>(held_bytes));
}

}  // namespace stampgate
