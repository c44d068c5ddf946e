#include "gateway/tokens/key_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/loop/event_loops.h"
#include "base/threads/mutex.h"
#include "gateway/tokens/issuers.h"
#include "gateway/tokens/testing.h"
#include "gateway/upstream/scripted_server.h"

namespace stampgate {
namespace {

constexpr auto kHang = std::chrono::seconds(60);

const TestTokenKey& Key() {
  static const TestTokenKey key("P-256");
  return key;
}

std::string Jwks() { return JwksOf({Key().Jwk(R"("kid":"a")")}); }

config::v1::TokenIssuer IssuerAt(const std::string& url, const std::string& name = "issuer") {
  config::v1::TokenIssuer issuer;
  issuer.set_name(name);
  issuer.set_jwks_url(url);
  return issuer;
}

std::string UrlOf(const ScriptedServer& server, const std::string& path = "/keys?x=1") {
  return absl::StrCat("http://127.0.0.1:", server.port(), path);
}

// A value that any thread sets once.
template <typename T>
class Outcome {
 public:
  void Set(T value) {
    MutexLock lock(mutex_);
    value_ = std::make_unique<T>(std::move(value));
    changed_.WakeAll();
  }
  const T& Wait() {
    MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (value_ == nullptr && !changed_.WaitUntil(mutex_, deadline)) {
    }
    if (value_ == nullptr) std::abort();
    return *value_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::unique_ptr<T> value_ ABSL_GUARDED_BY(mutex_);
};

absl::Status Find(TokenKeys& keys, const std::string& key_id = "a") {
  auto outcome = std::make_shared<Outcome<absl::Status>>();
  keys.Find(TokenAlgorithm::kEs256, key_id,
            [outcome](const absl::StatusOr<TokenKey>& key) { outcome->Set(key.status()); });
  return outcome->Wait();
}

TEST(TokenKeyPoolTest, FindFetchesTheKeysFromTheUrl) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse(Jwks(), "200 OK", "Cache-Control: max-age=3600\r\n")));
  TokenKeyPool pool(std::make_shared<EventLoops>(1));
  absl::StatusOr<std::shared_ptr<TokenKeys>> keys = pool.Get(IssuerAt(UrlOf(server)));
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ(server.connections(), 0);
  EXPECT_TRUE(Find(**keys).ok());
  EXPECT_TRUE(Find(**keys).ok());
  EXPECT_TRUE(absl::IsUnauthenticated(Find(**keys, "other"))) << "too soon to fetch again";
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_TRUE(absl::StartsWith(server.requests()[0], "GET /keys?x=1 HTTP/1.1\r\n")) << server.requests()[0];
  EXPECT_FALSE(absl::StrContains(absl::AsciiStrToLower(server.requests()[0]), "authorization"));
}

TEST(TokenKeyPoolTest, KeepsKeysWhenTheConfigIsReloaded) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse(Jwks())));
  TokenKeyPool pool(std::make_shared<EventLoops>(1));
  std::shared_ptr<TokenKeys> keys = *pool.Get(IssuerAt(UrlOf(server)));
  EXPECT_TRUE(Find(*keys).ok());
  pool.Tidy();
  config::v1::TokenIssuer changed = IssuerAt(UrlOf(server));
  changed.set_issuer("https://elsewhere");
  changed.add_audiences("other");
  EXPECT_EQ(*pool.Get(changed), keys) << "the keys are the same";
  EXPECT_NE(*pool.Get(IssuerAt(UrlOf(server, "/other"))), keys);
  EXPECT_NE(*pool.Get(IssuerAt(UrlOf(server), "other")), keys);
  EXPECT_TRUE(Find(*keys).ok());
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(TokenKeyPoolTest, TidyReleasesUnusedKeys) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse(Jwks())));
  TokenKeyPool pool(std::make_shared<EventLoops>(1));
  std::shared_ptr<TokenKeys> keys = *pool.Get(IssuerAt(UrlOf(server)));
  std::weak_ptr<TokenKeys> weak = keys;
  pool.Tidy();
  EXPECT_FALSE(weak.expired());
  keys.reset();
  EXPECT_FALSE(weak.expired()) << "only the pool releases keys";
  pool.Tidy();
  EXPECT_TRUE(weak.expired());
}

TEST(TokenKeyPoolTest, TidyFetchesKeysBeforeATokenNeedsThem) {
  Outcome<bool> asked;
  ScriptedServer server([&](ScriptedServer::Connection& connection) {
    while (connection.ReadRequest().has_value()) {
      connection.Write(JsonResponse(Jwks()));
      asked.Set(true);
    }
  });
  TokenKeyPool pool(std::make_shared<EventLoops>(1));
  std::shared_ptr<TokenKeys> keys = *pool.Get(IssuerAt(UrlOf(server)));
  pool.Tidy();
  EXPECT_TRUE(asked.Wait());
  EXPECT_TRUE(Find(*keys).ok());
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(TokenKeyPoolTest, RefusesAnIncompleteOrWrongResponse) {
  const std::string large = JsonResponse(Jwks() + std::string(64 << 10, ' '));
  const std::string redirect = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
  for (const std::string& response :
       {JsonResponse(Jwks(), "404 Not Found"), JsonResponse("{}"), JsonResponse("<html>"), redirect, large,
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"), std::string("no HTTP\r\n\r\n")}) {
    ScriptedServer server([&](ScriptedServer::Connection& connection) {
      connection.ReadRequest();
      connection.Write(response);
      connection.Close();
    });
    TokenKeyPool pool(std::make_shared<EventLoops>(1));
    std::shared_ptr<TokenKeys> keys = *pool.Get(IssuerAt(UrlOf(server)));
    EXPECT_TRUE(absl::IsUnavailable(Find(*keys))) << response.substr(0, 60);
  }
}

TEST(TokenKeyPoolTest, TrustsOnlyAServerWithACertificateOfTheCaFile) {
  const TestCertificate certificate = MakeCertificate("127.0.0.1");
  const auto serve = ScriptedServer::Always(JsonResponse(Jwks()));
  ScriptedServer server(serve, ScriptedServer::Tls{certificate});
  TokenKeyPool pool(std::make_shared<EventLoops>(1));
  config::v1::TokenIssuer issuer = IssuerAt(absl::StrCat("https://127.0.0.1:", server.port(), "/keys"));
  std::shared_ptr<TokenKeys> keys = *pool.Get(issuer);
  EXPECT_TRUE(absl::IsUnavailable(Find(*keys)));
  EXPECT_EQ(server.requests().size(), 0u);

  const std::string ca_file = testing::TempDir() + "/token_key_pool_ca.pem";
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(ca_file.c_str(), "w"), &std::fclose);
  std::fputs(certificate.certificate_pem.c_str(), file.get());
  file.reset();
  issuer.set_ca_file(ca_file);
  keys = *pool.Get(issuer);
  EXPECT_TRUE(Find(*keys).ok());

  issuer.set_ca_file("/nowhere.pem");
  EXPECT_TRUE(absl::IsInvalidArgument(pool.Get(issuer).status()));
}

TEST(TokenKeyPoolTest, GetRefusesAUrlThatCannotBeUsed) {
  TokenKeyPool pool(std::make_shared<EventLoops>(1));
  for (const char* url : {"", "https://host", "http://host.example/keys", "ftp://127.0.0.1/keys",
                          "https://u:p@host/keys", "https://host/a b", "https://host/a#b", "host/keys"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(pool.Get(IssuerAt(url)).status())) << url;
  }
}

TEST(TokenKeyPoolTest, MayBeDestroyedDuringAFetch) {
  ScriptedServer server([](ScriptedServer::Connection& connection) {
    connection.ReadRequest();
    connection.WaitForClose();
  });
  Outcome<absl::Status> outcome;
  {
    TokenKeyPool pool(std::make_shared<EventLoops>(1));
    std::shared_ptr<TokenKeys> keys = *pool.Get(IssuerAt(UrlOf(server)));
    keys->Find(TokenAlgorithm::kEs256, "a", [&](const absl::StatusOr<TokenKey>& key) { outcome.Set(key.status()); });
  }
  EXPECT_TRUE(absl::IsUnavailable(outcome.Wait()));
}

// A call can wait for keys while the config is reloaded. If the call ends on the thread that fetches keys, this thread
// releases the issuers of the previous config.
TEST(TokenKeyPoolTest, TheLastUserOfKeysMayEndOnTheThreadThatFetches) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse(Jwks())));
  for (int round = 0; round < 20; ++round) {
    TokenKeyPool pool(std::make_shared<EventLoops>(1));
    Outcome<std::string> outcome;
    {
      std::vector<TokenIssuerRule> rules = {{"issuer", "https://issuer", {"gate"}, *pool.Get(IssuerAt(UrlOf(server)))}};
      auto issuers = std::make_shared<TokenIssuers>(std::move(rules), &absl::Now);
      TokenIssuers& verifier = *issuers;
      verifier.Verify(Key().Token(R"({"alg":"ES256","kid":"a"})",
                                  absl::StrCat(R"({"iss":"https://issuer","sub":"s","aud":"gate","exp":)",
                                               absl::ToUnixSeconds(absl::Now()) + 60, "}")),
                      [&outcome, issuers = std::move(issuers)](const absl::StatusOr<VerifiedToken>& verified) mutable {
                        issuers.reset();
                        outcome.Set(verified.ok() ? verified->subject : verified.status().ToString());
                      });
    }
    pool.Tidy();
    EXPECT_EQ(outcome.Wait(), "s");
  }
}

TEST(TokenKeyPoolTest, FindReturnsAnOutcomeOnEveryThread) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse(Jwks())));
  TokenKeyPool pool(std::make_shared<EventLoops>(1));
  std::shared_ptr<TokenKeys> keys = *pool.Get(IssuerAt(UrlOf(server)));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(Find(*keys).ok());
        EXPECT_TRUE(absl::IsUnauthenticated(Find(*keys, absl::StrCat("other-", i))));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.requests().size(), 1u);
}

}  // namespace
}  // namespace stampgate
