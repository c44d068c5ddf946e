// YAML to protobuf: the message type is the schema.
#ifndef STAMPGATE_GATEWAY_CONFIG_YAML_READER_H_
#define STAMPGATE_GATEWAY_CONFIG_YAML_READER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace stampgate {

// A position in a text, both from 1. Columns count bytes.
struct Place {
  int line = 1;
  int column = 1;
};

// A fault, and its place.
struct Fault {
  Place place;
  // The field, such as "keys[1].file". Empty: the text as a whole.
  std::string path;
  // A phrase that continues the path, such as "is required". Quotes no value, and of a key at most 64 bytes.
  std::string message;
};

// Where each value of a text stands, by path.
using Places = std::map<std::string, Place, std::less<>>;

// A longer text is one fault.
inline constexpr size_t kMaxYamlBytes = 1 << 20;

// Reads a YAML mapping into `out`. Fields that the text does not name stay as they are. Keys are proto field names; the
// values are
//
//   string         any scalar on one line, as it is written; in a list, digits alone need quotes
//   bool           true or false
//   int and uint   decimal digits
//   enum           the value's name without the enum's prefix, in lower case
//   Duration       "1m30s", "500ms"
//   message        a mapping
//   repeated       a sequence
//
// Refused: keys that the message does not have, keys given twice, values that are empty or of another type or range,
// aliases, anchors, tags, control characters, and a second document. Returns every fault, in the order of the text; a
// text that is not YAML has one. With a fault in it, a field keeps its former value, an element of a list has a default
// one. An empty text is an empty mapping.
std::vector<Fault> ReadYaml(absl::string_view text, google::protobuf::Message* out, Places* places);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_YAML_READER_H_
