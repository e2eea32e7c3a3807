// The stream to the gateway on boards with virtio-mmio devices: TCP over the network card if the run's options name a
// gateway, otherwise a virtio serial port.
#pragma once

#include <cstdint>

#include "target-collector/bare-metal/virtio_device.h"
#include "target-collector/sel4/root/boot/objects.h"
#include "target-collector/sel4/run/run_words.h"
#include "target-collector/wire/byte_stream.h"

namespace perfleet::sel4 {

// Call it once. `place` is the mapped devices, without an offset; `seed`: random bits. Stops with a message if the
// machine has no such device.
[[nodiscard]] ByteStream& open_virtio_stream(Objects& objects, bare_metal::VirtioPlace place, const RunWords& words,
                                             std::uint64_t seed);

}  // namespace perfleet::sel4
