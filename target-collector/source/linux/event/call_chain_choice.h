// How the call chains of a session are made: --call-graph, and what `auto` stands for on this machine.
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
    std::uint32_t user_stack_bytes = 0;               // 0: none is copied, the kernel follows frame pointers
    std::shared_ptr<KernelUnwinder> kernel_unwinder;  // null: no BPF program unwinds
    std::string reason;                               // of `auto`: what was chosen and why, a line; else empty
};

struct CallChainWish {
    CallChainMode mode = CallChainMode::kNone;
    std::uint32_t user_stack_bytes = kUserStackBytes;  // of kDwarf
    KernelUnwinder::Options kernel_unwinder;
    std::vector<std::string> programs;    // that are sampled, as far as it is known; none: any of the machine
    ImageReader* image_reader = nullptr;  // borrowed; null: programs are read here
};
// Errors: those of KernelUnwinder::open(), of kBpf alone.
[[nodiscard]] Result<CallChainChoice> choose_call_chains(const CallChainWish& wish);

// Whether most of a program's code keeps a frame pointer, as its unwind information says; empty: it says nothing.
[[nodiscard]] std::optional<bool> keeps_frame_pointers(const std::string& path, ImageReader& reader);

}  // namespace perfleet
