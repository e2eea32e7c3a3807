#include "target-collector/message/capnp_reader.h"

#include "schemas/vocabulary/assert.h"
#include "target-collector/message/capnp_format.h"

namespace perfleet {

using namespace capnp_format;

Checked<CapnpReader> CapnpReader::open(std::span<const std::byte> message_untrusted) {
    if (message_untrusted.size() < kSegmentTableBytes + kWordBytes) {
        return Fault{ErrorCode::kTruncated, 0, message_untrusted.size()};
    }
    const auto more_segments = load_little_endian<std::uint32_t>(message_untrusted.data());
    if (more_segments != 0) {
        return Fault{ErrorCode::kUnsupported, 0, more_segments};
    }
    const std::uint64_t size_bytes =
        std::uint64_t{load_little_endian<std::uint32_t>(message_untrusted.data() + 4)} * kWordBytes;
    const std::size_t there = message_untrusted.size() - kSegmentTableBytes;
    if (size_bytes != there) {
        return Fault{size_bytes > there ? ErrorCode::kTruncated : ErrorCode::kInvalid, 4, size_bytes};
    }
    return CapnpReader{message_untrusted.subspan(kSegmentTableBytes)};
}

Checked<std::size_t> CapnpReader::target_of(std::size_t pointer_offset_bytes, std::uint64_t pointer,
                                            std::size_t size_bytes) const {
    const auto words = static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(pointer)) >> 2);
    const std::int64_t target = (static_cast<std::int64_t>(pointer_offset_bytes / kWordBytes) + 1 + words) *
                                static_cast<std::int64_t>(kWordBytes);
    if (target < 0 || static_cast<std::uint64_t>(target) > segment_.size() ||
        size_bytes > segment_.size() - static_cast<std::size_t>(target)) {
        return Fault{ErrorCode::kInvalid, pointer_offset_bytes, pointer};
    }
    return static_cast<std::size_t>(target);
}

Checked<CapnpReader::StructView> CapnpReader::struct_at(std::size_t pointer_offset_bytes) const {
    const auto pointer = load_little_endian<std::uint64_t>(segment_.data() + pointer_offset_bytes);
    if (pointer == 0) {
        return StructView{};
    }
    if ((pointer & 3) != kStructPointer) {
        return Fault{ErrorCode::kInvalid, pointer_offset_bytes, pointer};
    }
    const std::size_t data_bytes = (pointer >> 32 & 0xffff) * kWordBytes;
    const std::size_t pointer_bytes = (pointer >> 48) * kWordBytes;
    const auto target = PERFLEET_TRY(target_of(pointer_offset_bytes, pointer, data_bytes + pointer_bytes));
    return StructView{segment_.subspan(target, data_bytes), segment_.subspan(target + data_bytes, pointer_bytes)};
}

Checked<CapnpReader::StructView> CapnpReader::root() const { return struct_at(0); }

bool CapnpReader::find_pointer(const StructView& parent, wire_layout::PointerField field,
                               std::size_t& offset_bytes) const {
    if ((std::size_t{field.index} + 1) * kWordBytes > parent.pointers.size()) {
        return false;
    }
    offset_bytes = static_cast<std::size_t>(parent.pointers.data() - segment_.data()) + field.index * kWordBytes;
    return true;
}

Checked<CapnpReader::StructView> CapnpReader::get_struct(const StructView& parent,
                                                         wire_layout::PointerField field) const {
    std::size_t at = 0;
    return find_pointer(parent, field, at) ? struct_at(at) : Checked<StructView>{StructView{}};
}

Checked<std::span<const std::byte>> CapnpReader::get_data(const StructView& parent,
                                                          wire_layout::PointerField field) const {
    std::size_t at = 0;
    const auto pointer =
        find_pointer(parent, field, at) ? load_little_endian<std::uint64_t>(segment_.data() + at) : std::uint64_t{0};
    if (pointer == 0) {
        return std::span<const std::byte>{};
    }
    if ((pointer & 3) != kListPointer || (pointer >> 32 & 7) != kByteElements) {
        return Fault{ErrorCode::kInvalid, at, pointer};
    }
    const std::size_t size_bytes = pointer >> 35;
    const auto target = PERFLEET_TRY(target_of(at, pointer, size_bytes));
    return segment_.subspan(target, size_bytes);
}

Checked<CapnpReader::ListView> CapnpReader::get_list(const StructView& parent, wire_layout::PointerField field) const {
    std::size_t at = 0;
    const auto pointer =
        find_pointer(parent, field, at) ? load_little_endian<std::uint64_t>(segment_.data() + at) : std::uint64_t{0};
    if (pointer == 0) {
        return ListView{};
    }
    if ((pointer & 3) != kListPointer || (pointer >> 32 & 7) != kStructElements) {
        return Fault{ErrorCode::kInvalid, at, pointer};
    }
    const std::size_t size_bytes = (pointer >> 35) * kWordBytes;
    const auto target = PERFLEET_TRY(target_of(at, pointer, kWordBytes + size_bytes));
    // The tag has the form of a struct pointer, with the element count as its offset.
    const auto tag = load_little_endian<std::uint64_t>(segment_.data() + target);
    ListView list;
    list.bytes = segment_.subspan(target + kWordBytes, size_bytes);
    list.count = (tag & 0xffff'ffff) >> 2;
    list.data_bytes = (tag >> 32 & 0xffff) * kWordBytes;
    list.pointer_bytes = (tag >> 48) * kWordBytes;
    const std::size_t element_bytes = list.data_bytes + list.pointer_bytes;
    if ((tag & 3) != kStructPointer || (list.count > 0 && element_bytes == 0) ||
        list.count * element_bytes > size_bytes) {
        return Fault{ErrorCode::kInvalid, target, tag};
    }
    return list;
}

CapnpReader::StructView CapnpReader::element(const ListView& list, std::size_t index) {
    PERFLEET_ASSERT(index < list.count);
    const auto bytes = list.bytes.subspan(index * (list.data_bytes + list.pointer_bytes));
    return {bytes.first(list.data_bytes), bytes.subspan(list.data_bytes, list.pointer_bytes)};
}

Checked<std::string_view> CapnpReader::get_text(const StructView& parent, wire_layout::PointerField field) const {
    const auto bytes = PERFLEET_TRY(get_data(parent, field));
    if (bytes.empty()) {
        return std::string_view{};
    }
    if (bytes.back() != std::byte{0}) {
        return Fault{ErrorCode::kInvalid, bytes.size(), static_cast<std::uint64_t>(bytes.back())};
    }
    return std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size() - 1};
}

}  // namespace perfleet
