// Parses messages of the operations as the program parses requests.
#ifndef STAMPGATE_TRANSLATE_TESTING_PARSED_H_
#define STAMPGATE_TRANSLATE_TESTING_PARSED_H_

#include <string>

#include "google/protobuf/message.h"
#include "translate/message/parsed_message.h"
#include "translate/message/plan.h"
#include "translate/message/request_memory.h"
#include "translate/operation_table.h"

namespace stampgate::testing {

// A parsed message with its bytes.
class Parsed {
 public:
  // Serializes `message` and parses the bytes by `plan`, which must outlive this. Ends the test program if the bytes
  // cannot be parsed.
  Parsed(const google::protobuf::Message& message, const MessagePlan& plan);

  // Like above, with the plan that PlanOf returns.
  explicit Parsed(const google::protobuf::Message& message);

  // The request of `operation` that `text_proto` describes.
  Parsed(const Operation& operation, const std::string& text_proto);

  const ParsedMessage& operator*() const { return *message_; }
  const ParsedMessage* operator->() const { return message_; }
  RequestMemory& memory() { return memory_; }

 private:
  RequestMemory memory_;
  const std::string bytes_;
  const ParsedMessage* message_;
};

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_PARSED_H_
