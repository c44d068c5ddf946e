#include "translate/operation_set/merge.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "translate/wire/serialize.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::EnumValueDescriptorProto;
using google::protobuf::FieldDescriptor;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MethodDescriptor;
using google::protobuf::OneofDescriptorProto;
using google::protobuf::ServiceDescriptor;
using google::protobuf::ServiceDescriptorProto;
using google::protobuf::SourceCodeInfo;

// The place of an element in its file, as in SourceCodeInfo.Location.path. Without its last number: of a list of
// elements.
using Path = std::vector<int>;

constexpr int kMessages = FileDescriptorProto::kMessageTypeFieldNumber;
constexpr int kEnums = FileDescriptorProto::kEnumTypeFieldNumber;
constexpr int kServices = FileDescriptorProto::kServiceFieldNumber;
constexpr int kExtensions = FileDescriptorProto::kExtensionFieldNumber;
constexpr int kFields = DescriptorProto::kFieldFieldNumber;
constexpr int kNestedMessages = DescriptorProto::kNestedTypeFieldNumber;
constexpr int kNestedEnums = DescriptorProto::kEnumTypeFieldNumber;
constexpr int kValues = EnumDescriptorProto::kValueFieldNumber;
constexpr int kMethods = ServiceDescriptorProto::kMethodFieldNumber;

Path Inside(Path path, int list) {
  path.push_back(list);
  return path;
}

Path Inside(Path path, int list, int index) {
  path.push_back(list);
  path.push_back(index);
  return path;
}

absl::Status Fault(absl::string_view element, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(element, " ", what));
}

absl::string_view OneofOf(const FieldDescriptor& field) {
  const auto* oneof = field.real_containing_oneof();
  return oneof == nullptr ? "" : absl::string_view(oneof->name());
}

absl::string_view TypeNameOf(const FieldDescriptor& field) {
  if (field.message_type() != nullptr) return field.message_type()->full_name();
  return field.enum_type() == nullptr ? "" : absl::string_view(field.enum_type()->full_name());
}

// Whether both are the same field to everybody who writes and reads messages. Presence is not part of it.
bool IsSameField(const FieldDescriptor& a, const FieldDescriptor& b) {
  return a.name() == b.name() && a.number() == b.number() && a.type() == b.type() && TypeNameOf(a) == TypeNameOf(b) &&
         a.is_repeated() == b.is_repeated() && OneofOf(a) == OneofOf(b) &&
         a.containing_type()->full_name() == b.containing_type()->full_name();
}

// The requests of today's callers must stay valid without a new field, and it must not hold members of other fields.
absl::Status CheckNewField(const FieldDescriptor& field) {
  const v1::FieldRule& rule = field.options().GetExtension(v1::field);
  if (rule.required() || rule.min_elements() > 0) {
    return Fault(field.full_name(), "is a new field, so it must not be required");
  }
  if (rule.text_form() == v1::TEXT_FORM_JSON_MEMBERS) {
    return Fault(field.full_name(), "is a new field, so its members must not be written beside those of other fields");
  }
  return absl::OkStatus();
}

// Adds the fields of `from` with the indices `added` to the fields of `to`. Returns the new index of each field that
// `to` had, and then of each added one.
//
// The fields of a oneof must stay together, so a new field of a oneof follows the others of it; all other new fields
// are the last ones. The oneofs that a proto declares must precede those that only the compiler declares, for fields
// with `optional`.
std::vector<int> AddFields(const std::vector<int>& added, const DescriptorProto& from, DescriptorProto& to) {
  struct Field {
    FieldDescriptorProto field;
    const OneofDescriptorProto* oneof;
    size_t place;  // the last field of the same oneof, or its own place
    size_t index;  // in the result of this function
  };
  const DescriptorProto before = to;
  std::vector<Field> fields;
  std::map<std::string, size_t> ends;  // the last field of `to` in each oneof
  const auto append = [&](const DescriptorProto& message, const FieldDescriptorProto& field) {
    const OneofDescriptorProto* oneof = field.has_oneof_index() ? &message.oneof_decl(field.oneof_index()) : nullptr;
    fields.push_back({field, oneof, fields.size(), fields.size()});
  };
  for (const FieldDescriptorProto& field : before.field()) {
    append(before, field);
    if (fields.back().oneof != nullptr) ends[fields.back().oneof->name()] = fields.back().place;
  }
  for (const int i : added) {
    append(from, from.field(i));
    if (fields.back().oneof == nullptr) continue;
    fields.back().place = ends.try_emplace(fields.back().oneof->name(), fields.back().place).first->second;
  }
  absl::c_stable_sort(fields, [](const Field& a, const Field& b) { return a.place < b.place; });

  to.clear_field();
  to.clear_oneof_decl();
  std::vector<int> indices(fields.size());
  for (const bool of_optionals : {false, true}) {
    for (Field& each : fields) {
      if (each.oneof == nullptr || each.field.proto3_optional() != of_optionals) continue;
      const int last = to.oneof_decl_size() - 1;
      const bool is_known = last >= 0 && to.oneof_decl(last).name() == each.oneof->name();
      if (!is_known) *to.add_oneof_decl() = *each.oneof;
      each.field.set_oneof_index(to.oneof_decl_size() - 1);
    }
  }
  for (const Field& each : fields) {
    indices[each.index] = to.field_size();
    *to.add_field() = each.field;
  }
  return indices;
}

// Whether the path of `location` begins with `prefix`, and is longer.
bool IsInside(const SourceCodeInfo::Location& location, const Path& prefix) {
  return location.path_size() > static_cast<int>(prefix.size()) &&
         std::equal(prefix.begin(), prefix.end(), location.path().begin());
}

// Merges the files of `added` into those of `base`.
class Merger {
 public:
  Merger(const OperationSet::Shared& base, const OperationSet& added) : base_(base), added_(added) {}

  absl::StatusOr<MergedOperations> Run() {
    for (const auto& [name, bytes] : added_.files()) {
      ABSL_RETURN_IF_ERROR(AddFile(name, bytes));
    }
    if (changed_.empty()) return MergedOperations{base_, std::move(unused_options_)};
    FileDescriptorSet files;
    for (const std::string& name : changed_) files.add_file()->Swap(&files_.at(name));
    ABSL_ASSIGN_OR_RETURN(OperationSet::Shared set, OperationSet::Extend(base_, SerializeDeterministically(files)));
    return MergedOperations{std::move(set), std::move(unused_options_)};
  }

 private:
  // The place of an element that was added, by its place in the file of `added`.
  struct Place {
    std::string file;
    Path path;
  };

  absl::Status AddFile(const std::string& name, absl::string_view bytes) {
    const bool is_new = !base_->files().contains(name);
    if (IsOfProtoCompiler(name) && !is_new) return absl::OkStatus();  // compilers differ in them
    from_ = Parsed(bytes);
    newer_ = added_.pool().FindFileByName(name);
    places_.clear();
    importing_.clear();
    is_defined_elsewhere_ = false;
    if (!is_new) {
      const FileDescriptorProto& file = File(name);
      if (file.package() != from_.package() || file.syntax() != from_.syntax()) {
        return Fault(name, "has another package or syntax");
      }
    }
    ABSL_RETURN_IF_ERROR(MergeElements());
    if (is_new && !is_defined_elsewhere_) {
      files_[name] = from_;  // with all its comments
      changed_.insert(name);
      return absl::OkStatus();
    }
    MoveComments();
    return absl::OkStatus();
  }

  absl::Status MergeElements() {
    const DescriptorPool& pool = base_->pool();
    for (int i = 0; i < newer_->message_type_count(); ++i) {
      const Descriptor& newer = *newer_->message_type(i);
      const Descriptor* older = pool.FindMessageTypeByName(newer.full_name());
      if (older == nullptr) {
        Add(from_.message_type(i), {kMessages, i}, *NewHome().mutable_message_type(), from_.name(), {kMessages});
        continue;
      }
      if (older->containing_type() != nullptr) return Fault(older->full_name(), "is a message inside another one");
      const int index = older->index();
      DescriptorProto& to = *FileOf(*older).mutable_message_type(index);
      absl::Status status = MergeMessage(newer, from_.message_type(i), {kMessages, i}, *older, to, {kMessages, index});
      if (!status.ok()) return status;
    }
    for (int i = 0; i < newer_->enum_type_count(); ++i) {
      const EnumDescriptor& newer = *newer_->enum_type(i);
      const EnumDescriptor* older = pool.FindEnumTypeByName(newer.full_name());
      if (older == nullptr) {
        Add(from_.enum_type(i), {kEnums, i}, *NewHome().mutable_enum_type(), from_.name(), {kEnums});
        continue;
      }
      if (older->containing_type() != nullptr) return Fault(older->full_name(), "is an enum inside a message");
      const int index = older->index();
      EnumDescriptorProto& to = *FileOf(*older).mutable_enum_type(index);
      absl::Status status = MergeEnum(newer, from_.enum_type(i), {kEnums, i}, *older, to, {kEnums, index});
      if (!status.ok()) return status;
    }
    for (int i = 0; i < newer_->service_count(); ++i) {
      const ServiceDescriptor& newer = *newer_->service(i);
      const ServiceDescriptor* older = pool.FindServiceByName(newer.full_name());
      if (older == nullptr) {
        Add(from_.service(i), {kServices, i}, *NewHome().mutable_service(), from_.name(), {kServices});
        continue;
      }
      const int index = older->index();
      ServiceDescriptorProto& to = *FileOf(*older).mutable_service(index);
      absl::Status status = MergeService(newer, from_.service(i), {kServices, i}, *older, to, {kServices, index});
      if (!status.ok()) return status;
    }
    for (int i = 0; i < newer_->extension_count(); ++i) {
      const FieldDescriptor* older = pool.FindExtensionByName(newer_->extension(i)->full_name());
      if (older == nullptr) {
        Add(from_.extension(i), {kExtensions, i}, *NewHome().mutable_extension(), from_.name(), {kExtensions});
        continue;
      }
      FileOf(*older);
      if (!IsSameField(*newer_->extension(i), *older)) return Fault(older->full_name(), "has another number or type");
    }
    return absl::OkStatus();
  }

  // In the next functions, `newer` and `from` are the element of `added`, whose place is `path`; `older` is the same
  // element of `base`, and `to` and `to_path` are its merged form and its place. The recursion is bounded, because the
  // parser of Protocol Buffers reads at most 100 nested messages.
  absl::Status MergeMessage(const Descriptor& newer, const DescriptorProto& from, const Path& path,
                            const Descriptor& older, DescriptorProto& to, const Path& to_path) {
    NoteOptions(newer, older);
    const std::string file(older.file()->name());
    std::vector<int> fields;  // the indices of the new fields
    for (int i = 0; i < newer.field_count(); ++i) {
      const FieldDescriptor& field = *newer.field(i);
      const FieldDescriptor* same = older.FindFieldByNumber(field.number());
      if (same == nullptr) same = older.FindFieldByName(field.name());
      if (same != nullptr) {
        if (!IsSameField(field, *same)) {
          return Fault(same->full_name(), "has another name, number, type, list or oneof");
        }
        NoteOptions(field, *same);
        continue;
      }
      if (older.IsReservedNumber(field.number()) && older.IsReservedName(field.name())) continue;
      ABSL_RETURN_IF_ERROR(CheckNewField(field));
      fields.push_back(i);
    }
    if (!fields.empty()) PlaceFields(fields, from, path, file, to, to_path);
    for (int i = 0; i < newer.nested_type_count(); ++i) {
      const Descriptor* same = older.FindNestedTypeByName(newer.nested_type(i)->name());
      const Path nested = Inside(path, kNestedMessages, i);
      if (same == nullptr) {
        Add(from.nested_type(i), nested, *to.mutable_nested_type(), file, Inside(to_path, kNestedMessages));
        continue;
      }
      ABSL_RETURN_IF_ERROR(MergeMessage(*newer.nested_type(i), from.nested_type(i), nested, *same,
                                        *to.mutable_nested_type(same->index()),
                                        Inside(to_path, kNestedMessages, same->index())));
    }
    for (int i = 0; i < newer.enum_type_count(); ++i) {
      const EnumDescriptor* same = older.FindEnumTypeByName(newer.enum_type(i)->name());
      const Path nested = Inside(path, kNestedEnums, i);
      if (same == nullptr) {
        Add(from.enum_type(i), nested, *to.mutable_enum_type(), file, Inside(to_path, kNestedEnums));
        continue;
      }
      ABSL_RETURN_IF_ERROR(MergeEnum(*newer.enum_type(i), from.enum_type(i), nested, *same,
                                     *to.mutable_enum_type(same->index()),
                                     Inside(to_path, kNestedEnums, same->index())));
    }
    return absl::OkStatus();
  }

  // Adds the fields of `from` with the indices `fields` to `to`, and moves the comments of fields whose index changes.
  void PlaceFields(const std::vector<int>& fields, const DescriptorProto& from, const Path& path,
                   const std::string& file, DescriptorProto& to, const Path& to_path) {
    const size_t old_count = static_cast<size_t>(to.field_size());
    const std::vector<int> indices = AddFields(fields, from, to);
    const Path list = Inside(to_path, kFields);
    for (SourceCodeInfo::Location& location : *File(file).mutable_source_code_info()->mutable_location()) {
      if (!IsInside(location, list)) continue;
      const int step = static_cast<int>(list.size());
      location.set_path(step, indices[static_cast<size_t>(location.path(step))]);
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      NotePlace(Inside(path, kFields, fields[i]), file, Inside(to_path, kFields, indices[old_count + i]));
    }
  }

  absl::Status MergeEnum(const EnumDescriptor& newer, const EnumDescriptorProto& from, const Path& path,
                         const EnumDescriptor& older, EnumDescriptorProto& to, const Path& to_path) {
    NoteOptions(newer, older);
    for (int i = 0; i < newer.value_count(); ++i) {
      const EnumValueDescriptor& value = *newer.value(i);
      const EnumValueDescriptor* same = older.FindValueByNumber(value.number());
      if (same == nullptr) same = older.FindValueByName(value.name());
      if (same != nullptr) {
        if (same->name() != value.name() || same->number() != value.number()) {
          return Fault(same->full_name(), "has another name or number");
        }
        NoteOptions(value, *same);
      } else if (!older.IsReservedNumber(value.number()) || !older.IsReservedName(value.name())) {
        Add(from.value(i), Inside(path, kValues, i), *to.mutable_value(), std::string(older.file()->name()),
            Inside(to_path, kValues));
      }
    }
    return absl::OkStatus();
  }

  absl::Status MergeService(const ServiceDescriptor& newer, const ServiceDescriptorProto& from, const Path& path,
                            const ServiceDescriptor& older, ServiceDescriptorProto& to, const Path& to_path) {
    for (int i = 0; i < newer.method_count(); ++i) {
      const MethodDescriptor& method = *newer.method(i);
      const MethodDescriptor* same = older.FindMethodByName(method.name());
      if (same == nullptr) {
        Add(from.method(i), Inside(path, kMethods, i), *to.mutable_method(), std::string(older.file()->name()),
            Inside(to_path, kMethods));
        continue;
      }
      if (method.input_type()->full_name() != same->input_type()->full_name() ||
          method.output_type()->full_name() != same->output_type()->full_name() ||
          method.client_streaming() != same->client_streaming() ||
          method.server_streaming() != same->server_streaming()) {
        return Fault(same->full_name(), "has another request or response");
      }
      NoteOptions(method, *same);
    }
    return absl::OkStatus();
  }

  // Notes the element if its options in `added` are not those in `base`, except that one of them may be deprecated.
  template <typename Element>
  void NoteOptions(const Element& newer, const Element& older) {
    auto now = newer.options();
    auto before = older.options();
    now.clear_deprecated();
    before.clear_deprecated();
    if (SerializeDeterministically(now) == SerializeDeterministically(before)) return;
    unused_options_.emplace_back(older.full_name());
  }

  // Appends `element`, whose place is `path`, to `list`, whose place in the file called `file` is `list_path`.
  template <typename Element, typename List>
  void Add(const Element& element, Path path, List& list, const std::string& file, Path list_path) {
    list_path.push_back(list.size());
    *list.Add() = element;
    NotePlace(std::move(path), file, std::move(list_path));
  }

  void NotePlace(Path path, const std::string& file, Path new_path) {
    if (importing_.insert(file).second) AddImports(file);
    changed_.insert(file);
    places_[std::move(path)] = {file, std::move(new_path)};
  }

  // Adds the imports of from_ to the file called `name`, which now has an element of from_.
  void AddImports(const std::string& name) {
    FileDescriptorProto& file = File(name);
    std::set<std::string> present(file.dependency().begin(), file.dependency().end());
    present.insert(name);
    for (const std::string& dependency : from_.dependency()) {
      if (present.insert(dependency).second) file.add_dependency(dependency);
    }
  }

  // Copies the comments of the elements in places_.
  void MoveComments() {
    for (const SourceCodeInfo::Location& location : from_.source_code_info().location()) {
      const Path path(location.path().begin(), location.path().end());
      for (size_t size = 2; size <= path.size(); size += 2) {
        const auto found = places_.find(Path(path.begin(), path.begin() + static_cast<Path::difference_type>(size)));
        if (found == places_.end()) continue;
        SourceCodeInfo::Location& copy = *File(found->second.file).mutable_source_code_info()->add_location();
        copy = location;
        copy.clear_path();
        for (const int step : found->second.path) copy.add_path(step);
        for (size_t i = size; i < path.size(); ++i) copy.add_path(path[i]);
        break;
      }
    }
  }

  // Returns the file to which an element that `base` does not have is added: the one of its name.
  FileDescriptorProto& NewHome() {
    if (base_->files().contains(from_.name()) || files_.contains(from_.name())) return File(from_.name());
    FileDescriptorProto& file = files_[from_.name()];
    file = from_;
    file.clear_message_type();
    file.clear_enum_type();
    file.clear_service();
    file.clear_extension();
    file.clear_source_code_info();
    return file;
  }

  // Returns the file called `name` of `base`, as merged so far.
  FileDescriptorProto& File(const std::string& name) {
    const auto [file, is_new] = files_.try_emplace(name);
    if (is_new) file->second = Parsed(base_->files().at(name));
    return file->second;
  }

  // Returns the file with `older`, an element that `base` and from_ have.
  template <typename Element>
  FileDescriptorProto& FileOf(const Element& older) {
    const std::string name(older.file()->name());
    if (name != from_.name()) is_defined_elsewhere_ = true;
    return File(name);
  }

  static FileDescriptorProto Parsed(absl::string_view bytes) {
    FileDescriptorProto file;
    // Valid, because a set was made from it.
    static_cast<void>(file.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    return file;
  }

  const OperationSet::Shared& base_;
  const OperationSet& added_;
  // The file of `added` that is being merged: its bytes, and its descriptors.
  FileDescriptorProto from_;
  const FileDescriptor* newer_ = nullptr;
  std::map<Path, Place> places_;                      // of the elements of from_ that `base` does not have
  std::set<std::string> importing_;                   // the files that have the imports of from_
  bool is_defined_elsewhere_ = false;                 // `base` has an element of from_ in a file of another name
  std::map<std::string, FileDescriptorProto> files_;  // the files of the result that were needed so far
  std::set<std::string> changed_;                     // the names of those that differ from the files of `base`
  std::vector<std::string> unused_options_;
};

}  // namespace

absl::StatusOr<MergedOperations> MergeOperationSets(const OperationSet::Shared& base,
                                                    const OperationSet::Shared& added) {
  return Merger(base, *added).Run();
}

}  // namespace stampgate
