#include "gateway/process/library_logs.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

namespace stampgate {

void SilenceLibraries() {
  google::protobuf::SetLogHandler(nullptr);
  gpr_set_log_function([](gpr_log_func_args* /*line*/) {});
}

}  // namespace stampgate
