#include "gateway/config/reloaded_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/settings/named_files.h"
#include "google/protobuf/util/message_differencer.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using ::google::protobuf::util::MessageDifferencer;

config::v1::Config Example() {
  return testing::Proto<config::v1::Config>(
      "listen_address: 'a' upstream {ca_file: 'up.pem'} keys {file: 'a.key'}"
      "tls {certificate_file: 'tls.pem' private_key_file: 'tls.key' client_ca_file: 'ca.pem'}"
      "token_issuers {jwks_file: 'jwks'} callers {name: 'c' grants {organizations_file: 'ids'}}");
}

TEST(ReloadedPartTest, TheTwoPartsTogetherAreTheWholeConfig) {
  config::v1::Config both = FixedPart(Example());
  both.MergeFrom(ReloadedPart(Example()));
  EXPECT_TRUE(MessageDifferencer::Equals(both, Example()));
}

TEST(ReloadedPartTest, NoSettingIsInBothParts) {
  EXPECT_TRUE(MessageDifferencer::Equals(FixedPart(ReloadedPart(Example())), config::v1::Config()));
  EXPECT_TRUE(MessageDifferencer::Equals(ReloadedPart(FixedPart(Example())), config::v1::Config()));
}

// If a reload read fewer files, it would miss a changed file. If it read more files, a fault in a file of the fixed
// part could prevent a revocation.
TEST(ReloadedPartTest, AReloadReadsExactlyTheFilesOfTheReloadedPart) {
  EXPECT_EQ(FilesToRead(Example(), ConfigFiles::kReloaded), FilesToRead(ReloadedPart(Example()), ConfigFiles::kAll));
  EXPECT_THAT(FilesToRead(FixedPart(Example()), ConfigFiles::kReloaded), ::testing::IsEmpty());
}

}  // namespace
}  // namespace stampgate
