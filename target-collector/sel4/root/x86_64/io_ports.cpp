#include "target-collector/sel4/root/x86_64/io_ports.h"

namespace perfleet::sel4 {

IoPorts::IoPorts(Objects& objects, std::uint16_t first, std::uint16_t last) : capability_{objects.take_slot()} {
    require(static_cast<seL4_Word>(seL4_X86_IOPortControl_Issue(seL4_CapIOPortControl, first, last,
                                                                seL4_CapInitThreadCNode, capability_, seL4_WordBits)),
            "I/O ports");
}

std::uint8_t IoPorts::in(std::uint16_t port) const { return seL4_X86_IOPort_In8(capability_, port).result; }

void IoPorts::out(std::uint16_t port, std::uint8_t value) const {
    (void)seL4_X86_IOPort_Out8(capability_, port, value);
}

void IoPorts::out16(std::uint16_t port, std::uint16_t value) const {
    (void)seL4_X86_IOPort_Out16(capability_, port, value);
}

}  // namespace perfleet::sel4
