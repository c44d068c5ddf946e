#include "translate/operation_set/merge.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "translate/wire/serialize.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

absl::Status Fault(absl::string_view element, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(element, " ", what));
}

// Whether two descriptors have the same options, except that one of them may be deprecated.
template <typename Element>
bool SameOptions(const Element& newer, const Element& older) {
  auto now = newer.options();
  auto before = older.options();
  now.clear_deprecated();
  before.clear_deprecated();
  return SerializeDeterministically(now) == SerializeDeterministically(before);
}

std::string DefinitionOf(const FieldDescriptor& field) {
  FieldDescriptorProto proto;
  field.CopyTo(&proto);
  proto.clear_oneof_index();  // counts the oneofs of the message, so it can change
  proto.mutable_options()->clear_deprecated();
  std::string definition = SerializeDeterministically(proto);
  if (field.containing_oneof() != nullptr) absl::StrAppend(&definition, " in ", field.containing_oneof()->name());
  return definition;
}

absl::Status CheckField(const Descriptor& newer, const FieldDescriptor& older) {
  const FieldDescriptor* field = newer.FindFieldByNumber(older.number());
  if (field == nullptr) {
    const bool reserved = newer.IsReservedNumber(older.number()) && newer.IsReservedName(older.name());
    return reserved ? absl::OkStatus()
                    : Fault(older.full_name(), "is missing, and its number and name are not reserved");
  }
  if (DefinitionOf(*field) == DefinitionOf(older)) return absl::OkStatus();
  return Fault(older.full_name(), "has another name, type or option");
}

absl::Status CheckEnum(const EnumDescriptor* newer, const EnumDescriptor& older) {
  if (newer == nullptr) return Fault(older.full_name(), "is missing");
  for (int i = 0; i < older.value_count(); ++i) {
    const EnumValueDescriptor& value = *older.value(i);
    const EnumValueDescriptor* now = newer->FindValueByNumber(value.number());
    if (now == nullptr && newer->IsReservedNumber(value.number()) && newer->IsReservedName(value.name())) continue;
    if (now == nullptr) return Fault(value.full_name(), "is missing, and its number and name are not reserved");
    if (now->name() != value.name() || !SameOptions(*now, value)) {
      return Fault(value.full_name(), "has another name or option");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMessage(const DescriptorPool& pool, const Descriptor& older) {
  const Descriptor* newer = pool.FindMessageTypeByName(older.full_name());
  if (newer == nullptr) return Fault(older.full_name(), "is missing");
  if (!SameOptions(*newer, older)) return Fault(older.full_name(), "has other options");
  for (int i = 0; i < older.field_count(); ++i) {
    if (absl::Status status = CheckField(*newer, *older.field(i)); !status.ok()) return status;
  }
  for (int i = 0; i < newer->field_count(); ++i) {
    const FieldDescriptor& field = *newer->field(i);
    if (older.FindFieldByNumber(field.number()) != nullptr) continue;
    if (field.options().GetExtension(v1::field).required()) {
      return Fault(field.full_name(), "is a new field, so it must not be required");
    }
  }
  for (int i = 0; i < older.nested_type_count(); ++i) {
    if (absl::Status status = CheckMessage(pool, *older.nested_type(i)); !status.ok()) return status;
  }
  for (int i = 0; i < older.enum_type_count(); ++i) {
    const EnumDescriptor& nested = *older.enum_type(i);
    if (absl::Status status = CheckEnum(pool.FindEnumTypeByName(nested.full_name()), nested); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckService(const ServiceDescriptor* newer, const ServiceDescriptor& older) {
  if (newer == nullptr) return Fault(older.full_name(), "is missing");
  for (int i = 0; i < older.method_count(); ++i) {
    const MethodDescriptor& method = *older.method(i);
    const MethodDescriptor* now = newer->FindMethodByName(method.name());
    if (now == nullptr) return Fault(method.full_name(), "is missing");
    if (now->input_type()->full_name() != method.input_type()->full_name() ||
        now->output_type()->full_name() != method.output_type()->full_name() ||
        now->client_streaming() != method.client_streaming() || now->server_streaming() != method.server_streaming()) {
      return Fault(method.full_name(), "has another request or response");
    }
    if (!SameOptions(*now, method)) return Fault(method.full_name(), "has other options");
  }
  return absl::OkStatus();
}

absl::Status CheckFile(const DescriptorPool& pool, const FileDescriptor& older) {
  for (int i = 0; i < older.message_type_count(); ++i) {
    if (absl::Status status = CheckMessage(pool, *older.message_type(i)); !status.ok()) return status;
  }
  for (int i = 0; i < older.enum_type_count(); ++i) {
    const EnumDescriptor& type = *older.enum_type(i);
    if (absl::Status status = CheckEnum(pool.FindEnumTypeByName(type.full_name()), type); !status.ok()) return status;
  }
  for (int i = 0; i < older.extension_count(); ++i) {
    const FieldDescriptor& extension = *older.extension(i);
    const FieldDescriptor* now = pool.FindExtensionByName(extension.full_name());
    if (now == nullptr || DefinitionOf(*now) != DefinitionOf(extension)) {
      return Fault(extension.full_name(), "is missing or has another type");
    }
  }
  for (int i = 0; i < older.service_count(); ++i) {
    const ServiceDescriptor& service = *older.service(i);
    if (absl::Status status = CheckService(pool.FindServiceByName(service.full_name()), service); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckExtends(const OperationSet& newer, const OperationSet& older) {
  for (const auto& [name, bytes] : older.files()) {
    if (IsOfProtoCompiler(name)) continue;  // every set has those of the program
    if (absl::Status status = CheckFile(newer.pool(), *older.pool().FindFileByName(name)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<OperationSet::Shared> MergeOperationSets(const OperationSet::Shared& base,
                                                        const OperationSet::Shared& added) {
  // First with the files of `base`: they are newer if `added` imports the files of an older release, and they have
  // comments if `added` imports the same files without comments.
  absl::StatusOr<OperationSet::Shared> merged = OperationSet::Union(base, added);
  if (merged.ok() && CheckExtends(**merged, *added).ok()) return merged;
  merged = OperationSet::Union(added, base);
  if (!merged.ok()) return merged.status();
  if (absl::Status status = CheckExtends(**merged, *base); !status.ok()) return status;
  return merged;
}

}  // namespace stampgate
