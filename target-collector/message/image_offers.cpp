#include "target-collector/message/image_offers.h"

#include "target-collector/message/capnp_writer.h"
#include "target-collector/message/message_parts.h"

namespace perfleet {

Checked<std::size_t> write_image_offers(SessionId session, std::span<const OfferedImage> offers,
                                        std::span<std::byte> out) {
    namespace layout = wire_layout::image_offers;
    if (offers.size() > hello_limits::kImageOffersMax) {
        return Fault{ErrorCode::kTooLarge, offers.size(), hello_limits::kImageOffersMax};
    }
    CapnpWriter writer{out};
    const auto envelope = writer.make_root(wire_layout::envelope::kShape);
    const auto place = begin_message(writer, envelope, wire_layout::MessageTag::kImageOffers, layout::kShape);
    write_session(writer, place, layout::kSession, session);
    const auto list = writer.make_list(place, layout::kOffers, wire_layout::image_offer::kShape, offers.size());
    for (std::size_t i = 0; i < offers.size(); ++i) {
        const auto offer = CapnpWriter::element(list, i);
        writer.set_data(offer, wire_layout::image_offer::kBuildId, offers[i].build_id);
        writer.set(offer, wire_layout::image_offer::kType, offers[i].type);
        writer.set(offer, wire_layout::image_offer::kSizeBytes, offers[i].size_bytes);
    }
    return writer.finish();
}

}  // namespace perfleet
