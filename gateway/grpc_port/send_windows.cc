#include "gateway/grpc_port/send_windows.h"

namespace stampgate {
namespace {

constexpr uint32_t kInitialWindowSize = 4;  // SETTINGS_INITIAL_WINDOW_SIZE

}  // namespace

void SendWindows::ReadSettings(absl::string_view bytes, Time now) {
  for (const char byte : bytes) {
    setting_[setting_size_++] = static_cast<uint8_t>(byte);
    if (setting_size_ < kSettingBytes) continue;
    setting_size_ = 0;
    const auto number = [this](size_t begin, size_t end) {
      uint32_t result = 0;
      for (size_t i = begin; i < end; ++i) result = result << 8 | setting_[i];
      return result;
    };
    if (number(0, 2) == kInitialWindowSize) SetInitial(number(2, kSettingBytes), now);
  }
}

void SendWindows::SetInitial(uint32_t size, Time now) {
  for (auto& [stream, response] : streams_) {
    if (initial_ + response.grown > 0 && size + response.grown <= 0) response.progress = now;
  }
  initial_ = size;
}

void SendWindows::Grow(uint32_t stream, uint32_t increment) {
  (stream == 0 ? window_ : streams_[stream].grown) += increment & 0x7fffffff;
}

void SendWindows::Begin(uint32_t stream, Time now) {
  Stream& response = streams_[stream];
  response.has_response = true;
  response.progress = now;
}

void SendWindows::Send(uint32_t stream, size_t bytes, Time now) {
  window_ -= static_cast<int64_t>(bytes);
  progress_ = now;
  const auto response = streams_.find(stream);
  if (response == streams_.end()) return;
  response->second.grown -= static_cast<int64_t>(bytes);
  response->second.progress = now;
}

std::vector<uint32_t> SendWindows::Unread(Time now, std::chrono::nanoseconds time) const {
  std::vector<uint32_t> unread;
  const bool is_stalled = IsStalled(now, time);
  for (const auto& [stream, response] : streams_) {
    const bool waits = is_stalled || initial_ + response.grown <= 0;
    if (response.has_response && waits && now - response.progress >= time) unread.push_back(stream);
  }
  return unread;
}

}  // namespace stampgate
