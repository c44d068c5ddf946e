// Reads YAML into a protobuf message, whose type is the schema.
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

// A position in a text. Lines and columns count from 1; columns count bytes.
struct Place {
  int line = 1;
  int column = 1;
};

// A fault in a text, and its place.
struct Fault {
  Place place;
  // The field, such as "keys[1].file"; empty for a fault of the whole text.
  std::string path;
  // A phrase about the field, such as "is required". It quotes no value, and at most 64 bytes of a key.
  std::string message;
};

// The place of each value in a text, by the value's path.
using Places = std::map<std::string, Place, std::less<>>;

// The limit for the size of a text. A longer text gives one fault.
inline constexpr size_t kMaxYamlBytes = 1 << 20;

// Reads a YAML mapping into `out`. Fields that the text does not name stay as they are. Keys are proto field names; the
// values are
//
//   string         any scalar on one line, unchanged; in a list, a string of only digits needs quotes
//   bool           true or false
//   int and uint   decimal digits
//   enum           the value's name without the enum's prefix, in lower case
//   Duration       "1m30s", "500ms"
//   message        a mapping
//   repeated       a sequence
//
// The reader reports these as faults: keys that the message does not have, repeated keys, empty values, values of
// another type or range, aliases, anchors, tags, control characters, and a second document. Returns every fault, in the
// order of the text. A text that is not YAML gives one fault.
//
// A field with a fault keeps its former value. A list element with a fault gets the default value. An empty text is an
// empty mapping.
std::vector<Fault> ReadYaml(absl::string_view text, google::protobuf::Message* out, Places* places);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_YAML_READER_H_
