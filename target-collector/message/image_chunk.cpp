#include "target-collector/message/image_chunk.h"

#include "target-collector/message/capnp_writer.h"
#include "target-collector/message/message_parts.h"

namespace perfleet {

Checked<std::size_t> write_image_chunk(const ImageChunk& chunk, std::span<std::byte> out) {
    namespace layout = wire_layout::image;
    CapnpWriter writer{out};
    const auto envelope = writer.make_root(wire_layout::envelope::kShape);
    const auto place = begin_message(writer, envelope, wire_layout::MessageTag::kImage, layout::kShape);
    write_session(writer, place, layout::kSession, chunk.session);
    writer.set_data(place, layout::kBuildId, chunk.build_id);
    writer.set(place, layout::kType, chunk.type);
    writer.set(place, layout::kSizeBytes, chunk.size_bytes);
    writer.set(place, layout::kOffset, chunk.offset_bytes);
    writer.set_data(place, layout::kBytes, chunk.bytes);
    return writer.finish();
}

}  // namespace perfleet
