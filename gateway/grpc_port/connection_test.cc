// Tests when a connection sends and reads.
#include "gateway/grpc_port/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/loop/event_loop.h"
#include "gateway/grpc_port/testing.h"

namespace stampgate {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using grpc_event_engine::experimental::Slice;
using grpc_event_engine::experimental::SliceBuffer;

constexpr std::chrono::seconds kHang(60);

constexpr std::chrono::seconds kUnreadTime(20);

// A GOAWAY frame with the error code NO_ERROR and the text "why".
constexpr absl::string_view kGoAway("\0\0\x0b\7\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\0why", 20);

// The response to a request of another protocol on stream 1: HEADERS with the status 415, and RST_STREAM with NO_ERROR.
constexpr absl::string_view kUnsupported(
    "\0\0\5\1\5\0\0\0\1\x08\3"
    "415"
    "\0\0\4\3\0\0\0\0\1\0\0\0\0",
    27);

// What gRPC reads when an unread response on stream 1 ends: RST_STREAM with CANCEL.
constexpr absl::string_view kReset("\0\0\4\3\0\0\0\0\1\0\0\0\x08", 13);

// What the peer reads then: HEADERS with the status and its message, and RST_STREAM.
constexpr size_t kUnreadTrailersBytes = 9 + 93 + 13;

// A plaintext connection, and a peer that reads only when the test does.
class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    Connect();
    EXPECT_TRUE(Begin());
  }

  ~ConnectionTest() override {
    connection_->Close();
    connection_ = nullptr;
    error_code ignored;
    peer_.close(ignored);
    loop_.Stop();
    for (const auto& holder : {own_, other_}) holder->Close();
  }

  void Connect() {
    tcp::acceptor listener(loop_.io(), tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
    peer_.connect(listener.local_endpoint());
    Connection::Socket socket(loop_.io());
    listener.accept(socket);
    connection_ = std::make_shared<Connection>(std::move(socket), nullptr);
  }

  bool Begin() {
    return connection_->Begin({.frames = {},
                               .memory = own_,
                               .on_excess = [this](Excess excess) { excess_.set_value(excess); },
                               .max_unread_time = kUnreadTime,
                               .on_unread = [this](size_t streams) { unread_ += streams; },
                               .now = [this] { return now_.load(); }});
  }

  // Runs `task` on the loop of the connection, and waits for its end.
  void OnLoop(const std::function<void()>& task) {
    std::promise<void> end;
    loop_.Run([&] {
      task();
      end.set_value();
    });
    end.get_future().wait();
  }

  // Waits until the loop has run what the connection has reported to it. A task that the loop adds while it runs one
  // comes after those that other threads add in the meantime, so one further task can come too early.
  void Settle() {
    OnLoop([] {});
    OnLoop([] {});
  }

  // Starts to write `bytes`. Returns the status, which is available when the write has ended.
  std::future<absl::Status> Write(const std::string& bytes) {
    from_.Append(Slice::FromCopiedString(bytes));
    auto done = std::make_shared<std::promise<absl::Status>>();
    const auto end = [done](absl::Status status) { done->set_value(std::move(status)); };
    if (connection_->Write(end, &from_)) done->set_value(absl::OkStatus());
    return done->get_future();
  }

  std::future<absl::Status> Read() {
    auto done = std::make_shared<std::promise<absl::Status>>();
    const auto end = [done](absl::Status status) { done->set_value(std::move(status)); };
    if (connection_->Read(end, &into_)) done->set_value(absl::OkStatus());
    return done->get_future();
  }

  static absl::Status Wait(std::future<absl::Status>& status) {
    return status.wait_for(kHang) == std::future_status::ready ? status.get() : absl::DeadlineExceededError("hangs");
  }

  std::string PeerReads(size_t size) {
    std::string bytes(size, '\0');
    error_code error;
    bytes.resize(asio::read(peer_, asio::buffer(bytes), error));
    return bytes;
  }

  // The frame that gRPC writes first. It has a field, and the SETTINGS of the connection have none.
  static std::string GrpcSettings() { return Http2Frame(6, 4, 0, 0); }

  // Whether the peer has received bytes that it has not read.
  bool PeerHasReceived() {
    char byte;
    return recv(peer_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }

  // Sends what a client sends first, with a request that has no content type on stream 1.
  void PeerSendsForeignRequest() {
    constexpr char kSettings = 4;
    constexpr char kHeaders = 1;
    constexpr char kEndStreamAndHeaders = 5;
    std::string headers = Http2Frame(1, kHeaders, kEndStreamAndHeaders, 1);
    headers.back() = '\x84';  // ":path: /"
    asio::write(peer_, asio::buffer(absl::StrCat(kHttp2Preface, Http2Frame(0, kSettings, 0, 0), headers)));
  }

  static std::string HeadersOfRequest(char flags, uint32_t stream) {
    constexpr char kHeaders = 1;
    const std::string field(
        "\0\x0c"
        "content-type"
        "\x10"
        "application/grpc",
        31);
    const std::string frame = Http2Frame(field.size(), kHeaders, flags, stream);
    return absl::StrCat(frame.substr(0, frame.size() - field.size()), field);
  }

  // Counts what the connection holds after `time` has passed.
  void RecountAfter(std::chrono::nanoseconds time) {
    now_ = now_.load() + time;
    connection_->Recount();
    Settle();
  }

  // Sends `bytes`, and checks that gRPC reads `expected`.
  void PeerSends(const std::string& bytes, const std::string& expected) {
    asio::write(peer_, asio::buffer(bytes));
    ExpectRead(expected);
  }

  void ExpectRead(const std::string& expected) {
    std::string bytes;
    while (bytes.size() < expected.size()) {
      std::future<absl::Status> read = Read();
      ASSERT_TRUE(Wait(read).ok());
      while (into_.Count() > 0) absl::StrAppend(&bytes, into_.TakeFirst().as_string_view());
    }
    EXPECT_EQ(absl::BytesToHexString(bytes), absl::BytesToHexString(expected));
  }

  // Sends what a client of gRPC sends first, with a request on stream 1. The client accepts more on the connection than
  // on the stream if `grows`.
  void PeerSendsRequest(bool grows) {
    constexpr char kSettings = 4;
    constexpr char kWindowUpdate = 8;
    constexpr char kEndStreamAndHeaders = 5;
    std::string bytes = absl::StrCat(kHttp2Preface, Http2Frame(0, kSettings, 0, 0));
    if (grows) {
      bytes += Http2Frame(4, kWindowUpdate, 0, 0);
      bytes[bytes.size() - 3] = 1;  // 65536 bytes more
    }
    bytes += HeadersOfRequest(kEndStreamAndHeaders, 1);
    PeerSends(bytes, bytes);
  }

  // The beginning of a response on stream 1. By default, it uses up the first window of a stream.
  static std::string LargeResponse(size_t bytes = 65535) {
    std::string frames = absl::StrCat(GrpcSettings(), Http2Frame(1, 1, 4, 1));
    for (int i = 0; i < 3; ++i) frames += Http2Frame(16384, 0, 0, 1);
    return frames + Http2Frame(bytes - 3 * 16384, 0, 0, 1);
  }

  // More bytes than the system's buffers hold.
  static std::string ManyFrames() {
    std::string frames;
    while (frames.size() < (64u << 20)) absl::StrAppend(&frames, Http2Frame(16384, 0, 0, 1));
    return frames;
  }

  // What the connection of the test and the other one hold at least.
  static constexpr int64_t kAtRest = 2 * MemoryAccount::kConnectionBytes;
  static constexpr int64_t kBytesOfIdentity = kAtRest + 100'000;
  // If both connections have received more together, they must pause.
  static constexpr size_t kPauses = kBytesOfIdentity - kAtRest;

  const std::shared_ptr<MemoryAccount> memory_ = std::make_shared<MemoryAccount>(
      MemoryAccount::Limits{.max_bytes_per_connection = 1 << 20, .max_bytes_per_identity = kBytesOfIdentity});
  const std::shared_ptr<MemoryHolder> own_ = memory_->Open("a", [](MemoryBound) {});
  std::promise<MemoryBound> others_excess_;
  const std::shared_ptr<MemoryHolder> other_ =
      memory_->Open("a", [this](MemoryBound limit) { others_excess_.set_value(limit); });
  std::atomic<size_t> unread_ = 0;
  std::atomic<FrameMeter::Time> now_ = FrameMeter::Time(std::chrono::hours(1));
  std::promise<Excess> excess_;
  SliceBuffer from_;
  SliceBuffer into_;
  EventLoop loop_{"test"};
  tcp::socket peer_{loop_.io()};
  std::shared_ptr<Connection> connection_;
};

TEST_F(ConnectionTest, GoAwayFollowsAWriteThatThePeerHasNotAccepted) {
  const std::string frames = ManyFrames();
  std::future<absl::Status> written = Write(frames);
  connection_->GoAway("why");
  EXPECT_EQ(written.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_TRUE(PeerReads(frames.size()) == frames);
  EXPECT_EQ(PeerReads(kGoAway.size()), kGoAway);
  EXPECT_TRUE(Wait(written).ok());
}

TEST_F(ConnectionTest, GoAwayDoesNotDivideAFrame) {
  const std::string frame = Http2Frame(100, 0, 0, 1);
  std::future<absl::Status> first = Write(frame.substr(0, 50));
  connection_->GoAway("why");
  std::future<absl::Status> second = Write(frame.substr(50));
  EXPECT_EQ(PeerReads(frame.size() + kGoAway.size()), absl::StrCat(frame, kGoAway));
  EXPECT_TRUE(Wait(first).ok());
  EXPECT_TRUE(Wait(second).ok());
}

// The client would also acknowledge SETTINGS of the connection, and the connection would end.
TEST_F(ConnectionTest, GoAwayFollowsTheSettingsOfGrpc) {
  connection_->GoAway("why");
  EXPECT_FALSE(PeerHasReceived());
  const std::string settings = GrpcSettings();
  std::future<absl::Status> written = Write(settings.substr(0, 5));
  EXPECT_TRUE(Wait(written).ok());
  written = Write(settings.substr(5));
  EXPECT_EQ(PeerReads(settings.size() + kGoAway.size()), absl::StrCat(settings, kGoAway));
  EXPECT_TRUE(Wait(written).ok());
}

TEST_F(ConnectionTest, TheResponseToAnotherProtocolFollowsTheSettingsOfGrpc) {
  PeerSendsForeignRequest();
  std::future<absl::Status> read = Read();
  EXPECT_TRUE(Wait(read).ok());
  EXPECT_FALSE(PeerHasReceived());
  const std::string settings = GrpcSettings();
  std::future<absl::Status> written = Write(settings);
  EXPECT_EQ(PeerReads(settings.size() + kUnsupported.size()), absl::StrCat(settings, kUnsupported));
  EXPECT_TRUE(Wait(written).ok());
}

// Otherwise, a client that sends such requests and reads nothing could make the gateway hold ever more responses.
TEST_F(ConnectionTest, AResponseToAnotherProtocolCountsAsAStreamUntilItIsSent) {
  PeerSendsForeignRequest();
  std::future<absl::Status> read = Read();
  EXPECT_TRUE(Wait(read).ok());
  RecountAfter(kUnreadTime);  // longer than the reset of the stream counts
  EXPECT_GE(memory_->bytes(), kAtRest + MemoryAccount::kStreamBytes);
  const std::string settings = GrpcSettings();
  std::future<absl::Status> written = Write(settings);
  EXPECT_EQ(PeerReads(settings.size() + kUnsupported.size()), absl::StrCat(settings, kUnsupported));
  EXPECT_TRUE(Wait(written).ok());
  connection_->Recount();
  EXPECT_EQ(memory_->bytes(), kAtRest);
}

TEST_F(ConnectionTest, TheResponseToAnotherProtocolFollowsTheSettingsThatArePutOff) {
  PeerSendsForeignRequest();
  const std::string settings = GrpcSettings();
  std::future<absl::Status> written;
  std::future<absl::Status> read;
  OnLoop([&] {
    written = Write(settings);
    read = Read();
  });
  EXPECT_EQ(PeerReads(settings.size() + kUnsupported.size()), absl::StrCat(settings, kUnsupported));
  EXPECT_TRUE(Wait(written).ok());
  EXPECT_TRUE(Wait(read).ok());
}

TEST_F(ConnectionTest, SettingsPrecedeEveryFrameOfAnExpelledPeerIfNothingHasBeenWritten) {
  PeerSendsForeignRequest();
  std::future<absl::Status> read = Read();
  EXPECT_TRUE(Wait(read).ok());
  connection_->Expel(Excess::kBytesOfConnection);
  const std::string received = PeerReads(1 << 10);
  EXPECT_THAT(received, ::testing::StartsWith(absl::StrCat(Http2Frame(0, 4, 0, 0), kUnsupported)));
  EXPECT_THAT(received, ::testing::EndsWith(absl::StrCat("\x7f\xff\xff\xff", absl::string_view("\0\0\0\x0b", 4),
                                                         MessageOf(Excess::kBytesOfConnection))));
}

TEST_F(ConnectionTest, AnExcessBeforeBeginEndsTheConnection) {
  connection_->Close();
  peer_.close();
  Connect();
  connection_->Expel(Excess::kBytesOfIdentity);
  EXPECT_FALSE(Begin());
  EXPECT_EQ(excess_.get_future().get(), Excess::kBytesOfIdentity);
  std::future<absl::Status> read = Read();
  EXPECT_EQ(Wait(read).code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(PeerReads(1 << 10), ::testing::EndsWith(MessageOf(Excess::kBytesOfIdentity)));
}

TEST_F(ConnectionTest, ExpelsAPeerThatDoesNotReadWithoutGoAway) {
  const std::string frames = ManyFrames();
  std::future<absl::Status> written = Write(frames);
  std::future<absl::Status> read = Read();
  connection_->Expel(Excess::kBytesOfConnection);
  EXPECT_EQ(Wait(written).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Wait(read).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(excess_.get_future().get(), Excess::kBytesOfConnection);
  const std::string received = PeerReads(frames.size());
  EXPECT_LT(received.size(), frames.size());
  EXPECT_TRUE(absl::StartsWith(frames, received));
}

TEST_F(ConnectionTest, OnTheLoopAWriteIsPutOffToTheEndOfTheTurn) {
  const std::string frame = Http2Frame(100, 0, 0, 1);
  std::future<absl::Status> written;
  OnLoop([&] {
    written = Write(frame);
    EXPECT_EQ(written.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    EXPECT_FALSE(PeerHasReceived());
  });
  EXPECT_EQ(PeerReads(frame.size()), frame);
  EXPECT_TRUE(Wait(written).ok());
}

TEST_F(ConnectionTest, EndWritesSendsTheWriteThatIsPutOff) {
  const std::string frame = Http2Frame(100, 0, 0, 1);
  std::future<absl::Status> written;
  OnLoop([&] {
    written = Write(frame);
    EXPECT_TRUE(connection_->EndWrites());
  });
  EXPECT_EQ(PeerReads(frame.size() + 1), frame);
  EXPECT_TRUE(Wait(written).ok());
}

TEST_F(ConnectionTest, CloseSendsTheWriteThatIsPutOff) {
  const std::string frame = Http2Frame(100, 0, 0, 1);
  std::future<absl::Status> written;
  OnLoop([&] {
    written = Write(frame);
    connection_->Close();
  });
  EXPECT_EQ(PeerReads(frame.size() + 1), frame);
  EXPECT_TRUE(Wait(written).ok());
}

TEST_F(ConnectionTest, CloseEndsAWriteThatIsPutOffAndThatThePeerDoesNotAccept) {
  const std::string frames = ManyFrames();
  std::future<absl::Status> written;
  OnLoop([&] {
    written = Write(frames);
    connection_->Close();
  });
  EXPECT_EQ(Wait(written).code(), absl::StatusCode::kCancelled);
  const std::string read = PeerReads(frames.size());
  EXPECT_LT(read.size(), frames.size());
  EXPECT_TRUE(frames.starts_with(read));
}

// Writes frames and sends GOAWAY at random moments, on the loop and on this thread, while the peer reads random
// amounts.
TEST_F(ConnectionTest, ThePeerReadsEveryFrameWholeAndInOrder) {
  std::mt19937 random(1);
  const std::string goaway(kGoAway);
  std::string expected = Http2Frame(0, 4, 0, 0);
  int goaways = 0;
  std::string received;
  Write(expected);
  const auto read_some = [&](size_t size) { absl::StrAppend(&received, PeerReads(size)); };
  for (int round = 0; round < 300; ++round) {
    std::string frames;
    for (uint32_t i = random() % 4 + 1; i > 0; --i) absl::StrAppend(&frames, Http2Frame(random() % 20000, 0, 0, 1));
    // gRPC may end a write in the middle of a frame.
    const size_t part = random() % 2 == 0 ? frames.size() : random() % frames.size() + 1;
    for (const std::string& bytes : {frames.substr(0, part), frames.substr(part)}) {
      if (bytes.empty()) continue;
      std::future<absl::Status> written;
      const bool on_loop = random() % 2 == 0;
      const bool goes_away = random() % 8 == 0;
      const auto write = [&] {
        written = Write(bytes);
        if (goes_away) connection_->GoAway("why");
      };
      on_loop ? OnLoop(write) : write();
      goaways += goes_away ? 1 : 0;
      expected += bytes;
      read_some(bytes.size());  // perhaps not the last bytes, if there are frames of the connection between them
      EXPECT_TRUE(Wait(written).ok());
    }
  }
  connection_->EndWrites();
  read_some(1 << 20);
  // Without the frames of the connection, the peer has read exactly what was written.
  std::string rest;
  int seen = 0;
  for (size_t at = 0; at + 9 <= received.size();) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(received[at + i]); };
    const size_t size = 9 + (size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2));
    const std::string frame = received.substr(at, size);
    if (frame == goaway) {
      ++seen;
    } else {
      rest += frame;
    }
    at += size;
  }
  EXPECT_TRUE(rest == expected);
  EXPECT_EQ(seen, goaways);
}

TEST_F(ConnectionTest, ReadsNothingWhileItMustPause) {
  other_->SetReceived(0, kPauses + 1);
  std::future<absl::Status> read = Read();
  asio::write(peer_, asio::buffer(std::string(kHttp2Preface)));
  EXPECT_EQ(read.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  other_->SetReceived(0, kPauses);
  EXPECT_TRUE(Wait(read).ok());
  EXPECT_EQ(into_.Length(), absl::string_view(kHttp2Preface).size());
}

// Otherwise, connections that pause would wait for each other.
TEST_F(ConnectionTest, AConnectionThatMustPauseEndsTheLargestConnection) {
  other_->SetReceived(0, kPauses + 1);
  std::future<absl::Status> read = Read();
  EXPECT_EQ(others_excess_.get_future().get(), MemoryBound::kIdentity);
  EXPECT_EQ(read.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
}

TEST_F(ConnectionTest, AConnectionThatMustPauseEndsIfItIsTheLargest) {
  other_->SetReceived(0, kPauses / 3);
  own_->SetReceived(0, kPauses);
  std::future<absl::Status> read = Read();
  EXPECT_EQ(Wait(read).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(excess_.get_future().get(), Excess::kBytesOfIdentity);
}

TEST_F(ConnectionTest, AConnectionThatEndsPausesAndIsNotExpelled) {
  own_->SetReceived(0, kPauses + 10'000);
  EXPECT_TRUE(connection_->EndWrites());
  std::future<absl::Status> read = Read();
  asio::write(peer_, asio::buffer(std::string(kHttp2Preface)));
  EXPECT_EQ(read.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  own_->SetReceived(0, 0);
  EXPECT_TRUE(Wait(read).ok());
}

TEST_F(ConnectionTest, CloseEndsAReadThatPauses) {
  other_->SetReceived(0, kPauses + 1);
  std::future<absl::Status> read = Read();
  connection_->Close();
  EXPECT_EQ(Wait(read).code(), absl::StatusCode::kCancelled);
}

TEST_F(ConnectionTest, AResponseThatThePeerDoesNotReadEnds) {
  PeerSendsRequest(/*grows=*/true);
  std::future<absl::Status> written = Write(LargeResponse());
  EXPECT_TRUE(Wait(written).ok());
  std::future<absl::Status> read = Read();
  RecountAfter(kUnreadTime);
  EXPECT_EQ(unread_, 1u);
  EXPECT_EQ(PeerReads(LargeResponse().size()).size(), LargeResponse().size());
  const std::string end = PeerReads(kUnreadTrailersBytes);
  EXPECT_THAT(end, ::testing::HasSubstr(absl::string_view("\0\x0bgrpc-status\1"
                                                          "8",
                                                          15)));
  EXPECT_THAT(end, ::testing::HasSubstr("memory.max_unread_time"));
  EXPECT_TRUE(Wait(read).ok());
  EXPECT_EQ(into_.TakeFirst().as_string_view(), kReset);
  RecountAfter(kUnreadTime);
  EXPECT_EQ(unread_, 1u);
}

TEST_F(ConnectionTest, AResponseThatIsFoundUnreadLateEndsAlone) {
  PeerSendsRequest(/*grows=*/true);
  std::future<absl::Status> written = Write(LargeResponse());
  EXPECT_TRUE(Wait(written).ok());
  std::future<absl::Status> read = Read();
  RecountAfter(10 * kUnreadTime);
  EXPECT_EQ(unread_, 1u);
  EXPECT_TRUE(Wait(read).ok());
  EXPECT_EQ(into_.TakeFirst().as_string_view(), kReset);
}

TEST_F(ConnectionTest, AnUnreadResponseEndsAtTheNextReadOfGrpc) {
  PeerSendsRequest(/*grows=*/true);
  std::future<absl::Status> written = Write(LargeResponse());
  EXPECT_TRUE(Wait(written).ok());
  RecountAfter(kUnreadTime);
  EXPECT_EQ(unread_, 0u);
  ExpectRead(std::string(kReset));
  Settle();
  EXPECT_EQ(unread_, 1u);
}

TEST_F(ConnectionTest, AnUnreadResponseEndsAfterTheIncompleteFrameOfAnotherStream) {
  PeerSendsRequest(/*grows=*/true);
  std::future<absl::Status> written = Write(LargeResponse());
  EXPECT_TRUE(Wait(written).ok());
  const std::string first = Http2Frame(100, 0, 0, 3);
  const std::string second = Http2Frame(200, 0, 0, 3);
  PeerSends(first.substr(0, 50), first.substr(0, 50));
  std::future<absl::Status> read = Read();
  RecountAfter(kUnreadTime);
  EXPECT_EQ(unread_, 0u);
  asio::write(peer_, asio::buffer(first.substr(50) + second));
  EXPECT_TRUE(Wait(read).ok());
  std::string bytes;
  while (into_.Count() > 0) absl::StrAppend(&bytes, into_.TakeFirst().as_string_view());
  EXPECT_EQ(absl::BytesToHexString(bytes), absl::BytesToHexString(absl::StrCat(first.substr(50), kReset, second)));
  Settle();
  EXPECT_EQ(unread_, 1u);
  const std::string sent = PeerReads(LargeResponse().size() + kUnreadTrailersBytes);
  EXPECT_THAT(sent, ::testing::HasSubstr("memory.max_unread_time"));
}

TEST_F(ConnectionTest, AnUnreadResponseEndsBeforeARequestOfAnotherProtocolInTheSameBytes) {
  PeerSendsRequest(/*grows=*/true);
  std::future<absl::Status> written = Write(LargeResponse());
  EXPECT_TRUE(Wait(written).ok());
  const std::string data = Http2Frame(100, 0, 0, 3);
  PeerSends(data.substr(0, 50), data.substr(0, 50));
  RecountAfter(kUnreadTime);
  std::string foreign = Http2Frame(1, 1, 5, 5);
  foreign.back() = '\x84';  // ":path: /"
  PeerSends(data.substr(50) + foreign,
            absl::StrCat(data.substr(50), kReset, foreign, absl::string_view("\0\0\4\3\0\0\0\0\5\0\0\0\x08", 13)));
}

TEST_F(ConnectionTest, AnUnreadResponseDoesNotEndWithinTheHeadersOfAnotherStream) {
  PeerSendsRequest(/*grows=*/true);
  std::future<absl::Status> written = Write(LargeResponse());
  EXPECT_TRUE(Wait(written).ok());
  const std::string headers = HeadersOfRequest(0, 3);
  const std::string continuation = Http2Frame(0, 9, 4, 3);
  PeerSends(headers, headers);
  RecountAfter(kUnreadTime);
  PeerSends(continuation, absl::StrCat(continuation, kReset));
}

TEST_F(ConnectionTest, AnUnreadResponseThatThePeerReadsBeforeItsFrameEndsDoesNotEnd) {
  PeerSendsRequest(/*grows=*/true);
  std::future<absl::Status> written = Write(LargeResponse());
  EXPECT_TRUE(Wait(written).ok());
  std::string window_update = Http2Frame(4, 8, 0, 1);
  window_update.back() = 1;
  PeerSends(window_update.substr(0, 5), window_update.substr(0, 5));
  RecountAfter(kUnreadTime);
  PeerSends(window_update.substr(5), window_update.substr(5));
  Settle();
  EXPECT_EQ(unread_, 0u);
}

TEST_F(ConnectionTest, AConnectionWithAnUnreadResponseEndsIfThePeerDoesNotCompleteAFrame) {
  PeerSendsRequest(/*grows=*/true);
  std::future<absl::Status> written = Write(LargeResponse());
  EXPECT_TRUE(Wait(written).ok());
  const std::string part = Http2Frame(100, 0, 0, 3).substr(0, 50);
  PeerSends(part, part);
  std::future<absl::Status> read = Read();
  RecountAfter(5 * kUnreadTime);
  RecountAfter(kUnreadTime - std::chrono::nanoseconds(1));
  EXPECT_EQ(unread_, 0u);
  RecountAfter(std::chrono::nanoseconds(1));
  EXPECT_EQ(excess_.get_future().get(), Excess::kUnread);
  EXPECT_EQ(Wait(read).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(unread_, 1u);
}

TEST_F(ConnectionTest, AResponseThatThePeerReadsDoesNotEnd) {
  PeerSendsRequest(/*grows=*/true);
  std::future<absl::Status> written = Write(LargeResponse(65534));
  EXPECT_TRUE(Wait(written).ok());
  RecountAfter(10 * kUnreadTime);
  EXPECT_EQ(unread_, 0u);
}

TEST_F(ConnectionTest, AConnectionWhosePeerAcceptsNoBytesEnds) {
  PeerSendsRequest(/*grows=*/false);
  std::future<absl::Status> written = Write(LargeResponse());
  EXPECT_TRUE(Wait(written).ok());
  std::future<absl::Status> read = Read();
  RecountAfter(kUnreadTime);
  EXPECT_EQ(unread_, 1u);
  EXPECT_EQ(excess_.get_future().get(), Excess::kUnread);
  EXPECT_EQ(Wait(read).code(), absl::StatusCode::kCancelled);
}

TEST_F(ConnectionTest, AReadEndsWhenThePeerCloses) {
  std::future<absl::Status> read = Read();
  peer_.close();
  EXPECT_EQ(Wait(read).code(), absl::StatusCode::kUnavailable);
}

TEST_F(ConnectionTest, NothingCanBeWrittenAfterEndWrites) {
  EXPECT_TRUE(connection_->EndWrites());
  EXPECT_FALSE(connection_->EndWrites());
  std::future<absl::Status> written = Write("x");
  EXPECT_EQ(Wait(written).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(PeerReads(1), "");
  peer_.close();
  EXPECT_TRUE(connection_->WaitForPeer(kHang));
}

}  // namespace
}  // namespace stampgate
