// Decides when a call may send its request to upstream, so that all callers together stay within upstream's rates.
#ifndef STAMPGATE_GATEWAY_ADMISSION_ADMISSION_H_
#define STAMPGATE_GATEWAY_ADMISSION_ADMISSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/admission/admission_metrics.h"
#include "gateway/admission/admission_refusal.h"
#include "gateway/admission/fair_queue.h"
#include "gateway/admission/rate_window.h"
#include "gateway/shares/held_shares.h"
#include "gateway/shares/quota_blocks.h"
#include "gateway/shares/rate_demand.h"

namespace stampgate {

// The calls that share a rate: all calls, those of one organization, or those of one operation.
enum class RateScope { kUpstream, kOrganization, kOperation };

// The rates of one operation, or of several operations together.
struct OperationLimits {
  std::vector<std::string> paths;  // of upstream's operations, such as "/public/v1/query/get_policy"
  std::vector<RateLimit> rates;
};

struct AdmissionOptions {
  // The rates of upstream as a whole. If empty, this process has no such rate.
  std::vector<RateLimit> rates;
  // The rates of each organization, and the rates of single organizations, which replace the former.
  std::vector<RateLimit> organization_rates;
  absl::flat_hash_map<std::string, std::vector<RateLimit>> rates_of;
  // The rates of operations, for all organizations together. No path may be given twice.
  std::vector<OperationLimits> operation_rates;
  // The part of each rate that this process may use, from 0 to 1, until SetShares.
  double share = 1;
  // Whether windows longer than RateWindow::kLongestPaced are quotas, whose calls SetQuotas states. Otherwise this
  // process counts their calls.
  bool has_quotas = false;
  // The largest number of calls of one organization that are admitted and have not ended. Further calls wait.
  size_t max_in_flight_per_organization = std::numeric_limits<size_t>::max();
  // The longest time for which a call waits. A call also waits no longer than its own deadline permits.
  absl::Duration max_wait = absl::Milliseconds(200);
  // Returns the time of a clock that never goes back.
  std::function<absl::Time()> now;
  // Runs the task after the delay, on any thread. The task may run late, or never if the process ends.
  std::function<void(absl::Duration delay, absl::AnyInvocable<void() &&> task)> run_after;
};

struct AdmissionRequest {
  absl::string_view caller;             // the caller's name in the config
  double weight = 1;                    // of the caller; more than 0
  absl::string_view organization = {};  // empty if the request names none
  absl::string_view operation = {};     // the path of upstream's operation
  CallClass call_class = CallClass::kQuery;
  absl::Duration time_left = absl::InfiniteDuration();  // until the call's deadline
};

// Thread-safe: one lock, which is held only for calculations. Without rates and without a limit per organization, calls
// pass without this lock.
//
// A call that cannot go at once waits, at most as long as `max_wait` and its deadline permit. It is refused at once if
// it would wait longer, given the rates, the calls that wait and go before it in the fair order, how often each caller
// has called in the last second, and how long the calls of its organization take. A call that waits can be overtaken by
// later calls of callers that have had less than their share, and is then refused when its time is over. Each refusal
// states a delay: if no other call arrives, a repetition after this delay finds a place, unless the calls in flight
// take longer than the last ones.
//
// Each rate has a fair order of its own. Of the calls that could go now, each rate without room for all of them keeps
// the first one of its order: first the rates of operations, then those of organizations, and then that of upstream as
// a whole.
//
// Upstream's refusals (429) slow one rate: that of the operation or of the organization, if upstream has refused a more
// than twice as large a part of its requests as of all others in the last ten seconds, and otherwise that of upstream
// as a whole. An operation whose rates are not in the options has a LearnedRate.
class Admission : public std::enable_shared_from_this<Admission> {
 public:
  // `metrics` must outlive the result.
  static std::shared_ptr<Admission> Create(AdmissionOptions options, AdmissionMetrics& metrics);
  Admission(AdmissionOptions options, AdmissionMetrics& metrics);
  ~Admission();

  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

 private:
  struct Scope;
  using Scopes = absl::InlinedVector<Scope*, 3>;

 public:
  // The place of an admitted call. Its destructor gives the place back: the request counts for the rates only if Sent
  // was called. Not thread-safe, movable.
  class Permit {
   public:
    Permit() = default;
    Permit(Permit&& other) noexcept { *this = std::move(other); }
    Permit& operator=(Permit&& other) noexcept;
    ~Permit() { End(); }

    // Whether anything limits the call.
    bool is_counted() const { return admission_ != nullptr; }
    // The request is sent now.
    void Sent();
    // Upstream has refused the request because of its rate.
    void Refused(std::optional<absl::Duration> retry_after);
    // Upstream has reported that `remaining` of `limit` requests remain.
    void Remaining(int64_t limit, int64_t remaining);
    // Gives the place back.
    void End();

   private:
    friend class Admission;
    Permit(std::shared_ptr<Admission> admission, Scopes scopes, absl::Time taken)
        : admission_(std::move(admission)), scopes_(std::move(scopes)), taken_(taken) {}

    std::shared_ptr<Admission> admission_;  // null if nothing limits the call
    Scopes scopes_;                         // those in which the call counts
    absl::Time taken_;                      // when the call was admitted
    bool sent_ = false;
    bool refused_ = false;  // by upstream, because of its rate
  };

  struct Refused {
    AdmissionRefusal why = AdmissionRefusal::kNoPlace;
    absl::Duration retry_after;              // 0 if a repetition here makes no sense
    RateScope scope = RateScope::kUpstream;  // whose rate the call would have waited for
    // The limit that the call would have waited for. Nothing if this is not one of the options' rates: upstream has
    // refused requests, or `calls_in_flight`.
    std::optional<RateLimit> limit = {};
    bool calls_in_flight = false;  // max_in_flight_per_organization is the limit
  };

  // The end of a wait: a permit, or a refusal.
  struct Verdict {
    Permit permit;
    std::optional<Refused> refused;
  };
  using Turn = absl::AnyInvocable<void(Verdict)>;
  using Ticket = uint64_t;

  // Whether anything limits calls.
  bool limits() const { return limits_; }

  // Returns the verdict. If the call must wait, returns nothing and sets `ticket`; `turn` then gets the verdict once,
  // perhaps before Enter returns, on any thread, and must not block.
  std::optional<Verdict> Enter(const AdmissionRequest& request, Ticket& ticket, Turn turn);

  // The caller of a waiting call has left: calls its `turn` with kLeft. Does nothing if the call does not wait.
  void Leave(Ticket ticket);

  // The process ends its calls at `end`, a time of AdmissionOptions::now. Until then, waiting calls get their places,
  // but only as long as a call of the usual duration can end before `end`. From then on, no call is admitted. Calls are
  // refused with kDraining, and without a delay, because another process must serve the repetition.
  void Drain(absl::Time end);

  // Counts a request for which no call waits, such as a fetch of a key set. It is never refused, and the next calls
  // wait longer.
  void Charge();

  // The names of the rates among several processes: upstream's rate as a whole; that of each organization, whose name
  // is this prefix and its id; and that of operations, whose name is this prefix and the first path in alphabetical
  // order.
  static constexpr char kUpstreamRate[] = "upstream";
  static constexpr char kOrganizationPrefix[] = "organization/";
  static constexpr char kOperationPrefix[] = "operation";

  // The largest number of organizations whose rates this process names. Those with recent calls come first.
  static constexpr size_t kMaxSharedRates = 512;

  // Uses these shares of the rates from now on. `now` is a time of AdmissionOptions::now.
  void SetShares(std::shared_ptr<const HeldShares> shares, absl::Time now);
  // Returns the demand of the callers for each rate.
  std::vector<RateDemand> rate_demand() const;

  // Begins only calls that `quotas` permits from now on. Its times are of AdmissionOptions::now.
  void SetQuotas(std::shared_ptr<const HeldQuotas> quotas);
  // Returns the use of each quota.
  std::vector<QuotaDemand> quota_demand() const;
  // `on_lack`, which may be empty, is called when a call begins to wait for a quota. It is called with a lock held, and
  // must not block or call the Admission.
  void OnQuotaLack(std::function<void()> on_lack);

  // Returns how many requests per second upstream's rate as a whole permits now to this process in the long run,
  // without its quotas; infinity if there is no such rate.
  double permitted_per_second() const;

  // Returns how many operations are slower than the options state, because upstream has refused their requests.
  size_t slowed_operations() const;

  // Sets the metrics of the last two numbers.
  void ShowRates() const;

 private:
  struct Step;
  using Steps = absl::InlinedVector<Step, 3>;
  struct Waiting;
  struct Line;
  struct State;

  State& state() const { return *state_; }

  const AdmissionOptions options_;
  AdmissionMetrics& metrics_;
  const bool limits_;  // whether anything limits calls
  const std::unique_ptr<State> state_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_ADMISSION_H_
