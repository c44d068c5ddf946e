#include "translate/testing/parsed.h"

#include <cstdlib>
#include <iostream>

#include "translate/testing/operations.h"

namespace stampgate::testing {

Parsed::Parsed(const google::protobuf::Message& message, const MessagePlan& plan)
    : bytes_(message.SerializeAsString()) {
  memory_.Receive(bytes_.size());
  message_ = ParseMessage(plan, bytes_, memory_).value_or(nullptr);
  if (message_ != nullptr) return;
  std::cerr << "the bytes are not a " << message.GetTypeName() << std::endl;
  std::abort();
}

Parsed::Parsed(const google::protobuf::Message& message) : Parsed(message, PlanOf(message)) {}

Parsed::Parsed(const Operation& operation, const std::string& text_proto)
    : Parsed(*RequestOf(operation, text_proto), *operation.request) {}

}  // namespace stampgate::testing
