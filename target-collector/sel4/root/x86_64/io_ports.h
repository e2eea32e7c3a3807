// A range of I/O ports, which seL4's kernel accesses for the holder of the capability: each access is a system call.
//
// One thread.
#pragma once

#include <cstdint>

#include "target-collector/sel4/root/boot/objects.h"

namespace perfleet::sel4 {

class IoPorts {
public:
    // The ports `first` to `last`, at least two.
    IoPorts(Objects& objects, std::uint16_t first, std::uint16_t last);

    [[nodiscard]] std::uint8_t in(std::uint16_t port) const;
    void out(std::uint16_t port, std::uint8_t value) const;
    void out16(std::uint16_t port, std::uint16_t value) const;

private:
    seL4_CPtr capability_;
};

}  // namespace perfleet::sel4
