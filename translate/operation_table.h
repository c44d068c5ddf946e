// The table of upstream's operations, compiled from the method options of the linked protos.
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

// A method that is not local, and the operation of upstream that it stands for. Immutable.
//
// The request message of a stamped operation has a required string `organization_id` and a `ClientStamp client_stamp =
// 15`. That of a submit also has an `optional uint64 timestamp_ms` and an `optional string idempotency_key = 14`.
struct Operation : ApiMethod {
  std::string path;                // for a general operation, the part before the caller's segment
  std::string activity_type;       // for a submit that is not general
  bool stamped_by_client = false;  // only a client may stamp it

  const google::protobuf::Message* request_prototype = nullptr;
  const google::protobuf::Message* response_prototype = nullptr;
  const MessagePlan* request = nullptr;
  const MessagePlan* response = nullptr;

  const FieldPlan* organization_id = nullptr;      // if the operation is stamped
  const FieldPlan* timestamp_ms = nullptr;         // for a submit
  const FieldPlan* idempotency_key = nullptr;      // for a submit
  const FieldPlan* path_segment = nullptr;         // for a general operation
  const FieldPlan* activity_type_field = nullptr;  // for a general submit

  bool is_submit() const { return kind == v1::OPERATION_KIND_SUBMIT; }
};

// All operations of the program. Thread-safe after creation.
class OperationTable {
 public:
  // Compiles ApiMethods(). Errors: kFailedPrecondition, naming the method or field whose options or types are not those
  // of an operation. That is a fault of the proto.
  static absl::StatusOr<std::unique_ptr<const OperationTable>> Create(absl::string_view operator_name);

  // Compiles only these methods. Ignores local ones.
  static absl::StatusOr<std::unique_ptr<const OperationTable>> Create(absl::string_view operator_name,
                                                                      const std::vector<ApiMethod>& methods);

  // Ordered by service; within a service, in the order of its proto.
  const std::vector<Operation>& operations() const { return operations_; }

  // Whether a typed operation has this path segment (as a submit or as a query), or this activity type (in any
  // version).
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
