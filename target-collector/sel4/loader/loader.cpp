// Starts seL4 on QEMU's `virt` board: QEMU has laid down the device tree at the beginning of the memory, and the
// kernel's and the root task's ELF files as they are, at two addresses (tools/run-sel4). The kernel goes where its file
// says; the device tree and the root task right behind it; translation is turned on as the kernel expects it, and there
// we go.
#include <algorithm>
#include <cstring>

#include "target-collector/bare-metal/console.h"
#include "target-collector/bare-metal/registers.h"
#include "target-collector/sel4/loader/elf_image.h"

extern "C" [[noreturn]] void enter_kernel(std::uint64_t entry, const std::uint64_t (&arguments)[6],
                                          std::uint64_t control);

namespace perfleet::sel4 {
namespace {

using bare_metal::print;
using bare_metal::print_hex;

constexpr std::uint64_t kMemoryAddress = 0x4000'0000;
constexpr std::uint64_t kKernelFileAddress = 0x6000'0000;
constexpr std::uint64_t kRootFileAddress = 0x6400'0000;
constexpr std::size_t kFileSizeBytesMax = 32U << 20;
constexpr std::size_t kDeviceTreeSizeBytesMax = 64U << 10;
constexpr std::uint64_t kPageSizeBytes = 4'096;
constexpr std::uint64_t kBlockSizeBytes = 2U << 20;
constexpr std::size_t kTableEntries = 512;

alignas(8) std::byte device_tree[kDeviceTreeSizeBytesMax];
alignas(4096) std::uint64_t lower_0[kTableEntries];
alignas(4096) std::uint64_t lower_1[kTableEntries];
alignas(4096) std::uint64_t upper_0[kTableEntries];
alignas(4096) std::uint64_t upper_1[kTableEntries];
alignas(4096) std::uint64_t upper_2[kTableEntries];

[[noreturn]] void give_up(std::string_view what, const Fault& fault = {}) {
    print("loader: ");
    print(what);
    print(" (");
    print_hex(fault.where);
    print(", ");
    print_hex(fault.value);
    print(")\n");
    for (;;) {
        asm volatile("wfi");
    }
}

constexpr std::uint64_t round_up(std::uint64_t address) {
    return (address + kPageSizeBytes - 1) & ~(kPageSizeBytes - 1);
}

// QEMU's is a megabyte, nearly all of it nothing: seL4 would hand the root task all of that.
std::size_t take_device_tree() {
    const auto field = [](std::size_t index) {
        return __builtin_bswap32(reinterpret_cast<const volatile std::uint32_t*>(kMemoryAddress)[index]);
    };
    constexpr std::uint32_t kMagic = 0xd00d'feed;
    if (field(0) != kMagic) {
        give_up("no device tree at the beginning of the memory");
    }
    const std::uint64_t structure_end = std::uint64_t{field(2)} + field(9);
    const std::uint64_t strings_end = std::uint64_t{field(3)} + field(8);
    const std::uint64_t size = std::max(structure_end, strings_end);
    if (size > kDeviceTreeSizeBytesMax) {
        give_up("the device tree is larger than 64 KiB", {ErrorCode::kTooLarge, size, kDeviceTreeSizeBytesMax});
    }
    std::memcpy(device_tree, reinterpret_cast<const void*>(kMemoryAddress), size);
    const std::uint32_t total = __builtin_bswap32(static_cast<std::uint32_t>(size));
    std::memcpy(device_tree + 4, &total, sizeof total);
    return size;
}

ElfImage open_file(std::uint64_t address, std::string_view what) {
    const auto image = ElfImage::open({reinterpret_cast<const std::byte*>(address), kFileSizeBytesMax});
    if (!image.ok()) {
        give_up(what, image.error());
    }
    return *image;
}

void copy(const ElfSegment& segment, std::uint64_t to) {
    if (to < kMemoryAddress || to + segment.size_bytes > reinterpret_cast<std::uint64_t>(&enter_kernel)) {
        give_up("a part lies outside the memory, or where the loader is",
                {ErrorCode::kTooLarge, to, segment.size_bytes});
    }
    auto* target = reinterpret_cast<std::byte*>(to);
    std::memcpy(target, segment.content.data(), segment.content.size());
    std::memset(target + segment.content.size(), 0, segment.size_bytes - segment.content.size());
}

// Devices and memory as they are, and a gigabyte from where the kernel stands, where its file wants it.
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
}  // namespace perfleet::sel4

extern "C" [[noreturn]] void load_and_start() {
    using namespace perfleet::sel4;
    using perfleet::bare_metal::barrier;
    const std::size_t tree_size = take_device_tree();
    const ElfImage kernel = open_file(kKernelFileAddress, "the kernel's file");
    const ElfImage root = open_file(kRootFileAddress, "the root task's file");
    std::uint64_t kernel_end = 0;
    for (const ElfSegment& segment : kernel.segments()) {
        copy(segment, segment.physical_address);
        kernel_end = std::max(kernel_end, segment.physical_address + segment.size_bytes);
    }
    const std::uint64_t tree_at = round_up(kernel_end);
    copy({0, tree_at, {device_tree, tree_size}, tree_size}, tree_at);
    const std::uint64_t root_at = round_up(tree_at + tree_size);
    const std::uint64_t root_begin = root.begin() & ~(kPageSizeBytes - 1);
    for (const ElfSegment& segment : root.segments()) {
        copy(segment, root_at + (segment.address - root_begin));
    }
    make_tables(kernel.segments().front());
    set_translation();
    constexpr std::uint64_t kOn = 1U << 0 | 1U << 2 | 1U << 12;  // translation, data cache, instruction cache
    constexpr std::uint64_t kAlignmentChecked = 1U << 1;
    const std::uint64_t arguments[6] = {
        root_at, root_at + round_up(root.end() - root_begin), root_at - root_begin, root.entry(), tree_at, tree_size};
    barrier();
    enter_kernel(kernel.entry(), arguments, (PERFLEET_READ_REGISTER(sctlr_el1) | kOn) & ~kAlignmentChecked);
}
