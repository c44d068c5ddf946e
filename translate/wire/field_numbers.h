// Finds the numbers of fields and of enum values by their names, once at the start of the program.
#ifndef STAMPGATE_TRANSLATE_WIRE_FIELD_NUMBERS_H_
#define STAMPGATE_TRANSLATE_WIRE_FIELD_NUMBERS_H_

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"

namespace stampgate {

// Code that writes or reads a message without its generated class gets the numbers from here. Thus a message that does
// not have the form that the code expects is an error at the start. Not thread-safe.
class FieldNumbers {
 public:
  using Type = google::protobuf::FieldDescriptor::Type;

  // `pool` must outlive this.
  explicit FieldNumbers(const google::protobuf::DescriptorPool& pool) : pool_(pool) {}

  // Return the number of the field with this full name, such as "stampgate.v1.Event.cursor". If there is no such field,
  // or if it has another type or is a list where One was called, return 0, and status() is an error.
  int One(const std::string& name, Type type) { return Find(name, type, /*is_list=*/false); }
  int List(const std::string& name, Type type) { return Find(name, type, /*is_list=*/true); }

  // Returns the number of the enum value with this full name, such as "stampgate.v1.LOG_END_LATEST", or 0 and an error
  // in status(). An enum value is in the scope of its enum.
  int EnumValue(const std::string& name);

  // The first error: kFailedPrecondition, with a message that names the field or the value.
  const absl::Status& status() const { return status_; }

 private:
  int Find(const std::string& name, Type type, bool is_list);
  int Fail(const std::string& name, const char* what);

  const google::protobuf::DescriptorPool& pool_;
  absl::Status status_;
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_WIRE_FIELD_NUMBERS_H_
