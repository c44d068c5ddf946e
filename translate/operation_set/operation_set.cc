#include "translate/operation_set/operation_set.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "translate/operation_set/date.h"
#include "translate/wire/fields.h"

// The compressed descriptors in the program: the target //proto:stampgate_operations.
extern "C" const char stampgate_operations_begin[];
extern "C" const char stampgate_operations_end[];

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptorProto;

constexpr size_t kMaxFiles = 1000;  // also bounds the recursion over imports
constexpr int kMaxMessages = 20'000;
constexpr int kMaxMembers = 100'000;
constexpr int kMaxMembersOfOne = 1000;

// Counts the elements of files, and keeps the first fault.
class SizeCheck {
 public:
  void AddFile(const FileDescriptorProto& file) {
    const std::string& package = file.package();
    for (const DescriptorProto& message : file.message_type()) AddMessage(message, package);
    for (const EnumDescriptorProto& type : file.enum_type()) AddEnum(type, package);
    for (const ServiceDescriptorProto& service : file.service()) {
      AddMembers(service.method_size(), absl::StrCat(package, ".", service.name()), "methods");
    }
  }

  const absl::Status& status() const { return status_; }

 private:
  // The parser of Protocol Buffers bounds the recursion: it reads at most 100 nested messages.
  void AddMessage(const DescriptorProto& message, absl::string_view scope) {
    const std::string name = absl::StrCat(scope, ".", message.name());
    if (++messages_ > kMaxMessages) Fail(name, absl::StrCat("is more than the ", kMaxMessages, " messages of a set"));
    AddMembers(message.field_size(), name, "fields");
    for (const DescriptorProto& nested : message.nested_type()) AddMessage(nested, name);
    for (const EnumDescriptorProto& type : message.enum_type()) AddEnum(type, name);
  }

  void AddEnum(const EnumDescriptorProto& type, absl::string_view scope) {
    AddMembers(type.value_size(), absl::StrCat(scope, ".", type.name()), "values");
  }

  void AddMembers(int count, absl::string_view name, absl::string_view kind) {
    if (count > kMaxMembersOfOne) Fail(name, absl::StrCat("has more than ", kMaxMembersOfOne, " ", kind));
    members_ += std::min(count, kMaxMembersOfOne);
    if (members_ > kMaxMembers) {
      Fail(name, absl::StrCat("brings the fields, values and methods of the set to more than ", kMaxMembers));
    }
  }

  void Fail(absl::string_view name, absl::string_view what) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat(absl::StripPrefix(name, "."), " ", what));
  }

  int messages_ = 0;
  int members_ = 0;
  absl::Status status_;
};

// Keeps the first fault of a file.
class FaultCollector : public DescriptorPool::ErrorCollector {
 public:
  const std::string& fault() const { return fault_; }

#if GOOGLE_PROTOBUF_VERSION >= 4022000
  void RecordError(absl::string_view /*file*/, absl::string_view element, const google::protobuf::Message* /*proto*/,
                   ErrorLocation /*location*/, absl::string_view message) override {
    Keep(element, message);
  }
#else
  void AddError(const std::string& /*file*/, const std::string& element, const google::protobuf::Message* /*proto*/,
                ErrorLocation /*location*/, const std::string& message) override {
    Keep(element, message);
  }
#endif

 private:
  void Keep(absl::string_view element, absl::string_view message) {
    if (fault_.empty()) fault_ = absl::StrCat(element, ": ", message);
  }

  std::string fault_;
};

std::string DecompressBuiltIn() {
  const uintptr_t size =
      reinterpret_cast<uintptr_t>(stampgate_operations_end) - reinterpret_cast<uintptr_t>(stampgate_operations_begin);
  google::protobuf::io::ArrayInputStream compressed(stampgate_operations_begin, static_cast<int>(size));
  google::protobuf::io::GzipInputStream stream(&compressed);
  std::string descriptors;
  const void* data = nullptr;
  for (int read = 0; stream.Next(&data, &read);) {
    descriptors.append(static_cast<const char*>(data), static_cast<size_t>(read));
  }
  return descriptors;
}

ApiMethod ApiMethodOf(const MethodDescriptor* method) {
  const v1::OperationRule& rule = method->options().GetExtension(v1::operation);
  ApiMethod entry;
  entry.method = method;
  entry.full_name = absl::StrCat("/", method->service()->full_name(), "/", method->name());
  entry.kind = rule.kind();
  if (rule.policy_class() != v1::POLICY_CLASS_UNSPECIFIED) entry.policy_class = rule.policy_class();
  entry.general = rule.general();
  entry.streams = method->server_streaming();
  entry.since = rule.since();
  entry.internal = rule.internal();
  entry.moves_unread_amount = rule.moves_unread_amount();
  return entry;
}

}  // namespace

bool IsOfProtoCompiler(absl::string_view file) { return absl::StartsWith(file, "google/protobuf/"); }

const OperationSet::Shared& OperationSet::BuiltIn() {
  static const auto& built_in = *new absl::StatusOr<Shared>(Create(DecompressBuiltIn()));
  return built_in.value();  // valid: the set is the same in each run of the program
}

absl::StatusOr<OperationSet::Shared> OperationSet::Create(std::string descriptors) {
  std::shared_ptr<OperationSet> set(new OperationSet());
  set->owned_ = std::move(descriptors);
  ABSL_RETURN_IF_ERROR(set->AddFiles(set->owned_));
  if (set->files_.empty()) return absl::InvalidArgumentError("contains no proto file");
  return Build(std::move(set));
}

absl::StatusOr<OperationSet::Shared> OperationSet::Extend(Shared base, std::string files) {
  std::shared_ptr<OperationSet> set(new OperationSet());
  set->files_ = base->files_;
  set->base_ = std::move(base);
  set->owned_ = std::move(files);
  ABSL_RETURN_IF_ERROR(set->AddFiles(set->owned_));
  return Build(std::move(set));
}

absl::Status OperationSet::AddFiles(absl::string_view descriptors) {
  FileDescriptorSet parsed;
  if (!parsed.ParseFromArray(descriptors.data(), static_cast<int>(descriptors.size()))) {
    return absl::InvalidArgumentError("is not a serialized FileDescriptorSet");
  }
  SizeCheck size;
  for (const FileDescriptorProto& file : parsed.file()) size.AddFile(file);
  if (!size.status().ok()) return size.status();
  ForEachBytes(descriptors, FileDescriptorSet::kFileFieldNumber, [&](absl::string_view file) {
    files_[std::string(FindBytes(file, FileDescriptorProto::kNameFieldNumber).value_or(""))] = file;
  });
  if (files_.size() > kMaxFiles) {
    return absl::InvalidArgumentError(absl::StrCat("contains more than ", kMaxFiles, " proto files"));
  }
  return absl::OkStatus();
}

absl::StatusOr<OperationSet::Shared> OperationSet::Build(std::shared_ptr<OperationSet> set) {
  for (const auto& [name, bytes] : set->files_) {
    ABSL_RETURN_IF_ERROR(set->BuildFile(name));
  }
  ABSL_RETURN_IF_ERROR(set->ListMethods());
  return set;
}

absl::Status OperationSet::BuildFile(const std::string& file) {
  if (pool_.FindFileByName(file) != nullptr) return absl::OkStatus();
  if (!begun_.insert(file).second) return absl::InvalidArgumentError(absl::StrCat(file, " imports itself"));
  FileDescriptorProto proto;
  const absl::string_view bytes = files_.at(file);
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(absl::StrCat(file, " is not a FileDescriptorProto"));
  }
  proto.clear_source_code_info();  // would occupy several times the memory of the rest
  for (const std::string& dependency : proto.dependency()) {
    if (!files_.contains(dependency)) {
      return absl::InvalidArgumentError(absl::StrCat(file, " imports ", dependency, ", which is missing"));
    }
    ABSL_RETURN_IF_ERROR(BuildFile(dependency));
  }
  FaultCollector faults;
  if (pool_.BuildFileCollectingErrors(proto, &faults) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", faults.fault()));
  }
  return absl::OkStatus();
}

absl::Status OperationSet::ListMethods() {
  for (const auto& [name, bytes] : files_) {
    const FileDescriptor* file = pool_.FindFileByName(name);
    for (int s = 0; s < file->service_count(); ++s) {
      services_.emplace_back(file->service(s)->full_name());
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const MethodDescriptor* method = file->service(s)->method(m);
        if (method->options().HasExtension(v1::operation)) methods_.push_back(ApiMethodOf(method));
      }
    }
  }
  std::sort(services_.begin(), services_.end());
  for (ApiMethod& method : methods_) {
    if (!method.since.empty() && !IsDate(method.since)) {
      return absl::InvalidArgumentError(
          absl::StrCat(method.method->full_name(), ": since must be a day such as 2026-09-22"));
    }
    newest_since_ = std::max(newest_since_, method.since);  // days in this form compare as texts
    const ApiMethod* same = SameMethodOfBase(method);
    if (same != nullptr && same->full_name != method.full_name) {
      ApiMethod renamed = ApiMethodOf(pool_.FindMethodByName(same->method->full_name()));
      renamed.other_name_of = std::exchange(renamed.full_name, method.full_name);
      method = std::move(renamed);
    }
    method.built_in = base_ == nullptr || (same != nullptr && same->built_in);
    method.is_after_built_in = !method.built_in && method.since > origin().newest_since_;
    by_name_.emplace(method.full_name, &method);
    if (!method.other_name_of.empty()) continue;
    const v1::OperationRule& rule = method.method->options().GetExtension(v1::operation);
    if (!rule.path().empty()) by_path_.emplace(rule.path(), &method);
    if (!rule.activity_type().empty()) by_activity_type_.emplace(rule.activity_type(), &method);
  }
  return absl::OkStatus();
}

bool OperationSet::IsBuiltIn(const Descriptor& message) const {
  return base_ == nullptr || origin().pool_.FindMessageTypeByName(message.full_name()) != nullptr;
}

bool OperationSet::IsBuiltIn(const FieldDescriptor& field) const {
  if (base_ == nullptr) return true;
  const Descriptor* message = origin().pool_.FindMessageTypeByName(field.containing_type()->full_name());
  return message != nullptr && message->FindFieldByNumber(field.number()) != nullptr;
}

// Returns the method of base_ that `method` is, or null: the method with the same name, or the one of which it is
// another name.
const ApiMethod* OperationSet::SameMethodOfBase(const ApiMethod& method) const {
  if (base_ == nullptr) return nullptr;
  if (const ApiMethod* same = base_->FindMethod(method.full_name); same != nullptr) {
    return same->other_name_of.empty() ? same : base_->FindMethod(same->other_name_of);
  }
  if (method.kind == v1::OPERATION_KIND_LOCAL) return nullptr;
  const v1::OperationRule& rule = method.method->options().GetExtension(v1::operation);
  return rule.activity_type().empty() ? base_->FindPath(rule.path()) : base_->FindActivityType(rule.activity_type());
}

const ApiMethod* OperationSet::FindIn(const Methods& methods, absl::string_view key) {
  const auto found = methods.find(key);
  return found == methods.end() ? nullptr : found->second;
}

const ApiMethod* OperationSet::FindMethod(absl::string_view full_name) const { return FindIn(by_name_, full_name); }

const ApiMethod* OperationSet::FindPath(absl::string_view path) const { return FindIn(by_path_, path); }

const ApiMethod* OperationSet::FindActivityType(absl::string_view type) const {
  return FindIn(by_activity_type_, type);
}

}  // namespace stampgate
