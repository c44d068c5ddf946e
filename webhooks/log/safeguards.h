// The event log's protections against its disk, which tests turn off to prove what each is for.
#ifndef STAMPGATE_WEBHOOKS_LOG_SAFEGUARDS_H_
#define STAMPGATE_WEBHOOKS_LOG_SAFEGUARDS_H_

namespace stampgate {

// Only tests turn one off.
struct LogSafeguards {
  bool synchronous_full = true;  // sync each commit
  bool high_water_mark = true;
  bool check_at_open = true;  // check the newest events when the log opens
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SAFEGUARDS_H_
