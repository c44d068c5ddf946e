// The table of upstream's operations, compiled from the method options of a set of operations.
#ifndef STAMPGATE_TRANSLATE_OPERATION_TABLE_H_
#define STAMPGATE_TRANSLATE_OPERATION_TABLE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"
#include "translate/message/plan.h"
#include "translate/operation_set/operation_set.h"
#include "translate/operation_set/unreviewed.h"

namespace stampgate {

// A method of the API whose calls go upstream, and upstream's operation that carries them out. Immutable.
//
// The request message of a stamped operation (of each operation except a discovery) has a required string
// `organization_id` and a `ClientStamp client_stamp = 15`. The request message of a submit also has an `optional uint64
// timestamp_ms` and an `optional string idempotency_key = 14`, and can have an `optional WaitUntil wait_until = 13`.
struct Operation : ApiMethod {
  std::string path;                // for a general operation, without the segment that the caller chooses
  std::string activity_type;       // for a typed submit; otherwise empty
  bool stamped_by_client = false;  // true if only clients may stamp it

  const MessagePlan* request = nullptr;
  const MessagePlan* response = nullptr;

  const FieldPlan* organization_id = nullptr;      // not null for a stamped operation
  const FieldPlan* timestamp_ms = nullptr;         // not null for a submit
  const FieldPlan* idempotency_key = nullptr;      // not null for a submit
  const FieldPlan* wait_until = nullptr;           // of a submit; null if its calls never wait for the activity's end
  const FieldPlan* path_segment = nullptr;         // not null for a general operation
  const FieldPlan* activity_type_field = nullptr;  // not null for a general submit

  std::string names_as_of;  // upstream receives each member of a request under the name of this day
  // Each day on which a member of the request got another name, and the empty day, which precedes them. A request has a
  // form for each of these days, and no others.
  std::vector<std::string> name_days;

  bool is_submit() const { return kind == v1::OPERATION_KIND_SUBMIT; }
};

// The operations of a set. Immutable, so threads may share it. Keeps the set.
class OperationTable {
 public:
  // Compiles the methods of `set`. Ignores local methods, whose calls do not go upstream. Upstream receives the members
  // of requests under the names of the day `names_as_of`; if this is empty, under their oldest names. Errors:
  // kFailedPrecondition, with a message that names the method or field whose options or types are not those of an
  // operation. In this case the proto is faulty.
  static absl::StatusOr<std::unique_ptr<const OperationTable>> Create(absl::string_view operator_name,
                                                                      OperationSet::Shared set,
                                                                      absl::string_view names_as_of = "");

  // Compiles only `methods`, which are methods of `set`.
  static absl::StatusOr<std::unique_ptr<const OperationTable>> Create(absl::string_view operator_name,
                                                                      OperationSet::Shared set,
                                                                      const std::vector<ApiMethod>& methods,
                                                                      absl::string_view names_as_of = "");

  const OperationSet& set() const { return *set_; }
  const OperationSet::Shared& shared_set() const { return set_; }

  // The operations, in the order of the methods from which they were compiled.
  const std::vector<Operation>& operations() const { return operations_; }

  // Return true if a typed operation has this path segment (in the path of a submit or of a query), or this activity
  // type (in any version).
  bool ListsPathSegment(absl::string_view segment) const { return path_segments_.contains(segment); }
  bool ListsActivityType(absl::string_view type) const;

  // Returns the typed operation with this path, which for a submit also has exactly this activity type, or null.
  const Operation* FindTyped(absl::string_view path, absl::string_view activity_type) const;

  // Returns the operation of the method with this full name, or null.
  const Operation* Find(absl::string_view full_name) const;

  // Returns the days on which a member of a request got another name, in order, without the empty day.
  std::vector<std::string> NameDays() const;

  // Returns true if an activity with this status has ended. `status` is upstream's text.
  bool IsFinalStatus(absl::string_view status) const { return final_statuses_.contains(status); }

 private:
  OperationTable(absl::string_view operator_name, OperationSet::Shared set, absl::string_view names_as_of)
      : set_(std::move(set)), names_as_of_(names_as_of), plans_(operator_name, UnreviewedFields(*set_)) {}

  absl::Status AddMethod(const ApiMethod& method);
  absl::Status ClaimPath(const Operation& operation);
  absl::Status CheckMembers(const Operation& operation);
  absl::Status AddActivity(const Operation& operation);

  const OperationSet::Shared set_;
  const std::string names_as_of_;
  MessagePlans plans_;
  std::vector<Operation> operations_;
  absl::flat_hash_map<std::string, size_t> by_full_name_;  // indices in operations_
  absl::flat_hash_map<std::string, size_t> paths_;         // with the index of the first operation of each path
  absl::flat_hash_map<std::string, size_t> typed_;         // from activity types to indices
  absl::flat_hash_set<std::string> path_segments_;
  absl::flat_hash_set<std::string> activity_types_;  // without their versions
  absl::flat_hash_set<std::string> final_statuses_;
  absl::flat_hash_set<const MessagePlan*> checked_;  // the messages of requests that CheckMembers has checked
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_TABLE_H_
