// While a response is translated, the thread holds at most a known number of bytes for each byte of upstream's JSON,
// and the response itself is bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "translate/answer_size.h"
#include "translate/message/parsed_message.h"
#include "translate/response_translator.h"
#include "translate/testing/allocated_bytes.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using testing::OperationOf;

#ifdef STAMPGATE_SANITIZED
constexpr size_t kBodyBytes = 1 << 18;  // a sanitizer makes this test slow
#else
constexpr size_t kBodyBytes = 8 << 20;  // the default of upstream.max_response_bytes
#endif

// How many bytes a translation holds at most for each byte of the JSON, beside the JSON and the response: the index of
// the parser, the unescaped strings, and the names of the open objects.
constexpr size_t kReaderFactor = 10;

std::string Repeat(absl::string_view first, absl::string_view part, absl::string_view last) {
  std::string all(first);
  all.reserve(kBodyBytes + kJsonPadding);
  while (all.size() + part.size() + last.size() <= kBodyBytes) all.append(part.data(), part.size());
  all.append(last.data(), last.size());
  return all;
}

// Members with short names that all differ.
std::string Members(absl::string_view first, absl::string_view value, absl::string_view last) {
  std::string all(first);
  all.reserve(kBodyBytes + kJsonPadding);
  for (int i = 0; all.size() + 32 + last.size() <= kBodyBytes; ++i) {
    absl::StrAppend(&all, i == 0 ? "" : ",", "\"", absl::Hex(i), "\":", value);
  }
  all.append(last.data(), last.size());
  return all;
}

// Objects inside each other, of which each has many members before the next one.
std::string OpenObjects(int depth) {
  std::string all;
  all.reserve(kBodyBytes + kJsonPadding);
  for (int level = 1; level <= depth; ++level) {
    all += '{';
    const size_t end = kBodyBytes / static_cast<size_t>(depth) * static_cast<size_t>(level) - 200;
    for (int i = 0; all.size() < end; ++i) absl::StrAppend(&all, "\"", absl::Hex(i), "\":0,");
    absl::StrAppend(&all, "\"x\":", level == depth ? "0" : "");
  }
  all.append(static_cast<size_t>(depth), '}');
  return all;
}

struct Case {
  const char* name;
  std::string body;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const std::string intent = R"({"activity":{"intent":{"createPoliciesIntent":)";
  cases.push_back({"empty objects", Repeat(intent + R"({"policies":[{})", ",{}", "]}}}}")});
  cases.push_back({"null", Repeat(intent + R"({"policies":[null)", ",null", "]}}}}")});
  cases.push_back({"numbers in place of objects", Repeat(intent + R"({"policies":[0)", ",0", "]}}}}")});
  cases.push_back({"unknown members", Members(intent + "{", "0", "}}}}")});
  cases.push_back({"unknown lists", Repeat(R"({"x":[0)", ",0", "]}")});
  cases.push_back({"unknown empty lists", Repeat(R"({"x":[[])", ",[]", "]}")});
  cases.push_back({"one unknown object", Members(R"({"x":{)", "0", "}}")});
  cases.push_back({"open objects", OpenObjects(60)});
  cases.push_back({"escaped names", Members("{", R"("\u0041")", "}")});
  cases.push_back({"an escaped string", Repeat(R"({"x":")", R"(\u0001)", "\"}")});
  cases.push_back({"a string", Repeat(R"({"x":")", "xxxxxxxxxxxxxxxx", "\"}")});
  cases.push_back({"white space", Repeat("{", " ", "}")});
  cases.push_back(
      {"violations", Repeat(R"({"message":"m","details":[{"fieldViolations":[{})", R"(,{"field":"f"})", "]}]}")});
  cases.push_back({"details", Repeat(R"({"message":"m","details":[{})", ",{}", "]}")});
  return cases;
}

TEST(ResponseGrowthTest, ATranslationHoldsAKnownMultipleOfTheResponse) {
  double worst = 0;
  for (const char* method : {"CreatePolicies", "ListPolicies", "SubmitOperation", "QueryOperation"}) {
    const Operation& operation = OperationOf(method);
    const ParsedMessage request(*operation.request);
    for (const int status : {200, 400}) {
      for (const Case& each : Cases()) {
        HttpAnswer answer;
        answer.status = status;
        answer.body.reserve(each.body.size() + kJsonPadding);
        answer.body = each.body;
        const size_t size = answer.body.size();
        const size_t base = testing::AllocatedBytes();
        testing::ResetPeak();
        const absl::StatusOr<TranslatedResponse> response =
            TranslateOutcome(std::move(answer), SentCall{operation, request, 1755500000000, "sha256:0123"});
        const size_t used = testing::PeakBytes() - base;
        // The bytes that no field can hold are collected apart from the others, and then joined.
        EXPECT_LE(used, kReaderFactor * size + 4 * kMaxAnswerBytes) << method << " " << status << " " << each.name;
        const double factor = static_cast<double>(used) / static_cast<double>(size);
        worst = std::max(worst, factor);
        if (response.ok()) {
          EXPECT_LE(response->bytes.size(), kMaxAnswerBytes);
        }
      }
    }
  }
  std::printf("beside the JSON, a translation held up to %.2f times its size\n", worst);
  EXPECT_GT(worst, 4.0);
}

}  // namespace
}  // namespace stampgate
