#include "translate/wire/field_numbers.h"

#include "absl/strings/str_cat.h"

namespace stampgate {

int FieldNumbers::EnumValue(const std::string& name) {
  const google::protobuf::EnumValueDescriptor* value = pool_.FindEnumValueByName(name);
  return value == nullptr ? Fail(name, "is not an enum value of the protos") : value->number();
}

int FieldNumbers::Find(const std::string& name, Type type, bool is_list) {
  const google::protobuf::FieldDescriptor* field = pool_.FindFieldByName(name);
  if (field == nullptr) return Fail(name, "is not a field of the protos");
  if (field->is_repeated() != is_list) return Fail(name, is_list ? "is not a list" : "is a list");
  if (field->type() != type) return Fail(name, "does not have the type that the program needs");
  return field->number();
}

int FieldNumbers::Fail(const std::string& name, const char* what) {
  if (status_.ok()) status_ = absl::FailedPreconditionError(absl::StrCat(name, " ", what));
  return 0;
}

}  // namespace stampgate
