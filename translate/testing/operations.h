// Returns the operations that the program contains, and parses messages from protobuf text format.
#ifndef STAMPGATE_TRANSLATE_TESTING_OPERATIONS_H_
#define STAMPGATE_TRANSLATE_TESTING_OPERATIONS_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "translate/message/plan.h"
#include "translate/operation_table.h"

namespace stampgate::testing {

// Returns the table of the operations in OperationSet::BuiltIn(). Upstream's name is "Service".
const OperationTable& Operations();

// Returns a pointer to Operations().
std::shared_ptr<const OperationTable> SharedOperations();

// Returns the operation whose method has this name, such as "GetPolicy". Ends the test program if there is none.
const Operation& OperationOf(absl::string_view method);

// Returns the plan of the type of `message`; it is not one of the plans in Operations(). Upstream's name is "Service".
// Ends the test program if the type has no JSON form.
const MessagePlan& PlanOf(const google::protobuf::Message& message);

// Returns the request message of `operation` that `text_proto` describes in protobuf text format. Fails the test if
// `text_proto` cannot be parsed.
std::unique_ptr<google::protobuf::Message> RequestOf(const Operation& operation, const std::string& text_proto);

// Return an empty request or response message of `operation`.
std::unique_ptr<google::protobuf::Message> NewRequest(const Operation& operation);
std::unique_ptr<google::protobuf::Message> NewResponse(const Operation& operation);

// ParseTextProto fills `message`, and Proto returns a message of type T, from protobuf text format. Both fail the test
// if `text_proto` cannot be parsed.
bool ParseTextProto(const std::string& text_proto, google::protobuf::Message& message);
template <typename T>
T Proto(const std::string& text_proto) {
  T message;
  ParseTextProto(text_proto, message);
  return message;
}

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_OPERATIONS_H_
