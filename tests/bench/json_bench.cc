// Compares the translation of translate/ with Protocol Buffers' JSON util: both parse and render the same message. Each
// uses its own form of JSON; the two forms differ in timestamps. The messages of the util are dynamic, because the
// program has no class of an operation. Prints one line of name=value pairs for parsing and one for rendering, in
// nanoseconds of CPU.

#include <google/protobuf/arena.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/time.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/read_file.h"
#include "translate/message/parsed_message.h"
#include "translate/message/plan.h"
#include "translate/message/reader.h"
#include "translate/message/request_memory.h"
#include "translate/message/writer.h"
#include "translate/testing/dynamic_message.h"

ABSL_FLAG(std::string, envelope, "", "file with a response of upstream that contains an activity");
ABSL_FLAG(int, rounds, 5, "number of rounds, of which the median is printed");
ABSL_FLAG(absl::Duration, part, absl::Milliseconds(30), "CPU time of each of the four parts of a round");

namespace stampgate::bench {
namespace {

using google::protobuf::Arena;
using google::protobuf::Message;
using testing::HasValueAt;
using testing::NewMessage;

constexpr char kResponse[] = "stampgate.v1.CreatePoliciesResponse";

// Returns the CPU time of one call of `work`.
double Nanoseconds(const std::function<void()>& work) {
  int calls = 0;
  const absl::Duration begin = ProcessCpu(0).value();
  absl::Duration used;
  do {
    for (int i = 0; i < 20; ++i) work();
    calls += 20;
    used = ProcessCpu(0).value() - begin;
  } while (used < absl::GetFlag(FLAGS_part));
  return absl::ToDoubleNanoseconds(used) / calls;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Fail(const char* what) {
  std::fprintf(stderr, "json_bench: %s\n", what);
  return 1;
}

int Main() {
  std::string ours = ReadFile(absl::GetFlag(FLAGS_envelope));
  MessagePlans plans("Service");
  const std::unique_ptr<Message> message = NewMessage(kResponse);
  const auto plan = plans.Compile(message->GetDescriptor());
  const absl::StatusOr<std::string> bytes = plan.ok() ? ReadJsonMessage(ours, **plan) : plan.status();
  if (!bytes.ok() || !message->ParseFromString(*bytes)) return Fail("the file of --envelope cannot be parsed");
  if (HasValueAt(*message, "unrecognized"))
    return Fail("the file of --envelope has members that the proto does not define");
  std::string utils;
  const std::unique_ptr<Message> same = NewMessage(kResponse);
  google::protobuf::util::JsonParseOptions lenient;
  lenient.ignore_unknown_fields = true;
  if (!google::protobuf::util::MessageToJsonString(*message, &utils).ok() ||
      !google::protobuf::util::JsonStringToMessage(utils, same.get(), lenient).ok() ||
      !google::protobuf::util::MessageDifferencer::Equals(*message, *same)) {
    return Fail("Protocol Buffers' JSON util does not parse the same message");
  }

  // Like a call of the gateway, each part translates JSON to the bytes of a message, or parses the bytes of a message
  // and renders it into a new string.
  bool ok = true;
  const std::vector<std::function<void()>> parts = {
      [&] { ok &= ReadJsonMessage(ours, **plan).ok(); },
      [&] {
        Arena arena;
        Message* const response = message->New(&arena);
        ok &= google::protobuf::util::JsonStringToMessage(utils, response, lenient).ok();
        ok &= !response->SerializeAsString().empty();
      },
      [&] {
        std::string json;
        RequestMemory memory(std::numeric_limits<size_t>::max());
        AppendJsonMembers(**ParseMessage(**plan, *bytes, memory), /*left_out=*/nullptr, /*names_as_of=*/"", json);
        ok &= !json.empty();
      },
      [&] {
        Arena arena;
        Message* const parsed = message->New(&arena);
        std::string json;
        ok &= parsed->ParseFromString(*bytes);
        ok &= google::protobuf::util::MessageToJsonString(*parsed, &json).ok();
      },
  };
  std::vector<std::vector<double>> results(parts.size());
  for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
    for (size_t i = 0; i < parts.size(); ++i) results[i].push_back(Nanoseconds(parts[i]));
  }
  if (!ok) return Fail("the translation or the JSON util failed during the measurement");
  std::printf("read ours_ns=%.0f util_ns=%.0f ours_bytes=%zu util_bytes=%zu\n", Median(results[0]), Median(results[1]),
              ours.size(), utils.size());
  std::printf("write ours_ns=%.0f util_ns=%.0f ours_bytes=%zu util_bytes=%zu\n", Median(results[2]), Median(results[3]),
              ours.size(), utils.size());
  return 0;
}

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return stampgate::bench::Main();
}
