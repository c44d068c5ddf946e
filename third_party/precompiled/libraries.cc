// The headers of libraries that most files of the product include.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

// NOLINTNEXTLINE(bugprone-suspicious-include): each of the two is compiled alone
#include "third_party/precompiled/standard.cc"
