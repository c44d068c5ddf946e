#include "translate/method_table.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor_database.h"

namespace stampgate {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;

namespace {

std::vector<ApiMethod> ListApiMethods() {
  // The generated pool contains a file only after a lookup by its name. The database of the pool contains the names of
  // all files.
  std::vector<std::string> files;
  DescriptorPool::internal_generated_database()->FindAllFileNames(&files);
  std::sort(files.begin(), files.end());
  std::vector<ApiMethod> methods;
  for (const std::string& name : files) {
    const FileDescriptor* file = DescriptorPool::generated_pool()->FindFileByName(name);
    for (int s = 0; file != nullptr && s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const MethodDescriptor* method = file->service(s)->method(m);
        if (method->options().HasExtension(v1::operation)) methods.push_back(ApiMethodOf(method));
      }
    }
  }
  return methods;
}

}  // namespace

const std::vector<ApiMethod>& ApiMethods() {
  static const auto& methods = *new std::vector<ApiMethod>(ListApiMethods());
  return methods;
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
  return entry;
}

}  // namespace stampgate
