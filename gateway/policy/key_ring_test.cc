#include "gateway/policy/key_ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "stamp/request_body.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

class NoSigner : public Signer {
 public:
  absl::string_view public_key_hex() const override { return ""; }
  absl::string_view scheme() const override { return ""; }
  void Sign(const RequestBody&, Done done) const override { std::move(done)(absl::UnimplementedError("")); }
};

class KeyRingTest : public ::testing::Test {
 protected:
  void Add(const std::string& key) { ring_.Add(testing::Proto<config::v1::Key>(key), std::make_shared<NoSigner>()); }
  // Returns the name of the key that the ring finds, or an empty text if it finds none.
  std::string Find(absl::string_view organization_id, absl::string_view name = "") const {
    const NamedSigner* found = ring_.Find(organization_id, name);
    if (found == nullptr) return "";
    EXPECT_NE(found->signer, nullptr);
    return found->name;
  }

  KeyRing ring_;
};

TEST_F(KeyRingTest, TheFirstKeyThatListsTheOrganizationSigns) {
  Add("name: 'all' all_organizations: true");
  Add("name: 'first' organizations: ['a', 'b']");
  Add("name: 'second' organizations: ['b', 'c']");
  EXPECT_EQ(Find("a"), "first");
  EXPECT_EQ(Find("b"), "first");
  EXPECT_EQ(Find("c"), "second");
  EXPECT_EQ(Find("d"), "all");
}

TEST_F(KeyRingTest, OfTheKeysForAllOrganizationsTheFirstSigns) {
  Add("name: 'one' all_organizations: true");
  Add("name: 'two' all_organizations: true");
  EXPECT_EQ(Find("a"), "one");
  EXPECT_EQ(Find("a", "two"), "two");
}

TEST_F(KeyRingTest, ANamedKeySignsAlsoIfItIsNotTheFirst) {
  Add("name: 'first' organizations: 'a'");
  Add("name: 'second' organizations: 'a'");
  Add("name: 'all' all_organizations: true");
  EXPECT_EQ(Find("a", "first"), "first");
  EXPECT_EQ(Find("a", "second"), "second");
  EXPECT_EQ(Find("a", "all"), "all");
}

TEST_F(KeyRingTest, NoOtherKeyReplacesANamedKeyThatMayNotSignForTheOrganization) {
  Add("name: 'all' all_organizations: true");
  Add("name: 'one' organizations: 'a'");
  EXPECT_EQ(Find("b", "one"), "");
  EXPECT_EQ(Find("a", "none"), "");
  EXPECT_EQ(Find("a", "on"), "");
  EXPECT_EQ(Find("a", "ONE"), "");
  EXPECT_EQ(Find("a", "one "), "");
}

TEST_F(KeyRingTest, OrganizationIdsMustMatchExactly) {
  Add("name: 'one' organizations: 'abc'");
  for (const char* other : {"", "ab", "abcd", "ABC", " abc", "abc ", "*"}) {
    EXPECT_EQ(Find(other), "") << other;
    EXPECT_EQ(Find(other, "one"), "") << other;
  }
  EXPECT_EQ(Find(absl::string_view("abc\0", 4)), "");
}

TEST_F(KeyRingTest, AnEmptyRingHasNoKey) {
  EXPECT_EQ(Find("a"), "");
  EXPECT_EQ(Find("a", "a"), "");
}

}  // namespace
}  // namespace stampgate
