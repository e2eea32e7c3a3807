#include "gateway/admission/testing/sample_messages.h"

#include <algorithm>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "gateway/admission/testing/sample_changes.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/wire/checksum.h"
#include "schemas/wire/protocol.h"
#include "storage/block/block.h"

namespace perfleet::sample {
namespace {

capnp::Data::Reader data_of(std::string_view bytes) {
    return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

void set_session(wire::SessionId::Builder into, SessionId session) {
    into.setHigh(session.high);
    into.setLow(session.low);
}

void set_point(wire::ClockPoint::Builder into, const ClockPoint& point) {
    into.setTicks(point.ticks.value);
    into.setUtcNs(point.utc_ns.value);
    into.setUncertaintyNs(point.uncertainty_ns);
}

void set_counts(capnp::List<wire::CountEntry>::Builder into, const std::vector<CountEntry>& counts) {
    for (unsigned i = 0; i < counts.size(); ++i) {
        into[i].setKind(static_cast<std::uint8_t>(counts[i].series.kind));
        into[i].setEvent(counts[i].series.event.value);
        into[i].setName(static_cast<std::uint16_t>(counts[i].name));
        into[i].setValue(counts[i].value);
    }
}

void set_ranges(capnp::List<wire::SeqRange>::Builder into, const std::vector<SeqRange>& ranges) {
    for (unsigned i = 0; i < ranges.size(); ++i) {
        into[i].setFirst(ranges[i].first.value);
        into[i].setLast(ranges[i].last.value);
    }
}

unsigned count_of(std::size_t count) { return static_cast<unsigned>(count); }

SessionId session_of(wire::SessionId::Reader from) { return {from.getHigh(), from.getLow()}; }

void set_offers(capnp::List<wire::ImageOffer>::Builder list, const std::vector<ImageOffer>& offers) {
    for (unsigned i = 0; i < list.size(); ++i) {
        list[i].setBuildId(data_of(offers[i].build_id));
        list[i].setType(offers[i].type);
        list[i].setSizeBytes(offers[i].size_bytes);
    }
}

void fill_hello(wire::Hello::Builder hello, const SessionRecord& record, Seq oldest_retained,
                const std::vector<ImageOffer>& offers) {
    set_session(hello.initSession(), record.session);
    hello.setTargetId(record.target.value);
    hello.setTargetName(record.target_name.c_str());
    hello.setArchitecture(record.architecture.c_str());
    auto labels = hello.initLabels(count_of(record.labels.size()));
    for (unsigned i = 0; i < labels.size(); ++i) {
        labels[i].setKey(record.labels[i].first.c_str());
        labels[i].setValue(record.labels[i].second.c_str());
    }
    auto events = hello.initEvents(count_of(record.events.size()));
    for (unsigned i = 0; i < events.size(); ++i) {
        const EventRecord& event = record.events[i];
        events[i].setName(event.name.c_str());
        events[i].setKind(static_cast<std::uint8_t>(event.kind));
        events[i].setPerfType(event.perf_type);
        events[i].setPerfConfig(event.perf_config);
        events[i].setPeriod(event.period);
        events[i].setIsFrequency(event.is_frequency);
        events[i].setExcludeKernel(event.exclude_kernel);
        events[i].setExcludeUser(event.exclude_user);
        events[i].setCallchain(event.callchain);
        events[i].setUnit(event.unit.c_str());
        events[i].setFormat(event.format.c_str());
        events[i].setGroup(event.group);
        events[i].setAttr({reinterpret_cast<const kj::byte*>(event.attr.data()), event.attr.size()});
    }
    auto clock = hello.initClock();
    clock.setName(record.clock_name.c_str());
    clock.setTicksPerSecond(record.ticks_per_second);
    clock.setLinuxClockid(record.linux_clockid);
    set_point(hello.initStartPoint(), record.start_point);
    auto host = hello.initHost();
    host.setOsRelease(record.host.os_release.c_str());
    host.setCpuDescription(record.host.cpu_description.c_str());
    host.setCpuId(record.host.cpu_id.c_str());
    host.setCpusOnline(record.host.cpus_online);
    host.setCpusConfigured(record.host.cpus_configured);
    host.setMemoryKib(record.host.memory_kib);
    auto words = host.initCommandLine(count_of(record.host.command_line.size()));
    for (unsigned i = 0; i < words.size(); ++i) {
        words.set(i, record.host.command_line[i].c_str());
    }
    host.setPageSizeBytes(record.host.page_size_bytes);
    host.setTracingHeaderPage(data_of(record.host.tracing_header_page));
    host.setTracingHeaderEvent(data_of(record.host.tracing_header_event));
    set_offers(hello.initImageOffers(count_of(offers.size())), offers);
    hello.setCollectorVersion(record.collector_version.c_str());
    hello.setOldestRetainedSeq(oldest_retained.value);
}

void fill_batch(wire::Batch::Builder into, const AdmittedBatch& batch) {
    set_session(into.initSession(), batch.key.session);
    into.setSeq(batch.key.seq.value);
    into.setOldestRetainedSeq(batch.record.oldest_retained_seq);
    into.setEpoch(batch.record.epoch.value);
    into.setBucket(batch.record.bucket.value);
    into.setSeal(batch.record.seal);
    auto series = into.initSeries(count_of(batch.series.size()));
    for (unsigned i = 0; i < series.size(); ++i) {
        const BatchSeries& rows = batch.series[i];
        series[i].setKind(static_cast<std::uint8_t>(rows.series.kind));
        series[i].setEvent(rows.series.event.value);
        series[i].setRowCount(rows.row_count);
        series[i].setFirstTicks(rows.first_ticks.value);
        series[i].setLastTicks(rows.last_ticks.value);
        auto block = parse_block_untrusted(rows.block);
        PERFLEET_ASSERT(block.ok());
        auto columns = series[i].initColumns(count_of(block->columns.size()));
        for (unsigned j = 0; j < columns.size(); ++j) {
            const ColumnView& column = block->columns[j];
            columns[j].setId(static_cast<std::uint16_t>(column.id));
            columns[j].setCodec(static_cast<std::uint8_t>(column.codec));
            columns[j].setBytes({reinterpret_cast<const unsigned char*>(column.bytes.data()), column.bytes.size()});
        }
    }
    set_counts(into.initCounts(count_of(batch.record.counts.size())), batch.record.counts);
    set_ranges(into.initDropped(count_of(batch.record.dropped.size())), batch.record.dropped);
    auto points = into.initClockPoints(count_of(batch.record.clock_points.size()));
    for (unsigned i = 0; i < points.size(); ++i) {
        set_point(points[i], batch.record.clock_points[i]);
    }
}

}  // namespace

Frame envelope_with(const Change<wire::Envelope::Builder>& fill) {
    // One segment for all that tests send. The builder clears what it used of it, which is less than all of it.
    static thread_local std::vector<std::uint64_t> space(1U << 20U);
    capnp::MallocMessageBuilder message{{reinterpret_cast<capnp::word*>(space.data()), space.size()}};
    auto root = message.initRoot<wire::Envelope>();
    root.setProtocolVersion(protocol::kVersion);
    fill(root);
    const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
    const auto chars = words.asBytes();
    const auto* bytes = reinterpret_cast<const std::byte*>(chars.begin());
    Frame frame{bytes, bytes + chars.size()};
    protocol::set_checksum(frame);
    return frame;
}

Frame hello(const SessionRecord& record, Seq oldest_retained, const std::vector<ImageOffer>& offers) {
    return envelope_with(
        [&](wire::Envelope::Builder root) { fill_hello(root.initHello(), record, oldest_retained, offers); });
}

Frame hello_with(const SessionRecord& record, const Change<wire::Hello::Builder>& change) {
    return envelope_with([&](wire::Envelope::Builder root) {
        const auto hello = root.initHello();
        fill_hello(hello, record, Seq{1}, {});
        change(hello);
    });
}

Frame batch(const AdmittedBatch& batch) {
    return envelope_with([&](wire::Envelope::Builder root) { fill_batch(root.initBatch(), batch); });
}

Frame resealed_batch(const AdmittedBatch& batch) {
    return batch_with(batch, [](wire::Batch::Builder builder) { reseal(builder); });
}

Frame batch_with(const AdmittedBatch& batch, const Change<wire::Batch::Builder>& change) {
    return envelope_with([&](wire::Envelope::Builder root) {
        const auto into = root.initBatch();
        fill_batch(into, batch);
        change(into);
    });
}

void reseal(wire::Batch::Builder builder) {
    const auto batch = builder.asReader();
    std::deque<std::vector<ColumnView>> columns;
    std::vector<SeriesView> series;
    for (const auto rows : batch.getSeries()) {
        auto& views = columns.emplace_back();
        for (const auto column : rows.getColumns()) {
            const auto bytes = column.getBytes();
            views.push_back({static_cast<ColumnId>(column.getId()),
                             static_cast<Codec>(column.getCodec()),
                             {reinterpret_cast<const std::byte*>(bytes.begin()), bytes.size()}});
        }
        series.push_back({{static_cast<Kind>(rows.getKind()), EventNumber{rows.getEvent()}},
                          rows.getRowCount(),
                          Ticks{rows.getFirstTicks()},
                          Ticks{rows.getLastTicks()},
                          views});
    }
    std::vector<CountEntry> counts;
    for (const auto entry : batch.getCounts()) {
        counts.push_back({{static_cast<Kind>(entry.getKind()), EventNumber{entry.getEvent()}},
                          static_cast<CountName>(entry.getName()),
                          entry.getValue()});
    }
    std::vector<SeqRange> ranges;
    for (const auto range : batch.getDropped()) {
        ranges.push_back({Seq{range.getFirst()}, Seq{range.getLast()}});
    }
    std::vector<ClockPoint> points;
    for (const auto point : batch.getClockPoints()) {
        points.push_back({Ticks{point.getTicks()}, UtcNs{point.getUtcNs()}, point.getUncertaintyNs()});
    }
    const BatchHeader header{session_of(batch.getSession()), Seq{batch.getSeq()}, EpochNumber{batch.getEpoch()},
                             BucketNumber{batch.getBucket()}};
    builder.setSeal(seal_of(header, series, counts, ranges, points));
}

Frame bye(SessionId session, const SessionEnd& end) {
    return envelope_with([&](wire::Envelope::Builder root) {
        auto bye = root.initBye();
        set_session(bye.initSession(), session);
        bye.setLastSeq(end.last_seq.value);
        set_counts(bye.initCounts(count_of(end.counts.size())), end.counts);
        set_ranges(bye.initDropped(count_of(end.dropped.size())), end.dropped);
        set_point(bye.initEndPoint(), end.end_point);
    });
}

// A zstd frame of blocks that aren't compressed: magic, descriptor (one segment, a size of 4 bytes), size, blocks.
std::string symbols(std::size_t size_bytes) {
    constexpr std::size_t kBlockBytesMax = 128U << 10U;
    std::size_t left = size_bytes - 9;
    std::size_t content_bytes = left - (left + kBlockBytesMax + 2) / (kBlockBytesMax + 3) * 3;
    std::string frame{"\x28\xb5\x2f\xfd\xa0", 5};
    const auto put = [&frame](std::size_t value, int byte_count) {
        for (int i = 0; i < byte_count; ++i) {
            frame += static_cast<char>(value >> (8 * i));
        }
    };
    put(content_bytes, 4);
    for (std::size_t at = 0; content_bytes > 0; at += kBlockBytesMax) {
        const std::size_t block = std::min(content_bytes, kBlockBytesMax);
        content_bytes -= block;
        put(block << 3U | (content_bytes == 0 ? 1U : 0U), 3);
        for (std::size_t i = 0; i < block; ++i) {
            frame += "0123456789abcdef"[(at + i * 31 + i / 256) % 16];
        }
    }
    return frame;
}

Frame image_offers(SessionId session, const std::vector<ImageOffer>& offers) {
    return envelope_with([&](wire::Envelope::Builder root) {
        auto more = root.initImageOffers();
        set_session(more.initSession(), session);
        set_offers(more.initOffers(count_of(offers.size())), offers);
    });
}

Frame image(SessionId session, const ImageOffer& offer, std::uint64_t offset, std::string_view bytes) {
    return envelope_with([&](wire::Envelope::Builder root) {
        auto image = root.initImage();
        set_session(image.initSession(), session);
        image.setBuildId(data_of(offer.build_id));
        image.setType(offer.type);
        image.setSizeBytes(offer.size_bytes);
        image.setOffset(offset);
        image.setBytes(data_of(bytes));
    });
}

Frame of_version(std::uint16_t version, Frame message) {
    constexpr std::size_t kOffset = 16;  // behind the segment table and the root pointer
    message[kOffset] = static_cast<std::byte>(version);
    message[kOffset + 1] = static_cast<std::byte>(version >> 8);
    protocol::set_checksum(message);
    return message;
}

Frame probe() { return image_offers(SessionId{~0ULL, ~0ULL}, {}); }

Frame controlled(SessionId session, std::uint64_t number, std::uint16_t outcome, std::string_view reason) {
    return envelope_with([&](wire::Envelope::Builder root) {
        auto message = root.initControlled();
        set_session(message.initSession(), session);
        message.setNumber(number);
        message.setOutcome(outcome);
        message.setReason(std::string{reason}.c_str());
    });
}

Reply read_reply(std::span<const std::byte> frame) {
    std::vector<std::uint64_t> words(frame.size() / sizeof(capnp::word));
    std::memcpy(words.data(), frame.data(), words.size() * sizeof(capnp::word));
    capnp::FlatArrayMessageReader reader{
        kj::arrayPtr(reinterpret_cast<const capnp::word*>(words.data()), words.size())};
    const auto root = reader.getRoot<wire::Envelope>();
    Reply reply;
    switch (root.which()) {
        case wire::Envelope::WELCOME: {
            reply.type = ReplyType::kWelcome;
            const auto from = root.getWelcome();
            reply.session = session_of(from.getSession());
            reply.prefix = from.getPrefixSeq();
            reply.send_limit = from.getSendLimitSeq();
            reply.incarnation = from.getIncarnation();
            reply.utc_ns = from.getUtcNs();
            break;
        }
        case wire::Envelope::HELLO_AGAIN:
            reply.type = ReplyType::kHelloAgain;
            reply.incarnation = root.getHelloAgain().getIncarnation();
            break;
        case wire::Envelope::ACK: {
            reply.type = ReplyType::kAck;
            const auto from = root.getAck();
            reply.session = session_of(from.getSession());
            reply.prefix = from.getPrefixSeq();
            reply.send_limit = from.getSendLimitSeq();
            reply.incarnation = from.getIncarnation();
            reply.finished = from.getFinished();
            break;
        }
        case wire::Envelope::REFUSED: {
            reply.type = ReplyType::kRefused;
            const auto from = root.getRefused();
            reply.session = session_of(from.getSession());
            reply.seq = from.getSeq();
            reply.reason = from.getReason();
            reply.text = from.getMessage().cStr();
            break;
        }
        case wire::Envelope::NEED_IMAGE: {
            reply.type = ReplyType::kNeedImage;
            const auto from = root.getNeedImage();
            const auto build_id = from.getBuildId();
            reply.build_id.assign(reinterpret_cast<const char*>(build_id.begin()), build_id.size());
            reply.offset = from.getOffset();
            break;
        }
        case wire::Envelope::ELSEWHERE: {
            reply.type = ReplyType::kElsewhere;
            const auto from = root.getElsewhere();
            reply.session = session_of(from.getSession());
            reply.endpoint = from.getEndpoint().cStr();
            reply.public_key = from.getPublicKey().cStr();
            break;
        }
        case wire::Envelope::CONTROL: {
            reply.type = ReplyType::kControl;
            const auto from = root.getControl();
            reply.session = session_of(from.getSession());
            reply.command = from.getCommand();
            reply.event = from.getEvent();
            reply.value = from.getValue();
            reply.number = from.getNumber();
            reply.incarnation = from.getIncarnation();
            break;
        }
        default: break;
    }
    return reply;
}

}  // namespace perfleet::sample
