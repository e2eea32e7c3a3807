// Constants of the Cap'n Proto encoding (capnproto.org/encoding.html) for reader and writer. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "target-collector/message/wire_layout.h"

namespace perfleet::capnp_format {

inline constexpr std::size_t kWordBytes = 8;
inline constexpr std::size_t kSegmentTableBytes = 8;  // of a message with one segment

inline constexpr std::uint32_t kStructPointer = 0;
inline constexpr std::uint32_t kListPointer = 1;

// Element codes of list pointers.
inline constexpr std::uint32_t kByteElements = 2;
inline constexpr std::uint32_t kPointerElements = 6;
inline constexpr std::uint32_t kStructElements = 7;

[[nodiscard]] constexpr std::size_t size_bytes_of(wire_layout::Shape shape) {
    return (std::size_t{shape.data_words} + shape.pointer_count) * kWordBytes;
}

}  // namespace perfleet::capnp_format
