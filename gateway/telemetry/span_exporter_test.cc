#include "gateway/telemetry/span_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "opentelemetry/otlp.pb.h"

namespace stampgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SpanExporterTest : public testing::Test {
 protected:
  Tracer::Options Options() {
    Tracer::Options options;
    options.max_queued = 2 * SpanExporter::kBatch;
    options.random = [] { return uint64_t{7}; };
    options.now = absl::UnixEpoch;
    options.steady_now = [this] { return now_; };
    options.on_drop = [] {};
    return options;
  }

  void Queue(size_t calls) {
    for (size_t i = 0; i < calls; ++i) {
      TracedCall call;
      call.trace_id = "0af7651916cd43dd8448eb211c80319c";
      call.steps = {{CallStage::kAuthenticate, 2, absl::ZeroDuration()}};
      tracer_.Queue(std::make_unique<const TracedCall>(std::move(call)));
    }
  }

  absl::StatusOr<std::string> Send(const std::string& request) {
    sent_.push_back(request);
    return response_;
  }

  static int SpansIn(const std::string& request) {
    otlp::ExportTraceServiceRequest parsed;
    EXPECT_TRUE(parsed.ParseFromString(request));
    return parsed.resource_spans(0).scope_spans(0).spans_size();
  }

  void Pass(absl::Duration time) { now_ += absl::ToChronoNanoseconds(time); }

  Tracer::SteadyTime now_ = Tracer::SteadyTime() + std::chrono::hours(1);
  Tracer tracer_{Options()};
  std::vector<std::string> sent_;
  std::vector<absl::StatusCode> results_;
  int64_t lost_ = 0;
  absl::StatusOr<std::string> response_ = "";
  SpanExporter exporter_{tracer_,
                         {},
                         {},
                         [this](const std::string& request) { return Send(request); },
                         [this](const absl::Status& status) { results_.push_back(status.code()); },
                         [this](int64_t spans) { lost_ += spans; }};
};

TEST_F(SpanExporterTest, AnEmptyQueueSendsNothing) {
  EXPECT_EQ(exporter_.Run(), std::nullopt);
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(SpanExporterTest, AllQueuedCallsAreSentInBatches) {
  Queue(SpanExporter::kBatch + 1);
  EXPECT_EQ(exporter_.Run(), std::nullopt);
  ASSERT_THAT(sent_, SizeIs(2));
  EXPECT_EQ(SpansIn(sent_[0]), 2 * static_cast<int>(SpanExporter::kBatch));
  EXPECT_EQ(SpansIn(sent_[1]), 2);
  EXPECT_THAT(results_, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kOk));
  EXPECT_EQ(lost_, 0);
}

TEST_F(SpanExporterTest, ABatchIsSentAgainAfterPausesThatGrow) {
  Queue(1);
  response_ = absl::UnavailableError("");
  EXPECT_EQ(exporter_.Run(), SpanExporter::kFirstPause);
  Pass(SpanExporter::kFirstPause - absl::Milliseconds(1));
  EXPECT_EQ(exporter_.Run(), absl::Milliseconds(1));
  ASSERT_THAT(sent_, SizeIs(1));
  Pass(absl::Milliseconds(1));
  EXPECT_EQ(exporter_.Run(), 2 * SpanExporter::kFirstPause);
  Pass(2 * SpanExporter::kFirstPause);
  response_ = "";
  EXPECT_EQ(exporter_.Run(), std::nullopt);
  ASSERT_THAT(sent_, SizeIs(3));
  EXPECT_EQ(sent_[2], sent_[0]);
  EXPECT_EQ(lost_, 0);
}

TEST_F(SpanExporterTest, ABatchIsLostAfterTheLastAttempt) {
  Queue(1);
  response_ = absl::DeadlineExceededError("");
  for (int i = 1; i < SpanExporter::kAttempts; ++i) {
    const std::optional<absl::Duration> pause = exporter_.Run();
    ASSERT_NE(pause, std::nullopt);
    Pass(*pause);
  }
  EXPECT_EQ(lost_, 0);
  EXPECT_EQ(exporter_.Run(), std::nullopt);
  EXPECT_EQ(lost_, 2);
  EXPECT_THAT(sent_, SizeIs(SpanExporter::kAttempts));
}

TEST_F(SpanExporterTest, TheLastRunDoesNotPause) {
  Queue(1);
  response_ = absl::UnavailableError("");
  EXPECT_NE(exporter_.Run(), std::nullopt);
  response_ = "";
  EXPECT_EQ(exporter_.Run(/*is_last=*/true), std::nullopt);
  EXPECT_THAT(sent_, SizeIs(2));
}

TEST_F(SpanExporterTest, ARefusedBatchIsLostAtOnce) {
  for (const absl::Status& refusal :
       {absl::InvalidArgumentError(""), absl::UnimplementedError(""), absl::UnauthenticatedError(""),
        absl::PermissionDeniedError(""), absl::InternalError(""), absl::UnknownError("")}) {
    Queue(1);
    sent_.clear();
    lost_ = 0;
    response_ = refusal;
    EXPECT_EQ(exporter_.Run(), std::nullopt) << refusal;
    EXPECT_THAT(sent_, SizeIs(1));
    EXPECT_EQ(lost_, 2);
  }
}

TEST_F(SpanExporterTest, SpansThatTheCollectorRefusesAreLost) {
  Queue(2);
  otlp::ExportTraceServiceResponse response;
  response.mutable_partial_success()->set_rejected_spans(3);
  response_ = response.SerializeAsString();
  EXPECT_EQ(exporter_.Run(), std::nullopt);
  EXPECT_EQ(lost_, 3);
}

TEST_F(SpanExporterTest, AResponseThatCannotBeReadRefusesNothing) {
  Queue(1);
  response_ = "\xff";
  EXPECT_EQ(exporter_.Run(), std::nullopt);
  EXPECT_EQ(lost_, 0);
}

}  // namespace
}  // namespace stampgate
