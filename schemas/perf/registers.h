// Registers in samples: their bits in perf_event_attr.sample_regs_user and sample_regs_intr, and perf's names of them.
//
// Freestanding.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace perfleet::perf {

inline constexpr std::array<std::string_view, 24> kX86Registers{
    "AX", "BX", "CX", "DX", "SI", "DI", "BP",  "SP",  "IP",  "FLAGS", "CS",  "SS",
    "DS", "ES", "FS", "GS", "R8", "R9", "R10", "R11", "R12", "R13",   "R14", "R15"};
inline constexpr std::array<std::string_view, 33> kArmRegisters{
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "lr",  "sp",  "pc"};

// The names, indexed by bit; empty for an unknown architecture.
[[nodiscard]] constexpr std::span<const std::string_view> registers_of(std::string_view architecture) {
    if (architecture == "x86_64") {
        return kX86Registers;
    }
    return architecture == "aarch64" ? std::span<const std::string_view>{kArmRegisters}
                                     : std::span<const std::string_view>{};
}

// All registers of the architecture that Linux puts into samples: of the segment registers only CS and SS.
[[nodiscard]] constexpr std::uint64_t sampled_registers_of(std::string_view architecture) {
    constexpr std::uint64_t kSegments = 0xf000;
    const std::uint64_t all = (std::uint64_t{1} << registers_of(architecture).size()) - 1;
    return architecture == "x86_64" ? all & ~kSegments : all;
}

// The value of the register with this bit; the values are those of the registers in `mask`, from the lowest bit on.
// Empty: it isn't in them.
[[nodiscard]] constexpr std::optional<std::uint64_t> register_at(std::span<const std::uint64_t> registers,
                                                                 std::uint64_t mask, unsigned bit) {
    if (bit >= 64 || (mask >> bit & 1U) == 0) {
        return std::nullopt;
    }
    const auto at = static_cast<std::size_t>(std::popcount(mask & ((std::uint64_t{1} << bit) - 1)));
    return at < registers.size() ? std::optional{registers[at]} : std::nullopt;
}

}  // namespace perfleet::perf
