#include "gateway/grpc_port/content_type.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

// Compresses header blocks as a client does, with a table of fields that later blocks refer to.
class Compressor {
 public:
  Compressor() { EXPECT_EQ(nghttp2_hd_deflate_new(&deflater_, 4096), 0); }
  ~Compressor() { nghttp2_hd_deflate_del(deflater_); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  std::string Compress(Fields fields) {
    std::vector<nghttp2_nv> list;
    for (auto& [name, value] : fields) {
      list.push_back({reinterpret_cast<uint8_t*>(name.data()), reinterpret_cast<uint8_t*>(value.data()), name.size(),
                      value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    std::string block(nghttp2_hd_deflate_bound(deflater_, list.data(), list.size()), '\0');
    const ssize_t size = nghttp2_hd_deflate_hd(deflater_, reinterpret_cast<uint8_t*>(block.data()), block.size(),
                                               list.data(), list.size());
    EXPECT_GT(size, 0);
    block.resize(static_cast<size_t>(size));
    return block;
  }

 private:
  nghttp2_hd_deflater* deflater_ = nullptr;
};

Fields Request(const std::string& content_type) {
  return {{":method", "POST"}, {":scheme", "https"},           {":path", "/stampgate.v1.PolicyService/GetPolicy"},
          {":authority", "h"}, {"content-type", content_type}, {"te", "trailers"}};
}

bool IsForeign(ContentTypeReader& reader, const std::string& block) {
  reader.Read(block);
  return reader.End();
}

TEST(GrpcContentTypeTest, IsGrpcWithOrWithoutASubtypeOrParameters) {
  for (const char* type : {"application/grpc", "application/grpc+proto", "application/grpc+json",
                           "application/grpc;x=1", "Application/GRPC"}) {
    EXPECT_TRUE(IsGrpcContentType(type)) << type;
  }
  for (const char* type : {"", "application/json", "application/proto", "application/grpc-web",
                           "application/grpc-web+proto", "application/grpc-web-text", "application/connect+proto",
                           "application/grpcx", "text/plain", "application/grp", " application/grpc"}) {
    EXPECT_FALSE(IsGrpcContentType(type)) << type;
  }
}

TEST(ContentTypeReaderTest, FindsRequestsOfOtherProtocols) {
  Compressor client;
  ContentTypeReader reader;
  // From the second round on, the blocks refer to fields of earlier blocks.
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(IsForeign(reader, client.Compress(Request("application/grpc"))));
    EXPECT_TRUE(IsForeign(reader, client.Compress(Request("application/json"))));
    EXPECT_TRUE(IsForeign(reader, client.Compress(Request("application/grpc-web+proto"))));
    EXPECT_TRUE(IsForeign(reader, client.Compress({{":method", "GET"}, {":scheme", "https"}, {":path", "/"}})));
    EXPECT_FALSE(IsForeign(reader, client.Compress({{"trailer", "x"}})));
  }
}

TEST(ContentTypeReaderTest, ReadsBlocksThatAreDividedAnywhere) {
  std::mt19937 random(5);
  Compressor client;
  ContentTypeReader reader;
  for (int i = 0; i < 2000; ++i) {
    const bool is_foreign = random() % 2 == 0;
    Fields fields = Request(is_foreign ? "application/json" : "application/grpc");
    fields.emplace_back("x-some", std::string(random() % 300, 'a'));
    fields.emplace_back(absl::StrCat("x-", random() % 100), absl::StrCat(random()));
    const std::string block = client.Compress(fields);
    for (size_t at = 0; at < block.size();) {
      const size_t size = 1 + random() % 40;
      reader.Read(absl::string_view(block).substr(at, size));
      at += size;
    }
    ASSERT_EQ(reader.End(), is_foreign) << i;
  }
}

TEST(ContentTypeReaderTest, IgnoresAConnectionThatBreaksTheRules) {
  Compressor client;
  ContentTypeReader reader;
  EXPECT_FALSE(IsForeign(reader, "\xff\xff\xff\xff\x7f"));  // an index that the table does not have
  EXPECT_FALSE(IsForeign(reader, client.Compress(Request("application/json"))));
  ContentTypeReader unfinished;
  EXPECT_FALSE(IsForeign(unfinished, client.Compress(Request("application/json")).substr(0, 20)));
  std::mt19937 random(6);
  for (int i = 0; i < 2000; ++i) {
    ContentTypeReader any;
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    IsForeign(any, bytes);
    IsForeign(any, bytes);
  }
}

}  // namespace
}  // namespace stampgate
