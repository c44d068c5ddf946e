// The event log's protections against faults of its disk. Tests turn each off to prove that it is necessary.
#ifndef STAMPGATE_WEBHOOKS_LOG_SAFEGUARDS_H_
#define STAMPGATE_WEBHOOKS_LOG_SAFEGUARDS_H_

namespace stampgate {

// Switches that turn the protections on. Only tests set a switch to false.
struct LogSafeguards {
  bool synchronous_full = true;  // sync each commit
  bool high_water_mark = true;
  bool check_at_open = true;  // check the newest events when the log is opened
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SAFEGUARDS_H_
