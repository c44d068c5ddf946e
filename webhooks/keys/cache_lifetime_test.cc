#include "webhooks/keys/cache_lifetime.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace stampgate {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);

TEST(CacheLifetimeTest, UpstreamsResponseIsFreshForADayAndUsableForAWeekMore) {
  CacheLifetime lifetime =
      ReadCacheLifetime("public, max-age=86400, s-maxage=86400, stale-if-error=604800", absl::ZeroDuration());
  EXPECT_EQ(lifetime.fresh, kDay);
  EXPECT_EQ(lifetime.stale, 7 * kDay);
}

TEST(CacheLifetimeTest, ResponseIsFreshForMaxAgeWithinBounds) {
  const std::string digits(5000, '9');
  struct {
    std::string cache_control;
    absl::Duration fresh;
  } const cases[] = {
      {"max-age=3600", absl::Hours(1)},
      {"MAX-AGE=3600", absl::Hours(1)},
      {" max-age=3600 ", absl::Hours(1)},
      {"\tmax-age = 3600\t,public", absl::Hours(1)},
      {"max-age=\"3600\"", absl::Hours(1)},
      {"max-age=0003600", absl::Hours(1)},
      {"public,,, max-age=3600,", absl::Hours(1)},
      {"private, max-age=3600, immutable, x=y", absl::Hours(1)},
      // Lower and upper bound.
      {"max-age=0", kMinFresh},
      {"max-age=1", absl::Seconds(1)},
      {"max-age=31", absl::Seconds(31)},
      {"max-age=86399", absl::Seconds(86399)},
      {"max-age=86401", kMaxFresh},
      {"max-age=315360000", kMaxFresh},
      {"max-age=2147483648", kMaxFresh},
      {"max-age=9223372036854775807", kMaxFresh},
      {"max-age=9223372036854775808", kMaxFresh},
      {"max-age=18446744073709551616", kMaxFresh},
      {"max-age=" + digits, kMaxFresh},
      // Not a number of seconds.
      {"max-age=-1", kMinFresh},
      {"max-age=-9223372036854775808", kMinFresh},
      {"max-age=+3600", kMinFresh},
      {"max-age=3600.5", kMinFresh},
      {"max-age=1e9", kMinFresh},
      {"max-age=0x1000", kMinFresh},
      {"max-age=36 00", kMinFresh},
      {"max-age='3600'", kMinFresh},
      {"max-age=\"3600", kMinFresh},
      {"max-age=\"\"", kMinFresh},
      {"max-age=\"", kMinFresh},
      {"max-age=", kMinFresh},
      {"max-age", kMinFresh},
      {"max-age==3600", kMinFresh},
      {std::string("max-age=36\0"
                   "00",
                   13),
       kMinFresh},
      // Repeated directives.
      {"max-age=3600, max-age=60", absl::Seconds(60)},
      {"max-age=60, max-age=3600", absl::Seconds(60)},
      {"max-age=3600, max-age=x", kMinFresh},
      // Directives that forbid caching.
      {"no-store", kMinFresh},
      {"max-age=3600, No-Store", kMinFresh},
      // Other directives.
      {"s-maxage=3600", kDefaultFresh},
      {"s-maxage=60, max-age=3600", absl::Hours(1)},
      {"x-max-age=60, max-age=3600", absl::Hours(1)},
      {"max-age2=60, max-age=3600", absl::Hours(1)},
      // Text inside of quotes is not a directive.
      {"x=\"no-store, max-age=60\", max-age=3600", absl::Hours(1)},
      {"x=\"\\\", no-store\", max-age=3600", absl::Hours(1)},
      {"x=\"max-age=3600", kDefaultFresh},
      // An empty header, and garbage.
      {"", kDefaultFresh},
      {",", kDefaultFresh},
      {"=", kDefaultFresh},
      {"=3600", kDefaultFresh},
      {"\"", kDefaultFresh},
      {"\"\\", kDefaultFresh},
      {"max-age=3600\xff", kMinFresh},
      {digits, kDefaultFresh},
  };
  for (const auto& one : cases) {
    CacheLifetime lifetime = ReadCacheLifetime(one.cache_control, absl::ZeroDuration());
    EXPECT_EQ(lifetime.fresh, one.fresh) << one.cache_control;
    EXPECT_EQ(lifetime.stale, kMinStale) << one.cache_control;
  }
}

TEST(CacheLifetimeTest, AgeHeaderShortensTheFreshTime) {
  auto fresh = [](absl::Duration age) { return ReadCacheLifetime("max-age=3600", age).fresh; };
  EXPECT_EQ(fresh(absl::Seconds(600)), absl::Seconds(3000));
  EXPECT_EQ(fresh(absl::Seconds(3600)), kMinFresh);
  EXPECT_EQ(fresh(absl::Hours(24 * 365)), kMinFresh);
  EXPECT_EQ(fresh(absl::InfiniteDuration()), kMinFresh);
  EXPECT_EQ(fresh(absl::Seconds(-600)), absl::Hours(1));
  EXPECT_EQ(fresh(-absl::InfiniteDuration()), absl::Hours(1));
  // The age is subtracted from max-age before the result is limited to kMaxFresh.
  EXPECT_EQ(ReadCacheLifetime("max-age=172800", absl::Hours(1)).fresh, kMaxFresh);
}

TEST(CacheLifetimeTest, ResponseIsUsableForStaleIfErrorWithinBounds) {
  struct {
    std::string cache_control;
    absl::Duration stale;
  } const cases[] = {
      {"stale-if-error=172800", 2 * kDay},
      {"Stale-If-Error=\"172800\"", 2 * kDay},
      {"stale-if-error=0", kDay},
      {"stale-if-error=60", kDay},
      {"stale-if-error=604801", 7 * kDay},
      {"stale-if-error=99999999999999999999", 7 * kDay},
      {"stale-if-error=-1", kDay},
      {"stale-if-error", kDay},
      {"stale-if-error=172800, stale-if-error=259200", 2 * kDay},
      {"stale-while-revalidate=604800", kDay},
      {"no-store, stale-if-error=172800", 2 * kDay},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(ReadCacheLifetime(one.cache_control, absl::ZeroDuration()).stale, one.stale) << one.cache_control;
  }
}

TEST(CacheLifetimeTest, AnOldResponseIsNotUsableIfItsHeadersForbidThat) {
  struct {
    std::string cache_control;
    absl::Duration fresh;
  } const cases[] = {
      {"must-revalidate", kDefaultFresh},
      {"max-age=3600, Must-Revalidate", absl::Hours(1)},
      {"max-age=3600, must-revalidate, stale-if-error=604800", absl::Hours(1)},
      {"stale-if-error=604800, must-revalidate=x", kDefaultFresh},
      {"no-cache, max-age=3600", kMinFresh},
      {"max-age=3600, no-cache=\"set-cookie\"", kMinFresh},
      {"no-store, no-cache, must-revalidate, stale-if-error=604800", kMinFresh},
  };
  for (const auto& one : cases) {
    const CacheLifetime lifetime = ReadCacheLifetime(one.cache_control, absl::ZeroDuration());
    EXPECT_EQ(lifetime.fresh, one.fresh) << one.cache_control;
    EXPECT_EQ(lifetime.stale, absl::ZeroDuration()) << one.cache_control;
  }
  // These are no such directives.
  for (const char* cache_control : {"proxy-revalidate", "x=\"must-revalidate\"", "must-revalidates", "no-store"}) {
    EXPECT_EQ(ReadCacheLifetime(cache_control, absl::ZeroDuration()).stale, kMinStale) << cache_control;
  }
}

TEST(CacheLifetimeTest, ReadsAnAgeHeader) {
  EXPECT_EQ(ReadAge("600"), absl::Minutes(10));
  EXPECT_EQ(ReadAge(" 600 "), absl::Minutes(10));
  EXPECT_EQ(ReadAge("0"), absl::ZeroDuration());
  EXPECT_EQ(ReadAge("99999999999999999999"), absl::Seconds(int64_t{1} << 31));
  for (const char* garbage : {"", "-1", "1.5", "x", "1, 2", "\"1\""}) {
    EXPECT_EQ(ReadAge(garbage), absl::ZeroDuration()) << garbage;
  }
}

TEST(CacheLifetimeTest, LifetimeStaysWithinBoundsForAnyHeader) {
  std::mt19937 random(9111);
  const std::string pieces[] = {
      "max-age", "stale-if-error", "no-store", "must-revalidate", "=", ",", "\"", "\\", " ", "-", "3", "600000"};
  for (int round = 0; round < 20'000; ++round) {
    std::string header;
    for (int i = std::uniform_int_distribution<int>(0, 12)(random); i > 0; --i) {
      header += pieces[std::uniform_int_distribution<size_t>(0, std::size(pieces) - 1)(random)];
    }
    CacheLifetime lifetime = ReadCacheLifetime(header, absl::Seconds(std::uniform_int_distribution<int>()(random)));
    EXPECT_GE(lifetime.fresh, kMinFresh) << header;
    EXPECT_LE(lifetime.fresh, kMaxFresh) << header;
    EXPECT_TRUE(lifetime.stale == absl::ZeroDuration() || lifetime.stale >= kMinStale) << header;
    EXPECT_LE(lifetime.stale, kMaxStale) << header;
  }
}

}  // namespace
}  // namespace stampgate
