// The ClockProbe message: asks the gateway for its UTC; the reply carries id and senderNs back.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/result.h"

namespace perfleet {

// Writes an Envelope with the ClockProbe into `out` and returns its size. Faults: kFull.
[[nodiscard]] Checked<std::size_t> write_clock_probe(std::uint64_t id, std::uint64_t sender_ns,
                                                     std::span<std::byte> out);

}  // namespace perfleet
