// Writes one message of the protocol into memory of the caller, sequentially, without Cap'n Proto's library: a single
// segment with the Envelope as root.
//
//   byte 0   u32 0 (segments − 1) | u32 words of the segment
//   byte 8   the root pointer, then its targets in the order in which they were made
//
// Freestanding. If the memory is too small, further calls are ignored and finish() returns kFull. Places are valid
// until finish().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/result.h"
#include "target-collector/message/little_endian.h"
#include "target-collector/message/wire_layout.h"

namespace perfleet {

class CapnpWriter {
public:
    // The place of a struct in the message.
    struct StructPlace {
        std::size_t offset_bytes = 0;
        wire_layout::Shape shape;
    };
    struct ListPlace {
        std::size_t offset_bytes = 0;  // of element 0
        wire_layout::Shape shape;
        std::uint32_t count = 0;
    };

    explicit CapnpWriter(std::span<std::byte> out);

    // The message's root; to be called once, first.
    [[nodiscard]] StructPlace make_root(wire_layout::Shape shape);
    // All fields 0 and all pointers null until set.
    StructPlace make_struct(StructPlace parent, wire_layout::PointerField field, wire_layout::Shape shape);
    // A list of 0 elements is a null pointer.
    ListPlace make_list(StructPlace parent, wire_layout::PointerField field, wire_layout::Shape shape,
                        std::size_t count);
    [[nodiscard]] static StructPlace element(ListPlace list, std::size_t index);

    // Empty text and data are null pointers, which read as empty.
    void set_text(StructPlace parent, wire_layout::PointerField field, std::string_view text);
    void set_data(StructPlace parent, wire_layout::PointerField field, std::span<const std::byte> bytes);

    // A List(Text) in the pointer `field`.
    ListPlace make_text_list(StructPlace parent, wire_layout::PointerField field, std::size_t count);
    void set_text_element(ListPlace list, std::size_t index, std::string_view text);

    // Data that the caller writes: gives space for `size_bytes_max` bytes, of which end_data() keeps the first
    // `size_bytes`. Nothing else may be made in between. Empty if there is no space.
    [[nodiscard]] std::span<std::byte> begin_data(std::size_t size_bytes_max);
    void end_data(StructPlace parent, wire_layout::PointerField field, std::size_t size_bytes);

    template <class Integer, class Value>
    void set(StructPlace place, wire_layout::Field<Integer> field, Value value) {
        static_assert(std::is_same_v<Integer, Value>, "of the schema's own type");
        if (!is_full_) {
            store_little_endian(out_.data() + place.offset_bytes + field.offset_bytes, value);
        }
    }
    void set(StructPlace place, wire_layout::BitField field, bool value);

    // Sets the message's checksum and returns its size in bytes, a multiple of 8. Faults: kFull (where: bytes needed,
    // value: bytes available).
    [[nodiscard]] Checked<std::size_t> finish();

private:
    // Takes zeroed bytes, rounded up to words; 0 if there is no space.
    std::size_t take(std::size_t size_bytes);
    void set_struct_pointer(std::size_t pointer_offset_bytes, std::size_t target_offset_bytes,
                            wire_layout::Shape shape);
    void set_list_pointer(std::size_t pointer_offset_bytes, std::size_t target_offset_bytes, std::uint32_t element_code,
                          std::size_t count);
    void put_bytes(std::size_t pointer_offset_bytes, const void* bytes, std::size_t size_bytes, bool is_text);

    std::span<std::byte> out_;
    std::size_t used_bytes_ = 0;
    std::size_t wanted_bytes_ = 0;
    bool is_full_ = false;
};

}  // namespace perfleet
