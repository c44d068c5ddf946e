#include "gateway/grpc_port/content_type.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/match.h"

namespace stampgate {

bool IsGrpcContentType(absl::string_view type) {
  constexpr absl::string_view kGrpc = "application/grpc";
  if (!absl::StartsWithIgnoreCase(type, kGrpc)) return false;
  type.remove_prefix(kGrpc.size());
  return type.empty() || type.front() == '+' || type.front() == ';';
}

ContentTypeReader::ContentTypeReader() {
  nghttp2_hd_inflater* inflater = nullptr;
  if (nghttp2_hd_inflate_new(&inflater) == 0) inflater_.reset(inflater);
}

void ContentTypeReader::Read(absl::string_view bytes) { Decode(bytes, false); }

bool ContentTypeReader::End() {
  Decode("", true);
  const bool is_foreign = inflater_ != nullptr && has_path_ && !is_grpc_;
  has_path_ = is_grpc_ = false;
  return is_foreign;
}

void ContentTypeReader::Decode(absl::string_view bytes, bool is_end) {
  while (inflater_ != nullptr) {
    nghttp2_nv field;
    int flags = 0;
    // Its successor is not in Debian 12's nghttp2.
    const ssize_t used = nghttp2_hd_inflate_hd2(
        inflater_.get(), &field, &flags, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), is_end ? 1 : 0);
    if (used < 0) {
      inflater_ = nullptr;
      return;
    }
    bytes.remove_prefix(static_cast<size_t>(used));
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      const absl::string_view name(reinterpret_cast<const char*>(field.name), field.namelen);
      const absl::string_view value(reinterpret_cast<const char*>(field.value), field.valuelen);
      if (name == ":path") has_path_ = true;
      if (name == "content-type") is_grpc_ = IsGrpcContentType(value);
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
      nghttp2_hd_inflate_end_headers(inflater_.get());
      return;
    }
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && bytes.empty()) return;
  }
}

}  // namespace stampgate
