// Opens the audit log as the config sets it, and logs its state.
#ifndef STAMPGATE_GATEWAY_AUDIT_OPEN_H_
#define STAMPGATE_GATEWAY_AUDIT_OPEN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/audit/log.h"
#include "gateway/process/periodic_task.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// A running audit log. Its head is logged every 10 seconds. A reader who keeps these lines on another machine can later
// detect that the end of the file was cut off.
class Audit {
 public:
  // Further observers of what is logged here. They must outlive this, and are called on its threads. Each may be empty.
  struct Observers {
    // Receives the error when records cannot be written, and OK when they can again, which is noticed without a call.
    std::function<void(const absl::Status&)> status;
    std::function<void(const AuditLog::Head&)> head;  // receives every head that is logged
    std::function<void(int64_t)> file_bytes;          // receives the file's size, with each head
    // Receives the allows without an outcome: when the log is opened, and after records were written.
    std::function<void(const AuditLog::OpenAllows&)> open_allows;
  };

  // Null if the config has no audit. Reads the whole file, which may take seconds. Errors: those of ReadAuditKey and
  // AuditLog::Open.
  static absl::StatusOr<std::unique_ptr<Audit>> Open(const config::v1::Audit& config, absl::string_view version,
                                                     Observers observers = {});

  // Logs the last head.
  ~Audit();

  AuditLog& log() { return *log_; }

 private:
  Audit(std::string file, Observers observers);

  void Observe(const absl::Status& status);
  void LogHead();

  const std::string file_;
  const Observers observers_;
  std::unique_ptr<AuditLog> log_;
  uint64_t logged_ = 0;  // the sequence number of the last head that was logged
  std::unique_ptr<PeriodicTask> head_task_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_OPEN_H_
