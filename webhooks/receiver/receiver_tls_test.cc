#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/http/test_certificates.h"
#include "base/http/test_client.h"
#include "base/http/test_tls_client.h"
#include "base/loop/event_loops.h"
#include "base/testing/status_is.h"
#include "webhooks/receiver/receiver.h"

namespace stampgate {
namespace {

using stampgate::testing::StatusIs;
using ::testing::HasSubstr;

struct Credentials {
  std::string certificate_file;
  std::string key_file;
};

// Makes a self-signed certificate for the receiver.
TestIdentity MakeIdentity(absl::Duration lifetime = absl::Hours(1)) {
  return MakeSelfSigned({.subject = "localhost", .not_after = absl::Now() + lifetime});
}

Credentials Store(const TestFolder& folder, const std::string& name, const TestIdentity& identity) {
  return {folder.Write(name + ".pem", identity.certificate), folder.Write(name + ".key", identity.key)};
}

ReceiverOptions TlsOptions(const Credentials& credentials) {
  ReceiverOptions options;
  options.listen_address = "127.0.0.1:0";
  options.paths = [] { return std::vector<std::string>{"/hook"}; };
  options.tls_certificate_file = credentials.certificate_file;
  options.tls_private_key_file = credentials.key_file;
  return options;
}

constexpr char kRequest[] = "POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";

class ReceiverTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Credentials good = Store(folder_, "good", MakeIdentity());
    auto receiver =
        Receiver::Start(TlsOptions(good), std::make_shared<EventLoops>(2), [](const Delivery& delivery, Answer answer) {
          answer(delivery.body == "abc" || delivery.body.size() > 1000000 ? 200 : 400);
        });
    ASSERT_TRUE(receiver.ok()) << receiver.status();
    receiver_ = *std::move(receiver);
  }

  const TestFolder folder_;
  std::unique_ptr<Receiver> receiver_;
};

TEST_F(ReceiverTlsTest, AcceptsDeliveries) {
  EXPECT_THAT(receiver_->url(), HasSubstr("https://127.0.0.1:"));
  for (const auto& [version, name] : {std::pair(TLS1_2_VERSION, "TLSv1.2"), std::pair(TLS1_3_VERSION, "TLSv1.3")}) {
    TlsTestClient client(receiver_->url(), "", {.version = version});
    ASSERT_TRUE(client.Connect());
    EXPECT_EQ(client.version(), name);
    EXPECT_EQ(client.protocol(), "http/1.1");
    for (int i = 0; i < 3; ++i) {
      client.Send(kRequest);
      EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
    }
    client.Send(
        absl::StrCat("POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n", std::string(4000000, 'a')));
    EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
    client.Send("GET /hook HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(Statuses(client.ReadAnswer()), "405.");
    EXPECT_TRUE(client.EndsCleanly());
  }
}

TEST_F(ReceiverTlsTest, SenderGetsTheResponseToATooLargeBody) {
  TlsTestClient client(receiver_->url());
  ASSERT_TRUE(client.Connect());
  client.Send(
      absl::StrCat("POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: 5000000\r\n\r\n", std::string(5000000, 'a')));
  EXPECT_EQ(Statuses(client.ReadAnswer()), "413.");
}

TEST_F(ReceiverTlsTest, RejectsOldVersionsAndOtherProtocols) {
  EXPECT_FALSE(TlsTestClient(receiver_->url(), "", {.version = TLS1_1_VERSION}).Connect());
  EXPECT_FALSE(TlsTestClient(receiver_->url(), "", {.protocol = "h2"}).Connect());
  EXPECT_TRUE(TlsTestClient(receiver_->url()).Connect());
}

TEST_F(ReceiverTlsTest, SendsNoResponseToPlainHttp) {
  HttpTestClient plain(receiver_->url());
  plain.Send(kRequest);
  EXPECT_THAT(plain.ReadToEnd(), ::testing::Not(HasSubstr("HTTP")));
  TlsTestClient client(receiver_->url());
  ASSERT_TRUE(client.Connect());
  client.Send(kRequest);
  EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
}

TEST_F(ReceiverTlsTest, ClosesAConnectionWhoseHandshakeTakesTooLong) {
  HttpTestClient silent(receiver_->url());
  EXPECT_EQ(silent.ReadToEnd(), "");
}

TEST(ReceiverTlsFilesTest, StartRefusesUnusableTlsFiles) {
  const TestFolder folder;
  const Credentials good = Store(folder, "good", MakeIdentity());
  const Credentials other = Store(folder, "other", MakeIdentity());
  const auto start = [](const Credentials& credentials) {
    return Receiver::Start(TlsOptions(credentials), std::make_shared<EventLoops>(2), [](const Delivery&, Answer) {})
        .status();
  };
  EXPECT_THAT(start({"/nowhere.pem", good.key_file}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere.pem: ")));
  EXPECT_THAT(start({good.certificate_file, other.key_file}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(other.key_file + ": is not the key of ")));
  const Credentials expired = Store(folder, "expired", MakeIdentity(absl::Seconds(-2)));
  EXPECT_THAT(start(expired), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("its certificate has expired")));
  ASSERT_EQ(chmod(other.key_file.c_str(), 0644), 0);
  EXPECT_THAT(start(other), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(other.key_file + ": ")));
  EXPECT_THAT(start(good), StatusIs(absl::StatusCode::kOk));
}

// A fixture with a receiver whose TLS files each test replaces.
class ReceiverTlsReloadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Put(first_);
    ReceiverOptions options = TlsOptions(files_);
    options.steady_now = [this] { return steady_now_; };
    auto receiver = Receiver::Start(std::move(options), std::make_shared<EventLoops>(2),
                                    [](const Delivery&, Answer answer) { answer(200); });
    ASSERT_TRUE(receiver.ok()) << receiver.status();
    receiver_ = *std::move(receiver);
  }

  void Put(const TestIdentity& identity) { files_ = Store(folder_, "current", identity); }

  // Reloads the files, and lets time pass until they may be read.
  absl::StatusOr<bool> Reload(absl::Time now = absl::Now()) {
    absl::StatusOr<bool> changed = receiver_->ReloadTls(now);
    while (receiver_->tls_wait().count() > 0) {
      steady_now_ += std::chrono::duration_cast<SettledFile::Time::duration>(receiver_->tls_wait());
      changed = receiver_->ReloadTls(now);
    }
    return changed;
  }

  // Returns the certificate that a new connection gets, in PEM.
  std::string Served() {
    TlsTestClient client(receiver_->url());
    return client.Connect() ? client.certificate() : "none";
  }

  // Calls ReloadTls twice and expects errors. Expects that the served certificate does not change. Returns the second
  // error.
  absl::Status Fault(absl::Time now = absl::Now()) {
    const std::string served = Served();
    const std::optional<absl::Time> not_after = receiver_->certificate_not_after();
    absl::Status status;
    for (int i = 0; i < 2; ++i) {
      status = Reload(now).status();
      EXPECT_FALSE(status.ok());
    }
    EXPECT_EQ(Served(), served);
    EXPECT_EQ(receiver_->certificate_not_after(), not_after);
    return status;
  }

  const TestFolder folder_;
  const TestIdentity first_ = MakeIdentity();
  const TestIdentity second_ = MakeIdentity(absl::Hours(2));
  Credentials files_;
  SettledFile::Time steady_now_{};
  std::unique_ptr<Receiver> receiver_;
};

TEST_F(ReceiverTlsReloadTest, ServesTheNewCertificateToNewConnections) {
  TlsTestClient early(receiver_->url());
  ASSERT_TRUE(early.Connect());
  EXPECT_EQ(early.certificate(), first_.certificate);
  TlsTestClient midway(receiver_->url());  // connected before the reload, without a handshake yet

  EXPECT_EQ(Reload().value(), false) << "the files have not changed";
  const absl::Time former = receiver_->certificate_not_after().value();
  Put(second_);
  EXPECT_EQ(Served(), first_.certificate) << "the new certificate needs a reload";
  EXPECT_EQ(Reload().value(), true);
  EXPECT_EQ(Reload().value(), false);
  EXPECT_EQ(Served(), second_.certificate);
  EXPECT_GT(receiver_->certificate_not_after().value(), former + absl::Minutes(50));

  for (int i = 0; i < 3; ++i) {
    early.Send(kRequest);
    EXPECT_EQ(Statuses(early.ReadAnswer()), "200");
  }
  ASSERT_TRUE(midway.Connect());
  midway.Send(kRequest);
  EXPECT_EQ(Statuses(midway.ReadAnswer()), "200");

  Put(first_);
  EXPECT_EQ(Reload().value(), true);
  EXPECT_EQ(Served(), first_.certificate);
}

TEST_F(ReceiverTlsReloadTest, KeepsTheCertificateIfTheFilesAreUnusable) {
  Put({second_.certificate, first_.key});
  EXPECT_THAT(Fault(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(files_.key_file + ": is not the key of ")));
  Put({"nothing", second_.key});
  EXPECT_THAT(Fault(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(files_.certificate_file + ": ")));
  Put(second_);
  ASSERT_EQ(chmod(files_.key_file.c_str(), 0644), 0);
  EXPECT_THAT(Fault(), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(files_.key_file + ": ")));
  ASSERT_EQ(unlink(files_.key_file.c_str()), 0);
  EXPECT_THAT(Fault(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(files_.key_file + ": ")));
  Put(second_);
  EXPECT_EQ(Reload().value(), true) << "the files are usable again";
  EXPECT_EQ(Served(), second_.certificate);
}

TEST_F(ReceiverTlsReloadTest, KeepsTheCertificateIfTheNewOneIsNotValid) {
  Put(second_);
  EXPECT_THAT(Fault(absl::Now() + absl::Hours(3)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("its certificate has expired")));
  EXPECT_THAT(Fault(absl::Now() - absl::Hours(3)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("its certificate is not valid yet")));
  Put(first_);
  EXPECT_EQ(Reload(absl::Now() + absl::Hours(3)).value(), false) << "unchanged files are not checked again";
}

TEST_F(ReceiverTlsReloadTest, ReloadMayRunWhilePeersConnect) {
  std::atomic<bool> done = false;
  std::vector<std::thread> peers;
  for (int i = 0; i < 2; ++i) {
    peers.emplace_back([this, &done] {
      while (!done) {
        TlsTestClient client(receiver_->url());
        ASSERT_TRUE(client.Connect());
        client.Send(kRequest);
        ASSERT_EQ(Statuses(client.ReadAnswer()), "200");
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    Put(i % 2 == 0 ? second_ : first_);
    ASSERT_EQ(Reload().value(), true);
  }
  done = true;
  for (std::thread& peer : peers) peer.join();
}

TEST(ReceiverWithoutTlsTest, ReloadTlsReturnsFalseWithoutTls) {
  ReceiverOptions options;
  options.listen_address = "127.0.0.1:0";
  const auto receiver = Receiver::Start(options, std::make_shared<EventLoops>(2), [](const Delivery&, Answer) {});
  ASSERT_TRUE(receiver.ok()) << receiver.status();
  EXPECT_EQ((*receiver)->ReloadTls(absl::Now()).value(), false);
  EXPECT_EQ((*receiver)->certificate_not_after(), std::nullopt);
}

}  // namespace
}  // namespace stampgate
