#include "target-collector/message/patch.h"

#include <cstring>

#include "schemas/wire/checksum.h"
#include "target-collector/message/capnp_reader.h"

namespace perfleet {
namespace {

template <class Integer>
Checked<Done> patch(std::span<std::byte> message, const CapnpReader::StructView& view,
                    wire_layout::Field<Integer> field, Integer value) {
    if (field.offset_bytes + sizeof value > view.data.size()) {
        return Fault{ErrorCode::kInvalid, field.offset_bytes, view.data.size()};
    }
    const auto offset = static_cast<std::size_t>(view.data.data() - message.data());
    store_little_endian(message.data() + offset + field.offset_bytes, value);
    return Done{};
}

Checked<CapnpReader::StructView> body_of(const CapnpReader& reader, wire_layout::MessageTag tag) {
    const auto envelope = PERFLEET_TRY(reader.root());
    const std::uint16_t tag_there = envelope.get(wire_layout::envelope::kTag);
    if (tag_there != static_cast<std::uint16_t>(tag)) {
        return Fault{ErrorCode::kInvalid, 0, tag_there};
    }
    return reader.get_struct(envelope, wire_layout::envelope::kBody);
}

}  // namespace

Checked<Done> set_oldest_retained_seq(std::span<std::byte> message, Seq oldest) {
    const auto reader = PERFLEET_TRY(CapnpReader::open(message));
    const auto batch = PERFLEET_TRY(body_of(reader, wire_layout::MessageTag::kBatch));
    PERFLEET_TRY(patch(message, batch, wire_layout::batch::kOldestRetainedSeq, oldest.value));
    protocol::set_checksum(message);
    return Done{};
}

Checked<Done> set_hello_state(std::span<std::byte> message, SessionId session, Seq oldest, Ticks clock) {
    const auto reader = PERFLEET_TRY(CapnpReader::open(message));
    const auto hello = PERFLEET_TRY(body_of(reader, wire_layout::MessageTag::kHello));
    const auto place = PERFLEET_TRY(reader.get_struct(hello, wire_layout::hello::kSession));
    PERFLEET_TRY(patch(message, place, wire_layout::session_id::kHigh, session.high));
    PERFLEET_TRY(patch(message, place, wire_layout::session_id::kLow, session.low));
    if (hello.data.size() > wire_layout::hello::kClockTicks.offset_bytes) {
        PERFLEET_TRY(patch(message, hello, wire_layout::hello::kClockTicks, clock.value));
    }
    PERFLEET_TRY(patch(message, hello, wire_layout::hello::kOldestRetainedSeq, oldest.value));
    protocol::set_checksum(message);
    return Done{};
}

bool clear_hello_identity(std::span<std::byte> message_untrusted) {
    namespace layout = wire_layout::hello;
    constexpr std::size_t kPointerSizeBytes = 8;
    const auto reader = CapnpReader::open(message_untrusted);
    if (!reader.ok() || !protocol::is_checksum_right(message_untrusted)) {
        return false;
    }
    const auto hello = body_of(*reader, wire_layout::MessageTag::kHello);
    if (!hello.ok()) {
        return false;
    }
    (void)patch(message_untrusted, *hello, layout::kTargetId, std::uint64_t{0});
    for (const wire_layout::PointerField field : {layout::kTargetName, layout::kLabels}) {
        const std::size_t at = field.index * kPointerSizeBytes;
        if (at + kPointerSizeBytes <= hello->pointers.size()) {
            const auto offset = static_cast<std::size_t>(hello->pointers.data() - message_untrusted.data());
            std::memset(message_untrusted.data() + offset + at, 0, kPointerSizeBytes);
        }
    }
    protocol::set_checksum(message_untrusted);
    return true;
}

}  // namespace perfleet
