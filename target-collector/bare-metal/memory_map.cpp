#include "target-collector/bare-metal/memory_map.h"

#include <cstdint>

#include "target-collector/bare-metal/registers.h"

namespace perfleet::bare_metal {
namespace {

// Descriptors of blocks (Arm Architecture Reference Manual, D8.3).
constexpr std::uint64_t kTable = 3;
constexpr std::uint64_t kBlock = 1;
constexpr std::uint64_t kDevice = 1U << 2;  // index of the attributes in MAIR; 0: ordinary memory
constexpr std::uint64_t kUserMayUse = 1U << 6;
constexpr std::uint64_t kReadOnly = 1U << 7;
constexpr std::uint64_t kShared = 3U << 8;
constexpr std::uint64_t kAccessed = 1U << 10;
constexpr std::uint64_t kNeverExecuted = 3ULL << 53;  // neither at EL1 nor at EL0

constexpr std::uint64_t kOrdinary = kBlock | kShared | kAccessed;
constexpr std::uint64_t kBlockSizeBytes = 2U << 20;
constexpr std::uint64_t kRamAddress = 0x4000'0000;

alignas(4096) std::uint64_t level_1[512];
alignas(4096) std::uint64_t level_2[512];

}  // namespace

void turn_translation_on() {
    level_1[0] = kBlock | kDevice | kAccessed | kNeverExecuted;
    level_1[1] = reinterpret_cast<std::uint64_t>(level_2) | kTable;
    const std::uint64_t attributes[] = {
        kOrdinary | kReadOnly | kNeverExecuted,    // the device tree
        kOrdinary | kReadOnly | kUserMayUse,       // text
        kOrdinary | kNeverExecuted,                // the kernel's memory
        kOrdinary | kUserMayUse | kNeverExecuted,  // the load's
    };
    for (std::uint64_t i = 0; i < 4; ++i) {
        level_2[i] = (kRamAddress + i * kBlockSizeBytes) | attributes[i];
    }
    barrier();
    PERFLEET_WRITE_REGISTER(mair_el1, 0x04ff);  // 0: write-back, 1: device
    constexpr std::uint64_t kAddressBits = 39;
    constexpr std::uint64_t kWalksCached = 1U << 8 | 1U << 10 | 3U << 12;
    constexpr std::uint64_t kNoUpperHalf = 1U << 23;
    constexpr std::uint64_t kPhysical40Bits = 2ULL << 32;
    PERFLEET_WRITE_REGISTER(tcr_el1, (64 - kAddressBits) | kWalksCached | kNoUpperHalf | kPhysical40Bits);
    PERFLEET_WRITE_REGISTER(ttbr0_el1, reinterpret_cast<std::uint64_t>(level_1));
    asm volatile("tlbi vmalle1" ::: "memory");
    barrier();
    synchronise();
    constexpr std::uint64_t kOn = 1U << 0 | 1U << 2 | 1U << 12;  // translation, data cache, instruction cache
    constexpr std::uint64_t kAlignmentChecked = 1U << 1;
    PERFLEET_WRITE_REGISTER(sctlr_el1, (PERFLEET_READ_REGISTER(sctlr_el1) | kOn) & ~kAlignmentChecked);
    synchronise();
}

}  // namespace perfleet::bare_metal
