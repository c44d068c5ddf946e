#include "gateway/config/settings/named_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;

constexpr char kEverything[] =
    "upstream {ca_file: 'up.pem'} keys {file: 'a.key'} keys {file: '/run/b.key'}"
    "store {sqlite {folder: 'data'}}"
    "webhooks {tls_certificate_file: 'hook.pem' tls_private_key_file: 'hook.key'}"
    "tls {certificate_file: 'tls.pem' private_key_file: 'tls.key' client_ca_file: 'ca.pem'}"
    "audit {file: 'audit.log' key_file: 'audit.key'}"
    "token_issuers {jwks_file: 'jwks'} token_issuers {ca_file: 'issuer.pem'}"
    "callers {grants {organizations_file: 'ids'} grants {organizations: 'o'}}";

config::v1::Config Resolved(const std::string& text, const std::string& file = "/etc/f") {
  auto config = testing::Proto<config::v1::Config>(text);
  ResolveFiles(file, config);
  return config;
}

NamedFile Public(const std::string& path) { return {path, NamedFile::Kind::kPublic}; }
NamedFile Secret(const std::string& path) { return {path, NamedFile::Kind::kSecret}; }
NamedFile Organizations(const std::string& path) { return {path, NamedFile::Kind::kOrganizations}; }

TEST(NamedFilesTest, RelativePathsStartAtTheFolderOfTheConfig) {
  const config::v1::Config config = Resolved(kEverything);
  EXPECT_EQ(config.keys(0).file(), "/etc/a.key");
  EXPECT_EQ(config.keys(1).file(), "/run/b.key");
  EXPECT_EQ(config.audit().file(), "/etc/audit.log");
  EXPECT_EQ(config.store().sqlite().folder(), "/etc/data");
  EXPECT_EQ(config.events().file(), "/etc/data/events.db");
  EXPECT_EQ(Resolved(kEverything, "f").keys(0).file(), "a.key");
}

TEST(NamedFilesTest, TheStartReadsAllFilesExceptThoseThatTheGatewayWrites) {
  EXPECT_THAT(
      FilesToRead(Resolved(kEverything), ConfigFiles::kAll),
      ElementsAre(Public("/etc/up.pem"), Secret("/etc/a.key"), Secret("/run/b.key"), Public("/etc/hook.pem"),
                  Secret("/etc/hook.key"), Public("/etc/tls.pem"), Secret("/etc/tls.key"), Public("/etc/ca.pem"),
                  Secret("/etc/audit.key"), Public("/etc/jwks"), Public("/etc/issuer.pem"), Organizations("/etc/ids")));
}

TEST(NamedFilesTest, AReloadReadsTheFilesOfTheReloadedPart) {
  EXPECT_THAT(FilesToRead(Resolved(kEverything), ConfigFiles::kReloaded),
              ElementsAre(Secret("/etc/a.key"), Secret("/run/b.key"), Public("/etc/jwks"), Public("/etc/issuer.pem"),
                          Organizations("/etc/ids")));
}

TEST(NamedFilesTest, APolicyReadingReadsOnlyTheOrganizationsFiles) {
  EXPECT_THAT(FilesToRead(Resolved(kEverything), ConfigFiles::kPolicy), ElementsAre(Organizations("/etc/ids")));
}

constexpr char kServers[] =
    "store {postgresql {password_file: 'pw' ca_file: 'ca' certificate_file: 'crt' private_key_file: 'tls.key'"
    " key_file: 'store.key'}}";

TEST(NamedFilesTest, TheFilesOfAStoreOnAServerStartAtTheFolderOfTheConfig) {
  const config::v1::Config config = Resolved(kServers);
  const config::v1::PostgresqlStore& store = config.store().postgresql();
  EXPECT_EQ(store.password_file(), "/etc/pw");
  EXPECT_EQ(store.ca_file(), "/etc/ca");
  EXPECT_EQ(store.certificate_file(), "/etc/crt");
  EXPECT_EQ(store.private_key_file(), "/etc/tls.key");
  EXPECT_EQ(store.key_file(), "/etc/store.key");
  EXPECT_EQ(config.events().file(), "") << "the events are on the server";
  EXPECT_FALSE(config.store().has_sqlite());
}

// The other files are read for each connection.
TEST(NamedFilesTest, TheStartReadsOnlyTheKeyOfAStoreOnAServer) {
  EXPECT_THAT(FilesToRead(Resolved(kServers), ConfigFiles::kAll), ElementsAre(Secret("/etc/store.key")));
  EXPECT_THAT(FilesToRead(Resolved(kServers), ConfigFiles::kReloaded), ElementsAre());
  EXPECT_THAT(FilesToRead(Resolved(kServers), ConfigFiles::kPolicy), ElementsAre());
}

TEST(NamedFilesTest, AFileWhoseNameIsAKeyIsNotRead) {
  const std::string hex(64, 'a');
  for (const char* file : {"/etc/f", "f"}) {
    EXPECT_THAT(FilesToRead(Resolved("keys {file: '" + hex + "'}", file), ConfigFiles::kAll), ElementsAre());
    EXPECT_THAT(FilesToRead(Resolved("keys {file: '-----BEGIN PRIVATE KEY-----'}", file), ConfigFiles::kAll),
                ElementsAre());
  }
  EXPECT_THAT(FilesToRead(Resolved("keys {file: 'keys/" + hex + "'}", "f"), ConfigFiles::kAll),
              ElementsAre(Secret("keys/" + hex)));
}

TEST(NamedFilesTest, HoldsKeyFindsHexAndPem) {
  EXPECT_TRUE(HoldsKey(std::string(64, '0')));
  EXPECT_TRUE(HoldsKey(std::string(64, 'F') + ":p256"));
  EXPECT_TRUE(HoldsKey("x -----BEGIN EC PRIVATE KEY-----"));
  EXPECT_FALSE(HoldsKey(std::string(63, '0')));
  EXPECT_FALSE(HoldsKey("/run/" + std::string(64, '0')));
  EXPECT_FALSE(HoldsKey(""));
}

}  // namespace
}  // namespace stampgate
