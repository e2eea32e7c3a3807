// Starts seL4 on one of QEMU's `virt` boards: QEMU has laid down the device tree, and the kernel's and the root task's
// ELF files as they are, at two addresses (tools/run-sel4). The kernel goes where its file says; the device tree and
// the root task right behind it; translation is turned on as the kernel expects it (machine.h), and the kernel is
// entered.
#include <algorithm>
#include <cstring>

#include "target-collector/bare-metal/console.h"
#include "target-collector/sel4/loader/machine.h"

extern "C" void _start();  // the loader's first byte

namespace perfleet::sel4 {
namespace {

using bare_metal::print;
using bare_metal::print_hex;

constexpr std::size_t kFileSizeBytesMax = 32U << 20;
constexpr std::size_t kDeviceTreeSizeBytesMax = 64U << 10;
constexpr std::uint64_t kPageSizeBytes = 4'096;

alignas(8) std::byte device_tree[kDeviceTreeSizeBytesMax];

constexpr std::uint64_t round_up(std::uint64_t address) {
    return (address + kPageSizeBytes - 1) & ~(kPageSizeBytes - 1);
}

// QEMU's is a megabyte, mostly empty; seL4 would pass all of it to the root task.
std::size_t take_device_tree(std::uint64_t address) {
    const auto field = [address](std::size_t index) {
        return __builtin_bswap32(reinterpret_cast<const volatile std::uint32_t*>(address)[index]);
    };
    constexpr std::uint32_t kMagic = 0xd00d'feed;
    if (field(0) != kMagic) {
        give_up("no device tree", {ErrorCode::kInvalid, address, 0});
    }
    const std::uint64_t structure_end = std::uint64_t{field(2)} + field(9);
    const std::uint64_t strings_end = std::uint64_t{field(3)} + field(8);
    const std::uint64_t size = std::max(structure_end, strings_end);
    if (size > kDeviceTreeSizeBytesMax) {
        give_up("the device tree is larger than 64 KiB", {ErrorCode::kTooLarge, size, kDeviceTreeSizeBytesMax});
    }
    std::memcpy(device_tree, reinterpret_cast<const void*>(address), size);
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
    if (to < kMemoryAddress || to + segment.size_bytes > reinterpret_cast<std::uint64_t>(&_start)) {
        give_up("a part lies outside the memory, or where the loader is",
                {ErrorCode::kTooLarge, to, segment.size_bytes});
    }
    auto* target = reinterpret_cast<std::byte*>(to);
    std::memcpy(target, segment.content.data(), segment.content.size());
    std::memset(target + segment.content.size(), 0, segment.size_bytes - segment.content.size());
}

}  // namespace

void give_up(std::string_view what, const Fault& fault) {
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

}  // namespace perfleet::sel4

extern "C" [[noreturn]] void load_and_start(std::uint64_t tree_address) {
    using namespace perfleet::sel4;
    const std::size_t tree_size = take_device_tree(tree_address);
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
    start_kernel(kernel.segments().front(), kernel.entry(),
                 {.root_begin = root_at,
                  .root_end = root_at + round_up(root.end() - root_begin),
                  .root_offset = root_at - root_begin,
                  .root_entry = root.entry(),
                  .tree_address = tree_at,
                  .tree_size_bytes = tree_size});
}
