// The methods of the API. These are the methods with the option `operation`, in the protos that are linked into the
// program.
#ifndef STAMPGATE_TRANSLATE_METHOD_TABLE_H_
#define STAMPGATE_TRANSLATE_METHOD_TABLE_H_

#include <string>
#include <vector>

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
};

// Returns the linked methods of the API, ordered by the names of their proto files. Methods of the same file are in the
// order of the file. The reference stays valid until the program ends.
const std::vector<ApiMethod>& ApiMethods();

// Returns the ApiMethod of `method`, which must have the option `operation`.
ApiMethod ApiMethodOf(const google::protobuf::MethodDescriptor* method);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_METHOD_TABLE_H_
