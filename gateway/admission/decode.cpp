#include "gateway/admission/decode.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>
#include <string>
#include <vector>

#include "collector.capnp.h"
#include "gateway/admission/intake_limits.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/checksum.h"

namespace perfleet {
namespace {

constexpr std::size_t kWordSizeBytes = sizeof(capnp::word);
constexpr std::size_t kFrameSizeBytesMax = limits::kBatchSizeBytesMax + kWordSizeBytes;  // with the segment table
constexpr int kNestingMax = 12;
constexpr std::uint64_t kTraversalSlackWords = 256;

// Thrown and caught only in this file, like kj's own exceptions.
struct CountTooLarge {
    const char* what;
    std::uint64_t count;
    std::uint64_t count_max;
};

std::size_t checked_count(const char* what, std::size_t count, std::size_t count_max) {
    if (count > count_max) {
        throw CountTooLarge{what, count, count_max};
    }
    return count;
}

std::string_view text_of(capnp::Text::Reader text) { return {text.begin(), text.size()}; }

std::string_view chars_of(capnp::Data::Reader data) {
    return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

std::span<const std::byte> bytes_of(capnp::Data::Reader data) {
    return {reinterpret_cast<const std::byte*>(data.begin()), data.size()};
}

SessionId session_of(wire::SessionId::Reader session) { return {session.getHigh(), session.getLow()}; }

ClockPoint clock_point_of(wire::ClockPoint::Reader point) {
    return {Ticks{point.getTicks()}, UtcNs{point.getUtcNs()}, point.getUncertaintyNs()};
}

// Runs `read`, and turns its exceptions into an error.
template <class Read>
std::optional<Error> caught(const Read& read) {
    try {
        read();
        return std::nullopt;
    } catch (const CountTooLarge& fault) {
        return Error{ErrorCode::kTooLarge, std::to_string(fault.count) + " " + fault.what + ", at most " +
                                               std::to_string(fault.count_max) + " are allowed"};
    } catch (const kj::Exception& exception) {
        return Error{ErrorCode::kInvalid,
                     std::string{"not a Cap'n Proto message of this schema: "} + exception.getDescription().cStr()};
    }
}

}  // namespace

struct Decoder::State {
    std::vector<std::uint64_t> aligned;
    std::optional<capnp::FlatArrayMessageReader> reader;

    // Reserved once for their limits, so that spans into them stay valid.
    std::vector<ColumnView> columns;
    std::vector<SeriesView> series;
    std::vector<CountEntry> counts;
    std::vector<SeqRange> ranges;
    std::vector<ClockPoint> clock_points;
    std::vector<ImageOfferUntrusted> offers;

    State() {
        columns.reserve(std::size_t{limits::kBatchSeriesMax} * limits::kColumnsMax);
        series.reserve(limits::kBatchSeriesMax);
    }

    void read_counts(capnp::List<wire::CountEntry>::Reader list) {
        counts.clear();
        checked_count("counts", list.size(), limits::kCountsMax);
        for (const auto entry : list) {
            counts.push_back({{static_cast<Kind>(entry.getKind()), EventNumber{entry.getEvent()}},
                              static_cast<CountName>(entry.getName()),
                              entry.getValue()});
        }
    }

    void read_ranges(capnp::List<wire::SeqRange>::Reader list) {
        ranges.clear();
        checked_count("dropped ranges", list.size(), limits::kDroppedRangesMax);
        for (const auto range : list) {
            ranges.push_back({Seq{range.getFirst()}, Seq{range.getLast()}});
        }
    }

    void read_series(capnp::List<wire::SeriesRows>::Reader list) {
        series.clear();
        columns.clear();
        checked_count("series", list.size(), limits::kBatchSeriesMax);
        for (const auto rows : list) {
            const auto column_list = rows.getColumns();
            const std::size_t column_count = checked_count("columns", column_list.size(), limits::kColumnsMax);
            for (const auto column : column_list) {
                columns.push_back({static_cast<ColumnId>(column.getId()), static_cast<Codec>(column.getCodec()),
                                   bytes_of(column.getBytes())});
            }
            series.push_back({{static_cast<Kind>(rows.getKind()), EventNumber{rows.getEvent()}},
                              rows.getRowCount(),
                              Ticks{rows.getFirstTicks()},
                              Ticks{rows.getLastTicks()},
                              std::span{columns}.last(column_count)});
        }
    }

    void read_batch_lists(wire::Batch::Reader from, BatchUntrusted& into) {
        read_series(from.getSeries());
        read_counts(from.getCounts());
        read_ranges(from.getDropped());
        clock_points.clear();
        const auto points = from.getClockPoints();
        checked_count("clock points", points.size(), limits::kClockPointsMax);
        for (const auto point : points) {
            clock_points.push_back(clock_point_of(point));
        }
        into.series = series;
        into.counts = counts;
        into.dropped = ranges;
        into.clock_points = clock_points;
    }

    BatchUntrusted batch(wire::Batch::Reader from, std::size_t size_bytes) {
        BatchUntrusted into;
        into.header = {session_of(from.getSession()), Seq{from.getSeq()}, EpochNumber{from.getEpoch()},
                       BucketNumber{from.getBucket()}};
        into.oldest_retained_seq = from.getOldestRetainedSeq();
        into.seal = from.getSeal();
        into.size_bytes = size_bytes;
        into.fault = caught([&] { read_batch_lists(from, into); });
        return into;
    }

    void read_offers(capnp::List<wire::ImageOffer>::Reader list) {
        offers.clear();
        checked_count("image offers", list.size(), intake_limits::kImageOffersMax);
        for (const auto offer : list) {
            offers.push_back({chars_of(offer.getBuildId()), offer.getType(), offer.getSizeBytes()});
        }
    }

    void read_hello_lists(wire::Hello::Reader from, HelloUntrusted& into) {
        SessionRecord& record = into.record;
        const auto labels = from.getLabels();
        checked_count("labels", labels.size(), limits::kLabelsMax);
        for (const auto label : labels) {
            record.labels.emplace_back(text_of(label.getKey()), text_of(label.getValue()));
        }
        const auto events = from.getEvents();
        checked_count("events", events.size(), limits::kEventsMax);
        for (const auto event : events) {
            record.events.push_back({.name = std::string{text_of(event.getName())},
                                     .kind = static_cast<Kind>(event.getKind()),
                                     .perf_type = event.getPerfType(),
                                     .perf_config = event.getPerfConfig(),
                                     .period = event.getPeriod(),
                                     .is_frequency = event.getIsFrequency(),
                                     .exclude_kernel = event.getExcludeKernel(),
                                     .exclude_user = event.getExcludeUser(),
                                     .callchain = event.getCallchain(),
                                     .unit = std::string{text_of(event.getUnit())},
                                     .format = std::string{text_of(event.getFormat())},
                                     .group = event.getGroup(),
                                     .attr = std::string{chars_of(event.getAttr())}});
        }
        read_offers(from.getImageOffers());
        into.image_offers = offers;
        const auto host = from.getHost();
        const auto words = host.getCommandLine();
        checked_count("words in the command line", words.size(), intake_limits::kCommandLineWordsMax);
        for (const auto word : words) {
            record.host.command_line.emplace_back(text_of(word));
        }
        record.host.os_release = text_of(host.getOsRelease());
        record.host.cpu_description = text_of(host.getCpuDescription());
        record.host.cpu_id = text_of(host.getCpuId());
        record.host.cpus_online = host.getCpusOnline();
        record.host.cpus_configured = host.getCpusConfigured();
        record.host.memory_kib = host.getMemoryKib();
        record.host.page_size_bytes = host.getPageSizeBytes();
        record.host.tracing_header_page = chars_of(host.getTracingHeaderPage());
        record.host.tracing_header_event = chars_of(host.getTracingHeaderEvent());
        record.target_name = text_of(from.getTargetName());
        record.architecture = text_of(from.getArchitecture());
        const auto clock = from.getClock();
        record.clock_name = text_of(clock.getName());
        record.ticks_per_second = clock.getTicksPerSecond();
        record.linux_clockid = clock.getLinuxClockid();
        record.start_point = clock_point_of(from.getStartPoint());
        record.collector_version = text_of(from.getCollectorVersion());
    }

    HelloUntrusted hello(wire::Hello::Reader from, std::uint16_t protocol_version, std::size_t size_bytes) {
        HelloUntrusted into;
        into.protocol_version = protocol_version;
        into.record.session = session_of(from.getSession());
        into.record.target = TargetId{from.getTargetId()};
        into.oldest_retained_seq = from.getOldestRetainedSeq();
        into.clock = Ticks{from.getClockTicks()};
        into.fault = caught([&] {
            checked_count("bytes", size_bytes, limits::kHelloSizeBytesMax);
            read_hello_lists(from, into);
        });
        return into;
    }

    ByeUntrusted bye(wire::Bye::Reader from) {
        read_counts(from.getCounts());
        read_ranges(from.getDropped());
        return {session_of(from.getSession()), Seq{from.getLastSeq()}, counts, ranges,
                clock_point_of(from.getEndPoint())};
    }

    MessageUntrusted message(wire::Envelope::Reader envelope, std::size_t size_bytes) {
        const std::uint16_t protocol_version = envelope.getProtocolVersion();
        if (protocol_version != protocol::kVersion && !envelope.isHello()) {
            return OtherUntrusted{};
        }
        switch (envelope.which()) {
            case wire::Envelope::HELLO: return hello(envelope.getHello(), protocol_version, size_bytes);
            case wire::Envelope::BATCH: return batch(envelope.getBatch(), size_bytes);
            case wire::Envelope::BYE: return bye(envelope.getBye());
            case wire::Envelope::IMAGE_OFFERS: {
                const auto more = envelope.getImageOffers();
                read_offers(more.getOffers());
                return ImageOffersUntrusted{session_of(more.getSession()), offers};
            }
            case wire::Envelope::IMAGE: {
                const auto image = envelope.getImage();
                return ImageUntrusted{session_of(image.getSession()),
                                      chars_of(image.getBuildId()),
                                      image.getType(),
                                      image.getSizeBytes(),
                                      image.getOffset(),
                                      chars_of(image.getBytes())};
            }
            case wire::Envelope::CONTROLLED: {
                const auto controlled = envelope.getControlled();
                return ControlledUntrusted{session_of(controlled.getSession()), controlled.getNumber(),
                                           controlled.getOutcome(), text_of(controlled.getReason())};
            }
            default: return OtherUntrusted{};
        }
    }
};

Decoder::Decoder() : state_{std::make_unique<State>()} {}

Decoder::~Decoder() = default;

Result<MessageUntrusted> Decoder::decode(std::span<const std::byte> frame) {
    State& state = *state_;
    if (frame.size() > kFrameSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, "a message of " + std::to_string(frame.size()) + " bytes, at most " +
                                               std::to_string(kFrameSizeBytesMax) + " are allowed"};
    }
    if (frame.empty() || frame.size() % kWordSizeBytes != 0) {
        return Error{ErrorCode::kTruncated,
                     "a message of " + std::to_string(frame.size()) + " bytes, which is no multiple of 8"};
    }
    const std::size_t word_count = frame.size() / kWordSizeBytes;
    const auto* words = reinterpret_cast<const capnp::word*>(frame.data());
    if (reinterpret_cast<std::uintptr_t>(frame.data()) % kWordSizeBytes != 0) {
        state.aligned.resize(word_count);
        std::memcpy(state.aligned.data(), frame.data(), frame.size());
        words = reinterpret_cast<const capnp::word*>(state.aligned.data());
    }
    // Number of further segments. Collectors send single-segment messages; more segments would cost memory.
    std::uint32_t more_segments_count = 0;
    std::memcpy(&more_segments_count, words, sizeof more_segments_count);
    if (more_segments_count != 0) {
        return Error{ErrorCode::kInvalid, "a message of several segments, where one is a message"};
    }
    if (!protocol::is_checksum_right(frame)) {
        return Error{ErrorCode::kCorrupt, "a message of " + std::to_string(frame.size()) +
                                              " bytes whose checksum is wrong: it was damaged on its way"};
    }
    // Each word is read once; twice the frame covers what libcapnp counts in addition.
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 2 * word_count + kTraversalSlackWords;
    options.nestingLimit = kNestingMax;
    MessageUntrusted message;
    state.reader.reset();
    auto fault = caught([&] {
        state.reader.emplace(kj::arrayPtr(words, word_count), options);
        message = state.message(state.reader->getRoot<wire::Envelope>(), frame.size());
    });
    if (fault.has_value()) {
        return std::move(*fault);
    }
    return message;
}

}  // namespace perfleet
