// Finds the messages and fields of requests by their names, once at the start of the program.
#ifndef STAMPGATE_GATEWAY_EVENTS_FIELD_FINDER_H_
#define STAMPGATE_GATEWAY_EVENTS_FIELD_FINDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "translate/message/plan.h"

namespace stampgate {

// Code that reads requests without their generated classes gets the plans from here. Thus a request that does not have
// the form that the code expects is an error at the start. Not thread-safe.
class FieldFinder {
 public:
  // `pool` and `plans`, which gets the plans of the requests, must outlive this.
  FieldFinder(const google::protobuf::DescriptorPool& pool, MessagePlans& plans) : pool_(pool), plans_(plans) {}

  // Returns the plan of a message, such as "SubscribeRequest"; null if there is none, and status() is then an error.
  const MessagePlan* Plan(const std::string& message);

  // Return the field with this name and form. Return null if `plan` is null or has no such field, or if the field is a
  // list where One was called, and the other way round; status() is then an error.
  const FieldPlan* One(const MessagePlan* plan, absl::string_view name, JsonForm form) {
    return Find(plan, name, form, /*is_list=*/false);
  }
  const FieldPlan* List(const MessagePlan* plan, absl::string_view name, JsonForm form) {
    return Find(plan, name, form, /*is_list=*/true);
  }
  // Does the same as One for a field of which the code distinguishes an absent value from an empty one.
  const FieldPlan* Optional(const MessagePlan* plan, absl::string_view name, JsonForm form);

  // Reports `error`, unless there was an error before.
  void Fail(const absl::Status& error) { status_.Update(error); }

  // The first error: kFailedPrecondition, with a message that names the message or the field, or an error of
  // MessagePlans::Compile.
  const absl::Status& status() const { return status_; }

 private:
  const FieldPlan* Find(const MessagePlan* plan, absl::string_view name, JsonForm form, bool is_list);
  void FailToFind(const MessagePlan& plan, absl::string_view name);

  const google::protobuf::DescriptorPool& pool_;
  MessagePlans& plans_;
  absl::Status status_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_FIELD_FINDER_H_
