#include "base/threads/current.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace stampgate {
namespace {

TEST(CurrentTest, ReturnsNullUntilAValueIsSet) {
  Current<const int> current;
  EXPECT_EQ(current.Get(), nullptr);
  current.Set(std::make_shared<const int>(1));
  EXPECT_EQ(*current.Get(), 1);
}

TEST(CurrentTest, AFormerValueLivesUntilItsLastUserReleasesIt) {
  Current<const int> current(std::make_shared<const int>(1));
  std::shared_ptr<const int> used = current.Get();
  const std::weak_ptr<const int> former = used;
  current.Set(std::make_shared<const int>(2));
  EXPECT_EQ(*used, 1);
  EXPECT_EQ(*current.Get(), 2);
  used.reset();
  EXPECT_TRUE(former.expired());
}

// A value that calls `at_end` when it is destroyed.
struct Witness {
  std::function<void()> at_end;
  ~Witness() { at_end(); }
};

TEST(CurrentTest, TheDestructorOfTheFormerValueCanGetTheCurrentValue) {
  Current<Witness> current;
  bool asked = false;
  current.Set(std::make_shared<Witness>(Witness{[] {}}));
  current.Get()->at_end = [&] { asked = current.Get() != nullptr; };  // hangs if Set still holds the lock
  current.Set(std::make_shared<Witness>(Witness{[] {}}));
  EXPECT_TRUE(asked);
}

TEST(CurrentTest, ReadersGetOnlyCompleteValuesInOrder) {
  using Pair = std::pair<int, int>;
  constexpr int kLast = 20'000;
  Current<const Pair> current(std::make_shared<const Pair>(0, 0));
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&current] {
      int seen = 0;
      while (seen < kLast) {
        const std::shared_ptr<const Pair> value = current.Get();
        EXPECT_EQ(value->first, value->second);
        EXPECT_GE(value->first, seen);
        seen = value->first;
      }
    });
  }
  for (int i = 1; i <= kLast; ++i) current.Set(std::make_shared<const Pair>(i, i));
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace stampgate
