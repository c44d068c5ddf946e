// Finds the requests of other protocols by the content type in their headers.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_CONTENT_TYPE_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_CONTENT_TYPE_H_

#include <nghttp2/nghttp2.h>

#include <memory>

#include "absl/strings/string_view.h"

namespace stampgate {

// Whether a request with this content type is a request of gRPC. gRPC-Web is another protocol.
bool IsGrpcContentType(absl::string_view type);

// Decodes the header blocks that one client sends (RFC 7541). Not thread-safe.
class ContentTypeReader {
 public:
  ContentTypeReader();

  // Reads the next bytes of a header block, which may be divided anywhere. Call End after the last bytes of a block.
  void Read(absl::string_view bytes);

  // Returns whether the block that ends is a whole request without the content type of gRPC. Returns false from the
  // first block that breaks the rules of HPACK; gRPC then closes the connection.
  bool End();

 private:
  struct Free {
    void operator()(nghttp2_hd_inflater* inflater) const { nghttp2_hd_inflate_del(inflater); }
  };

  void Decode(absl::string_view bytes, bool is_end);

  std::unique_ptr<nghttp2_hd_inflater, Free> inflater_;  // null after a fault
  bool has_path_ = false;
  bool is_grpc_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_CONTENT_TYPE_H_
