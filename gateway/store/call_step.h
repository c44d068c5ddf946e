// A step that changes a call store: a submit begins, or an attempt ends.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_STEP_H_
#define STAMPGATE_GATEWAY_STORE_CALL_STEP_H_

#include <cstdint>
#include <string>
#include <variant>

#include "gateway/store/call_store.h"

namespace stampgate {

// The end of an attempt, with the number of the attempt's row, and the caller and key of its submit.
struct EndedAttempt {
  int64_t number = 0;
  std::string caller = {};
  std::string key = {};
  AttemptEnd end = {};
};

using CallStep = std::variant<KeyedSubmit, EndedAttempt>;

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_STEP_H_
