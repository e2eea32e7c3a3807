// Kernel objects out of the memory that seL4 gives its first task, and where frames are mapped. Nothing is given back.
//
// One thread. What can't be made is a bug of this image or a kernel that isn't configured for it: it stops.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "target-collector/sel4/kernel/libsel4.h"

namespace perfleet::sel4 {

class Objects {
public:
    // `info` is borrowed.
    explicit Objects(const seL4_BootInfo& info) : info_{info}, next_slot_{info.empty.start} {}

    // A capability of a new object; `size_bits` only of those whose size is chosen.
    [[nodiscard]] seL4_CPtr make(seL4_Word type, seL4_Word size_bits = 0);
    [[nodiscard]] seL4_CPtr take_slot();
    // The same object under a capability with this badge.
    [[nodiscard]] seL4_CPtr with_badge(seL4_CPtr capability, seL4_Word badge);

    enum class Access : std::uint8_t { kRead, kReadAndWrite };
    // The page of a device, at its own address.
    void map_device(std::uint64_t address);
    // A new frame of 2 MiB at `address`, a multiple of that.
    seL4_CPtr map_large_page(std::uint64_t address, Access access);
    [[nodiscard]] static std::uint64_t physical_address_of(seL4_CPtr frame);

private:
    static constexpr std::size_t kUntypedMax = CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS;

    [[nodiscard]] seL4_Error retype(seL4_CPtr untyped, seL4_Word type, seL4_Word size_bits, seL4_CPtr into);
    [[nodiscard]] seL4_CPtr make_device_page(std::uint64_t address);
    void map(seL4_CPtr frame, std::uint64_t address, seL4_CapRights_t rights, unsigned attributes);
    // The table that is missing for that address.
    void map_table(std::uint64_t address);

    const seL4_BootInfo& info_;
    seL4_CPtr next_slot_;
    std::array<std::uint64_t, kUntypedMax> device_used_bytes_{};
};

// Stops with `what` when there is an error.
void require(seL4_Word error, const char* what);

}  // namespace perfleet::sel4
