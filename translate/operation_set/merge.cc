#include "translate/operation_set/merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status_macros.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "translate/operation_set/conflicts.h"
#include "translate/operation_set/looser_rule.h"
#include "translate/operation_set/other_names.h"
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
using google::protobuf::FieldOptions;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MethodDescriptor;
using google::protobuf::MethodDescriptorProto;
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
  Merger(const OperationSet::Shared& base, const OperationSet& added)
      : base_(base),
        added_(added),
        other_names_(FindOtherNames(*base, added)),
        conflicts_(FindConflicts(*base, added, other_names_.refused)) {
    if (IsLaterRelease(*base, added)) fixed_rules_ = MessagesOfTheGateway(*base);
  }

  absl::StatusOr<MergedOperations> Run() {
    for (const auto& [name, bytes] : added_.files()) AddFile(name, bytes);
    OperationSet::Shared set = base_;
    if (!changed_.empty()) {
      ImportUsedTypes();
      AddMissingImports();
      FileDescriptorSet files;
      for (const std::string& name : changed_) files.add_file()->Swap(&files_.at(name));
      ABSL_ASSIGN_OR_RETURN(set, OperationSet::Extend(base_, SerializeDeterministically(files)));
    }
    return MergedOperations{std::move(set), std::move(unused_options_), std::move(conflicts_.sentences)};
  }

 private:
  // The place of an element that was added.
  struct Place {
    std::string file;
    Path path;
  };

  void AddFile(const std::string& name, absl::string_view bytes) {
    const bool is_new = !base_->files().contains(name);
    if (IsOfProtoCompiler(name) && !is_new) return;  // compilers differ in them
    if (IsKept(name)) return;
    from_ = Parsed(bytes);
    newer_ = added_.pool().FindFileByName(name);
    places_.clear();
    importing_.clear();
    is_whole_ = is_new;
    MergeElements();
    if (is_whole_) {
      files_[name] = from_;  // with all its comments
      changed_.insert(name);
    } else {
      MoveComments();
    }
  }

  bool IsKept(absl::string_view element) const { return conflicts_.kept.contains(element); }

  // Whether the new element is left out. Then the file is not whole.
  bool IsLeftOut(absl::string_view element) {
    if (!conflicts_.left_out.contains(element)) return false;
    is_whole_ = false;
    return true;
  }

  void MergeElements() {
    const DescriptorPool& pool = base_->pool();
    for (int i = 0; i < newer_->message_type_count(); ++i) {
      const Descriptor& newer = *newer_->message_type(i);
      const Descriptor* older = pool.FindMessageTypeByName(newer.full_name());
      if (older == nullptr) {
        if (IsLeftOut(newer.full_name())) continue;
        Add(from_.message_type(i), {kMessages, i}, *NewHome().mutable_message_type(), from_.name(), {kMessages});
        continue;
      }
      FileDescriptorProto& file = FileOf(*older);
      if (older->containing_type() != nullptr) continue;  // a conflict
      const int index = older->index();
      MergeMessage(newer, from_.message_type(i), {kMessages, i}, *older, *file.mutable_message_type(index),
                   {kMessages, index});
    }
    for (int i = 0; i < newer_->enum_type_count(); ++i) {
      const EnumDescriptor& newer = *newer_->enum_type(i);
      const EnumDescriptor* older = pool.FindEnumTypeByName(newer.full_name());
      if (older == nullptr) {
        if (IsLeftOut(newer.full_name())) continue;
        Add(from_.enum_type(i), {kEnums, i}, *NewHome().mutable_enum_type(), from_.name(), {kEnums});
        continue;
      }
      FileDescriptorProto& file = FileOf(*older);
      if (older->containing_type() != nullptr) continue;  // a conflict
      const int index = older->index();
      MergeEnum(newer, from_.enum_type(i), {kEnums, i}, *older, *file.mutable_enum_type(index), {kEnums, index});
    }
    for (int i = 0; i < newer_->service_count(); ++i) {
      const ServiceDescriptor& newer = *newer_->service(i);
      const ServiceDescriptor* older = pool.FindServiceByName(newer.full_name());
      if (older == nullptr) {
        AddService(newer, i);
        continue;
      }
      const int index = older->index();
      MergeService(newer, from_.service(i), {kServices, i}, *older, *FileOf(*older).mutable_service(index),
                   {kServices, index});
    }
    for (int i = 0; i < newer_->extension_count(); ++i) {
      const FieldDescriptor& newer = *newer_->extension(i);
      if (const FieldDescriptor* older = pool.FindExtensionByName(newer.full_name()); older != nullptr) {
        FileOf(*older);
      } else if (!IsLeftOut(newer.full_name())) {
        Add(from_.extension(i), {kExtensions, i}, *NewHome().mutable_extension(), from_.name(), {kExtensions});
      }
    }
  }

  // In the next functions, `newer` and `from` are the element of `added`, whose place is `path`; `older` is the same
  // element of `base`, and `to` and `to_path` are its merged form and its place. The recursion is bounded, because the
  // parser of Protocol Buffers reads at most 100 nested messages.
  void MergeMessage(const Descriptor& newer, const DescriptorProto& from, const Path& path, const Descriptor& older,
                    DescriptorProto& to, const Path& to_path) {
    NoteOptions(older.full_name(), newer.options(), older.options());
    const std::string file(older.file()->name());
    std::vector<int> fields;  // the indices of the new fields
    for (int i = 0; i < newer.field_count(); ++i) {
      const FieldDescriptor& field = *newer.field(i);
      const FieldDescriptor* same = older.FindFieldByName(field.name());
      if (same != nullptr && same->number() == field.number()) {
        if (!IsKept(same->full_name())) MergeField(field, *same, *to.mutable_field(same->index()));
      } else if (same == nullptr && older.FindFieldByNumber(field.number()) == nullptr &&
                 !IsLeftOut(field.full_name())) {
        fields.push_back(i);
      }
    }
    if (!fields.empty()) PlaceFields(fields, from, path, file, to, to_path);
    for (int i = 0; i < newer.nested_type_count(); ++i) {
      const Descriptor* same = older.FindNestedTypeByName(newer.nested_type(i)->name());
      const Path nested = Inside(path, kNestedMessages, i);
      if (same != nullptr) {
        MergeMessage(*newer.nested_type(i), from.nested_type(i), nested, *same, *to.mutable_nested_type(same->index()),
                     Inside(to_path, kNestedMessages, same->index()));
      } else if (!IsLeftOut(newer.nested_type(i)->full_name())) {
        Add(from.nested_type(i), nested, *to.mutable_nested_type(), file, Inside(to_path, kNestedMessages));
      }
    }
    for (int i = 0; i < newer.enum_type_count(); ++i) {
      const EnumDescriptor* same = older.FindEnumTypeByName(newer.enum_type(i)->name());
      const Path nested = Inside(path, kNestedEnums, i);
      if (same != nullptr) {
        MergeEnum(*newer.enum_type(i), from.enum_type(i), nested, *same, *to.mutable_enum_type(same->index()),
                  Inside(to_path, kNestedEnums, same->index()));
      } else if (!IsLeftOut(newer.enum_type(i)->full_name())) {
        Add(from.enum_type(i), nested, *to.mutable_enum_type(), file, Inside(to_path, kNestedEnums));
      }
    }
  }

  // Uses the looser rule of the field, if `added` is a later release.
  void MergeField(const FieldDescriptor& newer, const FieldDescriptor& older, FieldDescriptorProto& to) {
    FieldOptions options = older.options();
    const Descriptor& message = *older.containing_type();
    if (fixed_rules_.has_value() && !fixed_rules_->contains(&message) && !IsKept(message.full_name())) {
      const v1::FieldRule rule = LooserRule(older, newer);
      if (SerializeDeterministically(rule) != SerializeDeterministically(options.GetExtension(v1::field))) {
        *options.MutableExtension(v1::field) = rule;
        if (rule.ByteSizeLong() == 0) options.ClearExtension(v1::field);
        *to.mutable_options() = options;
        changed_.emplace(older.file()->name());
      }
    }
    NoteOptions(older.full_name(), newer.options(), options);
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

  void MergeEnum(const EnumDescriptor& newer, const EnumDescriptorProto& from, const Path& path,
                 const EnumDescriptor& older, EnumDescriptorProto& to, const Path& to_path) {
    NoteOptions(older.full_name(), newer.options(), older.options());
    for (int i = 0; i < newer.value_count(); ++i) {
      const EnumValueDescriptor& value = *newer.value(i);
      const EnumValueDescriptor* same = older.FindValueByName(value.name());
      if (same != nullptr) {
        if (!IsKept(same->full_name())) NoteOptions(same->full_name(), value.options(), same->options());
      } else if (older.FindValueByNumber(value.number()) == nullptr && !IsLeftOut(value.full_name())) {
        Add(from.value(i), Inside(path, kValues, i), *to.mutable_value(), std::string(older.file()->name()),
            Inside(to_path, kValues));
      }
    }
  }

  void MergeService(const ServiceDescriptor& newer, const ServiceDescriptorProto& from, const Path& path,
                    const ServiceDescriptor& older, ServiceDescriptorProto& to, const Path& to_path) {
    for (int i = 0; i < newer.method_count(); ++i) {
      const MethodDescriptor& method = *newer.method(i);
      const MethodDescriptor* same = older.FindMethodByName(method.name());
      if (same == nullptr) {
        AddMethod(method, from.method(i), Inside(path, kMethods, i), to, std::string(older.file()->name()), to_path);
      } else if (!IsKept(same->full_name())) {
        NoteOptions(same->full_name(), method.options(), same->options());
      }
    }
  }

  // Adds the new service whose index is `index`, without the methods that are left out.
  void AddService(const ServiceDescriptor& newer, int index) {
    if (IsLeftOut(newer.full_name())) return;
    ServiceDescriptorProto empty = from_.service(index);
    empty.clear_method();
    FileDescriptorProto& home = NewHome();
    const Path to_path = {kServices, home.service_size()};
    Add(empty, {kServices, index}, *home.mutable_service(), from_.name(), {kServices});
    ServiceDescriptorProto& to = *home.mutable_service(to_path.back());
    for (int i = 0; i < newer.method_count(); ++i) {
      AddMethod(*newer.method(i), from_.service(index).method(i), {kServices, index, kMethods, i}, to, from_.name(),
                to_path);
    }
  }

  // Adds the new method `newer` to the service `to`, whose place in the file called `file` is `to_path`.
  void AddMethod(const MethodDescriptor& newer, const MethodDescriptorProto& from, const Path& path,
                 ServiceDescriptorProto& to, const std::string& file, const Path& to_path) {
    if (IsLeftOut(newer.full_name())) {
      places_[path] = std::nullopt;
      return;
    }
    Add(from, path, *to.mutable_method(), file, Inside(to_path, kMethods));
    if (const auto name = other_names_.methods.find(newer.full_name()); name != other_names_.methods.end()) {
      NoteOptions(newer.full_name(), newer.options(), base_->pool().FindMethodByName(name->second)->options());
    }
  }

  // Notes the element if its options in `added` are not those in force, except that one of them may be deprecated.
  template <typename Options>
  void NoteOptions(absl::string_view element, Options now, Options in_force) {
    now.clear_deprecated();
    in_force.clear_deprecated();
    if (SerializeDeterministically(now) == SerializeDeterministically(in_force)) return;
    unused_options_.emplace_back(element);
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
    places_[std::move(path)] = Place{file, std::move(new_path)};
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
      for (size_t size = path.size() / 2 * 2; size >= 2; size -= 2) {
        const auto found = places_.find(Path(path.begin(), path.begin() + static_cast<Path::difference_type>(size)));
        if (found == places_.end()) continue;
        if (!found->second.has_value()) break;
        const Place& place = *found->second;
        SourceCodeInfo::Location& copy = *File(place.file).mutable_source_code_info()->add_location();
        copy = location;
        copy.clear_path();
        for (const int step : place.path) copy.add_path(step);
        for (size_t i = size; i < path.size(); ++i) copy.add_path(path[i]);
        break;
      }
    }
  }

  // Returns the file to which an element that `base` does not have is added: the one of its name.
  FileDescriptorProto& NewHome() {
    if (base_->files().contains(from_.name()) || files_.contains(from_.name())) return File(from_.name());
    return files_[from_.name()] = WithoutElements(from_);
  }

  static FileDescriptorProto WithoutElements(FileDescriptorProto file) {
    file.clear_message_type();
    file.clear_enum_type();
    file.clear_service();
    file.clear_extension();
    file.clear_source_code_info();
    return file;
  }

  // Makes each changed file import the files of the types that it uses. `base` can define a type in another file than
  // `added` does.
  void ImportUsedTypes() {
    for (const std::string& name : changed_) {
      FileDescriptorProto& file = files_.at(name);
      std::set<std::string> used;
      for (const DescriptorProto& message : file.message_type()) NoteUsedFiles(message, used);
      for (const FieldDescriptorProto& extension : file.extension()) NoteUsedFiles(extension, used);
      for (const ServiceDescriptorProto& service : file.service()) {
        for (const MethodDescriptorProto& method : service.method()) {
          used.insert(FileOfType(method.input_type()));
          used.insert(FileOfType(method.output_type()));
        }
      }
      used.erase(name);
      for (const std::string& imported : file.dependency()) used.erase(imported);
      for (const std::string& missing : used) file.add_dependency(missing);
    }
  }

  void NoteUsedFiles(const DescriptorProto& message, std::set<std::string>& used) const {
    for (const FieldDescriptorProto& field : message.field()) NoteUsedFiles(field, used);
    for (const FieldDescriptorProto& extension : message.extension()) NoteUsedFiles(extension, used);
    for (const DescriptorProto& nested : message.nested_type()) NoteUsedFiles(nested, used);
  }

  void NoteUsedFiles(const FieldDescriptorProto& field, std::set<std::string>& used) const {
    if (field.has_type_name()) used.insert(FileOfType(field.type_name()));
    if (field.has_extendee()) used.insert(FileOfType(field.extendee()));
  }

  // Returns the file of the result that defines a type, such as ".stampgate.v1.Wallet": the one of `base` that defines
  // the type or a message around it, or else the one of `added`.
  std::string FileOfType(absl::string_view type) const {
    const std::string name(absl::StripPrefix(type, "."));
    for (std::string around = name; !around.empty(); around.resize(around.find_last_of('.'))) {
      const auto* message = base_->pool().FindMessageTypeByName(around);
      const auto* values = base_->pool().FindEnumTypeByName(around);
      if (message != nullptr) return std::string(message->file()->name());
      if (values != nullptr) return std::string(values->file()->name());
      if (around.find('.') == std::string::npos) break;
    }
    return std::string(added_.pool().FindFileContainingSymbol(name)->name());
  }

  // Adds the files that changed files import and that have no element in the result, because all are left out.
  void AddMissingImports() {
    std::vector<std::string> pending(changed_.begin(), changed_.end());
    while (!pending.empty()) {
      const FileDescriptorProto& file = files_.at(pending.back());
      pending.pop_back();
      for (const std::string& dependency : file.dependency()) {
        if (base_->files().contains(dependency) || !changed_.insert(dependency).second) continue;
        files_[dependency] = WithoutElements(Parsed(added_.files().at(dependency)));
        pending.push_back(dependency);
      }
    }
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
    if (name != from_.name()) is_whole_ = false;
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
  const OtherNames other_names_;
  Conflicts conflicts_;
  // The messages whose rules stay, although `added` is a later release; nullopt if it is not.
  std::optional<absl::flat_hash_set<const Descriptor*>> fixed_rules_;
  // The file of `added` that is being merged: its bytes, and its descriptors.
  FileDescriptorProto from_;
  const FileDescriptor* newer_ = nullptr;
  // The elements of from_ that `base` does not have, by their places in from_; nullopt for a method that is left out.
  std::map<Path, std::optional<Place>> places_;
  std::set<std::string> importing_;                   // the files that have the imports of from_
  bool is_whole_ = false;                             // the result has all elements of from_ in a new file
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
