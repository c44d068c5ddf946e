#include "translate/linked_methods.h"

#include <algorithm>
#include <string>

#include "google/protobuf/descriptor_database.h"

namespace stampgate {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;

std::vector<const MethodDescriptor*> LinkedMethods() {
  // The generated pool builds a file when it is requested by name; only its database lists all names.
  std::vector<std::string> files;
  DescriptorPool::internal_generated_database()->FindAllFileNames(&files);
  std::sort(files.begin(), files.end());
  std::vector<const MethodDescriptor*> methods;
  for (const std::string& name : files) {
    const FileDescriptor* file = DescriptorPool::generated_pool()->FindFileByName(name);
    for (int s = 0; file != nullptr && s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) methods.push_back(file->service(s)->method(m));
    }
  }
  return methods;
}

}  // namespace stampgate
