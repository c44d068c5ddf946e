// Tests when a connection sends its frames, what it does while it must not read, and how its operations end.
#include "gateway/door/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/door/testing.h"

namespace stampgate {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using grpc_event_engine::experimental::Slice;
using grpc_event_engine::experimental::SliceBuffer;

constexpr std::chrono::seconds kHang(60);

// A GOAWAY frame with the error code NO_ERROR and the text "why".
constexpr absl::string_view kGoAway("\0\0\x0b\7\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\0why", 20);

// A plaintext connection, and a peer that reads only when the test does.
class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    tcp::acceptor listener(io_, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
    peer_.connect(listener.local_endpoint());
    Connection::Socket socket(io_);
    listener.accept(socket);
    connection_ = std::make_shared<Connection>(std::move(socket), nullptr);
    connection_->Begin(
        {.frames = {}, .account = own_, .on_excess = [this](Excess excess) { excess_.set_value(excess); }});
  }

  ~ConnectionTest() override {
    connection_->Close();
    work_.reset();
    thread_.join();
    for (const auto& account : {own_, other_}) holdings_->Close(*account);
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

  // More bytes than the system's buffers hold.
  static std::string ManyFrames() {
    std::string frames;
    while (frames.size() < (64u << 20)) absl::StrAppend(&frames, Http2Frame(16384, 0, 0, 1));
    return frames;
  }

  const std::shared_ptr<Holdings> holdings_ = std::make_shared<Holdings>(
      Holdings::Limits{.max_bytes_per_connection = 1 << 20, .max_bytes_per_identity = 100'000});
  const std::shared_ptr<Holdings::Account> own_ = holdings_->Open("a", [](Excess) {});
  std::promise<Excess> others_excess_;
  const std::shared_ptr<Holdings::Account> other_ =
      holdings_->Open("a", [this](Excess excess) { others_excess_.set_value(excess); });
  std::promise<Excess> excess_;
  SliceBuffer from_;
  SliceBuffer into_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  tcp::socket peer_{io_};
  std::shared_ptr<Connection> connection_;
  std::thread thread_{[this] { io_.run(); }};
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

TEST_F(ConnectionTest, SettingsPrecedeGoAwayIfNothingHasBeenWritten) {
  connection_->GoAway("why");
  const std::string settings = Http2Frame(0, 4, 0, 0);
  EXPECT_EQ(PeerReads(settings.size() + kGoAway.size()), absl::StrCat(settings, kGoAway));
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

TEST_F(ConnectionTest, ReadsNothingWhileItMustPause) {
  other_->Set(0, 150'001);
  std::future<absl::Status> read = Read();
  asio::write(peer_, asio::buffer(std::string(kHttp2Preface)));
  EXPECT_EQ(read.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  other_->Set(0, 150'000);
  EXPECT_TRUE(Wait(read).ok());
  EXPECT_EQ(into_.Length(), absl::string_view(kHttp2Preface).size());
}

// Otherwise, connections that pause would wait for each other.
TEST_F(ConnectionTest, AConnectionThatMustPauseEndsTheLargestConnection) {
  other_->Set(0, 150'001);
  std::future<absl::Status> read = Read();
  EXPECT_EQ(others_excess_.get_future().get(), Excess::kBytesOfIdentity);
  EXPECT_EQ(read.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
}

TEST_F(ConnectionTest, AConnectionThatMustPauseEndsIfItIsTheLargest) {
  other_->Set(0, 60'000);
  own_->Set(0, 100'000);
  std::future<absl::Status> read = Read();
  EXPECT_EQ(Wait(read).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(excess_.get_future().get(), Excess::kBytesOfIdentity);
}

TEST_F(ConnectionTest, AConnectionThatEndsPausesAndIsNotExpelled) {
  own_->Set(0, 160'000);
  EXPECT_TRUE(connection_->EndWrites());
  std::future<absl::Status> read = Read();
  asio::write(peer_, asio::buffer(std::string(kHttp2Preface)));
  EXPECT_EQ(read.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  own_->Set(0, 0);
  EXPECT_TRUE(Wait(read).ok());
}

TEST_F(ConnectionTest, CloseEndsAReadThatPauses) {
  other_->Set(0, 150'001);
  std::future<absl::Status> read = Read();
  connection_->Close();
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
