// The audit as the config wants it.
#ifndef STAMPGATE_GATEWAY_AUDIT_H_
#define STAMPGATE_GATEWAY_AUDIT_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/statusor.h"
#include "gateway/audit_log.h"
#include "gateway/config.pb.h"
#include "gateway/periodic_task.h"

namespace stampgate {

// A running audit log, whose head the process's log tells every 10 seconds: who has that line, outside of this machine,
// can find out later whether the end of the file was cut off.
class Audit {
 public:
  // Who else hears of what is logged here; they outlive this, and are called on its threads. Each may be empty.
  struct Observers {
    // The error when the log begins to fail, and OK when records are written again: also by itself, without a call.
    std::function<void(const absl::Status&)> status;
    std::function<void(const AuditLog::Head&)> head;  // every one that is told
  };

  // Null if the config has none. Reads the whole file, which may take seconds. Errors: those of ReadAuditKey and
  // AuditLog::Open.
  static absl::StatusOr<std::unique_ptr<Audit>> Open(const config::v1::Audit& config, absl::string_view version,
                                                     Observers observers = {});

  // Tells the last head.
  ~Audit();

  AuditLog& log() { return *log_; }

 private:
  explicit Audit(Observers observers);

  void Observe(const absl::Status& status);
  void Look();
  void TellHead();

  const Observers observers_;
  std::mutex mutex_;                   // for the next, and while an observer is told a status
  std::optional<uint64_t> failed_at_;  // the head's sequence number when something failed
  std::unique_ptr<AuditLog> log_;
  uint64_t told_ = 0;  // the sequence number of the head that was told last
  int looks_ = 0;
  std::unique_ptr<PeriodicTask> looker_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_H_
