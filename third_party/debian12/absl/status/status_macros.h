// Abseil's macros that return an error to the caller of a function, which Debian 12's Abseil does not have yet. They
// have no error expression, and the type of a target has no comma.
#ifndef ABSL_STATUS_STATUS_MACROS_H_
#define ABSL_STATUS_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Evaluates an absl::Status, and returns it if it is an error.
#define ABSL_RETURN_IF_ERROR(...)                                             \
  if (absl::Status stampgate_status = (__VA_ARGS__); stampgate_status.ok()) { \
  } else /* NOLINT */                                                         \
    return stampgate_status

// Evaluates an absl::StatusOr, and returns its status if it has no value; otherwise moves the value into `target`.
#define ABSL_ASSIGN_OR_RETURN(target, ...) \
  STAMPGATE_ASSIGN_OR_RETURN(STAMPGATE_NAME(stampgate_result_, __LINE__), target, (__VA_ARGS__))
#define STAMPGATE_ASSIGN_OR_RETURN(result, target, expression) \
  auto result = expression;                                    \
  if (!result.ok()) return std::move(result).status();         \
  target = *std::move(result)
#define STAMPGATE_NAME(name, line) STAMPGATE_JOINED(name, line)
#define STAMPGATE_JOINED(name, line) name##line

#endif  // ABSL_STATUS_STATUS_MACROS_H_
