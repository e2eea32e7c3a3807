// Makes kernel objects from the memory that seL4 gives its first task, and maps frames. Nothing is freed.
//
// One thread. It stops if an object can't be made: that is a bug of this image, or the kernel lacks a configuration.
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

    // A capability of a new object; `size_bits` only for types with a choice of size.
    [[nodiscard]] seL4_CPtr make(seL4_Word type, seL4_Word size_bits = 0);
    [[nodiscard]] seL4_CPtr take_slot() { return take_slots(1); }
    [[nodiscard]] seL4_CPtr take_slots(std::size_t count);  // consecutive
    // A copy of the capability with this badge.
    [[nodiscard]] seL4_CPtr with_badge(seL4_CPtr capability, seL4_Word badge);

    enum class Access : std::uint8_t { kRead, kReadAndWrite };
    // Maps the page of a device at its own address.
    void map_device(std::uint64_t address);
    // Maps a new frame of 2 MiB at `address`, a multiple of that.
    seL4_CPtr map_large_page(std::uint64_t address, Access access);
    // Makes page tables for the 2 MiB at `address`, a multiple of that, and maps nothing there.
    void make_tables(std::uint64_t address);

    [[nodiscard]] seL4_CPtr make_address_space();
    // Maps all of this program at the same addresses: code, constants and variables. `image_address` is its start.
    void share_image(seL4_CPtr vspace, std::uint64_t image_address);
    // Maps a new frame of one small page.
    [[nodiscard]] seL4_CPtr map_new_page(seL4_CPtr vspace, std::uint64_t address);

    [[nodiscard]] static std::uint64_t physical_address_of(seL4_CPtr frame);

private:
    static constexpr std::size_t kUntypedMax = CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS;

    [[nodiscard]] seL4_Error retype(seL4_CPtr untyped, seL4_Word type, seL4_Word size_bits, seL4_CPtr into);
    [[nodiscard]] seL4_CPtr make_device_page(std::uint64_t address);
    void map(seL4_CPtr frame, seL4_CPtr vspace, std::uint64_t address, seL4_CapRights_t rights, unsigned attributes);
    // Maps the missing page table for that address.
    void map_table(seL4_CPtr vspace, std::uint64_t address);

    const seL4_BootInfo& info_;
    seL4_CPtr next_slot_;
    std::array<std::uint64_t, kUntypedMax> device_used_bytes_{};
    std::array<std::uint64_t, kUntypedMax> too_small_for_{};  // a bit for each type of object
};

// Stops with the text `what` if there is an error.
void require(seL4_Word error, const char* what);

}  // namespace perfleet::sel4
