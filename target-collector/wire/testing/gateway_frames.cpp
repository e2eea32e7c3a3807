#include "target-collector/wire/testing/gateway_frames.h"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>

#include "collector.capnp.h"
#include "schemas/wire/checksum.h"

namespace perfleet {
namespace {

template <class Text>
std::string string_of(Text text) {
    return {reinterpret_cast<const char*>(text.begin()), text.size()};
}

template <class List>
std::vector<CountEntry> counts_of(List list) {
    std::vector<CountEntry> counts;
    for (const auto entry : list) {
        counts.push_back({{static_cast<Kind>(entry.getKind()), EventNumber{entry.getEvent()}},
                          static_cast<CountName>(entry.getName()),
                          entry.getValue()});
    }
    return counts;
}

template <class List>
std::vector<SeqRange> ranges_of(List list) {
    std::vector<SeqRange> ranges;
    for (const auto range : list) {
        ranges.push_back({Seq{range.getFirst()}, Seq{range.getLast()}});
    }
    return ranges;
}

SessionId session_of(wire::SessionId::Reader session) { return {session.getHigh(), session.getLow()}; }

void set_session(wire::SessionId::Builder builder, SessionId session) {
    builder.setHigh(session.high);
    builder.setLow(session.low);
}

template <class Fill>
Frame make_frame(Fill fill) {
    capnp::MallocMessageBuilder message;
    auto envelope = message.initRoot<wire::Envelope>();
    envelope.setProtocolVersion(1);
    fill(envelope);
    const auto words = capnp::messageToFlatArray(message);
    const auto bytes = words.asBytes();
    Frame frame(bytes.size());
    std::memcpy(frame.data(), bytes.begin(), bytes.size());
    protocol::set_checksum(frame);
    return frame;
}

capnp::Data::Reader data_of(std::string_view bytes) {
    return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

std::uint64_t SeenFrame::entry(Series series, CountName name) const {
    for (const CountEntry& entry : counts) {
        if (entry.series == series && entry.name == name) {
            return entry.value;
        }
    }
    return 0;
}

SeenFrame see_frame(std::span<const std::byte> frame) {
    std::vector<std::uint64_t> words(frame.size() / 8);
    std::memcpy(words.data(), frame.data(), frame.size());
    capnp::FlatArrayMessageReader reader(
        kj::arrayPtr(reinterpret_cast<const capnp::word*>(words.data()), words.size()));
    const auto envelope = reader.getRoot<wire::Envelope>();
    SeenFrame seen;
    seen.tag = static_cast<wire_layout::MessageTag>(envelope.which());
    switch (envelope.which()) {
        case wire::Envelope::HELLO: {
            const auto hello = envelope.getHello();
            seen.session = session_of(hello.getSession());
            seen.oldest_retained = Seq{hello.getOldestRetainedSeq()};
            seen.target_name = string_of(hello.getTargetName());
            break;
        }
        case wire::Envelope::BATCH: {
            const auto batch = envelope.getBatch();
            seen.session = session_of(batch.getSession());
            seen.seq = Seq{batch.getSeq()};
            seen.oldest_retained = Seq{batch.getOldestRetainedSeq()};
            seen.epoch = EpochNumber{batch.getEpoch()};
            seen.seal = batch.getSeal();
            for (const auto rows : batch.getSeries()) {
                seen.rows[{static_cast<Kind>(rows.getKind()), EventNumber{rows.getEvent()}}] += rows.getRowCount();
            }
            seen.counts = counts_of(batch.getCounts());
            seen.dropped = ranges_of(batch.getDropped());
            break;
        }
        case wire::Envelope::BYE: {
            const auto bye = envelope.getBye();
            seen.session = session_of(bye.getSession());
            seen.seq = Seq{bye.getLastSeq()};
            seen.counts = counts_of(bye.getCounts());
            seen.dropped = ranges_of(bye.getDropped());
            seen.end_point = {Ticks{bye.getEndPoint().getTicks()}, UtcNs{bye.getEndPoint().getUtcNs()},
                              bye.getEndPoint().getUncertaintyNs()};
            break;
        }
        case wire::Envelope::IMAGE_OFFERS: {
            const auto more = envelope.getImageOffers();
            seen.session = session_of(more.getSession());
            for (const auto offer : more.getOffers()) {
                seen.offered.push_back(string_of(offer.getBuildId()));
            }
            break;
        }
        case wire::Envelope::IMAGE: {
            const auto image = envelope.getImage();
            seen.session = session_of(image.getSession());
            seen.build_id = string_of(image.getBuildId());
            seen.type = image.getType();
            seen.size_bytes = image.getSizeBytes();
            seen.offset_bytes = image.getOffset();
            seen.content = string_of(image.getBytes());
            break;
        }
        case wire::Envelope::CONTROLLED: {
            const auto controlled = envelope.getControlled();
            seen.session = session_of(controlled.getSession());
            seen.number = controlled.getNumber();
            seen.outcome = controlled.getOutcome();
            seen.reason = string_of(controlled.getReason());
            break;
        }
        default: break;
    }
    return seen;
}

Frame make_welcome(const WelcomeFields& fields) {
    return make_frame([&](wire::Envelope::Builder envelope) {
        auto welcome = envelope.initWelcome();
        set_session(welcome.initSession(), fields.session);
        welcome.setUtcNs(fields.utc_ns.value);
        welcome.setIncarnation(fields.incarnation);
        welcome.setPrefixSeq(fields.prefix.value);
        welcome.setSendLimitSeq(fields.send_limit.value);
        welcome.setBatchSizeBytesMax(4U << 20);
        welcome.setBucketDurationS(3'600);
    });
}

Frame make_hello_again(std::uint64_t incarnation) {
    return make_frame([&](wire::Envelope::Builder envelope) { envelope.initHelloAgain().setIncarnation(incarnation); });
}

Frame make_ack(const AckFields& fields) {
    return make_frame([&](wire::Envelope::Builder envelope) {
        auto ack = envelope.initAck();
        set_session(ack.initSession(), fields.session);
        ack.setPrefixSeq(fields.prefix.value);
        ack.setSendLimitSeq(fields.send_limit.value);
        ack.setIncarnation(fields.incarnation);
        ack.setFinished(fields.is_finished);
    });
}

Frame make_refused(SessionId session, Seq seq, std::uint16_t reason, std::string_view message) {
    return make_frame([&](wire::Envelope::Builder envelope) {
        auto refused = envelope.initRefused();
        set_session(refused.initSession(), session);
        refused.setSeq(seq.value);
        refused.setReason(reason);
        refused.setMessage(std::string{message});
    });
}

Frame make_control(const ControlFields& fields) {
    return make_frame([&](wire::Envelope::Builder envelope) {
        auto control = envelope.initControl();
        set_session(control.initSession(), fields.session);
        control.setCommand(fields.command);
        control.setEvent(fields.event.value);
        control.setValue(fields.value);
        control.setNumber(fields.number);
        control.setIncarnation(fields.incarnation);
    });
}

Frame make_need_image(std::string_view build_id, std::uint64_t offset) {
    return make_frame([&](wire::Envelope::Builder envelope) {
        auto need = envelope.initNeedImage();
        need.setBuildId(data_of(build_id));
        need.setOffset(offset);
    });
}

Frame of_version(std::uint16_t version, Frame message) {
    constexpr std::size_t kOffset = 16;  // behind the segment table and the root pointer
    message[kOffset] = static_cast<std::byte>(version);
    protocol::set_checksum(message);
    return message;
}

}  // namespace perfleet
