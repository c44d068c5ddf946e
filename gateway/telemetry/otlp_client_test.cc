#include "gateway/telemetry/otlp_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/policy/testing.h"
#include "gateway/telemetry/scripted_collector.h"
#include "gateway/upstream/scripted_server.h"
#include "opentelemetry/otlp.pb.h"

namespace stampgate {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kMethod[] = "/package.Service/Export";
constexpr char kCanary[] = "canary-of-the-header";
constexpr size_t kMaxResponseBytes = 64 << 10;
constexpr absl::Duration kHang = absl::Minutes(1);

OtlpClient::Options OptionsFor(const std::string& endpoint, absl::Duration timeout = kHang) {
  OtlpClient::Options options;
  options.endpoint = endpoint;
  options.user_agent = "stampgate/test";
  options.timeout = timeout;
  return options;
}

// Returns the path of a new file that contains `text`.
std::string HeadersFile(absl::string_view text) {
  const std::string path = NewTestFolder() + "/headers";
  PutTestFile(path, text);
  return path;
}

// The options of a client whose requests have the header x-api-key with the value kCanary.
OtlpClient::Options SecretOptionsFor(const std::string& endpoint, absl::Duration timeout = kHang) {
  OtlpClient::Options options = OptionsFor(endpoint, timeout);
  options.headers_file = HeadersFile(absl::StrCat("x-api-key: ", kCanary, "\n"));
  return options;
}

// A response without a status of gRPC, as from a proxy. It repeats the request's secret in each part.
CollectorResponse HttpResponse(const CollectorRequest& request, int status, CollectorResponse::Fields more = {}) {
  const std::string secret = request.headers.at("x-api-key");
  CollectorResponse response;
  response.headers = {{":status", absl::StrCat(status)}, {"content-type", "text/plain"}, {"x-repeated", secret}};
  response.headers.insert(response.headers.end(), more.begin(), more.end());
  response.body = absl::StrCat("your key is ", secret);
  return response;
}

// A refusal by the method. It repeats the request's secret in each part.
CollectorResponse GrpcRefusal(const CollectorRequest& request, absl::string_view status) {
  const std::string secret = request.headers.at("x-api-key");
  CollectorResponse response = GrpcResponse(secret);
  response.trailers = {{"grpc-status", std::string(status)}, {"grpc-message", secret}, {"x-repeated", secret}};
  return response;
}

TEST(OtlpClientTest, AnExportReturnsTheResponseOfTheMethod) {
  ScriptedCollector collector([](const CollectorRequest&) { return GrpcResponse("response"); });
  OtlpClient client(OptionsFor(collector.endpoint()));
  const absl::StatusOr<std::string> response = client.Export(kMethod, "request");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(*response, "response");
  ASSERT_THAT(collector.requests(), SizeIs(1));
  EXPECT_EQ(collector.requests()[0].body, GrpcBody("request"));
}

TEST(OtlpClientTest, LargeAndEmptyRequestsArriveUnchanged) {
  ScriptedCollector collector([](const CollectorRequest&) { return GrpcResponse(""); });
  OtlpClient client(OptionsFor(collector.endpoint()));
  std::string large(3 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31);
  for (const std::string& request : {std::string(), large}) {
    const absl::StatusOr<std::string> response = client.Export(kMethod, request);
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(*response, "");
    EXPECT_TRUE(collector.requests().back().body == GrpcBody(request)) << request.size();
  }
}

TEST(OtlpClientTest, TheResponseContainsTheCountsOfAPartialSuccess) {
  otlp::ExportTraceServiceResponse sent;
  sent.mutable_partial_success()->set_rejected_spans(300);
  ScriptedCollector collector([&](const CollectorRequest&) { return GrpcResponse(sent.SerializeAsString()); });
  OtlpClient client(OptionsFor(collector.endpoint()));
  const absl::StatusOr<std::string> response = client.Export(kMethod, "request");
  ASSERT_TRUE(response.ok()) << response.status();
  otlp::ExportTraceServiceResponse received;
  ASSERT_TRUE(received.ParseFromString(*response));
  EXPECT_EQ(received.partial_success().rejected_spans(), 300);
}

TEST(OtlpClientTest, ARequestHasTheHeadersOfGrpcAndThoseOfTheFile) {
  ScriptedCollector collector([](const CollectorRequest&) { return GrpcResponse(""); });
  OtlpClient::Options options = OptionsFor(collector.endpoint(), absl::Milliseconds(59500));
  options.headers_file = HeadersFile("x-api-key: first value\n\nauthorization: Basic eDp5\n");
  OtlpClient client(options);
  ASSERT_TRUE(client.Export(kMethod, "request").ok());
  ASSERT_THAT(collector.requests(), SizeIs(1));
  EXPECT_THAT(collector.requests()[0].headers,
              AllOf(Contains(Pair(":method", "POST")), Contains(Pair(":path", kMethod)),
                    Contains(Pair("content-type", "application/grpc")), Contains(Pair("te", "trailers")),
                    Contains(Pair("grpc-timeout", "59500m")), Contains(Pair("user-agent", "stampgate/test")),
                    Contains(Pair("x-api-key", "first value")), Contains(Pair("authorization", "Basic eDp5"))));
}

TEST(OtlpClientTest, EachExportReadsTheHeadersFile) {
  ScriptedCollector collector([](const CollectorRequest&) { return GrpcResponse(""); });
  OtlpClient::Options options = OptionsFor(collector.endpoint());
  options.headers_file = HeadersFile("x-api-key: old\n");
  OtlpClient client(options);
  ASSERT_TRUE(client.Export(kMethod, "request").ok());
  PutTestFile(options.headers_file, "authorization: new\n");
  ASSERT_TRUE(client.Export(kMethod, "request").ok());
  ASSERT_THAT(collector.requests(), SizeIs(2));
  EXPECT_THAT(collector.requests()[0].headers, Contains(Pair("x-api-key", "old")));
  EXPECT_THAT(collector.requests()[1].headers, Contains(Pair("authorization", "new")));
  EXPECT_THAT(collector.requests()[1].headers, Not(Contains(Pair("x-api-key", "old"))));
}

TEST(OtlpClientTest, WithoutAReadableHeadersFileNothingIsSent) {
  ScriptedCollector collector([](const CollectorRequest&) { return GrpcResponse(""); });
  OtlpClient::Options options = OptionsFor(collector.endpoint());
  for (const std::string& file : {NewTestFolder() + "/absent", HeadersFile(absl::StrCat("X-Api-Key: ", kCanary))}) {
    options.headers_file = file;
    const absl::Status status = OtlpClient(options).Export(kMethod, "request").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), StartsWith("headers_file: "));
    EXPECT_THAT(status.message(), Not(HasSubstr(kCanary)));
  }
  EXPECT_THAT(collector.requests(), IsEmpty());
}

TEST(OtlpClientTest, ExportsUseOneConnection) {
  ScriptedCollector collector([](const CollectorRequest&) { return GrpcResponse(""); });
  OtlpClient client(OptionsFor(collector.endpoint()));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.Export(kMethod, "request").ok());
  EXPECT_THAT(collector.requests(), SizeIs(3));
  EXPECT_EQ(collector.connections(), 1);
}

// OTLP over gRPC does not know Retry-After. The exporter itself chooses its pauses.
TEST(OtlpClientTest, TheStatusOfABusyProxyIsUnavailableWithAndWithoutRetryAfter) {
  for (const int http_status : {429, 502, 503, 504}) {
    for (const CollectorResponse::Fields& more :
         {CollectorResponse::Fields(), CollectorResponse::Fields{{"retry-after", "3600"}},
          CollectorResponse::Fields{{"retry-after", kCanary}}}) {
      ScriptedCollector collector(
          [&](const CollectorRequest& request) { return HttpResponse(request, http_status, more); });
      OtlpClient client(SecretOptionsFor(collector.endpoint()));
      EXPECT_EQ(client.Export(kMethod, "request").status(),
                absl::UnavailableError(
                    absl::StrCat("the collector responded without a status of gRPC, but with HTTP ", http_status)));
      EXPECT_THAT(collector.requests(), SizeIs(1));  // this client does not send a request again
    }
  }
}

TEST(OtlpClientTest, OtherStatusesOfHttpHaveTheCodesOfTheSpecificationOfGrpc) {
  const struct {
    int http_status;
    absl::StatusCode code;
  } kCases[] = {
      {200, absl::StatusCode::kUnknown},          {302, absl::StatusCode::kUnknown},
      {400, absl::StatusCode::kInternal},         {401, absl::StatusCode::kUnauthenticated},
      {403, absl::StatusCode::kPermissionDenied}, {404, absl::StatusCode::kUnimplemented},
      {413, absl::StatusCode::kUnknown},          {500, absl::StatusCode::kUnknown},
  };
  for (const auto& [http_status, code] : kCases) {
    ScriptedCollector collector([status = http_status](const CollectorRequest& request) {
      return HttpResponse(request, status, {{"location", "/elsewhere"}});
    });
    OtlpClient client(SecretOptionsFor(collector.endpoint()));
    EXPECT_EQ(client.Export(kMethod, "request").status(),
              absl::Status(
                  code, absl::StrCat("the collector responded without a status of gRPC, but with HTTP ", http_status)));
    EXPECT_THAT(collector.requests(), SizeIs(1));
  }
}

TEST(OtlpClientTest, ARefusalHasTheCodeOfTheCollectorButNotItsText) {
  for (int code = 1; code <= 16; ++code) {
    ScriptedCollector collector(
        [&](const CollectorRequest& request) { return GrpcRefusal(request, absl::StrCat(code)); });
    OtlpClient client(SecretOptionsFor(collector.endpoint()));
    EXPECT_EQ(client.Export(kMethod, "request").status(),
              absl::Status(static_cast<absl::StatusCode>(code), "the collector refused the export"));
  }
}

TEST(OtlpClientTest, ARefusalMayConsistOfHeadersOnly) {
  ScriptedCollector collector([](const CollectorRequest&) {
    CollectorResponse response;
    response.headers = {{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "8"}};
    return response;
  });
  OtlpClient client(OptionsFor(collector.endpoint()));
  EXPECT_EQ(client.Export(kMethod, "request").status(),
            absl::ResourceExhaustedError("the collector refused the export"));
}

TEST(OtlpClientTest, AnUnknownStatusOfGrpcIsAnError) {
  for (const char* grpc_status : {"17", "-1", "x", kCanary}) {
    ScriptedCollector collector([&](const CollectorRequest& request) { return GrpcRefusal(request, grpc_status); });
    OtlpClient client(SecretOptionsFor(collector.endpoint()));
    EXPECT_EQ(client.Export(kMethod, "request").status(),
              absl::UnknownError("the collector responded with an unknown status of gRPC"));
  }
}

TEST(OtlpClientTest, ABodyThatIsNotOneUncompressedMessageIsAnError) {
  const std::string message = GrpcBody("message");
  for (const std::string& body : {std::string(), message.substr(0, 4), message.substr(0, message.size() - 1),
                                  message + "x", message + message, "\x01" + message.substr(1)}) {
    ScriptedCollector collector([&](const CollectorRequest&) {
      CollectorResponse response = GrpcResponse("");
      response.body = body;
      return response;
    });
    OtlpClient client(OptionsFor(collector.endpoint()));
    EXPECT_EQ(client.Export(kMethod, "request").status(),
              absl::InternalError("the collector's response is not one uncompressed message of gRPC"))
        << body.size();
  }
}

TEST(OtlpClientTest, AResponseMayHave64KiBAndNotMore) {
  const std::string longest(kMaxResponseBytes - GrpcBody("").size(), 'x');
  for (const size_t more : {0, 1}) {
    ScriptedCollector collector(
        [&](const CollectorRequest&) { return GrpcResponse(longest + std::string(more, 'x')); });
    OtlpClient client(OptionsFor(collector.endpoint()));
    const absl::StatusOr<std::string> response = client.Export(kMethod, "request");
    if (more == 0) {
      ASSERT_TRUE(response.ok()) << response.status();
      EXPECT_TRUE(*response == longest);
    } else {
      EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable) << response.status();
    }
  }
}

// The collector would send its body forever. So the client can only return if it stops reading.
TEST(OtlpClientTest, TheClientStopsReadingABodyAtTheLimit) {
  std::atomic<bool> is_endless = true;
  ScriptedCollector collector([&](const CollectorRequest& request) {
    if (!is_endless) return GrpcResponse("later");
    CollectorResponse response = GrpcResponse("");
    response.body = std::string(1 << 10, 'x') + request.headers.at("x-api-key");
    response.repeats_body = true;
    return response;
  });
  OtlpClient client(SecretOptionsFor(collector.endpoint()));
  const absl::Status status = client.Export(kMethod, "request").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(status.message(), Not(HasSubstr(kCanary)));
  is_endless = false;
  const absl::StatusOr<std::string> later = client.Export(kMethod, "request");
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_EQ(*later, "later");
}

TEST(OtlpClientTest, AnExportToASilentCollectorEndsAfterTheTimeout) {
  constexpr absl::Duration kTimeout = absl::Milliseconds(100);
  ScriptedCollector collector([](const CollectorRequest&) { return CollectorResponse(); });
  ScriptedServer other([](ScriptedServer::Connection& connection) { connection.WaitForClose(); });
  for (const std::string& endpoint : {collector.endpoint(), absl::StrCat("http://127.0.0.1:", other.port())}) {
    OtlpClient client(SecretOptionsFor(endpoint, kTimeout));
    const auto start = OtlpClient::Clock::now();
    EXPECT_EQ(client.Export(kMethod, "request").status(), absl::DeadlineExceededError("the export took too long"));
    EXPECT_GE(absl::FromChrono(OtlpClient::Clock::now() - start), kTimeout - absl::Milliseconds(1));
  }
}

TEST(OtlpClientTest, EndByEndsAnExportInProgress) {
  std::unique_ptr<OtlpClient> client;  // outlives the collector, whose threads use it
  ScriptedCollector collector([&](const CollectorRequest&) {
    client->EndBy(OtlpClient::Clock::now());
    return CollectorResponse();
  });
  client = std::make_unique<OtlpClient>(OptionsFor(collector.endpoint(), absl::Hours(1)));
  EXPECT_EQ(client->Export(kMethod, "request").status(), absl::DeadlineExceededError("the export took too long"));
  EXPECT_EQ(client->Export(kMethod, "request").status(), absl::DeadlineExceededError("the export took too long"));
}

TEST(OtlpClientTest, AServerThatDoesNotSpeakHttp2OrClosesTheConnectionIsUnavailable) {
  for (const std::string& bytes : {std::string(), absl::StrCat("HTTP/1.1 400 ", kCanary, "\r\n\r\n"),
                                   JsonResponse("{}"), std::string("\x16\x03\x01\x00\x00", 5)}) {
    ScriptedServer server([&](ScriptedServer::Connection& connection) {
      connection.ReadSome();
      connection.Write(bytes);
    });
    OtlpClient client(SecretOptionsFor(absl::StrCat("http://127.0.0.1:", server.port())));
    const absl::Status status = client.Export(kMethod, "request").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(status.message(), Not(HasSubstr(kCanary)));
  }
}

TEST(OtlpClientTest, AnAbsentCollectorIsUnavailable) {
  int port = 0;
  {
    ScriptedServer server([](ScriptedServer::Connection&) {});
    port = server.port();
  }
  OtlpClient client(SecretOptionsFor(absl::StrCat("http://127.0.0.1:", port)));
  const absl::Status status = client.Export(kMethod, "request").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(status.message(), Not(HasSubstr(kCanary)));
}

}  // namespace
}  // namespace stampgate
