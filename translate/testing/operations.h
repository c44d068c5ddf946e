// The operations that a test links, and messages from text format.
#ifndef STAMPGATE_TRANSLATE_TESTING_OPERATIONS_H_
#define STAMPGATE_TRANSLATE_TESTING_OPERATIONS_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "translate/message_plan.h"
#include "translate/operation_table.h"

namespace stampgate::testing {

// The table of all linked operations, for the operator "Service".
const OperationTable& Operations();

// The operation of this method name, such as "GetPolicy". Ends the test program if there is none.
const Operation& OperationOf(absl::string_view method);

// The plan of the message, made for the operator "Service". Ends the test program if it has no JSON form.
const MessagePlan& PlanOf(const google::protobuf::Message& message);

// A request of the operation from protobuf text format. Fails the test if it is not one.
std::unique_ptr<google::protobuf::Message> RequestOf(const Operation& operation, const std::string& text_proto);

// A message of type T from protobuf text format. Fails the test if it is not one.
bool ParseTextProto(const std::string& text_proto, google::protobuf::Message& message);
template <typename T>
T Proto(const std::string& text_proto) {
  T message;
  ParseTextProto(text_proto, message);
  return message;
}

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_OPERATIONS_H_
