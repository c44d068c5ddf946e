#include "translate/secrets.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/escaping.h"
#include "base/json/reader.h"

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

using Visit = absl::FunctionRef<void(absl::string_view secret)>;

// Calls `visit` for each secret in `value`, a secret text.
void VisitText(const FieldPlan& field, absl::string_view value, Visit visit) {
  if (field.form == JsonForm::kString) return visit(value);
  // Ignores a text that is not JSON. The validator rejects such a request before it is sent, so upstream cannot quote
  // the text.
  std::string json;
  json.reserve(value.size() + kJsonPadding);
  json.append(value.data(), value.size());
  (void)ReadJsonObject(json, [&](JsonValue& root) { return ForEachText(root, visit); });
}

void VisitSecrets(const ParsedMessage& message, Visit visit) {
  for (const FieldPlan& field : message.plan().fields) {
    if (field.form != JsonForm::kMessage && !field.secret) continue;
    for (const FieldValue& value : message.Values(field)) {
      if (field.form == JsonForm::kMessage) {
        VisitSecrets(value.message(), visit);
      } else if (field.form == JsonForm::kStringMap) {
        visit(MapEntryIn(value.message()).value);
      } else if (field.form == JsonForm::kBytes) {
        visit(absl::Base64Escape(value.text()));
      } else if (field.field->type() == FieldDescriptor::TYPE_STRING) {
        VisitText(field, value.text(), visit);
      }
    }
  }
}

// Finds secrets in one text. Needs memory that is proportional to the text, however many secrets there are.
class Search {
 public:
  explicit Search(absl::string_view text) : text_(text), struck_(text.size(), false) {
    for (size_t i = 0; i + kPiece <= text.size(); ++i) pieces_[PieceAt(text, i)].push_back(i);
  }

  void Strike(absl::string_view secret) {
    if (secret.size() >= kPiece) {
      StrikePieces(secret);
    } else if (!secret.empty()) {
      StrikeWhole(secret);
    }
  }

  // Whether each byte of the text belongs to a secret.
  std::vector<bool> Take() { return std::move(struck_); }

 private:
  void StrikePieces(absl::string_view secret) {
    for (size_t i = 0; i + kPiece <= secret.size(); ++i) {
      auto found = pieces_.find(PieceAt(secret, i));
      if (found == pieces_.end()) continue;
      for (size_t begin : found->second) std::fill_n(struck_.begin() + begin, kPiece, true);
      pieces_.erase(found);
    }
  }

  void StrikeWhole(absl::string_view secret) {
    if (starts_.empty()) Sort();
    const size_t size = secret.size();
    const auto precedes = [&](size_t start, absl::string_view wanted) { return text_.substr(start, size) < wanted; };
    auto start = std::lower_bound(starts_.begin(), starts_.end(), secret, precedes);
    const size_t rank = static_cast<size_t>(start - starts_.begin());
    // A secret can occur many times in the request.
    if (start == starts_.end() || text_.substr(*start, size) != secret || done_[rank * kPiece + size]) return;
    done_[rank * kPiece + size] = true;
    for (; start != starts_.end() && text_.substr(*start, size) == secret; ++start) {
      std::fill_n(struck_.begin() + *start, size, true);
    }
  }

  // Orders all places in the text by the bytes that begin there.
  void Sort() {
    starts_.resize(text_.size());
    std::iota(starts_.begin(), starts_.end(), 0);
    absl::c_sort(starts_, [&](size_t a, size_t b) { return text_.substr(a, kPiece) < text_.substr(b, kPiece); });
    done_.assign(text_.size() * kPiece, false);
  }

  const absl::string_view text_;
  std::vector<bool> struck_;
  absl::flat_hash_map<uint64_t, absl::InlinedVector<size_t, 1>> pieces_;
  std::vector<size_t> starts_;  // set when the first short secret is searched
  std::vector<bool> done_;      // whether the secret of this size that begins at this rank of starts_ has been struck
};

}  // namespace

std::string Secrets::Strike(absl::string_view text) const {
  text = CutAtCharacter(text, kMaxTextBytes);
  Search search(text);
  VisitSecrets(message_, [&](absl::string_view secret) { search.Strike(secret); });
  for (const std::string& secret : added_) search.Strike(secret);
  std::vector<bool> struck = search.Take();

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
