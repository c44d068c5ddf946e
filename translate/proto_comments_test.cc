// Checks the comments of the API's protos. They must name the section of the specification if there is one, the errors
// of each method, and the errors after which a caller can repeat a submit safely. They must also refer to the
// description of pending activities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns true if `comment` contains `label` and text after it.
bool Says(absl::string_view comment, absl::string_view label) {
  const size_t at = comment.find(label);
  return at != absl::string_view::npos && !absl::StripAsciiWhitespace(comment.substr(at + label.size())).empty();
}

// Whether the specification describes a part of the file with this name. It describes no part of the areas below.
bool IsSpecified(absl::string_view name) {
  static const auto& areas = *new std::set<std::string, std::less<>>{
      "on_ramp", "private_key", "proof", "secret", "signing", "swap", "tag", "transaction", "tvc", "velocity_control"};
  absl::ConsumeSuffix(&name, ".proto");
  if (!absl::ConsumeSuffix(&name, "_service") && !areas.contains(name)) absl::ConsumeSuffix(&name, "s");
  return !areas.contains(name);
}

// `specified` states whether the specification describes a part of the file.
std::vector<std::string> FaultsOf(absl::string_view proto, bool specified = true) {
  std::vector<std::string> faults;
  std::string comment;  // the comment lines directly above `line`, joined
  for (absl::string_view line : absl::StrSplit(proto, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, "//")) {
      absl::StrAppend(&comment, " ", absl::StripAsciiWhitespace(line));
      continue;
    }
    if (absl::StartsWith(line, "syntax ") && specified != Says(comment, " Specification: ")) {
      faults.emplace_back(specified ? "the file's comment does not name its section of the specification"
                                    : "the file's comment names a section, but the specification has none");
    }
    // Each submit has an idempotency key. A caller must know that upstream may have carried out a submit even if the
    // call ended with an error that does not come from the gateway, and so has no ErrorInfo.
    if (absl::StrContains(line, "FIELD_ROLE_IDEMPOTENCY_KEY]") && !absl::StartsWith(comment, " Must be unset: ") &&
        !(absl::StrContains(comment, "UNAVAILABLE") && absl::StrContains(comment, "ErrorInfo"))) {
      faults.emplace_back(
          "the comment does not name the errors after which the idempotency key makes a repetition safe");
    }
    if (absl::StartsWith(line, "rpc ") && !Says(comment, " Errors: ")) {
      faults.push_back(absl::StrCat("the comment names no errors: ", line.substr(0, line.find('('))));
    }
    if (absl::StartsWith(line, "Activity activity = 1 [(field).required = true]") &&
        !absl::StrContains(comment, " The comment of Activity explains how a pending activity ends.")) {
      faults.emplace_back("the comment does not state how a pending activity ends");
    }
    comment.clear();
  }
  return faults;
}

// Returns how often `text` contains `part`.
int Count(absl::string_view text, absl::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != absl::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ProtoCommentsTest, TheCommentsOfEveryProtoAreComplete) {
  int specified_files = 0;
  int other_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("proto/stampgate/v1")) {
    if (entry.path().extension() != ".proto") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const bool specified = IsSpecified(entry.path().filename().string());
    EXPECT_THAT(FaultsOf(text.str(), specified), IsEmpty()) << entry.path();
    ++(specified ? specified_files : other_files);
    // Each operation that the specification does not describe has the day from which class grants cover it.
    if (specified) continue;
    EXPECT_EQ(Count(text.str(), "\n  rpc "), Count(text.str(), "\n      since: ")) << entry.path();
  }
  EXPECT_EQ(specified_files, 27 + 4);
  EXPECT_EQ(other_files, 20);
}

TEST(ProtoCommentsTest, TheCheckReportsEachMissingPart) {
  EXPECT_THAT(FaultsOf("// A file. Specification: \"x\".\nsyntax = \"proto3\";\n"), IsEmpty());
  EXPECT_THAT(FaultsOf("// A file. Specification:\n// \"x\".\nsyntax = \"proto3\";\n"), IsEmpty());
  for (const char* head : {"", "// A file.\n", "// A file. Specification:\n", "// Specification: \"x\".\n\n"}) {
    EXPECT_THAT(FaultsOf(absl::StrCat(head, "syntax = \"proto3\";\n")),
                ElementsAre("the file's comment does not name its section of the specification"))
        << head;
  }
  EXPECT_THAT(FaultsOf("// A file.\nsyntax = \"proto3\";\n", /*specified=*/false), IsEmpty());
  EXPECT_THAT(FaultsOf("// A file. Specification: \"x\".\nsyntax = \"proto3\";\n", /*specified=*/false),
              ElementsAre("the file's comment names a section, but the specification has none"));
  EXPECT_THAT(FaultsOf("  // Reads.\n  //\n  // Errors: none.\n  rpc Read(A) returns (B);\n"), IsEmpty());
  EXPECT_THAT(
      FaultsOf("  // Reads. Errors: none.\n  rpc Read(A) returns (B);\n  // Writes.\n  rpc Write(A) returns (B);\n"),
      ElementsAre("the comment names no errors: rpc Write"));
  constexpr absl::string_view kKey =
      "  optional string idempotency_key = 14 [(field).role = FIELD_ROLE_IDEMPOTENCY_KEY];\n";
  EXPECT_THAT(FaultsOf(absl::StrCat("  // After UNAVAILABLE, or an error without\n  // ErrorInfo, repeat it.\n", kKey)),
              IsEmpty());
  EXPECT_THAT(FaultsOf(absl::StrCat("  // Must be unset: the client's stamp does not cover it.\n", kKey)), IsEmpty());
  for (const char* comment : {"", "  // After UNAVAILABLE, repeat it.\n", "  // After an error without ErrorInfo.\n"}) {
    EXPECT_THAT(
        FaultsOf(absl::StrCat(comment, kKey)),
        ElementsAre("the comment does not name the errors after which the idempotency key makes a repetition safe"))
        << comment;
  }
  EXPECT_THAT(FaultsOf("  // The activity.\n  Activity activity = 1 [(field).required = true];\n"),
              ElementsAre("the comment does not state how a pending activity ends"));
}

}  // namespace
}  // namespace stampgate
