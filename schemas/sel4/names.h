// Names of the numbers in seL4's kernel log, as in libsel4 and the kernel.
//
// Freestanding. Texts are static.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "schemas/sel4/kernel_log.h"

namespace perfleet::sel4 {

// The architecture of a kernel; numbers of capability types depend on it.
// NOLINTNEXTLINE(readability-identifier-naming): x86_64 is seL4's own word
enum class Architecture : std::uint8_t { kAarch32, kAarch64, kIa32, kX86_64, kRiscv32, kRiscv64 };

// By seL4's name or Linux's: "aarch32", "armv7l", "x86_64", "i686". Nothing for others.
[[nodiscard]] std::optional<Architecture> architecture_of(std::string_view name);

[[nodiscard]] constexpr WordSize word_size_of(Architecture architecture) {
    return architecture == Architecture::kAarch64 || architecture == Architecture::kX86_64 ||
                   architecture == Architecture::kRiscv64
               ? WordSize::k64
               : WordSize::k32;
}
[[nodiscard]] constexpr EntryLayout entry_layout_of(Architecture architecture) {
    return architecture == Architecture::kIa32 ? EntryLayout::kIa32 : EntryLayout::k24Bytes;
}
// The kernel's timestamps have 32 bits.
[[nodiscard]] constexpr bool has_short_clock(Architecture architecture) {
    return architecture == Architecture::kAarch32;
}
[[nodiscard]] constexpr bool is_arm(Architecture architecture) {
    return architecture == Architecture::kAarch32 || architecture == Architecture::kAarch64;
}

// "interrupt", "vm_fault".
[[nodiscard]] std::string_view path_name(EntryPath path);

// "Call" for 1; empty for a number without a system call. MCS kernels have another numbering.
[[nodiscard]] std::string_view syscall_name(std::uint32_t number, bool is_mcs);

// "endpoint" for 4; empty for a number that the architecture doesn't have. On 32 bits the kernel's types have up to 8
// bits, of which the log keeps 5, so that several types share a name.
[[nodiscard]] std::string_view cap_type_name(std::uint32_t cap_type, Architecture architecture);

}  // namespace perfleet::sel4
