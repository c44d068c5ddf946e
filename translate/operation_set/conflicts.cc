#include "translate/operation_set/conflicts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "translate/message/plan.h"
#include "translate/operation_set/nested_messages.h"
#include "translate/wire/fields.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

// The name of an element. A descriptor of one of the sets owns the text.
using Name = absl::string_view;

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

bool IsSameMethod(const MethodDescriptor& a, const MethodDescriptor& b) {
  return a.input_type()->full_name() == b.input_type()->full_name() &&
         a.output_type()->full_name() == b.output_type()->full_name() && a.client_streaming() == b.client_streaming() &&
         a.server_streaming() == b.server_streaming();
}

std::string JsonNameOf(const FieldDescriptor& field) {
  const std::string& name = field.options().GetExtension(v1::field).json_name();
  return ComparedJsonName(name.empty() ? absl::string_view(field.json_name()) : name);
}

std::string JsonNameOf(const EnumValueDescriptor& value) {
  const std::string& name = value.options().GetExtension(v1::enum_value).json_name();
  return name.empty() ? std::string(value.name()) : name;
}

bool HasSameJson(const FieldDescriptor& a, const FieldDescriptor& b) {
  const v1::FieldRule& rule = a.options().GetExtension(v1::field);
  const v1::FieldRule& other = b.options().GetExtension(v1::field);
  return JsonNameOf(a) == JsonNameOf(b) && rule.text_form() == other.text_form() && rule.role() == other.role();
}

// Returns why the requests of today's callers would be wrong with this new field, or an empty text: they must stay
// valid without it, and it must not hold members of other fields.
absl::string_view WhyCallersNeedIt(const FieldDescriptor& field) {
  const v1::FieldRule& rule = field.options().GetExtension(v1::field);
  if (rule.required() || rule.min_elements() > 0) return "is a new field, so it must not be required";
  if (rule.text_form() == v1::TEXT_FORM_JSON_MEMBERS) {
    return "is a new field, so its members must not be written beside those of other fields";
  }
  return "";
}

class ConflictFinder {
 public:
  using Reasons = absl::flat_hash_map<std::string, std::string>;

  ConflictFinder(const OperationSet& base, const OperationSet& added, const Reasons& refused)
      : base_(base), added_(added), refused_(refused) {
    std::vector<const Descriptor*> requests;
    for (const ApiMethod& method : added.methods()) requests.push_back(method.method->input_type());
    for (const Descriptor* message : WithNestedMessages(std::move(requests))) in_requests_.insert(message->full_name());
  }

  Conflicts Find() {
    for (const auto& [name, bytes] : added_.files()) {
      const bool is_new = !base_.files().contains(name);
      if (is_new || !IsOfProtoCompiler(name)) ReadFile(name, bytes);  // compilers differ in their own files
    }
    LeaveOutWhatReachesChanges();
    LeaveOutWhatNothingNeeds();
    LeaveOutEmptyServices();
    return std::move(conflicts_);
  }

 private:
  // A new field, value, method or extension.
  struct Member {
    Name name;
    Name owner;                      // the message or enum of a field or value, which both sets have; otherwise empty
    std::vector<Name> inputs = {};   // types that must not contain a changed one, at any depth
    std::vector<Name> outputs = {};  // types that must not be a changed one, or a new one that contains a changed one
    bool is_method = false;
  };

  // The messages and enums that reach a changed one, each with the name of what has changed.
  using Causes = absl::flat_hash_map<Name, Name>;

  const DescriptorPool& pool() const { return base_.pool(); }

  bool IsTypeOfBase(Name name) const {
    const std::string key(name);
    return pool().FindMessageTypeByName(key) != nullptr || pool().FindEnumTypeByName(key) != nullptr;
  }

  // Whether `base` has any element with this name, even a package.
  bool IsTaken(const std::string& name) const { return pool().FindFileContainingSymbol(name) != nullptr; }

  // Returns the name of what is added as a whole if `type` is added: the outermost new message around it.
  template <typename Type>
  Name UnitOf(const Type& type) const {
    Name unit = type.full_name();
    for (const Descriptor* around = type.containing_type(); around != nullptr; around = around->containing_type()) {
      if (!IsTypeOfBase(around->full_name())) unit = around->full_name();
    }
    return unit;
  }

  std::vector<Name> TypesOf(const FieldDescriptor& field) const {
    if (field.message_type() != nullptr) return {UnitOf(*field.message_type())};
    if (field.enum_type() != nullptr) return {UnitOf(*field.enum_type())};
    return {};
  }

  void Note(Name user, const std::vector<Name>& types) {
    for (const Name type : types) {
      uses_[user].push_back(type);
      users_[type].push_back(user);
    }
  }

  void Say(Name element, absl::string_view what) { conflicts_.sentences.push_back(absl::StrCat(element, " ", what)); }

  // Notes that `base` has `element` in another form. `of` is the message or enum with the element, or the element.
  void Keep(Name element, absl::string_view what, Name of) {
    if (conflicts_.kept.emplace(element).second) Say(element, absl::StrCat(what, "; it stays as it is"));
    conflicts_.kept.emplace(of);
    changed_.emplace_back(of, of);
  }

  // Leaves `element` out, because it has a fault of its own.
  void Refuse(Name element, absl::string_view what) {
    conflicts_.left_out.emplace(element);
    Say(element, absl::StrCat(what, "; it is left out"));
  }

  // Notes that the definition of an element, which uses `types`, does not take effect.
  void Drop(const std::vector<Name>& types) { dropped_.insert(dropped_.end(), types.begin(), types.end()); }

  void ReadFile(const std::string& name, absl::string_view bytes) {
    const FileDescriptor& file = *added_.pool().FindFileByName(name);
    if (const auto older = base_.files().find(name); older != base_.files().end()) {
      for (const int number : {FileDescriptorProto::kPackageFieldNumber, FileDescriptorProto::kSyntaxFieldNumber}) {
        if (FindBytes(bytes, number) != FindBytes(older->second, number)) return KeepFile(file);
      }
    }
    for (int i = 0; i < file.message_type_count(); ++i) ReadMessage(*file.message_type(i));
    for (int i = 0; i < file.enum_type_count(); ++i) ReadEnum(*file.enum_type(i));
    for (int i = 0; i < file.service_count(); ++i) ReadService(*file.service(i));
    for (int i = 0; i < file.extension_count(); ++i) ReadExtension(*file.extension(i));
  }

  // Leaves out what only the file has. What both have can mean something else in it.
  void KeepFile(const FileDescriptor& file) {
    conflicts_.kept.emplace(file.name());
    Say(file.name(), "has another package or syntax; it stays as it is");
    for (int i = 0; i < file.message_type_count(); ++i) KeepMessage(*file.message_type(i));
    for (int i = 0; i < file.enum_type_count(); ++i) KeepType(*file.enum_type(i));
    for (int s = 0; s < file.service_count(); ++s) {
      const ServiceDescriptor& service = *file.service(s);
      for (int i = 0; i < service.method_count(); ++i) {
        const MethodDescriptor& method = *service.method(i);
        if (pool().FindMethodByName(method.full_name()) != nullptr) continue;
        LeaveOut(method.full_name(), file.name());
        Drop({UnitOf(*method.input_type()), UnitOf(*method.output_type())});
      }
    }
  }

  void KeepMessage(const Descriptor& message) {
    KeepType(message);
    for (int i = 0; i < message.nested_type_count(); ++i) KeepMessage(*message.nested_type(i));
    for (int i = 0; i < message.enum_type_count(); ++i) KeepType(*message.enum_type(i));
  }

  template <typename Type>
  void KeepType(const Type& type) {
    if (!IsTypeOfBase(type.full_name()) && UnitOf(type) == Name(type.full_name())) ReadNewType(type);
    changed_.emplace_back(UnitOf(type), type.file()->name());
  }

  // The recursion of this and other functions is bounded, because the parser of Protocol Buffers reads at most 100
  // nested messages.
  void ReadMessage(const Descriptor& newer) {
    const Descriptor* older = pool().FindMessageTypeByName(newer.full_name());
    if (older == nullptr) return ReadNewType(newer);
    if (newer.containing_type() == nullptr && older->containing_type() != nullptr) {
      return Keep(newer.full_name(), "is a message inside another one", newer.full_name());
    }
    for (int i = 0; i < newer.field_count(); ++i) ReadField(*newer.field(i), *older);
    for (int i = 0; i < newer.nested_type_count(); ++i) ReadMessage(*newer.nested_type(i));
    for (int i = 0; i < newer.enum_type_count(); ++i) ReadEnum(*newer.enum_type(i));
  }

  void ReadField(const FieldDescriptor& field, const Descriptor& older) {
    const Name message = older.full_name();
    const std::vector<Name> types = TypesOf(field);
    Note(message, types);
    const FieldDescriptor* same = older.FindFieldByNumber(field.number());
    if (same == nullptr) same = older.FindFieldByName(field.name());
    if (same != nullptr) {
      if (IsSameField(field, *same)) {
        if (!HasSameJson(field, *same)) changed_.emplace_back(message, message);
        return;
      }
      Keep(same->full_name(), "has another name, number, type, list or oneof", message);
      return Drop(types);
    }
    if (older.IsReservedNumber(field.number()) && older.IsReservedName(field.name())) {
      conflicts_.left_out.emplace(field.full_name());
      return Drop(types);
    }
    if (const std::string why = WhyTaken(field, older); !why.empty()) {
      Refuse(field.full_name(), why);
      conflicts_.kept.emplace(message);
    } else if (const absl::string_view needed = WhyCallersNeedIt(field); !needed.empty()) {
      Refuse(field.full_name(), needed);
    } else {
      Member member{.name = field.full_name(), .owner = message};
      (in_requests_.contains(message) ? member.inputs : member.outputs) = types;
      return members_.push_back(std::move(member));
    }
    changed_.emplace_back(message, message);
    Drop(types);
  }

  // Returns what another field or element of `older` already has of `field`; an empty text if there is no such thing.
  std::string WhyTaken(const FieldDescriptor& field, const Descriptor& older) {
    if (older.IsReservedNumber(field.number()) || older.IsReservedName(field.name())) {
      return "has the number or the name of a removed field";
    }
    const auto* oneof = field.real_containing_oneof();
    const bool has_new_oneof = oneof != nullptr && older.FindOneofByName(oneof->name()) == nullptr;
    if (IsTaken(std::string(field.full_name())) ||
        (has_new_oneof && IsTaken(absl::StrCat(older.full_name(), ".", oneof->name())))) {
      return "has the name of another element, or its oneof has";
    }
    const auto [names, is_new] = json_names_.try_emplace(older.full_name());
    for (int i = 0; is_new && i < older.field_count(); ++i) {
      names->second.emplace(JsonNameOf(*older.field(i)), older.field(i)->full_name());
    }
    const auto other = names->second.find(JsonNameOf(field));
    return other == names->second.end() ? "" : absl::StrCat("has the JSON name of ", other->second);
  }

  void ReadEnum(const EnumDescriptor& newer) {
    const EnumDescriptor* older = pool().FindEnumTypeByName(newer.full_name());
    if (older == nullptr) return ReadNewType(newer);
    if (newer.containing_type() == nullptr && older->containing_type() != nullptr) {
      return Keep(newer.full_name(), "is an enum inside a message", newer.full_name());
    }
    for (int i = 0; i < newer.value_count(); ++i) ReadValue(*newer.value(i), *older);
  }

  void ReadValue(const EnumValueDescriptor& value, const EnumDescriptor& older) {
    const EnumValueDescriptor* same = older.FindValueByName(value.name());
    if (same == nullptr) same = older.FindValueByNumber(value.number());
    if (same != nullptr) {
      if (same->name() == value.name() && same->number() == value.number()) {
        if (JsonNameOf(value) != JsonNameOf(*same)) changed_.emplace_back(older.full_name(), older.full_name());
        return;
      }
      return Keep(same->full_name(), "has another name or number", older.full_name());
    }
    if (older.IsReservedNumber(value.number()) && older.IsReservedName(value.name())) {
      conflicts_.left_out.emplace(value.full_name());
      return;
    }
    const std::string why = WhyTaken(value, older);
    if (why.empty()) return members_.push_back({.name = value.full_name(), .owner = older.full_name()});
    Refuse(value.full_name(), why);
    conflicts_.kept.emplace(older.full_name());
    changed_.emplace_back(older.full_name(), older.full_name());
  }

  std::string WhyTaken(const EnumValueDescriptor& value, const EnumDescriptor& older) const {
    if (older.IsReservedNumber(value.number()) || older.IsReservedName(value.name())) {
      return "has the number or the name of a removed value";
    }
    if (IsTaken(std::string(value.full_name()))) return "has the name of another element";
    for (int i = 0; i < older.value_count(); ++i) {
      if (older.value(i)->number() != 0 && JsonNameOf(*older.value(i)) == JsonNameOf(value)) {
        return absl::StrCat("has the JSON name of ", older.value(i)->full_name());
      }
    }
    return "";
  }

  void ReadService(const ServiceDescriptor& newer) {
    const ServiceDescriptor* older = pool().FindServiceByName(newer.full_name());
    const bool is_taken = older == nullptr && IsTaken(std::string(newer.full_name()));
    if (is_taken) Refuse(newer.full_name(), "has the name of another element");
    for (int i = 0; i < newer.method_count(); ++i) {
      const MethodDescriptor& method = *newer.method(i);
      const Name input = UnitOf(*method.input_type());
      const Name output = UnitOf(*method.output_type());
      const MethodDescriptor* same = older == nullptr ? nullptr : older->FindMethodByName(method.name());
      const auto refused = refused_.find(method.full_name());
      if (same == nullptr && !is_taken && refused != refused_.end()) {
        Refuse(method.full_name(), refused->second);
        Drop({input, output});
      } else if (same == nullptr && !is_taken) {
        members_.push_back(
            {.name = method.full_name(), .owner = "", .inputs = {input}, .outputs = {output}, .is_method = true});
      } else if (same == nullptr) {
        LeaveOut(method.full_name(), newer.full_name());
        Drop({input, output});
      } else if (!IsSameMethod(method, *same)) {
        conflicts_.kept.emplace(same->full_name());
        Say(same->full_name(), "has another request or response; it stays as it is");
        Drop({input, output});
      }
    }
  }

  void ReadExtension(const FieldDescriptor& newer) {
    const FieldDescriptor* older = pool().FindExtensionByName(newer.full_name());
    if (older == nullptr && !IsTaken(std::string(newer.full_name()))) {
      Member member{.name = newer.full_name(), .owner = "", .inputs = {}, .outputs = TypesOf(newer)};
      member.outputs.push_back(UnitOf(*newer.containing_type()));
      return members_.push_back(std::move(member));
    }
    if (older == nullptr) return Refuse(newer.full_name(), "has the name of another element");
    if (IsSameField(newer, *older)) return;
    conflicts_.kept.emplace(older->full_name());
    Say(older->full_name(), "has another number or type; it stays as it is");
    Drop(TypesOf(newer));
  }

  // `type` is not inside another new message.
  template <typename Type>
  void ReadNewType(const Type& type) {
    const Name name = type.full_name();
    new_types_.push_back(name);
    is_new_type_.insert(name);
    ReadUses(type, name);
    if (!IsTaken(std::string(name))) return;
    Refuse(name, "has the name of another element");
    changed_.emplace_back(name, name);
  }

  void ReadUses(const EnumDescriptor&, Name) {}
  void ReadUses(const Descriptor& message, Name unit) {
    for (int i = 0; i < message.field_count(); ++i) Note(unit, TypesOf(*message.field(i)));
    for (int i = 0; i < message.extension_count(); ++i) {
      Note(unit, TypesOf(*message.extension(i)));
      Note(unit, {UnitOf(*message.extension(i)->containing_type())});
    }
    for (int i = 0; i < message.nested_type_count(); ++i) ReadUses(*message.nested_type(i), unit);
  }

  // Returns the types that reach a changed one: through all others, or only through new ones.
  Causes ReachingChanges(bool only_through_new) const {
    Causes causes;
    std::vector<Name> found;
    const auto add = [&](Name type, Name cause) {
      if (causes.emplace(type, cause).second) found.push_back(type);
    };
    for (const auto& [type, cause] : changed_) add(type, cause);
    for (size_t i = 0; i < found.size(); ++i) {
      const auto users = users_.find(found[i]);
      if (users == users_.end()) continue;
      const Name cause = causes.at(found[i]);
      for (const Name user : users->second) {
        if (!only_through_new || is_new_type_.contains(user)) add(user, cause);
      }
    }
    return causes;
  }

  void LeaveOut(Name element, Name cause) {
    conflicts_.left_out.emplace(element);
    Say(element, absl::StrCat("is left out, because it needs ", cause));
  }

  void LeaveOutWhatReachesChanges() {
    const Causes deep = ReachingChanges(false);
    const Causes direct = ReachingChanges(true);
    for (const Name type : new_types_) {
      if (direct.contains(type)) conflicts_.left_out.emplace(type);
    }
    absl::c_stable_partition(members_, [](const Member& member) { return member.is_method; });
    for (const Member& member : members_) {
      std::optional<Name> cause;
      if (conflicts_.kept.contains(member.owner)) cause = member.owner;
      for (const auto& [types, causes] : {std::pair(&member.inputs, &deep), std::pair(&member.outputs, &direct)}) {
        for (const Name type : *types) {
          if (const auto found = causes->find(type); !cause.has_value() && found != causes->end()) {
            cause = found->second;
          }
        }
      }
      if (!cause.has_value()) continue;
      LeaveOut(member.name, *cause);
      Drop(member.inputs);
      Drop(member.outputs);
    }
  }

  // Returns those of `types` that are new, and the new ones that these need, at any depth.
  absl::flat_hash_set<Name> WithNeeded(std::vector<Name> types) const {
    absl::flat_hash_set<Name> needed;
    while (!types.empty()) {
      const Name type = types.back();
      types.pop_back();
      if (!is_new_type_.contains(type) || !needed.insert(type).second) continue;
      if (const auto used = uses_.find(type); used != uses_.end()) {
        types.insert(types.end(), used->second.begin(), used->second.end());
      }
    }
    return needed;
  }

  void LeaveOutWhatNothingNeeds() {
    for (const Name type : new_types_) {
      if (conflicts_.left_out.contains(type)) dropped_.push_back(type);
    }
    const absl::flat_hash_set<Name> of_dropped = WithNeeded(dropped_);
    std::vector<Name> roots;
    for (const Name type : new_types_) {
      if (!of_dropped.contains(type)) roots.push_back(type);
    }
    for (const Member& member : members_) {
      if (conflicts_.left_out.contains(member.name)) continue;
      roots.insert(roots.end(), member.inputs.begin(), member.inputs.end());
      roots.insert(roots.end(), member.outputs.begin(), member.outputs.end());
    }
    const absl::flat_hash_set<Name> needed = WithNeeded(std::move(roots));
    for (const Name type : of_dropped) {
      if (!needed.contains(type)) conflicts_.left_out.emplace(type);
    }
  }

  void LeaveOutEmptyServices() {
    for (const auto& [name, bytes] : added_.files()) {
      const FileDescriptor& file = *added_.pool().FindFileByName(name);
      for (int i = 0; i < file.service_count(); ++i) LeaveOutIfEmpty(*file.service(i));
    }
  }

  void LeaveOutIfEmpty(const ServiceDescriptor& service) {
    if (service.method_count() == 0 || pool().FindServiceByName(service.full_name()) != nullptr) return;
    for (int i = 0; i < service.method_count(); ++i) {
      if (!conflicts_.left_out.contains(service.method(i)->full_name())) return;
    }
    conflicts_.left_out.emplace(service.full_name());
  }

  const OperationSet& base_;
  const OperationSet& added_;
  const Reasons& refused_;
  Conflicts conflicts_;
  absl::flat_hash_set<Name> in_requests_;                      // the messages inside the requests of added_
  std::vector<std::pair<Name, Name>> changed_;                 // the messages and enums that differ, and the cause
  std::vector<Member> members_;                                // that can be added if what they need is not changed
  std::vector<Name> new_types_;                                // messages and enums that are not inside new ones
  absl::flat_hash_set<Name> is_new_type_;                      // the same
  absl::flat_hash_map<Name, std::vector<Name>> uses_, users_;  // which messages of added_ use which types
  std::vector<Name> dropped_;                                  // the types of definitions that do not take effect
  absl::flat_hash_map<Name, absl::flat_hash_map<std::string, Name>> json_names_;  // the fields of messages of base_
};

}  // namespace

Conflicts FindConflicts(const OperationSet& base, const OperationSet& added,
                        const absl::flat_hash_map<std::string, std::string>& refused) {
  return ConflictFinder(base, added, refused).Find();
}

}  // namespace stampgate
