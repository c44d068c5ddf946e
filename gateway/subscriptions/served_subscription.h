// Serves one shared subscription: reads its events, gives them to its consumers, and stores what they settle.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_SERVED_SUBSCRIPTION_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_SERVED_SUBSCRIPTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/feed/encoder.h"
#include "gateway/feed/source.h"
#include "gateway/subscriptions/delivery_id.h"
#include "gateway/subscriptions/delivery_reason.h"
#include "gateway/subscriptions/holder_task.h"
#include "gateway/subscriptions/shared_subscription.h"
#include "gateway/subscriptions/task_results.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_holds.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// Must be made with std::make_shared. Thread-safe. No function blocks. Each callback is called once, on any thread, but
// not before the function that gets it has released its locks; it must not block.
class ServedSubscription : public std::enable_shared_from_this<ServedSubscription> {
 public:
  using ConsumerId = SharedSubscription::ConsumerId;

  // What orders the events. The values are stored: never change them.
  enum class Order { kActivity = 1, kOrganization = 2, kNone = 3 };

  // What the config says about a subscription, apart from its start.
  struct Settings {
    int64_t version = 0;  // of these settings; see SubscriptionDeclaration
    SharedSubscription::Options limits;
    // How many bytes of events that were read are kept until their consumers receive them. If they are full, the
    // subscription reads nothing, since busy consumers receive theirs soon. It drops those whose consumers are slow,
    // and reads them again when these are ready.
    size_t max_kept_bytes = 4 << 20;
    std::shared_ptr<const EventFilter> filter;
  };

  // Reports what happens. Called on any thread, perhaps with locks held: must not block or call the subscription.
  struct Observers {
    std::function<void(DeliveryReason reason)> on_delivery;
    // `reason` states why the event was parked.
    std::function<void(Position position, int64_t deliveries, const std::string& reason)> on_park;
    std::function<void(absl::Duration since_stored)> on_done;
    // Retention has deleted nearly everything before the subscription's position, and will delete its events next.
    std::function<void()> on_near_retention;
    // Events that nobody has settled are missing in the log, in this range: `count` of them, or fewer if the filter
    // would not have passed each.
    std::function<void(const LostEvents& lost, int64_t count)> on_lost;
    std::function<void(const absl::Status& why)> on_not_stored;
  };

  // What the gateways that share the store do together. Each function calls `done` once. Errors, also those that it
  // gets: UNAVAILABLE (EVENT_LOG_UNAVAILABLE), also if there is no answer in time; what was asked can have been carried
  // out even then. Thread-safe.
  struct Peers {
    // Passes a request to the gateway that holds the partition, and its answer to `done`.
    std::function<void(size_t partition, std::string request,
                       absl::AnyInvocable<void(absl::StatusOr<std::string> answer)> done)>
        ask;
    // See SubscriptionHolds::Seek. Calls `done` when OnHold has got what applies then.
    std::function<void(Position position, absl::AnyInvocable<void(absl::Status)> done)> seek;
    // See SubscriptionHolds. These block.
    std::function<absl::StatusOr<std::vector<SubscriptionRow>>(Position after, size_t most)> parked;
    std::function<absl::StatusOr<std::vector<SubscriptionRow>>(const std::vector<Position>& positions)> parked_at;
  };

  struct Options {
    std::string name;
    Order order = Order::kNone;
    Settings settings;
    EventSource* source = nullptr;       // must outlive this
    SubscriptionStore* store = nullptr;  // must outlive this, and call no callback after Close has returned
    std::function<absl::Time()> now;
    std::optional<Peers> peers;  // not set if no other gateway shares the store
    Observers observers;
  };

  // A delivery with its event.
  struct Sent {
    std::shared_ptr<const EncodedEvent> event;
    DeliveryId id;
    int64_t count = 0;  // see SharedSubscription::Delivery
    DeliveryReason reason = DeliveryReason::kFirst;
    bool out_of_order = false;
  };
  // Empty if there was nothing to send in time. The events fit into one message.
  using Batch = std::vector<Sent>;
  // Errors: kAborted if the gateway drains; kNotFound if the subscription was removed; kCancelled after CancelNext;
  // OUT_OF_RANGE or DATA_LOSS of ToCallerError if events are missing that nobody has settled: one consumer gets this
  // once, and the subscription continues after them.
  using OnBatch = absl::AnyInvocable<void(absl::StatusOr<Batch>)>;

  struct ParkedEvent {
    Position position = 0;
    SharedSubscription::Parked parked;
  };

  struct State {
    HoldReport all = {};    // of all partitions
    HoldReport here = {};   // of those that this gateway holds
    Position latest = 0;    // of the log
    size_t partitions = 0;  // that this gateway holds
  };

  explicit ServedSubscription(Options options);

  // Begins to read. Must be called once, before any function below.
  void Start();

  // --- Partitions. Only one thread at a time may call these.

  // Serves the partitions of the hold from now on, and no other ones. Sends nothing more of as many partitions as must
  // be given back. If partitions were lost, everything that waits to be stored fails.
  void OnHold(const Hold& hold);
  // Returns the renewal of the hold. Its `given` are the partitions that must be given back and of which no consumer
  // holds an event any more: serves them no longer.
  HoldRenewal Renew();
  // Carries out a request of another gateway, and answers it with the change that stores this. Does nothing if the
  // partition is not held or not read yet, or if the answer to the request is not stored yet: the store returns the
  // request again.
  void OnRequest(const HolderRequest& request);

  // Applies other settings to all later reads and deliveries.
  void Use(const Settings& settings);

  const std::string& name() const { return options_.name; }
  Order order() const { return options_.order; }
  // Of the settings that apply now.
  absl::Duration settle_within() const;

  // --- A consumer. Join and Leave enclose all other calls for it.

  // Adds a consumer, which holds at most `max_unsettled` events, and gives it those of `held` that it may still have.
  // `superseded` gets the indexes of the others.
  ConsumerId Join(size_t max_unsettled, const std::vector<DeliveryId>& held, std::vector<size_t>* superseded);

  // Passes the next deliveries to `on_batch`, or an empty batch at `until`. A consumer may have only one Next at a
  // time.
  void Next(ConsumerId consumer, absl::Time until, OnBatch on_batch);
  // Ends the consumer's Next if it has one. May also be called after Leave, and then does nothing.
  void CancelNext(ConsumerId consumer);

  // If `gives_back`, the consumer's events are sent again at once; otherwise, when their time is over.
  void Leave(ConsumerId consumer, bool gives_back);

  // --- Settling. `done` gets the indexes of superseded deliveries when the rest is durable.
  void Settle(const std::vector<DeliveryId>& deliveries, SettleOutcome outcome, absl::Duration delay,
              const std::string& reason, OnTaskResults done);

  // --- Administration, of all partitions: with peers, also of those that others hold. The first two block with peers.

  // `done` gets the indexes of the positions that were not parked, when the change is durable.
  void ChangeParked(const std::vector<Position>& positions, ParkedChange change, OnTaskResults done);
  // Returns at most `most` parked events after `after`. Errors: UNAVAILABLE (EVENT_LOG_UNAVAILABLE).
  absl::StatusOr<std::vector<ParkedEvent>> Parked(Position after, size_t most) const;
  void Seek(Position position, absl::AnyInvocable<void(absl::Status)> done);

  // What others have reported is up to two seconds old.
  State state() const;

  // --- The owner calls these.

  // Does what is due. The owner calls it about ten times a second.
  void Tick();
  // The owner calls this from time to time with the log's extent: events before it are lost.
  void OnTrimmed(const LogExtent& extent);
  // Every Next ends with this error, and later ones too.
  void End(const absl::Status& why);
  // Writes what the store does not have. Must be called after End. Calls `done` when no write is in progress any more.
  void Close(absl::AnyInvocable<void()> done);

 private:
  using SteadyClock = std::chrono::steady_clock;
  // What must happen when the lock is free again.
  using Actions = std::vector<absl::AnyInvocable<void()>>;
  using Delivery = SharedSubscription::Delivery;

  struct Consumer {
    OnBatch next;                   // set while it has a Next
    absl::Time until;               // of `next`
    std::deque<Delivery> assigned;  // not passed yet
  };

  struct KeptEvent {
    std::shared_ptr<const EncodedEvent> event;
    absl::Time read;  // when
  };

  // What a write of the store must end.
  using OnWritten = absl::AnyInvocable<void(const absl::Status&)>;

  // Calls `change` with the lock held, finds out what must happen next, and does it after the lock is free.
  template <typename Function>
  void Do(Function change);
  // Whether the hold was renewed in time. If not, it can have ended, so nothing is sent.
  bool IsFresh() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return SteadyClock::now() < fresh_until_; }
  HoldReport Here() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemovePartition(size_t partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Pump(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Assign() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Passes the deliveries that are ready to the consumer's Next.
  void Pass(ConsumerId id, Consumer& consumer, Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SettleResult Resume(ConsumerId id, const DeliveryId& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  OnBatch TakeNext(ConsumerId id, Consumer& consumer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginWrite(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginRead(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginLaggingRead(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginFetch(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadNext(EventSource::ReaderId reader, EventSource::Request request,
                void (ServedSubscription::*on_page)(Position after, absl::StatusOr<EventPage> page), Actions& actions);

  // What carrying out a task for the partitions that are held has resulted in.
  struct Outcome {
    TaskResult result;
    std::vector<size_t> elsewhere;  // the indexes of the deliveries whose partitions are not held
    uint64_t after_write = 0;
  };
  Outcome Carry(const SettleTask& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Outcome Carry(const ParkedTask& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lets the outcome wait until the store has confirmed that the partition is still held.
  void ProveHold(size_t partition, Outcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the outcome to the results when it is durable.
  void Report(Outcome outcome, const std::shared_ptr<TaskResults>& results, Actions& actions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Asks the holder of the partition to carry out the task. `indexes` are those of the task's deliveries or positions
  // in the results.
  void AskHolder(size_t partition, const HolderTask& task, std::vector<size_t> indexes,
                 const std::shared_ptr<TaskResults>& results, Actions& actions);

  // Carries out the settles that wait for the recovery.
  void ResumeSettles(Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void OnStored(const absl::Status& status);
  void OnPage(Position after, absl::StatusOr<EventPage> page);
  void OnLaggingPage(Position after, absl::StatusOr<EventPage> page);
  void OnFetched(Position after, absl::StatusOr<EventPage> page);
  // Finds out which events after `after` are missing, after a read has failed.
  void FindMissing(Position after, const absl::Status& status, Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnFoundMissing(const LostEvents& missing, bool is_trimmed);
  // Passes the missing events, and reports them to a consumer. If none can receive the report now, does nothing and
  // returns false: the process could end before one can.
  bool OnMissing(const LostEvents& missing, bool is_trimmed, Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::vector<SharedSubscription::ReadEvent> Read(const EventPage& page) const;
  void Keep(const EventPage& page) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The most bytes of events that are read at once.
  size_t MaxReadBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return max_kept_bytes_ / 2; }
  // Whether the events of a read could be kept.
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // If there is no room, drops the events whose consumers are slow.
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::set<Position> Assigned() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls `done` when the store has the write.
  void After(uint64_t write, OnWritten done, Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndAnswers(uint64_t write, const absl::Status& status, Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const Options options_;
  const EventSource::ReaderId reader_;
  const EventSource::ReaderId lagging_reader_;
  const EventSource::ReaderId fetcher_;

  mutable Mutex mutex_;
  SharedSubscription machine_ ABSL_GUARDED_BY(mutex_);
  int64_t hold_ ABSL_GUARDED_BY(mutex_) = 0;  // see Hold::number
  SteadyClock::time_point renewal_began_ ABSL_GUARDED_BY(mutex_);
  SteadyClock::time_point fresh_until_ ABSL_GUARDED_BY(mutex_) = SteadyClock::time_point::max();
  HoldReport others_ ABSL_GUARDED_BY(mutex_);                    // see Hold
  std::set<size_t> leaving_partitions_ ABSL_GUARDED_BY(mutex_);  // that must be given back
  int64_t settings_version_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const EventFilter> filter_ ABSL_GUARDED_BY(mutex_);
  size_t max_kept_bytes_ ABSL_GUARDED_BY(mutex_);
  std::map<ConsumerId, Consumer> consumers_ ABSL_GUARDED_BY(mutex_);
  // Deliveries that consumers still hold, of events that the gateway has not read again since its start.
  std::vector<std::pair<ConsumerId, DeliveryId>> resumed_ ABSL_GUARDED_BY(mutex_);

  std::vector<absl::AnyInvocable<void()>> after_recovery_ ABSL_GUARDED_BY(mutex_);  // the settles that wait for it

  // Events that were read and that wait for their consumers.
  std::map<Position, KeptEvent> events_ ABSL_GUARDED_BY(mutex_);
  size_t event_bytes_ ABSL_GUARDED_BY(mutex_) = 0;

  std::multimap<uint64_t, OnWritten> answers_ ABSL_GUARDED_BY(mutex_);  // by the write for which they wait
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  Position reading_after_ ABSL_GUARDED_BY(mutex_) = 0;  // where the latest read began
  bool reading_lagging_ ABSL_GUARDED_BY(mutex_) = false;
  bool fetching_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_far_ ABSL_GUARDED_BY(mutex_) = false;  // whether the log has many events that were not read
  bool is_near_retention_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time retry_write_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time retry_read_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Status end_ ABSL_GUARDED_BY(mutex_);           // see End
  bool report_waits_ ABSL_GUARDED_BY(mutex_) = false;  // a report of missing events waits for a consumer's Next
  absl::AnyInvocable<void()> on_closed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_SERVED_SUBSCRIPTION_H_
