#include "gateway/commands/exit_status.h"

#include <iostream>

namespace stampgate {

int Fail(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return kExitFailure;
}

int Print(const absl::StatusOr<std::string>& text) {
  if (!text.ok()) return Fail(text.status());
  std::cout << *text;
  return 0;
}

}  // namespace stampgate
