#include "gateway/config/settings/yaml_reader.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gateway/config/settings/nearest_name.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/util/time_util.h"
#include "simdjson.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The limit for durations whose field has no limit of its own. In nanoseconds, it fits into 64 bits.
constexpr absl::Duration kMaxDuration = absl::Hours(24 * 365 * 100);

Location LocationOf(const YAML::Mark& mark) {
  return mark.is_null() ? Location{} : Location{mark.line + 1, mark.column + 1};
}

// A YAML node. Unlike yaml-cpp's own node, it keeps aliases, anchors, tags and repeated keys.
struct Node {
  enum class Kind { kNull, kScalar, kSequence, kMap, kAlias };

  Kind kind = Kind::kNull;
  Location location;
  bool anchored = false;
  bool tagged = false;
  bool quoted = false;
  std::string text;
  // For a sequence: the elements. For a mapping: each key, followed by its value.
  std::vector<Node> children;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  Node TakeRoot() { return std::move(root_); }
  Location start() const { return start_; }

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = LocationOf(mark); }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(MakeNode(Node::Kind::kNull, mark, "?", anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Add(MakeNode(Node::Kind::kAlias, mark, "?", 0)); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = MakeNode(Node::Kind::kScalar, mark, tag, anchor);
    node.text = value;
    Add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back(MakeNode(Node::Kind::kSequence, mark, tag, anchor));
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back(MakeNode(Node::Kind::kMap, mark, tag, anchor));
  }
  void OnMapEnd() override { Close(); }

 private:
  // For a value without a tag, yaml-cpp gives the tag "?" if the value is plain, and "!" if it is quoted.
  static Node MakeNode(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    Node node;
    node.kind = kind;
    node.location = LocationOf(mark);
    node.anchored = anchor != YAML::NullAnchor;
    node.tagged = tag != "?" && tag != "!";
    node.quoted = tag == "!";
    return node;
  }

  void Add(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Node& parent = open_.back();
    // yaml-cpp gives an empty value the location of the next token. The location of the value's key helps the operator
    // more.
    const bool is_value = parent.kind == Node::Kind::kMap && parent.children.size() % 2 == 1;
    if (is_value && node.kind == Node::Kind::kNull) node.location = parent.children.back().location;
    parent.children.push_back(std::move(node));
  }

  void Close() {
    Node node = std::move(open_.back());
    open_.pop_back();
    Add(std::move(node));
  }

  Location start_;
  Node root_;
  std::vector<Node> open_;
};

std::string Quoted(absl::string_view key) {
  constexpr size_t kMaxQuoted = 64;
  std::string shown(key.substr(0, kMaxQuoted));
  // Removes an incomplete UTF-8 character at the end of the shortened text.
  while (shown.size() < key.size() && !shown.empty() && (key[shown.size()] & 0xC0) == 0x80) shown.pop_back();
  for (char& c : shown) {
    if (absl::ascii_iscntrl(c)) c = '?';
  }
  return shown.size() < key.size() ? shown + "..." : shown;
}

// Returns the name of the field that is most similar to `key`, or an empty text if no name is similar.
absl::string_view NearestField(const Descriptor& type, absl::string_view key) {
  std::vector<absl::string_view> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return NearestName(key, names);
}

// Returns the name that the config uses for an enum value: for example "json" for TEXT_FORM_JSON of the enum TextForm.
std::string ShortName(const EnumValueDescriptor& value) {
  std::string prefix;
  for (const char c : value.type()->name()) {
    if (absl::ascii_isupper(c) && !prefix.empty()) prefix += '_';
    prefix += absl::ascii_toupper(c);
  }
  return absl::AsciiStrToLower(absl::StripPrefix(value.name(), prefix + "_"));
}

// Fills a protobuf message from a tree of YAML nodes, and collects the faults.
class Filler {
 public:
  Filler(std::vector<Fault>* faults, Locations* locations) : faults_(*faults), locations_(*locations) {}

  void FillMessage(const Node& node, const std::string& path, Message* out) {
    if (!Expect(node, Node::Kind::kMap, path, "must be a mapping")) return;
    std::map<absl::string_view, int> first_lines;
    for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
      const Node& key = node.children[i];
      const Node& value = node.children[i + 1];
      if (!Expect(key, Node::Kind::kScalar, path, "has a key that is not text")) continue;
      const std::string field_path = absl::StrCat(path, path.empty() ? "" : ".", Quoted(key.text));
      const FieldDescriptor* field = out->GetDescriptor()->FindFieldByName(key.text);
      if (field == nullptr) {
        const absl::string_view nearest = NearestField(*out->GetDescriptor(), key.text);
        Add(key.location, field_path,
            nearest.empty() ? "unknown key" : absl::StrCat("unknown key; did you mean ", nearest, "?"));
        continue;
      }
      const auto [first, is_first] = first_lines.emplace(key.text, key.location.line);
      if (!is_first) {
        Add(key.location, field_path, absl::StrCat("is given twice, first in line ", first->second));
        continue;
      }
      FillField(value, field_path, *field, out);
    }
  }

  // Sets the field or, if it is repeated, adds an element to it.
  void FillValue(const Node& node, const std::string& path, const FieldDescriptor& field, Message* out) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return Put<std::string>(ReadString(node, path, field), field, out, &Reflection::SetString,
                                &Reflection::AddString);
      case FieldDescriptor::CPPTYPE_BOOL:
        return Put<bool>(ReadBool(node, path), field, out, &Reflection::SetBool, &Reflection::AddBool);
      case FieldDescriptor::CPPTYPE_INT32:
        return Put<int32_t>(ReadInteger<int32_t>(node, path), field, out, &Reflection::SetInt32, &Reflection::AddInt32);
      case FieldDescriptor::CPPTYPE_INT64:
        return Put<int64_t>(ReadInteger<int64_t>(node, path), field, out, &Reflection::SetInt64, &Reflection::AddInt64);
      case FieldDescriptor::CPPTYPE_UINT32:
        return Put<uint32_t>(ReadInteger<uint32_t>(node, path), field, out, &Reflection::SetUInt32,
                             &Reflection::AddUInt32);
      case FieldDescriptor::CPPTYPE_UINT64:
        return Put<uint64_t>(ReadInteger<uint64_t>(node, path), field, out, &Reflection::SetUInt64,
                             &Reflection::AddUInt64);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Put<double>(ReadDecimal(node, path), field, out, &Reflection::SetDouble, &Reflection::AddDouble);
      case FieldDescriptor::CPPTYPE_ENUM:
        return Put<int>(ReadEnum(node, path, field), field, out, &Reflection::SetEnumValue, &Reflection::AddEnumValue);
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        const Reflection& reflection = *out->GetReflection();
        Message* message =
            field.is_repeated() ? reflection.AddMessage(out, &field) : reflection.MutableMessage(out, &field);
        if (field.message_type() == google::protobuf::Duration::descriptor()) {
          return FillDuration(node, path, static_cast<google::protobuf::Duration*>(message));
        }
        return FillMessage(node, path, message);
      }
      default:
        Add(node.location, path, "has a type that the YAML reader does not support");
    }
  }

 private:
  void FillField(const Node& node, const std::string& path, const FieldDescriptor& field, Message* out) {
    locations_[path] = node.location;
    if (!field.is_repeated()) return FillValue(node, path, field, out);
    if (!Expect(node, Node::Kind::kSequence, path, "must be a list")) return;
    for (size_t i = 0; i < node.children.size(); ++i) {
      const std::string element_path = absl::StrCat(path, "[", i, "]");
      locations_[element_path] = node.children[i].location;
      FillValue(node.children[i], element_path, field, out);
    }
  }

  // An empty `value` means that the text has a fault here. A list then gets a default element, so that later elements
  // keep their index. Any other field stays as it is.
  template <typename T>
  static void Put(std::optional<T> value, const FieldDescriptor& field, Message* out,
                  void (Reflection::*set)(Message*, const FieldDescriptor*, T) const,
                  void (Reflection::*add)(Message*, const FieldDescriptor*, T) const) {
    if (field.is_repeated()) {
      (out->GetReflection()->*add)(out, &field, std::move(value).value_or(T()));
    } else if (value.has_value()) {
      (out->GetReflection()->*set)(out, &field, *std::move(value));
    }
  }

  std::optional<std::string> ReadString(const Node& node, const std::string& path, const FieldDescriptor& field) {
    if (!Expect(node, Node::Kind::kScalar, path, "must be text")) return std::nullopt;
    // Repeated text fields contain names. Other tools read digits without quotes as a number, and can write that number
    // in another form.
    if (field.is_repeated() && !node.quoted && !node.text.empty() &&
        std::all_of(node.text.begin(), node.text.end(), absl::ascii_isdigit)) {
      Add(node.location, path, "is a number where a name belongs: a name that consists of digits needs quotes");
      return std::nullopt;
    }
    // Quoted YAML text can contain every control character. If a path contained a zero byte, the system would open
    // another file.
    if (!std::any_of(node.text.begin(), node.text.end(), absl::ascii_iscntrl)) return node.text;
    Add(node.location, path, "has a control character");
    return std::nullopt;
  }

  std::optional<bool> ReadBool(const Node& node, const std::string& path) {
    constexpr absl::string_view kWanted = "must be true or false";
    if (!Expect(node, Node::Kind::kScalar, path, kWanted)) return std::nullopt;
    if (!node.quoted && node.text == "true") return true;
    if (!node.quoted && node.text == "false") return false;
    Add(node.location, path, kWanted);
    return std::nullopt;
  }

  template <typename T>
  std::optional<T> ReadInteger(const Node& node, const std::string& path) {
    const std::string wanted = absl::StrCat("must be a whole number from ", std::numeric_limits<T>::min(), " to ",
                                            std::numeric_limits<T>::max());
    if (!Expect(node, Node::Kind::kScalar, path, wanted)) return std::nullopt;
    T value = 0;
    const char* end = node.text.data() + node.text.size();
    const auto [parsed, error] = std::from_chars(node.text.data(), end, value);
    // Other YAML readers interpret 010 as eight.
    const absl::string_view digits = absl::StripPrefix(node.text, "-");
    const bool leading_zero = digits.size() > 1 && digits[0] == '0';
    if (error == std::errc() && parsed == end && !leading_zero && !node.quoted) return value;
    Add(node.location, path, wanted);
    return std::nullopt;
  }

  std::optional<double> ReadDecimal(const Node& node, const std::string& path) {
    constexpr absl::string_view kWanted = "must be a decimal number, such as 0.25";
    if (!Expect(node, Node::Kind::kScalar, path, kWanted)) return std::nullopt;
    double value = 0;
    const bool consists_of_digits =
        std::all_of(node.text.begin(), node.text.end(), [](char c) { return absl::ascii_isdigit(c) || c == '.'; });
    if (consists_of_digits && !node.quoted && absl::SimpleAtod(node.text, &value)) return value;
    Add(node.location, path, kWanted);
    return std::nullopt;
  }

  std::optional<int> ReadEnum(const Node& node, const std::string& path, const FieldDescriptor& field) {
    std::vector<std::string> names;
    std::optional<int> number;
    for (int i = 0; i < field.enum_type()->value_count(); ++i) {
      const EnumValueDescriptor& value = *field.enum_type()->value(i);
      std::string name = ShortName(value);
      if (name == "unspecified") continue;
      if (name == node.text) number = value.number();
      names.push_back(std::move(name));
    }
    const std::string wanted = absl::StrCat("must be one of ", absl::StrJoin(names, ", "));
    if (!Expect(node, Node::Kind::kScalar, path, wanted)) return std::nullopt;
    if (!number.has_value()) Add(node.location, path, wanted);
    return number;
  }

  void FillDuration(const Node& node, const std::string& path, google::protobuf::Duration* out) {
    constexpr absl::string_view kWanted = "must be a duration with its unit, such as 5s or 500ms";
    if (!Expect(node, Node::Kind::kScalar, path, kWanted)) return;
    absl::Duration value;
    if (!absl::ParseDuration(node.text, &value) || absl::AbsDuration(value) > kMaxDuration) {
      return Add(node.location, path, kWanted);
    }
    *out = google::protobuf::util::TimeUtil::NanosecondsToDuration(absl::ToInt64Nanoseconds(value));
  }

  // Returns true if the node has the wanted kind and uses no forbidden YAML feature. Otherwise adds a fault and returns
  // false.
  bool Expect(const Node& node, Node::Kind kind, const std::string& path, absl::string_view wanted) {
    if (node.kind == Node::Kind::kAlias) {
      Add(node.location, path, "is an alias, which is refused");
    } else if (node.anchored) {
      Add(node.location, path, "has an anchor, which is refused");
    } else if (node.tagged) {
      Add(node.location, path, "has a tag, which is refused");
    } else if (node.kind == Node::Kind::kNull) {
      Add(node.location, path, "has no value");
    } else if (node.kind != kind) {
      Add(node.location, path, wanted);
    } else {
      return true;
    }
    return false;
  }

  void Add(Location location, absl::string_view path, absl::string_view message) {
    faults_.push_back({location, std::string(path), std::string(message)});
  }

  std::vector<Fault>& faults_;
  Locations& locations_;
};

// Finds faults that yaml-cpp does not report: a text that is too long, invalid UTF-8 and control characters. yaml-cpp
// would take the control character U+0004 as the end of the text.
std::vector<Fault> CheckBytes(absl::string_view text) {
  if (text.size() > kMaxYamlBytes) {
    return {{Location{}, "", absl::StrCat("is larger than ", kMaxYamlBytes, " bytes")}};
  }
  std::vector<Fault> faults;
  int line_number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    if (!simdjson::validate_utf8(line.data(), line.size())) faults.push_back({{line_number, 1}, "", "is not UTF-8"});
    const auto control =
        std::find_if(line.begin(), line.end(), [](char c) { return absl::ascii_iscntrl(c) && c != '\t' && c != '\r'; });
    if (control != line.end()) {
      const int column = static_cast<int>(control - line.begin()) + 1;
      faults.push_back({{line_number, column}, "", "has a control character"});
    }
  }
  return faults;
}

}  // namespace

std::vector<Fault> ReadYaml(absl::string_view text, Message* out, Locations* locations) {
  std::vector<Fault> faults = CheckBytes(text);
  if (!faults.empty()) return faults;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder first;
    if (!parser.HandleNextDocument(first)) return {};
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) return {{second.start(), "", "has a second document"}};
    Filler(&faults, locations).FillMessage(first.TakeRoot(), "", out);
  } catch (const YAML::DeepRecursion&) {
    return {{Location{}, "", "is nested too deeply"}};
  } catch (const YAML::Exception& error) {
    return {{LocationOf(error.mark), "", absl::StrCat("is not YAML: ", Quoted(error.msg))}};
  }
  std::stable_sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) {
    return std::pair(a.location.line, a.location.column) < std::pair(b.location.line, b.location.column);
  });
  return faults;
}

bool ReadYamlValue(absl::string_view text, const FieldDescriptor& field, Message* out) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.text = std::string(text);
  std::vector<Fault> faults;
  Locations locations;
  Filler(&faults, &locations).FillValue(node, "", field, out);
  return faults.empty();
}

}  // namespace stampgate
