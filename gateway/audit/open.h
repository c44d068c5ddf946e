// Opens the audit log that the config describes, and logs its state.
#ifndef STAMPGATE_GATEWAY_AUDIT_OPEN_H_
#define STAMPGATE_GATEWAY_AUDIT_OPEN_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/audit/audit_metrics.h"
#include "gateway/audit/log.h"
#include "gateway/process/periodic_task.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Whether the space of the audit log's disk is scarce: less than 1 GiB, or a tenth of the disk if that is less, is
// left. If it was scarce before, it is scarce until a quarter more than that is left.
bool IsScarce(const std::filesystem::space_info& space, bool before);

// A running audit log. Every 10 seconds, if the head (the number and the MAC of the last record) has changed, Audit
// passes the head to its metrics and its observer. Once a minute, it also writes the head to the log, so that a quiet
// log does not consist of heads. An operator who keeps the heads on another machine can later detect that records are
// missing at the end of the audit log. At the same interval, it looks at the space of the disk: see UnsentAllows.
class Audit {
 public:
  // Functions that receive the state that Audit also logs and shows. Each function may be empty. Audit calls the
  // functions on its own threads. The functions must outlive Audit.
  struct Observers {
    // Receives the error when records cannot be written, and OK when they can be written again. Audit notices the
    // recovery even if there are no calls.
    std::function<void(const absl::Status&)> status = {};
    std::function<void(const AuditLog::Head&)> head = {};  // receives the heads, those that are logged and further ones
  };

  // How often Audit looks at the head.
  struct Pace {
    absl::Duration interval = absl::Seconds(10);
    int intervals_per_line = 6;
  };

  // Opens the audit log, or returns null if the config has no audit log. Reads the whole file, which can take seconds.
  // `metrics` must outlive the result. Errors: those of ReadSymmetricKey and AuditLog::Open.
  static absl::StatusOr<std::unique_ptr<Audit>> Open(const config::v1::Config& config, absl::string_view version,
                                                     AuditMetrics& metrics, Observers observers) {
    return Open(config, version, metrics, std::move(observers), Pace());
  }
  static absl::StatusOr<std::unique_ptr<Audit>> Open(const config::v1::Config& config, absl::string_view version,
                                                     AuditMetrics& metrics, Observers observers, const Pace& pace);

  ~Audit();

  // Closes the audit log and logs its last head. Afterwards, log() refuses each call, see AuditLog::Close. The
  // destructor does the same. Must not be called from a callback of the log.
  void Close();

  AuditLog& log() { return *log_; }

 private:
  Audit(std::string file, AuditMetrics& metrics, Observers observers);

  void Observe(const absl::Status& status);
  void CheckSpace();
  void ReportHead();
  void LogHead();

  const std::string file_;
  AuditMetrics& metrics_;
  const Observers observers_;
  std::unique_ptr<AuditLog> log_;
  // The sequence numbers of the last head that the observer got, and of the last one that was logged.
  uint64_t reported_ = 0;
  uint64_t logged_ = 0;
  bool is_scarce_ = false;
  int intervals_ = 0;  // since the last interval at whose end LogHead was called
  std::unique_ptr<PeriodicTask> head_task_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_OPEN_H_
