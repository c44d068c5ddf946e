// Reads YAML into a protobuf message, whose type is the schema.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTINGS_YAML_READER_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTINGS_YAML_READER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace stampgate {

// A position in a text. Lines and columns count from 1; columns count bytes.
struct Location {
  int line = 1;
  int column = 1;
};

// A fault in a text, and its location.
struct Fault {
  Location location;
  // The path of the field, such as "keys[1].file". Empty if the fault concerns the whole text.
  std::string path;
  // A phrase about the field, such as "is required". The phrase quotes no values. It quotes at most 64 bytes of a key.
  std::string message;
};

// The location of each value in a text. The map's key is the path of the value.
using Locations = std::map<std::string, Location, std::less<>>;

// The maximum size of a text. ReadYaml returns a single fault for a longer text.
inline constexpr size_t kMaxYamlBytes = 1 << 20;

// Reads a YAML mapping into `out`. Fields that the text does not name stay as they are. The keys of the mapping are the
// names of proto fields. The type of the field determines the form of the value:
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
// another type or range, aliases, anchors, tags, control characters, and a second document. ReadYaml returns all faults
// in the order of the text. For a text that is not YAML, it returns one fault.
//
// A field with a fault keeps its former value. A list element with a fault gets the default value. ReadYaml reads an
// empty text as an empty mapping.
std::vector<Fault> ReadYaml(absl::string_view text, google::protobuf::Message* out, Locations* locations);

// Reads `text`, which is a scalar without quotes, into `field` of `out`, as ReadYaml reads a value of this field or, if
// the field is repeated, an element of it. Returns whether the text is such a value.
bool ReadYamlValue(absl::string_view text, const google::protobuf::FieldDescriptor& field,
                   google::protobuf::Message* out);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTINGS_YAML_READER_H_
