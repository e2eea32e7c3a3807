// Reads untrusted Cap'n Proto messages of a single segment, without the library, and never outside their bytes.
// Supports structs, lists of structs, texts and data; no far pointers, no capabilities.
//
// Freestanding. Views borrow the message. Fields that the sender's schema lacks read as 0 or empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/result.h"
#include "target-collector/message/little_endian.h"
#include "target-collector/message/wire_layout.h"

namespace perfleet {

class CapnpReader {
public:
    struct StructView {
        std::span<const std::byte> data;
        std::span<const std::byte> pointers;

        template <class Integer>
        [[nodiscard]] Integer get(wire_layout::Field<Integer> field) const {
            if (field.offset_bytes + sizeof(Integer) > data.size()) {
                return 0;
            }
            return load_little_endian<Integer>(data.data() + field.offset_bytes);
        }
        [[nodiscard]] bool get(wire_layout::BitField field) const {
            const std::size_t index = field.offset_bits / 8;
            return index < data.size() && (static_cast<unsigned>(data[index]) >> (field.offset_bits % 8) & 1U) != 0;
        }
    };

    // A list of structs; elements are all of one shape.
    struct ListView {
        std::span<const std::byte> bytes;
        std::size_t count = 0;
        std::size_t data_bytes = 0;  // of one element
        std::size_t pointer_bytes = 0;
    };

    // Faults: kTruncated, kUnsupported (several segments), kInvalid (bytes after the end).
    [[nodiscard]] static Checked<CapnpReader> open(std::span<const std::byte> message_untrusted);

    // Faults of all functions: kInvalid (a pointer of another kind, or out of bounds); `where` is the pointer's byte
    // offset.
    [[nodiscard]] Checked<StructView> root() const;
    // A null pointer gives a view whose fields are all 0.
    [[nodiscard]] Checked<StructView> get_struct(const StructView& parent, wire_layout::PointerField field) const;
    [[nodiscard]] Checked<std::span<const std::byte>> get_data(const StructView& parent,
                                                               wire_layout::PointerField field) const;
    // Further fault: kInvalid for elements without bytes, because a short message could claim millions of them.
    [[nodiscard]] Checked<ListView> get_list(const StructView& parent, wire_layout::PointerField field) const;
    [[nodiscard]] static StructView element(const ListView& list, std::size_t index);
    // Without its NUL.
    [[nodiscard]] Checked<std::string_view> get_text(const StructView& parent, wire_layout::PointerField field) const;

private:
    // Offset of the pointer in the segment; false: the sender's schema lacks it.
    [[nodiscard]] bool find_pointer(const StructView& parent, wire_layout::PointerField field,
                                    std::size_t& offset_bytes) const;

    explicit CapnpReader(std::span<const std::byte> segment) : segment_{segment} {}
    [[nodiscard]] Checked<StructView> struct_at(std::size_t pointer_offset_bytes) const;
    // Start of the pointer's target, if `size_bytes` from there are within the segment.
    [[nodiscard]] Checked<std::size_t> target_of(std::size_t pointer_offset_bytes, std::uint64_t pointer,
                                                 std::size_t size_bytes) const;

    std::span<const std::byte> segment_;
};

}  // namespace perfleet
