#include "translate/testing/operations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "google/protobuf/text_format.h"
#include "translate/testing/dynamic_message.h"

namespace stampgate::testing {

const OperationTable& Operations() {
  static const OperationTable* const table = [] {
    absl::StatusOr<std::unique_ptr<const OperationTable>> created =
        OperationTable::Create("Service", OperationSet::BuiltIn());
    if (!created.ok()) {
      std::cerr << created.status() << std::endl;
      std::abort();
    }
    return created->release();
  }();
  return *table;
}

std::shared_ptr<const OperationTable> SharedOperations() {
  return {std::shared_ptr<const OperationTable>(), &Operations()};
}

const Operation& OperationOf(absl::string_view method) {
  for (const Operation& operation : Operations().operations()) {
    if (operation.method->name() == method) return operation;
  }
  std::cerr << "no operation has the name " << method << std::endl;
  std::abort();
}

const MessagePlan& PlanOf(const google::protobuf::Message& message) {
  static auto& plans = *new MessagePlans("Service");
  const absl::StatusOr<const MessagePlan*> plan = plans.Compile(message.GetDescriptor());
  if (!plan.ok()) {
    std::cerr << plan.status() << std::endl;
    std::abort();
  }
  return **plan;
}

std::unique_ptr<google::protobuf::Message> NewRequest(const Operation& operation) {
  return NewMessage(operation.method->input_type());
}

std::unique_ptr<google::protobuf::Message> NewResponse(const Operation& operation) {
  return NewMessage(operation.method->output_type());
}

bool ParseTextProto(const std::string& text_proto, google::protobuf::Message& message) {
  const bool parsed = google::protobuf::TextFormat::ParseFromString(text_proto, &message);
  EXPECT_TRUE(parsed) << message.GetTypeName() << ": " << text_proto;
  return parsed;
}

std::unique_ptr<google::protobuf::Message> RequestOf(const Operation& operation, const std::string& text_proto) {
  std::unique_ptr<google::protobuf::Message> request = NewRequest(operation);
  ParseTextProto(text_proto, *request);
  return request;
}

}  // namespace stampgate::testing
