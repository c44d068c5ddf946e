#include "gateway/shares/quota_blocks.h"

#include <algorithm>

namespace stampgate {
namespace {

int64_t SizeOfBlock(const QuotaLimit& limit) { return (limit.calls + 199) / 200; }

}  // namespace

int64_t HeldQuotas::Block::Left(int64_t begun, absl::Time now) const {
  return now < until ? std::max<int64_t>(through - begun, 0) : 0;
}

HeldQuotas::Block HeldQuotas::Find(absl::string_view quota, absl::Duration window) const {
  const auto block = blocks.find({std::string(quota), window});
  return block == blocks.end() ? Block() : block->second;
}

absl::Status QuotaBlocks::Refill(const std::vector<QuotaDemand>& demand, QuotaStore& store, absl::Time now) {
  absl::Status status;
  auto next = std::make_shared<HeldQuotas>(*held_);
  for (const QuotaDemand& each : demand) {
    HeldQuotas::Block& held = next->blocks[{each.limit.quota, each.limit.window}];
    int64_t left = std::max<int64_t>(held.through - each.begun, 0);
    if (left > 0 && now >= held.until) {
      if (absl::Status returned = store.Return(each.limit, held.part, left); !returned.ok()) status = returned;
      held.through = each.begun;
      left = 0;
    }
    const int64_t size = std::max(SizeOfBlock(each.limit), each.waiting);
    const bool asked_lately = now < held.until && now < std::min(held.freed_at, held.asked_at + kUsedUpInterval);
    if (left > size / 2 || !each.is_used || asked_lately || !status.ok()) continue;
    const absl::StatusOr<QuotaBlock> taken = store.Take(each.limit, size - left);
    if (!taken.ok()) {
      status = taken.status();
      continue;
    }
    // If the part has just ended by the store's clock, the rest of the old block is lost: a call may be beginning it.
    held.through = (held.part == taken->part && left > 0 ? held.through : each.begun) + taken->calls;
    held.part = taken->part;
    held.until = now + taken->left;
    held.unused = std::max<int64_t>(each.limit.calls - taken->used, 0);
    held.asked_at = now;
    held.freed_at = taken->calls > 0 ? absl::InfinitePast() : now + taken->freed_in;
  }
  for (auto block = next->blocks.begin(); block != next->blocks.end();) {
    block = block->second.until <= now ? next->blocks.erase(block) : std::next(block);
  }
  next->is_failing = !status.ok();
  held_ = std::move(next);
  return status;
}

void QuotaBlocks::Return(const std::vector<QuotaDemand>& demand, QuotaStore& store) {
  for (const QuotaDemand& each : demand) {
    const auto block = held_->blocks.find({each.limit.quota, each.limit.window});
    if (block == held_->blocks.end() || block->second.through <= each.begun) continue;
    if (!store.Return(each.limit, block->second.part, block->second.through - each.begun).ok()) break;
  }
  held_ = std::make_shared<HeldQuotas>();
}

}  // namespace stampgate
