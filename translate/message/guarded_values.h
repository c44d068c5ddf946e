// Reads what the guarded fields of a message state.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_GUARDED_VALUES_H_
#define STAMPGATE_TRANSLATE_MESSAGE_GUARDED_VALUES_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "stampgate/v1/options.pb.h"
#include "translate/message/parsed_message.h"
#include "translate/message/plan.h"

namespace stampgate {

struct StatedValue {
  const FieldPlan* field = nullptr;
  // The value of a string, or the text that an enum value has in upstream's JSON. Empty if there is no such text. An
  // empty text is no valid amount, chain, key or destination. Refers to the message or to the plan.
  absl::string_view text;
};

// Returns the values of those fields of `message` that have `guard` and are set, ordered by field number: of a list,
// the value of each element. Does not read the messages inside `message`.
std::vector<StatedValue> StatedValues(const ParsedMessage& message, v1::FieldGuard guard);

// A message states only one amount, chain, contract and export key. Returns two single fields of `message` that have
// the same one of these guards and state different values, or nullopt. Does not read the messages inside `message`.
std::optional<std::pair<const FieldPlan*, const FieldPlan*>> FindContradiction(const ParsedMessage& message);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_GUARDED_VALUES_H_
