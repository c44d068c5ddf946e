// Which methods are operations of upstream, compiled from the method options of the protos that are linked in.
#ifndef STAMPGATE_TRANSLATE_OPERATION_TABLE_H_
#define STAMPGATE_TRANSLATE_OPERATION_TABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "stampgate/v1/options.pb.h"
#include "translate/message_plan.h"
#include "translate/method_table.h"

namespace stampgate {

// A method that is not local, and what it does upstream. Immutable.
//
// The request message of an operation that is stamped has a required string `organization_id`. That of a submit has an
// `optional uint64 timestamp_ms` and an `optional string idempotency_key = 14` too. Both have a
// `ClientStamp client_stamp = 15`.
struct Operation : ApiMethod {
  std::string path;                // of a general operation: the part before the caller's segment
  std::string activity_type;       // of a submit that is not general
  bool stamped_by_client = false;  // and by nobody else

  const google::protobuf::Message* request_prototype = nullptr;
  const google::protobuf::Message* response_prototype = nullptr;
  const MessagePlan* request = nullptr;
  const MessagePlan* response = nullptr;

  const FieldPlan* organization_id = nullptr;      // of what is stamped
  const FieldPlan* timestamp_ms = nullptr;         // of a submit
  const FieldPlan* idempotency_key = nullptr;      // of a submit
  const FieldPlan* path_segment = nullptr;         // of a general operation
  const FieldPlan* activity_type_field = nullptr;  // of a general submit

  bool is_submit() const { return kind == v1::OPERATION_KIND_SUBMIT; }
};

// All operations of the program. Thread-safe after creation.
class OperationTable {
 public:
  // Of ApiMethods(). Errors: kFailedPrecondition, naming the method or field
  // whose options or types do not make an operation: a fault of the proto.
  static absl::StatusOr<std::unique_ptr<const OperationTable>> Create(absl::string_view operator_name);

  // The same of these methods only. Local ones are no operations.
  static absl::StatusOr<std::unique_ptr<const OperationTable>> Create(absl::string_view operator_name,
                                                                      const std::vector<ApiMethod>& methods);

  // By service, each service's in the order of its proto.
  const std::vector<Operation>& operations() const { return operations_; }

  // Whether a typed operation has this path (both families count) or this activity type (versions do not count).
  bool ListsPathSegment(absl::string_view segment) const { return path_segments_.contains(segment); }
  bool ListsActivityType(absl::string_view type) const;

 private:
  explicit OperationTable(absl::string_view operator_name) : plans_(operator_name) {}

  absl::Status AddMethod(const ApiMethod& method);

  MessagePlans plans_;
  std::vector<Operation> operations_;
  absl::flat_hash_set<std::string> paths_;
  absl::flat_hash_set<std::string> path_segments_;
  absl::flat_hash_set<std::string> activity_types_;  // without version
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_TABLE_H_
