#include "target-collector/message/capnp_writer.h"

#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "schemas/wire/checksum.h"
#include "target-collector/message/capnp_format.h"

namespace perfleet {

using namespace capnp_format;

namespace {

// Offsets and counts are fields of 29 or 30 bits; messages are far smaller.
constexpr std::size_t kMessageSizeBytesMax = std::size_t{1} << 28;

constexpr std::size_t round_up_words(std::size_t size_bytes) {
    return (size_bytes + kWordBytes - 1) & ~(kWordBytes - 1);
}

constexpr std::size_t pointer_offset_bytes(CapnpWriter::StructPlace parent, wire_layout::PointerField field) {
    return parent.offset_bytes + (std::size_t{parent.shape.data_words} + field.index) * kWordBytes;
}

// Words from the end of the pointer to its target, in the upper 30 bits of the low half.
constexpr std::uint64_t distance_bits(std::size_t pointer_offset, std::size_t target_offset) {
    const auto words = static_cast<std::int64_t>(target_offset / kWordBytes) -
                       static_cast<std::int64_t>(pointer_offset / kWordBytes) - 1;
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(words << 2));
}

constexpr std::uint64_t shape_bits(wire_layout::Shape shape) {
    return std::uint64_t{shape.data_words} << 32 | std::uint64_t{shape.pointer_count} << 48;
}

}  // namespace

CapnpWriter::CapnpWriter(std::span<std::byte> out) : out_{out} { take(kSegmentTableBytes); }

std::size_t CapnpWriter::take(std::size_t size_bytes) {
    const std::size_t offset = used_bytes_;
    const std::size_t rounded = round_up_words(size_bytes);
    wanted_bytes_ = offset + rounded;
    if (is_full_ || rounded > out_.size() - offset || wanted_bytes_ > kMessageSizeBytesMax) {
        is_full_ = true;
        return 0;
    }
    std::memset(out_.data() + offset, 0, rounded);
    used_bytes_ += rounded;
    return offset;
}

void CapnpWriter::set_struct_pointer(std::size_t pointer_offset, std::size_t target_offset, wire_layout::Shape shape) {
    if (!is_full_) {
        store_little_endian(out_.data() + pointer_offset,
                            distance_bits(pointer_offset, target_offset) | shape_bits(shape));
    }
}

void CapnpWriter::set_list_pointer(std::size_t pointer_offset, std::size_t target_offset, std::uint32_t element_code,
                                   std::size_t count) {
    if (!is_full_) {
        store_little_endian(out_.data() + pointer_offset,
                            std::uint64_t{distance_bits(pointer_offset, target_offset) | 1 |
                                          std::uint64_t{element_code} << 32 | static_cast<std::uint64_t>(count) << 35});
    }
}

CapnpWriter::StructPlace CapnpWriter::make_root(wire_layout::Shape shape) {
    const std::size_t pointer = take(kWordBytes);
    const StructPlace place{take(size_bytes_of(shape)), shape};
    set_struct_pointer(pointer, place.offset_bytes, shape);
    return place;
}

CapnpWriter::StructPlace CapnpWriter::make_struct(StructPlace parent, wire_layout::PointerField field,
                                                  wire_layout::Shape shape) {
    const StructPlace place{take(size_bytes_of(shape)), shape};
    set_struct_pointer(pointer_offset_bytes(parent, field), place.offset_bytes, shape);
    return place;
}

CapnpWriter::ListPlace CapnpWriter::make_list(StructPlace parent, wire_layout::PointerField field,
                                              wire_layout::Shape shape, std::size_t count) {
    if (count == 0) {
        return {};
    }
    const std::size_t words = size_bytes_of(shape) / kWordBytes * count;
    const std::size_t tag = take(kWordBytes + words * kWordBytes);
    if (!is_full_) {
        // The tag has the form of a struct pointer, with the element count as its offset.
        store_little_endian(out_.data() + tag, static_cast<std::uint64_t>(count) << 2 | shape_bits(shape));
    }
    set_list_pointer(pointer_offset_bytes(parent, field), tag, kStructElements, words);
    return {tag + kWordBytes, shape, static_cast<std::uint32_t>(count)};
}

CapnpWriter::StructPlace CapnpWriter::element(ListPlace list, std::size_t index) {
    PERFLEET_ASSERT(index < list.count);
    return {list.offset_bytes + size_bytes_of(list.shape) * index, list.shape};
}

void CapnpWriter::put_bytes(std::size_t pointer_offset, const void* bytes, std::size_t size_bytes, bool is_text) {
    if (size_bytes == 0) {
        return;
    }
    const std::size_t counted = size_bytes + (is_text ? 1 : 0);  // a text's NUL counts
    const std::size_t offset = take(counted);
    if (!is_full_) {
        std::memcpy(out_.data() + offset, bytes, size_bytes);
    }
    set_list_pointer(pointer_offset, offset, kByteElements, counted);
}

void CapnpWriter::set_text(StructPlace parent, wire_layout::PointerField field, std::string_view text) {
    put_bytes(pointer_offset_bytes(parent, field), text.data(), text.size(), true);
}

void CapnpWriter::set_data(StructPlace parent, wire_layout::PointerField field, std::span<const std::byte> bytes) {
    put_bytes(pointer_offset_bytes(parent, field), bytes.data(), bytes.size(), false);
}

CapnpWriter::ListPlace CapnpWriter::make_text_list(StructPlace parent, wire_layout::PointerField field,
                                                   std::size_t count) {
    if (count == 0) {
        return {};
    }
    const std::size_t offset = take(count * kWordBytes);
    set_list_pointer(pointer_offset_bytes(parent, field), offset, kPointerElements, count);
    return {offset, {0, 1}, static_cast<std::uint32_t>(count)};
}

void CapnpWriter::set_text_element(ListPlace list, std::size_t index, std::string_view text) {
    PERFLEET_ASSERT(index < list.count);
    put_bytes(list.offset_bytes + index * kWordBytes, text.data(), text.size(), true);
}

std::span<std::byte> CapnpWriter::begin_data(std::size_t size_bytes_max) {
    wanted_bytes_ = used_bytes_ + size_bytes_max;
    if (is_full_ || size_bytes_max > out_.size() - used_bytes_) {
        is_full_ = true;
        return {};
    }
    return out_.subspan(used_bytes_, size_bytes_max);
}

void CapnpWriter::end_data(StructPlace parent, wire_layout::PointerField field, std::size_t size_bytes) {
    const std::size_t offset = used_bytes_;
    const std::size_t rounded = round_up_words(size_bytes);
    wanted_bytes_ = offset + rounded;
    if (is_full_ || rounded > out_.size() - offset) {
        is_full_ = true;
        return;
    }
    if (size_bytes == 0) {
        return;
    }
    std::memset(out_.data() + offset + size_bytes, 0, rounded - size_bytes);
    used_bytes_ += rounded;
    set_list_pointer(pointer_offset_bytes(parent, field), offset, kByteElements, size_bytes);
}

void CapnpWriter::set(StructPlace place, wire_layout::BitField field, bool value) {
    if (is_full_) {
        return;
    }
    std::byte& byte = out_[place.offset_bytes + field.offset_bits / 8];
    const auto mask = static_cast<std::byte>(1U << (field.offset_bits % 8));
    byte = value ? byte | mask : byte & ~mask;
}

Checked<std::size_t> CapnpWriter::finish() {
    if (is_full_) {
        return Fault{ErrorCode::kFull, wanted_bytes_, out_.size()};
    }
    store_little_endian(out_.data(), std::uint32_t{0});
    store_little_endian(out_.data() + 4, static_cast<std::uint32_t>((used_bytes_ - kSegmentTableBytes) / kWordBytes));
    protocol::set_checksum(out_.first(used_bytes_));
    return used_bytes_;
}

}  // namespace perfleet
