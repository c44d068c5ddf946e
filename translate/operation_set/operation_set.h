// The API of the gateway as data: the descriptors of its services and messages, from which the gateway makes its
// operations. The program contains a set, so no generated C++ code of an operation is necessary.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_OPERATION_SET_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_OPERATION_SET_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {

// A method of the API, with those values of its option `operation` that several folders use.
struct ApiMethod {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string full_name;  // in gRPC's spelling, such as "/stampgate.v1.PolicyService/GetPolicy"
  v1::OperationKind kind = v1::OPERATION_KIND_UNSPECIFIED;
  v1::PolicyClass policy_class = v1::POLICY_CLASS_DANGEROUS;  // the default if the option states no class
  bool general = false;
  bool streams = false;  // true if the method returns a stream of responses
  std::string since;     // the day of the release that added the method, such as "2026-09-22"; empty if always there
  bool internal = false;
  bool moves_unread_amount = false;
  bool built_in = true;  // false if a file of the operator has added the method: see OperationSet::origin
  // Whether `since` is a day after each day of the built-in methods. Only then can the operator accept a method that is
  // not built in by a day.
  bool is_after_built_in = false;
  // The full name of the method of which this one is another name, or empty: see other_names.h. All other members
  // except `full_name` are then those of that method.
  std::string other_name_of;
};

// Whether the proto compiler defines the file, as it does google/protobuf/descriptor.proto.
bool IsOfProtoCompiler(absl::string_view file);

// Immutable, so threads may share it. Descriptors and views are valid as long as the set.
//
// A set of any size could use up memory and time. Therefore it has at most 1,000 files; the files that Create and
// Extend add have together at most 20,000 messages and 100,000 fields, values and methods, and at most 1,000 fields in
// a message, 1,000 values in an enum and 1,000 methods in a service.
class OperationSet {
 public:
  using Shared = std::shared_ptr<const OperationSet>;

  // Returns the set that the program contains.
  static const Shared& BuiltIn();

  // Makes a set from a serialized FileDescriptorSet, which must also contain the files that its files import. Errors:
  // kInvalidArgument, with a message that names the file or the element with a fault.
  static absl::StatusOr<Shared> Create(std::string descriptors);

  // Makes a set of the files of `base` and of `files`, a serialized FileDescriptorSet. Of files with the same name, it
  // has the one in `files`. Errors: like Create.
  static absl::StatusOr<Shared> Extend(Shared base, std::string files);

  const google::protobuf::DescriptorPool& pool() const { return pool_; }

  // Returns the set from which this set was made by Extend, once or several times; this set if it was made otherwise.
  // What the origin contains is built in: the program's authors have reviewed it.
  const OperationSet& origin() const { return base_ == nullptr ? *this : base_->origin(); }

  // Whether the origin has this field, or the message with this descriptor. Both must be of pool().
  bool IsBuiltIn(const google::protobuf::FieldDescriptor& field) const;
  bool IsBuiltIn(const google::protobuf::Descriptor& message) const;

  // The methods with the option `operation`, ordered by the names of their proto files. Methods of the same file are in
  // the order of the file.
  const std::vector<ApiMethod>& methods() const { return methods_; }

  // The full names of the services, in alphabetical order.
  const std::vector<std::string>& services() const { return services_; }

  // Returns the latest of the days since which methods are part of the API; empty if no method has such a day.
  const std::string& newest_since() const { return newest_since_; }

  // Returns the method with this full name, or null.
  const ApiMethod* FindMethod(absl::string_view full_name) const;

  // Return the first method with this path, or with this activity type, that is no other name of a method; null if
  // there is none.
  const ApiMethod* FindPath(absl::string_view path) const;
  const ApiMethod* FindActivityType(absl::string_view type) const;

  // The serialized FileDescriptorProto of each file, by its name. It contains the comments of the proto, which the
  // descriptors of the pool do not have.
  const std::map<std::string, absl::string_view>& files() const { return files_; }

 private:
  using Methods = absl::flat_hash_map<absl::string_view, const ApiMethod*>;

  OperationSet() = default;

  static const ApiMethod* FindIn(const Methods& methods, absl::string_view key);

  absl::Status AddFiles(absl::string_view descriptors);
  static absl::StatusOr<Shared> Build(std::shared_ptr<OperationSet> set);
  absl::Status BuildFile(const std::string& file);
  absl::Status ListMethods();
  const ApiMethod* SameMethodOfBase(const ApiMethod& method) const;

  std::string owned_;  // the bytes of files_ that are not those of base_
  Shared base_;        // null if the set was not made by Extend
  std::map<std::string, absl::string_view> files_;
  google::protobuf::DescriptorPool pool_;
  std::set<std::string> begun_;  // the files that were or are being added to pool_
  std::vector<ApiMethod> methods_;
  std::vector<std::string> services_;
  std::string newest_since_;
  Methods by_name_, by_path_, by_activity_type_;
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_OPERATION_SET_H_
