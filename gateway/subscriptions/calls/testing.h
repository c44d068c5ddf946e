// Helpers for the tests of the subscription calls: a subscription with an event log and a store in memory, and a source
// of events that reads only when the test says so.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_TESTING_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_TESTING_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/events/response.h"
#include "gateway/events/testing.h"
#include "gateway/feed/encoder.h"
#include "gateway/feed/source.h"
#include "gateway/subscriptions/calls/departures.h"
#include "gateway/subscriptions/calls/environment.h"
#include "gateway/subscriptions/calls/messages.h"
#include "gateway/subscriptions/served_subscription.h"
#include "gateway/subscriptions/subscription_set.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/fake_subscription_store.h"

namespace stampgate {

// Stores the requests of calls until Serve. Thread-safe, except that only one thread at a time may call Serve.
class StepSource : public EventSource {
 public:
  StepSource(EventLog& log, const EventEncoder& encoder) : reader_(*log.NewReader()), encoder_(encoder) {}

  ReaderId NewReaderId() override;
  void Next(ReaderId id, Request request, OnPage on_page) override;
  void Cancel(ReaderId id) override;
  void Run(OnReader on_reader) override;
  Position latest() const override { return reader_->Extent().value_or(LogExtent()).latest; }

  // Serves the requests, also those that are made meanwhile, except those that wait for new events.
  void Serve();
  // Ends all requests, as the destructor of a feed does.
  void End();

 private:
  struct Asked {
    Request request;
    OnPage on_page;
  };

  // Return whether they have served a request.
  bool ServeRun();
  bool ServeNext();
  // Returns nothing if there is no new event.
  std::optional<absl::StatusOr<EventPage>> Read(const Request& request);

  const std::unique_ptr<EventReader> reader_;
  const EventEncoder& encoder_;
  Mutex mutex_;
  ReaderId last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<OnReader> runs_ ABSL_GUARDED_BY(mutex_);
  std::map<ReaderId, Asked> asked_ ABSL_GUARDED_BY(mutex_);
};

// Thread-safe.
class FakeSubscriptionSet : public SubscriptionSet {
 public:
  std::shared_ptr<const DeclaredSubscription> Find(absl::string_view name) const override;
  std::vector<std::shared_ptr<const DeclaredSubscription>> All() const override;
  std::vector<std::string> Undeclared() const override;
  // Calls `done` with OK if the name is undeclared, and with kNotFound otherwise.
  void Delete(const std::string& name, absl::AnyInvocable<void(absl::Status)> done) override;

  // Declares a subscription, in place of one with the same name.
  void Declare(DeclaredSubscription subscription);
  void Remove(absl::string_view name);
  // Adds the name of a subscription that the config does not declare.
  void AddUndeclared(const std::string& name);

 private:
  mutable Mutex mutex_;
  std::set<std::string> undeclared_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<const DeclaredSubscription>, std::less<>> declared_ ABSL_GUARDED_BY(mutex_);
};

// The fixture of the tests. The only caller is named "reader".
class SubscriptionCallTest : public EventCallTest {
 protected:
  static constexpr absl::Duration kSettleWithin = absl::Seconds(20);

  SubscriptionCallTest();
  ~SubscriptionCallTest() override;

  // Starts a subscription that orders no events, from the beginning of the log. Its options are those of the tests.
  std::shared_ptr<ServedSubscription> Serving(const std::string& name, EventSource& source);

  // Declares `payouts_` for these callers and organizations. If `organizations` is empty, all are meant.
  void Declare(std::set<std::string, std::less<>> callers = {"reader"},
               std::set<std::string, std::less<>> organizations = {});

  // Does what is due.
  void Serve();
  // Lets time pass, and does what is due then.
  void Elapse(absl::Duration time);

  // Returns deliveries of `payouts_` to a consumer of its own, which has left afterwards with its connection.
  std::vector<ServedSubscription::Sent> Take(size_t most);
  std::string TokenOf(const ServedSubscription::Sent& sent) const;
  // Parks the first `count` events of `payouts_` with the reason "broken".
  void Park(size_t count);

  // Receives the response of a unary call.
  OnEventResponse OnResponse();
  absl::Status Error() const;
  std::string Reason() const;
  // Returns the response as a message of the type `type`, such as "SettleResponse".
  std::unique_ptr<google::protobuf::Message> Response(const std::string& type) const;

  StepSource step_source_{log_, *encoder_};
  FakeSubscriptionStore store_;
  FakeSubscriptionSet set_;
  Departures departures_{[this] { return steady_now_; }};
  const std::unique_ptr<const SubscriptionMessages> subscription_messages_ =
      *SubscriptionMessages::Create(testing::Pool(), "Service");
  SubscriptionEnvironment subscription_environment_{
      .events = environment_, .messages = *subscription_messages_, .departures = departures_, .subscriptions = &set_};
  std::shared_ptr<ServedSubscription> payouts_;
  std::optional<absl::StatusOr<EventResponse>> response_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_TESTING_H_
