#include "translate/client_stamped_request.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "translate/request_body.h"
#include "translate/validator.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

void Add(absl::string_view field, absl::string_view description, Violations& violations) {
  violations.Add([&] { return Violation{std::string(field), std::string(description)}; });
}

void CheckFields(const Operation& operation, const ParsedMessage& request, const v1::ClientStamp& stamp,
                 Violations& violations) {
  CheckUnknownFields(request, violations);
  const auto& unknown = stamp.GetReflection()->GetUnknownFields(stamp);
  for (int i = 0; i < unknown.field_count(); ++i) {
    Add("client_stamp",
        absl::StrCat("holds field number ", unknown.field(i).number(), ", which this gateway does not know"),
        violations);
  }
  for (const FieldPlan& field : operation.request->fields) {
    if (&field == operation.request->client_stamp || &field == operation.path_segment || !request.Has(field)) continue;
    Add(field.field->name(), "must not be set together with client_stamp", violations);
  }
  if (stamp.stamp_case() == v1::ClientStamp::STAMP_NOT_SET) {
    Add("client_stamp", "must hold a stamp: api_key, web_authn or attested", violations);
  }
}

// The longest client_stamp without its body. A stamp has at most 8 KiB.
constexpr size_t kMaxStampBytes = 16 << 10;

// Appends the fields of `part`, some bytes of a ClientStamp, to `rest`, but makes `body` the body. Stops when `rest` is
// longer than kMaxStampBytes. Returns false if `part` cannot be read.
bool SplitStamp(absl::string_view part, std::string& rest, absl::string_view& body) {
  constexpr uint32_t kBody =
      WireFormatLite::MakeTag(v1::ClientStamp::kBodyFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  CodedInputStream input(reinterpret_cast<const uint8_t*>(part.data()), static_cast<int>(part.size()));
  for (size_t begin = 0; begin < part.size(); begin = static_cast<size_t>(input.CurrentPosition())) {
    const uint32_t tag = input.ReadTag();
    uint32_t size = 0;
    if (tag == kBody && input.ReadVarint32(&size)) {
      body = part.substr(static_cast<size_t>(input.CurrentPosition()), size);
      if (body.size() < size || !input.Skip(static_cast<int>(size))) return false;
      continue;
    }
    if (tag == 0 || tag == kBody || !WireFormatLite::SkipField(&input, tag)) return false;
    const absl::string_view field = part.substr(begin, static_cast<size_t>(input.CurrentPosition()) - begin);
    rest.append(field.data(), std::min(field.size(), kMaxStampBytes + 1));
    if (rest.size() > kMaxStampBytes) break;
  }
  return true;
}

// Reads the client_stamp in `parts`. Returns the violation, or an empty text. Protocol Buffers alone could need several
// times its size.
std::string ReadStamp(absl::Span<const FieldValue> parts, v1::ClientStamp& stamp) {
  constexpr char kNotOne[] = "must be a ClientStamp message";
  std::string rest;
  absl::string_view body;
  for (const FieldValue& part : parts) {
    if (!SplitStamp(part.text(), rest, body)) return kNotOne;
    if (rest.size() > kMaxStampBytes)
      return absl::StrCat("must have at most ", kMaxStampBytes, " bytes beside its body");
  }
  if (!stamp.ParseFromString(rest)) return kNotOne;
  // The reader of JSON needs room behind the text, and would otherwise copy it.
  std::string& copy = *stamp.mutable_body();
  copy.reserve(body.size() + kJsonPadding);
  copy.append(body.data(), body.size());
  return "";
}

}  // namespace

std::optional<ClientStampedRequest> ReadClientStampedRequest(const Operation& operation, const ParsedMessage& request,
                                                             RequestMemory& memory, Violations& violations) {
  const FieldPlan* field = operation.request->client_stamp;
  if (field == nullptr || !request.Has(*field)) return std::nullopt;
  ClientStampedRequest read{{}, request};
  const absl::Span<const FieldValue> parts = request.Values(*field);
  std::string fault = request.Count(*field) > parts.size() ? absl::StrCat("must have at most ", parts.size(), " parts")
                                                           : ReadStamp(parts, read.stamp);
  if (!fault.empty()) {
    Add("client_stamp", fault, violations);
    return read;
  }
  memory.Count(read.stamp.body().capacity());
  CheckFields(operation, request, read.stamp, violations);
  WireWriter path;
  if (operation.path_segment != nullptr) {
    path.String(operation.path_segment->field->number(), request.Text(*operation.path_segment));
  }
  const ParsedMessage* parsed =
      ReadRequestBody(operation, *read.stamp.mutable_body(), path.Take(), "client_stamp.body", memory, violations);
  if (parsed != nullptr) read.request = *parsed;
  return read;
}

}  // namespace stampgate
