#include "gateway/telemetry/scripted_collector.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

absl::string_view View(const uint8_t* bytes, size_t size) { return {reinterpret_cast<const char*>(bytes), size}; }

// The result refers to the strings of `fields`; nghttp2 copies them.
std::vector<nghttp2_nv> FieldsOf(const CollectorResponse::Fields& fields) {
  const auto bytes = [](const std::string& text) { return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data())); };
  std::vector<nghttp2_nv> result;
  for (const auto& [name, value] : fields) {
    result.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return result;
}

}  // namespace

// The requests of one connection.
class ScriptedCollector::Session {
 public:
  Session(ScriptedCollector& collector, ScriptedServer::Connection& connection)
      : collector_(collector), connection_(connection) {
    nghttp2_session_callbacks* callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &Session::OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Session::OnData);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Session::OnFrame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Session::OnClose);
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~Session() { nghttp2_session_del(session_); }

  // Returns when the connection has ended.
  void Run() {
    for (;;) {
      const uint8_t* bytes;
      for (nghttp2_ssize size; (size = nghttp2_session_mem_send2(session_, &bytes)) > 0;) {
        connection_.Write(View(bytes, static_cast<size_t>(size)));
      }
      const std::string received = connection_.ReadSome();
      const auto* data = reinterpret_cast<const uint8_t*>(received.data());
      if (received.empty() || nghttp2_session_mem_recv2(session_, data, received.size()) < 0) return;
    }
  }

 private:
  struct Stream {
    CollectorRequest request;
    CollectorResponse response;
    size_t sent = 0;  // bytes of the response's body
  };

  static Stream& StreamOf(void* self, int32_t id) { return static_cast<Session*>(self)->streams_[id]; }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* self) {
    StreamOf(self, frame->hd.stream_id).request.headers[std::string(View(name, name_size))] = View(value, value_size);
    return 0;
  }

  static int OnData(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size, void* self) {
    absl::StrAppend(&StreamOf(self, id).request.body, View(bytes, size));
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    const bool ends = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (ends && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      static_cast<Session*>(self)->Respond(frame->hd.stream_id);
    }
    return 0;
  }

  void Respond(int32_t id) {
    Stream& stream = streams_[id];
    {
      MutexLock lock(collector_.mutex_);
      collector_.requests_.push_back(stream.request);
    }
    stream.response = collector_.script_(stream.request);
    if (stream.response.headers.empty()) return;
    const std::vector<nghttp2_nv> head = FieldsOf(stream.response.headers);
    const nghttp2_data_provider2 body = {{.ptr = nullptr}, &Session::OnBody};
    nghttp2_submit_response2(session_, id, head.data(), head.size(), &body);
  }

  static nghttp2_ssize OnBody(nghttp2_session* session, int32_t id, uint8_t* into, size_t size, uint32_t* flags,
                              nghttp2_data_source*, void* self) {
    Stream& stream = StreamOf(self, id);
    const CollectorResponse& response = stream.response;
    if (response.repeats_body && stream.sent == response.body.size()) stream.sent = 0;
    const size_t part = std::min(size, response.body.size() - stream.sent);
    std::copy_n(response.body.data() + stream.sent, part, into);
    stream.sent += part;
    if (stream.sent == response.body.size() && !response.repeats_body) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (!response.trailers.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const std::vector<nghttp2_nv> trailers = FieldsOf(response.trailers);
        nghttp2_submit_trailer(session, id, trailers.data(), trailers.size());
      }
    }
    return static_cast<nghttp2_ssize>(part);
  }

  static int OnClose(nghttp2_session*, int32_t id, uint32_t, void* self) {
    static_cast<Session*>(self)->streams_.erase(id);
    return 0;
  }

  ScriptedCollector& collector_;
  ScriptedServer::Connection& connection_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Stream> streams_;
};

std::string GrpcBody(absl::string_view message) {
  std::string body(1, '\0');
  for (const int shift : {24, 16, 8, 0}) body += static_cast<char>(message.size() >> shift);
  return absl::StrCat(body, message);
}

CollectorResponse GrpcResponse(absl::string_view message) {
  CollectorResponse response;
  response.headers = {{":status", "200"}, {"content-type", "application/grpc"}};
  response.body = GrpcBody(message);
  response.trailers = {{"grpc-status", "0"}};
  return response;
}

ScriptedCollector::ScriptedCollector(Script script)
    : script_(std::move(script)),
      server_([this](ScriptedServer::Connection& connection) { Session(*this, connection).Run(); }) {}

std::string ScriptedCollector::endpoint() const { return absl::StrCat("http://127.0.0.1:", server_.port()); }

std::vector<CollectorRequest> ScriptedCollector::requests() const {
  MutexLock lock(mutex_);
  return requests_;
}

}  // namespace stampgate
