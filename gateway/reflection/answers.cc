#include "gateway/reflection/answers.h"

#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1::ExtensionNumberResponse;
using grpc::reflection::v1::ExtensionRequest;
using grpc::reflection::v1::FileDescriptorResponse;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

void SetError(absl::StatusCode code, absl::string_view message, ServerReflectionResponse& response) {
  response.mutable_error_response()->set_error_code(static_cast<int>(code));
  response.mutable_error_response()->set_error_message(std::string(message));
}

void SetNotFound(absl::string_view what, ServerReflectionResponse& response) {
  SetError(absl::StatusCode::kNotFound, absl::StrCat("the gateway has no ", what), response);
}

// Adds `file` with its comments, and then each file on which it depends, unless `added` contains the file already.
void AddFile(const OperationSet& operations, const FileDescriptor& file, std::set<const FileDescriptor*>& added,
             FileDescriptorResponse& response) {
  if (!added.insert(&file).second) return;
  response.add_file_descriptor_proto(std::string(operations.files().at(std::string(file.name()))));
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(operations, *file.dependency(i), added, response);
}

// `what` names the element in question.
void SetFile(const OperationSet& operations, const FileDescriptor* file, absl::string_view what,
             ServerReflectionResponse& response) {
  if (file == nullptr) return SetNotFound(what, response);
  std::set<const FileDescriptor*> added;
  AddFile(operations, *file, added, *response.mutable_file_descriptor_response());
}

const FileDescriptor* FileOf(const ExtensionRequest& request, const DescriptorPool& pool) {
  const Descriptor* extended = pool.FindMessageTypeByName(request.containing_type());
  if (extended == nullptr) return nullptr;
  const FieldDescriptor* extension = pool.FindExtensionByNumber(extended, request.extension_number());
  return extension == nullptr ? nullptr : extension->file();
}

void SetExtensionNumbers(const std::string& type, const DescriptorPool& pool, ServerReflectionResponse& response) {
  const Descriptor* extended = pool.FindMessageTypeByName(type);
  if (extended == nullptr) return SetNotFound("such message", response);
  std::vector<const FieldDescriptor*> extensions;
  pool.FindAllExtensions(extended, &extensions);
  ExtensionNumberResponse& numbers = *response.mutable_all_extension_numbers_response();
  numbers.set_base_type_name(type);
  for (const FieldDescriptor* extension : extensions) numbers.add_extension_number(extension->number());
}

}  // namespace

ServerReflectionResponse AnswerReflection(const OperationSet& operations, const ServerReflectionRequest& request) {
  const DescriptorPool& pool = operations.pool();
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      SetFile(operations, pool.FindFileByName(request.file_by_filename()), "such file", response);
      break;
    case ServerReflectionRequest::kFileContainingSymbol:
      SetFile(operations, pool.FindFileContainingSymbol(request.file_containing_symbol()), "such symbol", response);
      break;
    case ServerReflectionRequest::kFileContainingExtension:
      SetFile(operations, FileOf(request.file_containing_extension(), pool), "such extension", response);
      break;
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      SetExtensionNumbers(request.all_extension_numbers_of_type(), pool, response);
      break;
    case ServerReflectionRequest::kListServices:
      response.mutable_list_services_response();
      for (const std::string& service : operations.services()) {
        response.mutable_list_services_response()->add_service()->set_name(service);
      }
      break;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      SetError(absl::StatusCode::kInvalidArgument, "the request contains no question that the gateway knows", response);
      break;
  }
  return response;
}

}  // namespace stampgate
