// Chooses how a session's call chains are unwound: --call-graph, and what `auto` means on this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/bpf/kernel_unwinder.h"
#include "target-collector/source/linux/event/call_chain_mode.h"
#include "target-collector/source/linux/image/image_reader.h"

namespace perfleet {

struct CallChainChoice {
    bool has_chains = false;
    std::uint32_t user_stack_bytes = 0;               // 0: no copies, the kernel follows frame pointers
    std::shared_ptr<KernelUnwinder> kernel_unwinder;  // null: no unwinding by BPF
    std::string reason;                               // of `auto`: the choice and its reason, a line; else empty
};

struct CallChainWish {
    CallChainMode mode = CallChainMode::kNone;
    std::uint32_t user_stack_bytes = kUserStackBytes;  // of kDwarf
    KernelUnwinder::Options kernel_unwinder;
    bool has_details = false;             // SampledDetails, which samples of BPF programs don't have
    std::vector<std::string> programs;    // sampled programs, as far as known; empty: any
    ImageReader* image_reader = nullptr;  // borrowed; null: programs are read in this process
};
// Errors: those of KernelUnwinder::open(), only for kBpf.
[[nodiscard]] Result<CallChainChoice> choose_call_chains(const CallChainWish& wish);

// Whether most of a program's code keeps a frame pointer, by its unwind information; empty: unknown.
[[nodiscard]] std::optional<bool> keeps_frame_pointers(const std::string& path, ImageReader& reader);

}  // namespace perfleet
