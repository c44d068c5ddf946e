// The events that a load program receives in a measurement.
#ifndef STAMPGATE_TESTS_BENCH_ARRIVALS_H_
#define STAMPGATE_TESTS_BENCH_ARRIVALS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/bench/latencies.h"
#include "tests/bench/process_cpu.h"

namespace stampgate::bench {

// Counts the events and their latencies. The measurement begins with the first event.
class Arrivals {
 public:
  // `server` is the process that sends the events.
  explicit Arrivals(pid_t server) : server_(server) {}

  // An event has arrived: a serialized stampgate.v1.Event.
  void Add(absl::string_view event, absl::Time now);
  // A message with at least one of these events has arrived.
  void AddMessage() { ++messages_; }

  int64_t events() const { return events_; }

  // Ends the measurement, and prints its figures as name=value pairs, without an end of line.
  void Print();

 private:
  const pid_t server_;
  std::optional<Instant> begin_;
  int64_t events_ = 0;
  int64_t messages_ = 0;
  int64_t bytes_ = 0;
  Latencies latencies_;  // from sent to received, of events that have the header of sent_header.h
};

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_ARRIVALS_H_
