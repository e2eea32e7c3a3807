// The methods of unwinding call chains, as in --call-graph.
#pragma once

#include <cstdint>

namespace perfleet {

enum class CallChainMode : std::uint8_t {
    kNone,
    kAuto,           // the best available one (call_chain_choice.h)
    kFramePointers,  // the kernel follows frame pointers
    kDwarf,          // unwound from a copy of the stack with each sample
    kBpf,            // unwound in the kernel by a BPF program
};

inline constexpr std::uint32_t kUserStackBytes = 8'192;       // copied with each sample (kDwarf)
inline constexpr std::uint32_t kRareUserStackBytes = 32'768;  // only for stacks that can't be unwound in the kernel

}  // namespace perfleet
