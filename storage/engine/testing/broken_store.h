// Stores that break one rule each, to show that a check of the rules detects it. For tests only.
//
//   ack-before-sync         sync() says done at once; what it was asked for is synced by the next one
//   key-without-seq         a batch is stored under the number of its arrival, so a repeat of it is another batch; and
//                           as no seq is known, there is no watermark
//   watermark-before-rows   rows are held back until their session's watermark is on disk
//   compact-drops-block        a compacted block is lost where one of its parts is one in a thousand
//   repeat-at-watermark     a repeat of the batch at the watermark is another batch
#pragma once

#include <memory>

#include "storage/engine/engine.h"
#include "storage/engine/testing/fault_plan.h"
#include "storage/store/store.h"

namespace perfleet {

// Both return the given object unchanged when the breakage isn't theirs.
[[nodiscard]] std::unique_ptr<Engine> break_engine(std::unique_ptr<Engine> engine, FaultPlan::Breakage breakage);
[[nodiscard]] std::unique_ptr<Store> break_store(std::unique_ptr<Store> store, FaultPlan::Breakage breakage);

}  // namespace perfleet
