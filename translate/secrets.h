// Removes the secrets of a request from upstream's texts.
#ifndef STAMPGATE_TRANSLATE_SECRETS_H_
#define STAMPGATE_TRANSLATE_SECRETS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "translate/message_plan.h"

namespace stampgate {

// The values of a message's secret fields. For a field of JSON text: every string inside, and every number of eight
// characters or more.
class Secrets {
 public:
  // Copies the values out of `message`, in time proportional to its size.
  Secrets(const google::protobuf::Message& message, const MessagePlan& plan);

  // Adds a secret that is not in the message.
  void Add(std::string secret);

  // `text` with every secret, and every piece of a secret that is at least eight bytes long, replaced by "[secret]". A
  // text longer than kMaxTextBytes is first cut at a character's end. Takes time proportional to the length of the
  // secrets.
  std::string Strike(absl::string_view text) const;

  static constexpr size_t kMaxTextBytes = 2048;

 private:
  void Collect(const google::protobuf::Message& message, const MessagePlan& plan);
  void Add(const FieldPlan& field, const std::string& value);

  std::vector<std::string> long_;           // at least as long as a piece
  absl::flat_hash_set<std::string> short_;  // shorter than a piece, not empty
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_SECRETS_H_
