// Messages of the operations that the program contains.
#ifndef STAMPGATE_TRANSLATE_TESTING_DYNAMIC_MESSAGE_H_
#define STAMPGATE_TRANSLATE_TESTING_DYNAMIC_MESSAGE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace stampgate::testing {

// Returns the pool of OperationSet::BuiltIn().
const google::protobuf::DescriptorPool& Pool();

// Returns an empty message of `type`, whose pool must exist until the test program ends.
std::unique_ptr<google::protobuf::Message> NewMessage(const google::protobuf::Descriptor* type);

// Each of the next three functions ends the test program if Pool() has no message of the type `type`, such as
// "stampgate.v1.Event".

// Returns an empty message.
std::unique_ptr<google::protobuf::Message> NewMessage(const std::string& type);

// Returns the message that `text_proto` describes in protobuf text format. Fails the test if `text_proto` cannot be
// parsed.
std::unique_ptr<google::protobuf::Message> MessageOf(const std::string& type, const std::string& text_proto);

// Returns the message that `bytes` contains. Fails the test if `bytes` cannot be parsed, or if it contains a field that
// the type does not have.
std::unique_ptr<google::protobuf::Message> MessageIn(const std::string& type, absl::string_view bytes);

// Returns whether the field at `path` is set: for a list, whether the list has an element.
bool HasValueAt(const google::protobuf::Message& message, absl::string_view path);

// Returns the value at `path` as text: a string unchanged, an enum as the name of the value, a list as its number of
// elements, a message in text format. `path` consists of names of fields and indexes of list elements, such as
// "headers.0.name". Fails the test if there is no such place. If a field is not set, its value is the default.
std::string ValueAt(const google::protobuf::Message& message, absl::string_view path);

// Returns the value at `path` of each element of `list`, a list of messages in `message`.
std::vector<std::string> ValuesAt(const google::protobuf::Message& message, const std::string& list,
                                  absl::string_view path);

// Returns the field `name` of `message`, a map from strings to strings.
std::map<std::string, std::string> MapIn(const google::protobuf::Message& message, const std::string& name);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_DYNAMIC_MESSAGE_H_
