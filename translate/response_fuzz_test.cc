// Translates thousands of damaged responses to each operation. Every run tests the same responses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "translate/error.h"
#include "translate/message/writer.h"
#include "translate/response_translator.h"
#include "translate/testing/messages.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::google::protobuf::Message;
using ::stampgate::testing::Below;
using ::stampgate::testing::Operations;
using ::stampgate::testing::Random;

std::string FullAnswer(const Operation& operation, Random& random) {
  const std::unique_ptr<Message> response = testing::NewResponse(operation);
  testing::FillFully(*response, *operation.response, static_cast<int>(Below(random, 20)));
  std::string members;
  AppendJsonMembers(*testing::Parsed(*response, *operation.response), /*left_out=*/nullptr, /*names_as_of=*/"",
                    members);
  return absl::StrCat("{", members, "}");
}

void Damage(std::string& text, Random& random) {
  static constexpr absl::string_view kPieces[] = {"\"", "{",    "}", "[", "]",       ",",
                                                  ":",  "null", "1", "-", "\\u0000", "\xff"};
  const size_t at = Below(random, text.size());
  switch (Below(random, 4)) {
    case 0:
      text[at] = static_cast<char>(random());
      break;
    case 1:
      text.erase(at, Below(random, 30));
      break;
    case 2:
      text.insert(at, std::string(kPieces[Below(random, std::size(kPieces))]));
      break;
    default:
      text.insert(Below(random, text.size()), text.substr(at, Below(random, 60)));
      break;
  }
}

TEST(ResponseFuzzTest, ADamagedResponseGivesAMessageOrAnError) {
  Random random(5);
  int read = 0;
  const int rounds = std::getenv("STAMPGATE_LONG") != nullptr ? 500 : 50;
  for (const Operation& operation : Operations().operations()) {
    SCOPED_TRACE(operation.full_name);
    for (int round = 0; round < rounds; ++round) {
      HttpAnswer answer;
      answer.status = 200;
      answer.body = FullAnswer(operation, random);
      for (size_t damages = 1 + Below(random, 3); damages > 0 && !answer.body.empty(); --damages) {
        Damage(answer.body, random);
      }
      const bool json = CheckJsonObject(answer.body).ok();

      const absl::StatusOr<TranslatedResponse> response =
          TranslateOutcome(answer, SentCall{operation, ParsedMessage(*operation.request), 1, "sha256:0123"});

      if (response.ok()) {
        ++read;
        ASSERT_TRUE(json) << answer.body;
        // The caller can parse the message, because it is valid, and all of its strings are UTF-8.
        ASSERT_TRUE(testing::NewResponse(operation)->ParseFromString(response->bytes)) << answer.body;
      } else {
        const absl::Status& status = response.status();
        ASSERT_EQ(status.code(), operation.is_submit() ? absl::StatusCode::kUnknown : absl::StatusCode::kInternal);
        ASSERT_EQ(testing::DetailsOf(status).reason,
                  operation.is_submit() ? "OUTCOME_UNKNOWN" : "UPSTREAM_ANSWER_UNREADABLE");
      }
    }
  }
  EXPECT_GT(read, rounds);
}

TEST(ResponseFuzzTest, ADamagedErrorBodyStillGivesAnError) {
  Random random(6);
  const Operation& operation = testing::OperationOf("Oauth");
  auto request = testing::RequestOf(operation, R"pb(parameters { oidc_token: "hush-hush-hush" })pb");
  for (int round = 0; round < 20000; ++round) {
    HttpAnswer answer;
    answer.status = 400 + static_cast<int>(Below(random, 100));
    answer.body =
        R"({"code":3,"message":"no: hush-hush-hush","serviceErrorCode":"","details":[{"@type":"x","serviceErrorCode":
            "INVALID_EMAIL"},{"fieldViolations":[{"field":"a.b[0]","description":"hush-hush-hush"}]}]})";
    for (size_t damages = Below(random, 4); damages > 0; --damages) Damage(answer.body, random);
    const std::string body = answer.body;
    const absl::Status status =
        ErrorFromAnswer(answer, SentCall{operation, *testing::Parsed(*request, *operation.request), 1, "sha256:0123"});
    ASSERT_FALSE(status.ok());
    ASSERT_NE(status.code(), absl::StatusCode::kUnavailable) << body;
    google::rpc::Status sent;
    ASSERT_TRUE(sent.ParseFromString(ToRpcStatus(status).SerializeAsString())) << body;
  }
}

}  // namespace
}  // namespace stampgate
