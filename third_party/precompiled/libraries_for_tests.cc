// The headers of libraries that most tests include.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

// NOLINTNEXTLINE(bugprone-suspicious-include): each of the two is compiled alone
#include "third_party/precompiled/libraries.cc"
