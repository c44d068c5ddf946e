// Counts the fields of compressed headers.
//
// One byte of compressed headers can refer to a field of several kilobytes (an "HPACK bomb"), and gRPC uses memory for
// each field.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_HEADER_FIELDS_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_HEADER_FIELDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace stampgate {

// Reads the representations of fields (RFC 7541, section 6) without decoding names and values. Not thread-safe.
class HeaderFields {
 public:
  // Reads the next bytes of a header block, which may be divided anywhere. Returns how many fields, and changes of the
  // size of the dynamic table, begin in these bytes. If the bytes break the rules of HPACK, the number is meaningless;
  // gRPC then closes the connection.
  size_t Read(absl::string_view bytes);

 private:
  enum class State { kField, kIndex, kLength, kMoreOfLength, kText };

  // Reads the first byte of a field.
  void ReadField(uint8_t byte);
  void AfterIndex();
  void ReadLength(uint8_t byte);
  void AfterLength();

  State state_ = State::kField;
  int texts_ = 0;        // the number of texts that follow in the field: its value, and its name if it has no index
  uint64_t length_ = 0;  // the number of bytes that follow in the text
  int shift_ = 0;        // of the next byte of the length
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_HEADER_FIELDS_H_
