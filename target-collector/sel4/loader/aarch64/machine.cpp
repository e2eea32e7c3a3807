// QEMU's AArch64 `virt`: the kernel's part of the memory where its file wants it, translation on at EL1.
#include "target-collector/sel4/loader/machine.h"

#include "target-collector/bare-metal/registers.h"

extern "C" [[noreturn]] void enter_kernel(std::uint64_t entry, const perfleet::sel4::KernelArguments& arguments,
                                          std::uint64_t control);

namespace perfleet::sel4 {
namespace {

constexpr std::uint64_t kBlockSizeBytes = 2U << 20;
constexpr std::size_t kTableEntries = 512;

alignas(4096) std::uint64_t lower_0[kTableEntries];
alignas(4096) std::uint64_t lower_1[kTableEntries];
alignas(4096) std::uint64_t upper_0[kTableEntries];
alignas(4096) std::uint64_t upper_1[kTableEntries];
alignas(4096) std::uint64_t upper_2[kTableEntries];

// Maps devices and memory at their own addresses, and a gigabyte from the kernel's place to where its file expects it.
void make_tables(const ElfSegment& kernel) {
    constexpr std::uint64_t kTable = 3;
    constexpr std::uint64_t kBlock = 1;
    constexpr std::uint64_t kOrdinary = 4U << 2;  // index of the attributes in MAIR, as seL4 numbers them
    constexpr std::uint64_t kShared = 3U << 8;
    constexpr std::uint64_t kAccessed = 1U << 10;
    const auto index = [](std::uint64_t address, unsigned shift) { return address >> shift & (kTableEntries - 1); };
    lower_0[0] = reinterpret_cast<std::uint64_t>(lower_1) | kTable;
    lower_1[0] = kBlock | kAccessed;
    lower_1[1] = kMemoryAddress | kBlock | kOrdinary | kShared | kAccessed;
    upper_0[index(kernel.address, 39)] = reinterpret_cast<std::uint64_t>(upper_1) | kTable;
    upper_1[index(kernel.address, 30)] = reinterpret_cast<std::uint64_t>(upper_2) | kTable;
    if (kernel.address % kBlockSizeBytes != 0 || kernel.physical_address % kBlockSizeBytes != 0) {
        give_up("the kernel begins in the middle of 2 MiB",
                {ErrorCode::kInvalid, kernel.address, kernel.physical_address});
    }
    std::uint64_t at = kernel.physical_address;
    for (std::uint64_t i = index(kernel.address, 21); i < kTableEntries; ++i, at += kBlockSizeBytes) {
        upper_2[i] = at | kBlock | kOrdinary | kShared | kAccessed;
    }
}

void set_translation() {
    constexpr std::uint64_t kAttributes = 0x0000'aaff'440c'0400;  // seL4's memory types 0 to 5
    constexpr std::uint64_t kAddressBits = 48;
    constexpr std::uint64_t kWalksCached = 1U << 8 | 1U << 10 | 3U << 12;  // of the lower half; the upper's 16 above
    constexpr std::uint64_t kUpperPagesOf4KiB = 2ULL << 30;
    constexpr std::uint64_t kPhysical40Bits = 2ULL << 32;
    constexpr std::uint64_t kAddressSpacesOf16Bits = 1ULL << 36;
    PERFLEET_WRITE_REGISTER(mair_el1, kAttributes);
    PERFLEET_WRITE_REGISTER(tcr_el1, (64 - kAddressBits) | (64 - kAddressBits) << 16 | kWalksCached |
                                         kWalksCached << 16 | kUpperPagesOf4KiB | kPhysical40Bits |
                                         kAddressSpacesOf16Bits);
    PERFLEET_WRITE_REGISTER(ttbr0_el1, reinterpret_cast<std::uint64_t>(lower_0));
    PERFLEET_WRITE_REGISTER(ttbr1_el1, reinterpret_cast<std::uint64_t>(upper_0));
}

}  // namespace

void start_kernel(const ElfSegment& kernel, std::uint64_t entry, const KernelArguments& arguments) {
    make_tables(kernel);
    set_translation();
    constexpr std::uint64_t kOn = 1U << 0 | 1U << 2 | 1U << 12;  // translation, data cache, instruction cache
    constexpr std::uint64_t kAlignmentChecked = 1U << 1;
    bare_metal::barrier();
    enter_kernel(entry, arguments, (PERFLEET_READ_REGISTER(sctlr_el1) | kOn) & ~kAlignmentChecked);
}

}  // namespace perfleet::sel4
