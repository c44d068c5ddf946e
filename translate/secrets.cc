#include "translate/secrets.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/escaping.h"
#include "translate/json/reader.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;

// The length of a piece of a secret. A piece is so long that it does not occur in other text by chance.
constexpr size_t kPiece = sizeof(uint64_t);

uint64_t PieceAt(absl::string_view text, size_t i) {
  uint64_t piece;
  std::memcpy(&piece, text.data() + i, kPiece);
  return piece;
}

// Calls `visit` for each string in `value` and for each number that is at least as long as a piece.
absl::Status ForEachText(JsonValue& value, absl::FunctionRef<void(absl::string_view)> visit) {
  if (value.kind() == JsonValue::Kind::kString && value.string().has_value()) {
    visit(*value.string());
  } else if (value.kind() == JsonValue::Kind::kNumber && value.number().size() >= kPiece) {
    visit(value.number());
  } else if (value.kind() == JsonValue::Kind::kObject) {
    return value.ForEachMember([&](absl::string_view, JsonValue& member) { return ForEachText(member, visit); });
  } else if (value.kind() == JsonValue::Kind::kArray) {
    return value.ForEachElement([&](size_t, JsonValue& element) { return ForEachText(element, visit); });
  }
  return absl::OkStatus();
}

// Returns true if text[i] is not the first byte of a UTF-8 character.
bool Continues(absl::string_view text, size_t i) { return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80; }

absl::string_view CutAtCharacter(absl::string_view text, size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && Continues(text, size)) --size;
  return text.substr(0, size);
}

}  // namespace

Secrets::Secrets(const ParsedMessage& message) { Collect(message); }

void Secrets::Collect(const ParsedMessage& message) {
  for (const FieldPlan& field : message.plan().fields) {
    if (field.form == JsonForm::kMessage) {
      for (const FieldValue& value : message.Values(field)) Collect(value.message());
    } else if (field.secret && field.form == JsonForm::kStringMap) {
      for (const FieldValue& value : message.Values(field)) Add(std::string(MapEntryIn(value.message()).value));
    } else if (field.secret && field.form == JsonForm::kBytes) {
      for (const FieldValue& value : message.Values(field)) Add(absl::Base64Escape(value.text()));
    } else if (field.secret && field.field->type() == FieldDescriptor::TYPE_STRING) {
      for (const FieldValue& value : message.Values(field)) Add(field, value.text());
    }
  }
}

void Secrets::Add(const FieldPlan& field, absl::string_view value) {
  std::string text(value);
  if (field.form == JsonForm::kString) return Add(std::move(text));
  // Ignores a text that is not JSON. The validator rejects such a request before it is sent, so upstream cannot quote
  // the text.
  (void)ReadJsonObject(text, [&](JsonValue& root) {
    return ForEachText(root, [&](absl::string_view piece) { Add(std::string(piece)); });
  });
}

void Secrets::Add(std::string secret) {
  if (secret.size() >= kPiece) {
    long_.push_back(std::move(secret));
  } else if (!secret.empty()) {
    short_.insert(std::move(secret));
  }
}

std::string Secrets::Strike(absl::string_view text) const {
  text = CutAtCharacter(text, kMaxTextBytes);
  std::vector<bool> struck(text.size(), false);
  auto strike = [&](size_t begin, size_t size) { std::fill_n(struck.begin() + begin, size, true); };

  for (size_t size = 1; size < kPiece && !short_.empty(); ++size) {
    for (size_t i = 0; i + size <= text.size(); ++i) {
      if (short_.contains(text.substr(i, size))) strike(i, size);
    }
  }
  absl::flat_hash_map<uint64_t, absl::InlinedVector<size_t, 1>> pieces;
  for (size_t i = 0; i + kPiece <= text.size(); ++i) pieces[PieceAt(text, i)].push_back(i);
  for (const std::string& secret : long_) {
    for (size_t i = 0; i + kPiece <= secret.size(); ++i) {
      auto found = pieces.find(PieceAt(secret, i));
      if (found == pieces.end()) continue;
      for (size_t begin : found->second) strike(begin, kPiece);
      pieces.erase(found);
    }
  }

  // If one byte of a character is struck, strikes the whole character, so that the remaining text is UTF-8.
  for (size_t i = 1; i < text.size(); ++i) {
    if (Continues(text, i) && struck[i - 1]) struck[i] = true;
  }
  for (size_t i = text.size(); i > 1; --i) {
    if (Continues(text, i - 1) && struck[i - 1]) struck[i - 2] = true;
  }

  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!struck[i]) {
      out.push_back(text[i]);
    } else if (i == 0 || !struck[i - 1]) {
      out.append("[secret]");
    }
  }
  return out;
}

}  // namespace stampgate
