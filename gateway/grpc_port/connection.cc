#include "gateway/grpc_port/connection.h"

#include <grpc/event_engine/slice.h>
#include <grpc/slice.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/loop/event_loop.h"

namespace stampgate {
namespace {

using boost::system::error_code;
using grpc_event_engine::experimental::Slice;

// The size of a TLS record. The connections share one buffer of this size on each thread, so that a connection on which
// nothing arrives uses no buffer.
constexpr size_t kRecordBytes = 16384;
thread_local std::array<char, kRecordBytes> record;

// gRPC keeps received bytes in parts of this size. With gRPC's own fields, an allocator needs 16 KiB for it; for a
// whole record, it needs a quarter more.
constexpr size_t kPartBytes = kRecordBytes - 64;

// After this many reads in a row, the other connections of the thread get their turn, even if more bytes have arrived.
constexpr int kReadsInARow = 8;

// The most bytes that wait in the system for a peer that does not read them.
constexpr int kMaxUnsentBytes = 131072;

// A connection that has left so many streams unread ends.
constexpr size_t kMaxUnreadStreams = 100;

// How long a connection that must pause waits before it tries to read again.
constexpr std::chrono::milliseconds kPause(10);

// How long the socket of an expelled peer stays open, so that the peer can read why.
constexpr std::chrono::seconds kLinger(1);

// Codes of HTTP/2 (RFC 9113, section 7).
constexpr uint32_t kNoError = 0;
constexpr uint32_t kCancel = 8;
constexpr uint32_t kEnhanceYourCalm = 11;

std::string Number(uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift);
  return bytes;
}

// Returns an HTTP/2 frame.
std::string Frame(uint8_t type, absl::string_view payload, uint32_t stream = 0, uint8_t flags = 0) {
  std::string frame = Number(static_cast<uint32_t>(payload.size())).substr(1);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  return absl::StrCat(frame, Number(stream), payload);
}

std::string SettingsFrame() { return Frame(4, ""); }

std::string ResetFrame(uint32_t stream, uint32_t code) { return Frame(3, Number(code), stream); }

// Returns the response to a request of another protocol, as the specification of gRPC wants it: the status 415 ends the
// stream. A client that still sends its request stops when it reads the reset.
std::string UnsupportedMediaType(uint32_t stream) {
  constexpr uint8_t kEndStreamAndHeaders = 0x5;
  // ":status" has the index 8. The field is not added to the table of the fields that gRPC sends.
  return absl::StrCat(Frame(1,
                            "\x08\x03"
                            "415",
                            stream, kEndStreamAndHeaders),
                      ResetFrame(stream, kNoError));
}

// Returns a field of headers that is not added to the table of the fields that gRPC sends.
std::string Field(absl::string_view name, absl::string_view value) {
  std::string field(1, '\0');
  for (const absl::string_view text : {name, value}) {
    field += static_cast<char>(text.size());  // at most 126
    absl::StrAppend(&field, text);
  }
  return field;
}

// Returns the end of a response that the client does not read: the status RESOURCE_EXHAUSTED of gRPC. Flow control does
// not hold headers back.
std::string UnreadTrailers(uint32_t stream) {
  constexpr uint8_t kEndStreamAndHeaders = 0x5;
  const std::string fields =
      absl::StrCat(Field("grpc-status", "8"),
                   Field("grpc-message", "the client has not read the response for memory.max_unread_time"));
  return absl::StrCat(Frame(1, fields, stream, kEndStreamAndHeaders), ResetFrame(stream, kNoError));
}

// The last stream id in the frame is the largest possible, so that the peer regards no call as refused.
std::string GoAwayFrame(uint32_t code, absl::string_view why) {
  return Frame(7, absl::StrCat(Number(0x7fffffff), Number(code), why));
}

absl::Status Closed() { return absl::CancelledError("the connection is closed"); }

// Copies the first bytes of `from` to `record`, and returns their number.
size_t Gather(grpc_event_engine::experimental::SliceBuffer& from) {
  size_t size = 0;
  for (size_t i = 0; i < from.Count() && size < record.size(); ++i) {
    const Slice slice = from.RefSlice(i);
    const size_t part = std::min(slice.size(), record.size() - size);
    memcpy(record.data() + size, slice.data(), part);
    size += part;
  }
  return size;
}

}  // namespace

Connection::Connection(Socket socket, std::shared_ptr<boost::asio::ssl::context> tls)
    : tls_(std::move(tls)), executor_(socket.get_executor()), socket_(std::move(socket)), fd_(socket_.native_handle()) {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  setsockopt(fd_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMaxUnsentBytes, sizeof(kMaxUnsentBytes));
  if (tls_ == nullptr) return;
  ssl_.reset(SSL_new(tls_->native_handle()));
  if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), fd_) != 1) {
    closed_ = true;
    return;
  }
  SSL_set_accept_state(ssl_.get());
  SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Otherwise, one read would not end while the peer sends messages of TLS itself.
  SSL_clear_mode(ssl_.get(), SSL_MODE_AUTO_RETRY);
  // One call of the system then reads a whole record, or several.
  SSL_set_read_ahead(ssl_.get(), 1);
}

Connection::~Connection() {
  error_code ignored;
  socket_.close(ignored);
}

void Connection::Handshake(Done done) {
  const MutexLock lock(mutex_);
  absl::Status error = Closed();
  const Attempt attempt = closed_ ? Attempt::kFailed : TryHandshake(error);
  if (attempt == Attempt::kDone) return Post(std::move(done), absl::OkStatus());
  if (attempt == Attempt::kFailed) return Post(std::move(done), std::move(error));
  handshake_ = Operation{std::move(done), nullptr};
  WaitFor(attempt);
}

void Connection::Inspect(absl::FunctionRef<void(SSL*)> inspect) {
  const MutexLock lock(mutex_);
  if (ssl_ != nullptr) inspect(ssl_.get());
}

bool Connection::Begin(Bounds bounds) {
  const MutexLock lock(mutex_);
  frames_.emplace(bounds.frames, bounds.now());
  // gRPC closes no connection on which a write is in progress, so the system must end the connection of a peer that
  // reads nothing.
  const auto limit_ms = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(bounds.max_unread_time).count());
  setsockopt(fd_, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(limit_ms));
  bounds_ = std::move(bounds);
  if (early_excess_.has_value() && !closed_) ExpelNow(*early_excess_);
  return !expelled_;
}

bool Connection::Read(Done on_read, SliceBuffer* into) {
  const MutexLock lock(mutex_);
  absl::Status error;
  Attempt attempt = Attempt::kWaitsToRead;
  if (closed_ || expelled_) {
    error = Closed();
    attempt = Attempt::kFailed;
  } else if (unread_since_.has_value() && frames_->is_in_received_gap()) {
    const std::vector<uint32_t> unread = ResetUnread(*into);
    EndResponses(unread);
    if (!unread.empty()) attempt = Attempt::kDone;
  }
  if (attempt == Attempt::kWaitsToRead && may_have_more_) attempt = TryRead(*into, error);
  if (attempt == Attempt::kDone) {
    if (++reads_in_a_row_ < kReadsInARow) return true;
    reads_in_a_row_ = 0;
    Post(std::move(on_read), absl::OkStatus());
    return false;
  }
  reads_in_a_row_ = 0;
  if (attempt == Attempt::kFailed) {
    Post(std::move(on_read), std::move(error));
    return false;
  }
  read_ = Operation{std::move(on_read), into};
  WaitFor(attempt);
  return false;
}

bool Connection::Write(Done on_written, SliceBuffer* from) {
  const MutexLock lock(mutex_);
  if (closed_ || ended_) {
    Post(std::move(on_written), Closed());
    return false;
  }
  if (IsOnLoop()) {
    write_ = Operation{std::move(on_written), from};
    is_put_off_ = true;
    boost::asio::post(executor_, [self = shared_from_this()] { self->Flush(); });
    return false;
  }
  absl::Status error;
  const Attempt attempt = TryWrite(*from, error);
  if (attempt == Attempt::kDone) return true;
  if (attempt == Attempt::kFailed) {
    Post(std::move(on_written), std::move(error));
    return false;
  }
  write_ = Operation{std::move(on_written), from};
  WaitFor(attempt);
  return false;
}

void Connection::GoAway(absl::string_view why) {
  const MutexLock lock(mutex_);
  // gRPC's own GOAWAY names the last call that it accepts. A second frame must not name a later one.
  if (closed_ || ended_ || frames_->has_sent_go_away()) return;
  AddOwnFrames(GoAwayFrame(kNoError, why));
}

void Connection::Expel(Excess excess) {
  const MutexLock lock(mutex_);
  if (closed_ || ended_) return;
  if (!bounds_.has_value()) {
    early_excess_ = excess;
    return;
  }
  ExpelNow(excess);
  if (!read_.has_value()) return;
  Post(std::move(read_->done), Closed());
  read_.reset();
}

void Connection::ExpelLater(Excess excess) {
  boost::asio::post(executor_, [self = shared_from_this(), excess] { self->Expel(excess); });
}

void Connection::CloseAfter(std::chrono::seconds delay) {
  const MutexLock lock(mutex_);
  if (closed_) return;
  if (end_timer_.has_value() && end_timer_->expiry() <= std::chrono::steady_clock::now() + delay) return;
  end_timer_.emplace(executor_, delay);
  end_timer_->async_wait([weak = weak_from_this()](error_code error) {
    const std::shared_ptr<Connection> self = weak.lock();
    if (error || self == nullptr) return;
    self->EndWrites();
    self->Close();
  });
}

void Connection::Refuse(Excess excess) {
  const MutexLock lock(mutex_);
  if (closed_ || ended_) return;
  EndWithGoAway(excess);
}

void Connection::EndWithGoAway(Excess excess) {
  // The client must read SETTINGS first. Only a connection that ends may send its own, because gRPC would receive the
  // client's acknowledgment of SETTINGS that gRPC has not sent.
  if (!std::exchange(has_begun_to_write_, true)) {
    SliceBuffer frames;  // because Prepend can only undo TakeFirst
    frames.Append(Slice::FromCopiedString(SettingsFrame()));
    own_frames_.MoveFirstNBytesIntoSliceBuffer(own_frames_.Length(), frames);
    own_frames_.Swap(frames);
  }
  AddOwnFrames(GoAwayFrame(kEnhanceYourCalm, MessageOf(excess)));
  EndWritesNow();
  auto timer = std::make_shared<boost::asio::steady_timer>(executor_, kLinger);
  timer->async_wait([self = shared_from_this(), timer](error_code) { self->Close(); });
}

void Connection::AddOwnFrames(std::string frames) {
  own_frames_.Append(Slice::FromCopiedString(std::move(frames)));
  if (write_.has_value()) return;
  absl::Status ignored;
  const Attempt attempt = SendOwnFrames(ignored);
  if (attempt == Attempt::kWaitsToRead || attempt == Attempt::kWaitsToWrite) WaitFor(attempt);
}

void Connection::ExpelNow(Excess excess) {
  expelled_ = true;
  bounds_->memory->BeginToEnd();
  EndWithGoAway(excess);
  boost::asio::post(executor_, [on_excess = bounds_->on_excess, excess] { on_excess(excess); });
}

bool Connection::EndWrites() {
  const MutexLock lock(mutex_);
  return EndWritesNow();
}

bool Connection::EndWritesNow() {
  if (closed_ || ended_) return false;
  TryPutOffWrite();
  if (write_.has_value()) {
    Post(std::move(write_->done), Closed());
    write_.reset();
  }
  ended_ = true;
  if (ssl_ != nullptr && SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
  ERR_clear_error();
  shutdown(fd_, SHUT_WR);
  return true;
}

void Connection::TryPutOffWrite() {
  absl::Status error;
  if (!std::exchange(is_put_off_, false) || TryWrite(*write_->buffer, error) != Attempt::kDone) return;
  Post(std::move(write_->done), absl::OkStatus());
  write_.reset();
}

bool Connection::WaitForPeer(std::chrono::milliseconds timeout) {
  pollfd peer = {.fd = fd_, .events = POLLRDHUP, .revents = 0};
  return poll(&peer, 1, static_cast<int>(timeout.count())) != 0;
}

void Connection::Close() {
  const MutexLock lock(mutex_);
  if (closed_) return;
  TryPutOffWrite();
  closed_ = true;
  if (bounds_.has_value()) bounds_->memory->BeginToEnd();
  end_timer_.reset();
  for (std::optional<Operation>* operation : {&handshake_, &read_, &write_}) {
    if (!operation->has_value()) continue;
    Post(std::move((*operation)->done), Closed());
    operation->reset();
  }
  error_code ignored;
  socket_.cancel(ignored);
  if (ended_) return;
  if (ssl_ != nullptr && SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
  ERR_clear_error();
  socket_.close(ignored);
}

Connection::Attempt Connection::TryHandshake(absl::Status& error) {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return Attempt::kDone;
  const unsigned long fault = ERR_peek_error();
  const bool has_closed =
      ERR_GET_LIB(fault) == ERR_LIB_SSL && ERR_GET_REASON(fault) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  handshake_error_ = has_closed ? 0 : fault;
  return AfterSslError(result, error);
}

Connection::Attempt Connection::TryRead(SliceBuffer& into, absl::Status& error) {
  if (bounds_->memory->MustPause()) {
    // If all connections of an identity paused without this check, none of them would ever end.
    const std::optional<Excess> excess = ExcessOf(bounds_->memory->Check());
    return excess.has_value() && !ended_ ? Exceeds(*excess, error) : Attempt::kPauses;
  }
  size_t size = 0;
  if (ssl_ != nullptr) {
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), record.data(), record.size(), &size);
    if (result != 1) return AfterSslError(result, error);
    may_have_more_ = SSL_has_pending(ssl_.get()) == 1;
  } else {
    const ssize_t result = recv(fd_, record.data(), record.size(), 0);
    if (result < 0 && (errno == EAGAIN || errno == EINTR)) return Attempt::kWaitsToRead;
    if (result <= 0) {
      error = absl::UnavailableError("the peer has closed the connection");
      return Attempt::kFailed;
    }
    size = static_cast<size_t>(result);
    may_have_more_ = size == record.size();
  }
  if (const std::optional<Excess> excess = Count(size); excess.has_value() && !ended_) return Exceeds(*excess, error);
  Pass(size, into);
  return Attempt::kDone;
}

void Connection::Pass(size_t size, SliceBuffer& into) {
  size_t passed = 0;
  const std::vector<size_t>& cuts = frames_->cuts();
  auto cut = cuts.begin();
  // Copies the bytes, so that a few bytes do not keep a whole record in memory.
  const auto pass_until = [&](size_t end) {
    while (passed < end) {
      while (cut != cuts.end() && *cut <= passed) ++cut;
      const size_t part = std::min({end, passed + kPartBytes, cut == cuts.end() ? end : *cut}) - passed;
      into.Append(Slice(grpc_slice_from_copied_buffer(record.data() + passed, part)));
      passed += part;
    }
  };
  std::optional<size_t> gap = unread_since_.has_value() ? frames_->first_gap() : std::nullopt;
  std::vector<uint32_t> unread;
  const auto reset_unread_until = [&](size_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!gap.has_value() || *gap > end) return;
    pass_until(*gap);
    unread = ResetUnread(into);
    gap.reset();
  };
  for (const FrameMeter::ForeignRequest& request : frames_->foreign_requests()) {
    reset_unread_until(request.end);
    // gRPC must decode the headers, because later headers can refer to their fields.
    pass_until(request.end);
    into.Append(Slice::FromCopiedString(ResetFrame(request.stream, kCancel)));
  }
  reset_unread_until(size);
  pass_until(size);
  // Only now, because writing uses the thread's buffer too.
  EndResponses(unread);
  for (const FrameMeter::ForeignRequest& request : frames_->foreign_requests()) {
    if (!ended_) AddOwnFrames(UnsupportedMediaType(request.stream));
  }
}

Connection::Attempt Connection::Exceeds(Excess excess, absl::Status& error) {
  ExpelNow(excess);
  error = absl::ResourceExhaustedError(MessageOf(excess));
  return Attempt::kFailed;
}

std::optional<Excess> Connection::Count(size_t size) {
  const FrameMeter::Time now = bounds_->now();
  if (const auto excess = frames_->Receive({record.data(), size}, now); excess.has_value()) return excess;
  SetHeld(now);
  return ExcessOf(bounds_->memory->Check());
}

void Connection::SetHeld(FrameMeter::Time now) {
  if (expelled_) return;
  // A response of the connection itself that the client does not read counts as a stream, because gRPC does not count
  // it.
  bounds_->memory->SetReceived(frames_->open_streams() + frames_->recent_resets(now) + own_frames_.Count(),
                               frames_->open_bytes());
}

bool Connection::IsIdle() {
  const MutexLock lock(mutex_);
  return frames_->open_streams() == 0;
}

void Connection::Recount() {
  const MutexLock lock(mutex_);
  if (closed_) return;
  const FrameMeter::Time now = bounds_->now();
  SetHeld(now);
  if (!expelled_ && !ended_) CheckUnread(now);
}

void Connection::CheckUnread(FrameMeter::Time now) {
  const std::chrono::nanoseconds limit = bounds_->max_unread_time;
  const size_t unread = frames_->windows().Unread(now, limit).size();
  if (unread == 0) unread_since_.reset();
  if (unread == 0 && unread_ <= kMaxUnreadStreams) return;
  // While the connection pauses, it does not read the rest of the client's frame.
  if (!unread_since_.has_value() || bounds_->memory->MustPause()) unread_since_ = now;
  if (frames_->windows().IsStalled(now, limit) || unread_ + unread > kMaxUnreadStreams ||
      now - *unread_since_ >= limit) {
    CountUnread(unread);
    ExpelNow(Excess::kUnread);
    if (!read_.has_value()) return;
    Post(std::move(read_->done), Closed());
    return read_.reset();
  }
  if (!read_.has_value() || !frames_->is_in_received_gap()) return;
  EndResponses(ResetUnread(*read_->buffer));
  Post(std::move(read_->done), absl::OkStatus());
  read_.reset();
}

std::vector<uint32_t> Connection::ResetUnread(SliceBuffer& into) {
  const FrameMeter::Time now = bounds_->now();
  std::vector<uint32_t> unread = frames_->windows().Unread(now, bounds_->max_unread_time);
  unread_since_.reset();
  for (const uint32_t stream : unread) {
    frames_->Reset(stream, now);
    into.Append(Slice::FromCopiedString(ResetFrame(stream, kCancel)));
  }
  CountUnread(unread.size());
  SetHeld(now);
  return unread;
}

void Connection::EndResponses(const std::vector<uint32_t>& unread) {
  if (ended_) return;
  for (const uint32_t stream : unread) AddOwnFrames(UnreadTrailers(stream));
}

void Connection::CountUnread(size_t streams) {
  if (streams == 0) return;
  unread_ += streams;
  boost::asio::post(executor_, [on_unread = bounds_->on_unread, streams] { on_unread(streams); });
}

Connection::Attempt Connection::TryWrite(SliceBuffer& from, absl::Status& error) {
  if (!is_within_write_) {
    if (const Attempt attempt = SendOwnFrames(error); attempt != Attempt::kDone) return attempt;
    const FrameMeter::Time now = bounds_->now();
    for (size_t i = 0; i < from.Count(); ++i) frames_->Send(from.RefSlice(i).as_string_view(), now);
    SetHeld(now);
    has_begun_to_write_ = true;
    is_within_write_ = true;
  }
  if (const Attempt attempt = SendAll(from, error); attempt != Attempt::kDone) return attempt;
  is_within_write_ = false;
  return SendOwnFrames(error);
}

// Sends them only after gRPC's first frame, SETTINGS, and only between two frames of gRPC. Otherwise, they wait until
// the next write ends.
Connection::Attempt Connection::SendOwnFrames(absl::Status& error) {
  if (!has_begun_to_write_) return Attempt::kDone;
  if (frames_.has_value() && !frames_->is_between_sent_frames()) return Attempt::kDone;
  return SendAll(own_frames_, error);
}

Connection::Attempt Connection::SendAll(SliceBuffer& from, absl::Status& error) {
  while (from.Length() > 0) {
    size_t sent = 0;
    const Attempt attempt = Send(record.data(), Gather(from), sent, error);
    if (attempt != Attempt::kDone) return attempt;
    SliceBuffer gone;
    from.MoveFirstNBytesIntoSliceBuffer(sent, gone);
  }
  return Attempt::kDone;
}

Connection::Attempt Connection::Send(const char* bytes, size_t size, size_t& sent, absl::Status& error) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_.get(), bytes, size, &sent);
    return result == 1 ? Attempt::kDone : AfterSslError(result, error);
  }
  const ssize_t result = send(fd_, bytes, size, MSG_NOSIGNAL);
  if (result < 0 && (errno == EAGAIN || errno == EINTR)) return Attempt::kWaitsToWrite;
  if (result < 0) {
    error = absl::UnavailableError("the peer has closed the connection");
    return Attempt::kFailed;
  }
  sent = static_cast<size_t>(result);
  return Attempt::kDone;
}

Connection::Attempt Connection::AfterSslError(int result, absl::Status& error) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Attempt::kWaitsToRead;
    case SSL_ERROR_WANT_WRITE:
      return Attempt::kWaitsToWrite;
    default:
      ERR_clear_error();
      error = absl::UnavailableError("the peer has closed the connection, or has broken the rules of TLS");
      return Attempt::kFailed;
  }
}

bool Connection::IsOnLoop() {
  const EventLoop* const current = EventLoop::Current();
  return current != nullptr && &current->io() == &executor_.context();
}

void Connection::Flush() {
  std::optional<Operation> ended;
  absl::Status status;
  {
    const MutexLock lock(mutex_);
    if (!std::exchange(is_put_off_, false) || closed_) return;
    const Attempt attempt = TryWrite(*write_->buffer, status);
    if (attempt != Attempt::kDone && attempt != Attempt::kFailed) return WaitFor(attempt);
    ended = std::exchange(write_, std::nullopt);
  }
  ended->done(std::move(status));
}

void Connection::WaitFor(Attempt attempt) {
  const bool reads = attempt != Attempt::kWaitsToWrite;
  bool& waits = reads ? waits_to_read_ : waits_to_write_;
  if (waits) return;
  if (attempt == Attempt::kPauses) {
    auto timer = std::make_shared<boost::asio::steady_timer>(executor_, kPause);
    timer->async_wait([self = shared_from_this(), timer](error_code) { self->OnReady(Attempt::kWaitsToRead); });
  } else {
    socket_.async_wait(reads ? Socket::wait_read : Socket::wait_write,
                       [self = shared_from_this(), attempt](error_code) { self->OnReady(attempt); });
  }
  waits = true;
}

void Connection::TakeOrWait(Attempt attempt, std::optional<Operation>& operation, std::optional<Operation>& taken) {
  if (attempt != Attempt::kDone && attempt != Attempt::kFailed) return WaitFor(attempt);
  taken = std::exchange(operation, std::nullopt);
}

void Connection::Post(Done done, absl::Status status) {
  boost::asio::post(executor_,
                    [done = std::make_shared<Done>(std::move(done)), status = std::move(status)] { (*done)(status); });
}

void Connection::OnReady(Attempt waited) {
  struct Ended {
    std::optional<Operation> operation;
    absl::Status status;
  };
  std::array<Ended, 3> ended;
  {
    const MutexLock lock(mutex_);
    (waited == Attempt::kWaitsToRead ? waits_to_read_ : waits_to_write_) = false;
    if (closed_) return;
    // TLS may have to read before it can write, and the reverse, so both are tried.
    if (handshake_.has_value()) TakeOrWait(TryHandshake(ended[0].status), handshake_, ended[0].operation);
    is_put_off_ = false;
    if (write_.has_value()) TakeOrWait(TryWrite(*write_->buffer, ended[1].status), write_, ended[1].operation);
    if (!write_.has_value() && own_frames_.Length() > 0 && !ended_) {
      absl::Status ignored;
      const Attempt attempt = SendOwnFrames(ignored);
      if (attempt == Attempt::kWaitsToRead || attempt == Attempt::kWaitsToWrite) WaitFor(attempt);
    }
    if (read_.has_value()) TakeOrWait(TryRead(*read_->buffer, ended[2].status), read_, ended[2].operation);
  }
  for (Ended& each : ended) {
    if (each.operation.has_value()) each.operation->done(std::move(each.status));
  }
}

}  // namespace stampgate
