#include "gateway/grpc_port/frame_meter.h"

#include <algorithm>
#include <cstring>

namespace stampgate {
namespace {

constexpr size_t kPrefaceBytes = 24;

enum Type : uint8_t {
  kData = 0,
  kHeaders = 1,
  kResetStream = 3,
  kSettings = 4,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9
};

constexpr uint8_t kEndStream = 0x1;
constexpr uint8_t kEndHeaders = 0x4;
constexpr uint8_t kPadded = 0x8;
constexpr uint8_t kHasPriority = 0x20;
constexpr size_t kPriorityBytes = 5;
constexpr uint32_t kNoError = 0;

constexpr double kSecondsTogether = 5;

// The payload of a smaller DATA frame may share its memory with other frames.
constexpr size_t kLargeFrameBytes = 2048;

// The size of a field that has an empty name and an empty value, as HTTP/2 counts it: RFC 9113, section 6.5.2.
constexpr size_t kSmallestField = 32;
// About the memory that gRPC uses for a field, apart from its name and its value.
constexpr size_t kFieldBytes = 64;

// How many control frames a call and a frame of a response allow.
constexpr double kPerCall = 4;
constexpr double kPerSentData = 3;

uint32_t Number(const uint8_t* bytes, size_t size) {
  uint32_t number = 0;
  for (size_t i = 0; i < size; ++i) number = number << 8 | bytes[i];
  return number;
}

}  // namespace

FrameMeter::Allowance::Allowance(int per_second, Time now)
    : per_second_(per_second), most_(per_second * kSecondsTogether), left_(most_), last_(now) {}

void FrameMeter::Allowance::Refill(Time now) {
  if (now <= last_) return;
  Add(per_second_ * std::chrono::duration<double>(now - last_).count());
  last_ = now;
}

double FrameMeter::Allowance::Used(Time now) {
  Refill(now);
  return most_ - left_;
}

bool FrameMeter::Allowance::Take(Time now) {
  Refill(now);
  if (left_ < 1) return false;
  --left_;
  return true;
}

void FrameMeter::Allowance::Add(double more) { left_ = std::min(most_, left_ + more); }

size_t FrameMeter::Reader::HeadBytes() const {
  const bool has_number = size_ >= kHeaderBytes && (head_[3] == kResetStream || head_[3] == kWindowUpdate) &&
                          Number(head_.data(), 3) >= kNumberBytes;
  return has_number ? kHeaderBytes + kNumberBytes : kHeaderBytes;
}

void FrameMeter::Reader::Read(absl::string_view bytes, absl::FunctionRef<void(const Frame&)> on_frame,
                              absl::FunctionRef<void(absl::string_view)> on_payload) {
  while (!bytes.empty()) {
    if (skip_ > 0) {
      const size_t skipped = std::min(skip_, bytes.size());
      skip_ -= skipped;
      on_payload(bytes.substr(0, skipped));
      bytes.remove_prefix(skipped);
      continue;
    }
    const size_t part = std::min(HeadBytes() - size_, bytes.size());
    memcpy(head_.data() + size_, bytes.data(), part);
    size_ += part;
    bytes.remove_prefix(part);
    if (size_ < HeadBytes()) continue;
    Frame frame{.length = Number(head_.data(), 3), .type = head_[3], .flags = head_[4]};
    frame.stream = Number(&head_[5], 4) & 0x7fffffff;
    if (size_ > kHeaderBytes) frame.number = Number(&head_[kHeaderBytes], kNumberBytes);
    skip_ = frame.length - (size_ - kHeaderBytes);
    size_ = 0;
    on_frame(frame);
    if (skip_ == 0) on_payload(bytes.substr(0, 0));
  }
}

FrameMeter::FrameMeter(const Limits& limits, Time now)
    : limits_(limits),
      received_(kPrefaceBytes),
      sent_(0),
      resets_(limits.max_resets_per_second, now),
      control_frames_(limits.max_control_frames_per_second, now) {}

std::optional<Excess> FrameMeter::Receive(absl::string_view bytes, Time now) {
  std::optional<Excess> excess;
  foreign_requests_.clear();
  cuts_.clear();
  first_gap_.reset();
  if (sends_faults_) excess = Excess::kResets;
  received_.Read(
      bytes,
      [&](const Frame& frame) {
        if (!excess.has_value()) excess = CountReceived(frame, now);
      },
      [&](absl::string_view payload) {
        const auto begin = static_cast<size_t>(payload.data() - bytes.data());
        if (!first_gap_.has_value() && is_in_received_gap()) first_gap_ = begin + payload.size();
        if (is_in_settings_) windows_.ReadSettings(payload, now);
        if (is_in_data_) cuts_.insert(cuts_.end(), {begin, begin + payload.size()});
        if (!is_in_headers_ || excess.has_value()) return;
        excess = CountFields(payload);
        if (excess.has_value() || !ends_headers_ || !received_.is_between_frames()) return;
        excess = EndHeaders(begin + payload.size(), now);
      });
  return excess;
}

std::optional<Excess> FrameMeter::CountReceived(const Frame& frame, Time now) {
  is_in_headers_ = frame.type == kHeaders || frame.type == kContinuation;
  is_in_settings_ = frame.type == kSettings;
  is_in_data_ = frame.type == kData && frame.length >= kLargeFrameBytes;
  ends_headers_ = (frame.flags & kEndHeaders) != 0;
  bool is_new = false;
  switch (frame.type) {
    case kData:
      if (frame.length == 0 && (frame.flags & kEndStream) == 0) return CountControlFrame(now);
      AddToStream(frame.stream, frame.length);
      return std::nullopt;
    case kHeaders:
      // gRPC ignores a stream whose id is even or not larger than the ids before. Clients of gRPC send no trailers.
      if (!open_.emplace(frame.stream, 0).second || frame.stream <= last_stream_) {
        if (const std::optional<Excess> excess = CountControlFrame(now); excess.has_value()) return excess;
      } else {
        last_stream_ = frame.stream;
        control_frames_.Add(kPerCall);
        is_new = true;
      }
      is_request_ = is_new;
      header_bytes_ = frame.length;
      header_fields_ = 0;
      header_stream_ = frame.stream;
      fields_ = HeaderFields();
      has_padding_length_ = (frame.flags & kPadded) != 0;
      priority_bytes_ = (frame.flags & kHasPriority) != 0 ? kPriorityBytes : 0;
      fragment_bytes_ = frame.length;
      break;
    case kContinuation:
      if (const std::optional<Excess> excess = CountControlFrame(now); excess.has_value()) return excess;
      header_bytes_ += frame.length;
      has_padding_length_ = false;
      priority_bytes_ = 0;
      fragment_bytes_ = frame.length;
      break;
    case kResetStream:
      End(frame.stream);
      if (!resets_.Take(now)) return Excess::kResets;
      return std::nullopt;
    case kWindowUpdate:
      if (frame.stream == 0 || open_.contains(frame.stream)) windows_.Grow(frame.stream, frame.number);
      return CountControlFrame(now);
    default:
      return CountControlFrame(now);
  }
  AddToStream(header_stream_, frame.length);
  if (header_bytes_ > limits_.max_header_bytes) return Excess::kHeaderBytes;
  if ((frame.flags & kEndHeaders) != 0) header_bytes_ = 0;
  return std::nullopt;
}

std::optional<Excess> FrameMeter::CountFields(absl::string_view payload) {
  const auto take = [&](size_t size) {
    const absl::string_view taken = payload.substr(0, size);
    payload.remove_prefix(taken.size());
    fragment_bytes_ -= std::min(fragment_bytes_, taken.size());
    return taken;
  };
  if (has_padding_length_ && !payload.empty()) {
    const auto padding = static_cast<uint8_t>(take(1).front());
    fragment_bytes_ -= std::min<size_t>(fragment_bytes_, padding);
    has_padding_length_ = false;
  }
  priority_bytes_ -= take(priority_bytes_).size();
  const absl::string_view fragment = take(fragment_bytes_);
  const size_t fields = fields_.Read(fragment);
  header_fields_ += fields;
  AddToStream(header_stream_, fields * kFieldBytes);
  if (header_fields_ * kSmallestField > limits_.max_header_bytes) return Excess::kHeaderBytes;
  content_type_.Read(fragment);  // only now, because it decodes the fields
  return std::nullopt;
}

std::optional<Excess> FrameMeter::EndHeaders(size_t end, Time now) {
  const bool is_foreign = content_type_.End();
  if (!is_foreign || !is_request_) return std::nullopt;
  foreign_requests_.push_back({header_stream_, end});
  End(header_stream_);
  if (!resets_.Take(now)) return Excess::kResets;
  return std::nullopt;
}

void FrameMeter::AddToStream(uint32_t stream, size_t bytes) {
  const auto open = open_.find(stream);
  if (open == open_.end()) return;
  open->second += bytes;
  open_bytes_ += bytes;
}

std::optional<Excess> FrameMeter::CountControlFrame(Time now) {
  if (control_frames_.Take(now)) return std::nullopt;
  return Excess::kControlFrames;
}

void FrameMeter::End(uint32_t stream) {
  const auto ended = open_.find(stream);
  if (ended == open_.end()) return;
  open_bytes_ -= ended->second;
  open_.erase(ended);
  windows_.End(stream);
}

void FrameMeter::Reset(uint32_t stream, Time now) {
  End(stream);
  static_cast<void>(resets_.Take(now));
}

size_t FrameMeter::recent_resets(Time now) { return static_cast<size_t>(resets_.Used(now)); }

void FrameMeter::Send(absl::string_view bytes, Time now) {
  const auto count = [&](const Frame& frame) {
    if (frame.type == kData) {
      control_frames_.Add(kPerSentData);
      windows_.Send(frame.stream, frame.length, now);
    }
    if (frame.type == kGoAway) has_sent_go_away_ = true;
    const bool resets = frame.type == kResetStream;
    const bool ends = (frame.type == kData || frame.type == kHeaders) && (frame.flags & kEndStream) != 0;
    if (frame.type == kHeaders && !ends && open_.contains(frame.stream)) windows_.Begin(frame.stream, now);
    if (!resets && !ends) return;
    End(frame.stream);
    // gRPC resets a stream with NO_ERROR if it answers before the client has sent its whole request.
    if (resets && frame.number != kNoError && !resets_.Take(now)) sends_faults_ = true;
  };
  sent_.Read(bytes, count, [](absl::string_view) {});
}

}  // namespace stampgate
