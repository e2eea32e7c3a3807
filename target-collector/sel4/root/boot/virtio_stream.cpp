#include "target-collector/sel4/root/boot/virtio_stream.h"

#include <new>

#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/network_stream.h"
#include "target-collector/bare-metal/virtio_serial.h"

namespace perfleet::sel4 {
namespace {

// A large page, for what a driver shares with its device has to lie in one piece.
constexpr std::uint64_t kDriverAddress = 0x1020'0000;

}  // namespace

ByteStream& open_virtio_stream(Objects& objects, bare_metal::VirtioPlace place, const RunWords& words,
                               std::uint64_t seed) {
    const seL4_CPtr frame = objects.map_large_page(kDriverAddress, Objects::Access::kReadAndWrite);
    place.bus_offset = Objects::physical_address_of(frame) - kDriverAddress;
    void* const memory = reinterpret_cast<void*>(kDriverAddress);
    if (words.gateway) {
        auto& card = *new (memory) bare_metal::VirtioNet;
        const bare_metal::NetworkStream opened =
            bare_metal::open_network(card, place, {.gateway = *words.gateway, .address = words.address, .seed = seed});
        if (opened.stream == nullptr) {
            perfleet_panic("seL4", 0, opened.error.data());
        }
        return *opened.stream;
    }
    auto& serial = *new (memory) bare_metal::VirtioSerial;
    if (!serial.start(place)) {
        perfleet_panic("seL4", 0, "no virtio serial port: -device virtio-serial-device -device virtserialport,nr=1");
    }
    return serial;
}

}  // namespace perfleet::sel4
