// What an event log does against its disk, for tests that show what each is good for.
#ifndef STAMPGATE_WEBHOOKS_LOG_SAFEGUARDS_H_
#define STAMPGATE_WEBHOOKS_LOG_SAFEGUARDS_H_

namespace stampgate {

// Nothing but a test turns one off.
struct LogSafeguards {
  bool synchronous_full = true;  // each commit is synced
  bool high_water_mark = true;
  bool check_at_open = true;  // of the newest events
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SAFEGUARDS_H_
