#include "gateway/subscriptions/calls/testing.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gateway/feed/error.h"
#include "gateway/subscriptions/calls/delivery_token.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"

namespace stampgate {

EventSource::ReaderId StepSource::NewReaderId() {
  const MutexLock lock(mutex_);
  return ++last_id_;
}

void StepSource::Next(ReaderId id, Request request, OnPage on_page) {
  const MutexLock lock(mutex_);
  EXPECT_FALSE(asked_.contains(id)) << "a reader has one Next at a time";
  asked_.emplace(id, Asked{std::move(request), std::move(on_page)});
}

void StepSource::Cancel(ReaderId id) {
  std::map<ReaderId, Asked>::node_type asked;
  {
    const MutexLock lock(mutex_);
    asked = asked_.extract(id);
  }
  if (!asked.empty()) asked.mapped().on_page(absl::CancelledError("the reader was cancelled"));
}

void StepSource::Run(OnReader on_reader) {
  const MutexLock lock(mutex_);
  runs_.push_back(std::move(on_reader));
}

void StepSource::Serve() {
  while (ServeRun() || ServeNext()) {
  }
}

bool StepSource::ServeRun() {
  OnReader on_reader;
  {
    const MutexLock lock(mutex_);
    if (runs_.empty()) return false;
    on_reader = std::move(runs_.front());
    runs_.pop_front();
  }
  on_reader(reader_.get());
  return true;
}

bool StepSource::ServeNext() {
  OnPage on_page;
  std::optional<absl::StatusOr<EventPage>> page;
  {
    const MutexLock lock(mutex_);
    for (auto asked = asked_.begin(); asked != asked_.end(); ++asked) {
      page = Read(asked->second.request);
      if (!page.has_value()) continue;
      on_page = std::move(asked->second.on_page);
      asked_.erase(asked);
      break;
    }
  }
  if (!page.has_value()) return false;
  on_page(*std::move(page));
  return true;
}

std::optional<absl::StatusOr<EventPage>> StepSource::Read(const Request& request) {
  absl::StatusOr<EventReader::Batch> batch =
      reader_->Read(request.after, *request.filter, {.max_events = request.limits.max_events});
  if (!batch.ok()) return ToCallerError(batch.status(), *reader_, encoder_.log());
  if (batch->through == request.after.position && request.patience > absl::ZeroDuration()) return std::nullopt;
  EventPage page;
  page.through = {batch->through, batch->through_digest};
  for (LoggedEvent& event : batch->events) {
    page.events.push_back(std::make_shared<const EncodedEvent>(encoder_.Encode(std::move(event))));
  }
  return page;
}

void StepSource::End() {
  std::deque<OnReader> runs;
  std::map<ReaderId, Asked> asked;
  {
    const MutexLock lock(mutex_);
    runs.swap(runs_);
    asked.swap(asked_);
  }
  const absl::Status ended = absl::AbortedError("the source has ended");
  for (auto& [id, each] : asked) each.on_page(ended);
  for (OnReader& on_reader : runs) on_reader(ended);
}

std::shared_ptr<const DeclaredSubscription> FakeSubscriptionSet::Find(absl::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = declared_.find(name);
  return found == declared_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const DeclaredSubscription>> FakeSubscriptionSet::All() const {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<const DeclaredSubscription>> all;
  for (const auto& [name, subscription] : declared_) all.push_back(subscription);
  return all;
}

void FakeSubscriptionSet::Declare(DeclaredSubscription subscription) {
  const MutexLock lock(mutex_);
  const std::string name = subscription.served->name();
  declared_[name] = std::make_shared<const DeclaredSubscription>(std::move(subscription));
}

void FakeSubscriptionSet::Remove(absl::string_view name) {
  const MutexLock lock(mutex_);
  const auto found = declared_.find(name);
  if (found != declared_.end()) declared_.erase(found);
}

void FakeSubscriptionSet::AddUndeclared(const std::string& name) {
  const MutexLock lock(mutex_);
  undeclared_.insert(name);
}

std::vector<std::string> FakeSubscriptionSet::Undeclared() const {
  const MutexLock lock(mutex_);
  return {undeclared_.begin(), undeclared_.end()};
}

void FakeSubscriptionSet::Delete(const std::string& name, absl::AnyInvocable<void(absl::Status)> done) {
  bool is_erased = false;
  {
    const MutexLock lock(mutex_);
    is_erased = undeclared_.erase(name) == 1;
  }
  done(is_erased ? absl::OkStatus() : absl::NotFoundError("it is not kept"));
}

SubscriptionCallTest::SubscriptionCallTest() {
  served_.source = &step_source_;
  store_.AnswerAtOnce();
  SetGrants("classes: [POLICY_CLASS_EVENTS, POLICY_CLASS_DANGEROUS] all_organizations: true");
  log_.Grow(4);
  payouts_ = Serving("payouts", step_source_);
  Declare();
}

SubscriptionCallTest::~SubscriptionCallTest() {
  response_.reset();
  departures_.Close();
  payouts_->End(absl::AbortedError("the test ends"));
  bool is_closed = false;
  payouts_->Close([&is_closed] { is_closed = true; });
  EXPECT_TRUE(is_closed);
  EXPECT_EQ(payouts_->state().all.consumers, 0) << "each consumer leaves";
  step_source_.End();
  served_.source = &source_;
}

std::shared_ptr<ServedSubscription> SubscriptionCallTest::Serving(const std::string& name, EventSource& source) {
  ServedSubscription::Options options;
  options.name = name;
  options.order = ServedSubscription::Order::kNone;
  options.settings.limits = {.settle_within = kSettleWithin, .max_deliveries = 3, .max_unsettled_per_key = 10};
  options.settings.filter = std::make_shared<const EventFilter>();
  options.source = &source;
  options.store = &store_;
  options.now = [this] { return now_; };
  options.observers = {.on_delivery = [](DeliveryReason) {},
                       .on_park = [](Position, int64_t, const std::string&) {},
                       .on_done = [](absl::Duration) {},
                       .on_near_retention = [] {},
                       .on_lost = [](const LostEvents&, size_t) {},
                       .on_not_stored = [](const absl::Status&) {}};
  store_.Write({.subscription = name, .head = SubscriptionHead{}}, [](const absl::Status&) {});
  auto served = std::make_shared<ServedSubscription>(std::move(options));
  served->Start();
  served->OnHold(SoleHold({}, kSettleWithin));
  return served;
}

void SubscriptionCallTest::Declare(std::set<std::string, std::less<>> callers,
                                   std::set<std::string, std::less<>> organizations) {
  set_.Declare({.served = payouts_, .callers = std::move(callers), .organizations = std::move(organizations)});
}

void SubscriptionCallTest::Serve() {
  payouts_->Tick();
  departures_.Look();
  step_source_.Serve();
}

void SubscriptionCallTest::Elapse(absl::Duration time) {
  Pass(time);
  Serve();
}

std::vector<ServedSubscription::Sent> SubscriptionCallTest::Take(size_t most) {
  std::vector<size_t> superseded;
  const ServedSubscription::ConsumerId consumer = payouts_->Join(most, {}, &superseded);
  std::vector<ServedSubscription::Sent> taken;
  for (bool got_more = true; got_more;) {
    got_more = false;
    payouts_->Next(consumer, absl::InfiniteFuture(), [&](absl::StatusOr<ServedSubscription::Batch> batch) {
      if (!batch.ok()) return;
      got_more = true;
      for (ServedSubscription::Sent& sent : *batch) taken.push_back(std::move(sent));
    });
    Serve();
  }
  payouts_->CancelNext(consumer);
  payouts_->Leave(consumer, /*gives_back=*/false);
  return taken;
}

std::string SubscriptionCallTest::TokenOf(const ServedSubscription::Sent& sent) const {
  return DeliveryTokens(log_.identity(), payouts_->name()).Encode(sent.id);
}

void SubscriptionCallTest::Park(size_t count) {
  std::vector<DeliveryId> taken;
  for (const ServedSubscription::Sent& sent : Take(count)) taken.push_back(sent.id);
  EXPECT_EQ(taken.size(), count);
  payouts_->Settle(taken, SettleOutcome::kPark, absl::ZeroDuration(), "broken",
                   [](const absl::StatusOr<std::vector<size_t>>& superseded) { EXPECT_TRUE(superseded.ok()); });
}

OnEventResponse SubscriptionCallTest::OnResponse() {
  response_.reset();
  return [this](absl::StatusOr<EventResponse> response) {
    EXPECT_FALSE(response_.has_value()) << "a second response";
    response_ = std::move(response);
  };
}

absl::Status SubscriptionCallTest::Error() const {
  return response_.has_value() ? response_->status() : absl::UnknownError("there is no response yet");
}

std::string SubscriptionCallTest::Reason() const { return testing::DetailsOf(Error()).reason; }

std::unique_ptr<google::protobuf::Message> SubscriptionCallTest::Response(const std::string& type) const {
  EXPECT_TRUE(Error().ok()) << Error();
  grpc::Slice slice;
  if (Error().ok()) EXPECT_TRUE((*response_)->message.DumpToSingleSlice(&slice).ok());
  return testing::MessageIn(absl::StrCat("stampgate.v1.", type),
                            {reinterpret_cast<const char*>(slice.begin()), slice.size()});
}

}  // namespace stampgate
