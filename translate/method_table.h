// The methods of the API: those that have the option `operation`, in the protos that are linked into the program.
#ifndef STAMPGATE_TRANSLATE_METHOD_TABLE_H_
#define STAMPGATE_TRANSLATE_METHOD_TABLE_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {

// What the option says that matters to every room.
struct ApiMethod {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string full_name;  // as gRPC spells it: "/stampgate.v1.PolicyService/GetPolicy"
  v1::OperationKind kind = v1::OPERATION_KIND_UNSPECIFIED;
  v1::PolicyClass policy_class = v1::POLICY_CLASS_DANGEROUS;  // also if the option does not say
  bool general = false;
  bool streams = false;  // its responses
};

// All that are linked in: by the names of their files, each file's in its order. Valid as long as the program.
const std::vector<ApiMethod>& ApiMethods();

// Of one method that has the option.
ApiMethod ApiMethodOf(const google::protobuf::MethodDescriptor* method);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_METHOD_TABLE_H_
