#include "tests/bench/call_loop.h"

#include <grpcpp/create_channel.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace stampgate::bench {
namespace {

constexpr absl::Duration kHang = absl::Minutes(1);

}  // namespace

absl::Status CallLoop::Connect(const std::string& target, int connections) {
  for (int i = 0; i < connections; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // otherwise all channels share one connection
    const auto channel = grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
    if (!channel->WaitForConnected(absl::ToChronoTime(absl::Now() + kHang))) {
      return absl::UnavailableError(absl::StrCat("cannot connect to ", target));
    }
    stubs_.push_back(std::make_unique<grpc::GenericStub>(channel));
  }
  return absl::OkStatus();
}

absl::Status CallLoop::Advance() {
  void* tag = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&tag, &ok, absl::ToChronoTime(absl::Now() + kHang)) != grpc::CompletionQueue::GOT_EVENT) {
    return absl::DeadlineExceededError("nothing has arrived for a minute");
  }
  return static_cast<Operation*>(tag)->OnEnd(ok);
}

void ServerStream::Start(CallLoop& loop, const std::string& method, absl::string_view request, OnMessage on_message) {
  request_ = BufferOf(request);
  on_message_ = std::move(on_message);
  stream_ = loop.NextStub().PrepareCall(&context_, method, &loop.queue());
  stream_->StartCall(static_cast<Operation*>(this));
}

absl::Status ServerStream::OnEnd(bool ok) {
  if (step_ == Step::kFinish) {
    return absl::UnavailableError(absl::StrCat("a stream ended: ", status_.error_message()));
  }
  if (!ok) {
    step_ = Step::kFinish;
    stream_->Finish(&status_, static_cast<Operation*>(this));
    return absl::OkStatus();
  }
  if (step_ == Step::kStart) {
    step_ = Step::kRequest;
    stream_->WriteLast(request_, grpc::WriteOptions(), static_cast<Operation*>(this));
    return absl::OkStatus();
  }
  absl::Status handled;
  if (step_ == Step::kRead) {
    grpc::Slice slice;
    if (!message_.DumpToSingleSlice(&slice).ok()) return absl::InternalError("gRPC cannot read a message");
    handled = on_message_({reinterpret_cast<const char*>(slice.begin()), slice.size()});
  }
  step_ = Step::kRead;
  stream_->Read(&message_, static_cast<Operation*>(this));
  return handled;
}

grpc::ByteBuffer BufferOf(absl::string_view bytes) {
  grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace stampgate::bench
