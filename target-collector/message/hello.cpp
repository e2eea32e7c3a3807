#include "target-collector/message/hello.h"

#include "target-collector/message/capnp_writer.h"
#include "target-collector/message/message_parts.h"

namespace perfleet {
namespace {

using StructPlace = CapnpWriter::StructPlace;

void write_event(CapnpWriter& writer, StructPlace place, const EventDescription& event) {
    namespace layout = wire_layout::event;
    writer.set_text(place, layout::kName, event.name);
    writer.set(place, layout::kKind, static_cast<std::uint8_t>(event.kind));
    writer.set(place, layout::kPerfType, event.perf_type);
    writer.set(place, layout::kPerfConfig, event.perf_config);
    writer.set(place, layout::kPeriod, event.period);
    writer.set(place, layout::kIsFrequency, event.is_frequency);
    writer.set(place, layout::kExcludeKernel, event.exclude_kernel);
    writer.set(place, layout::kExcludeUser, event.exclude_user);
    writer.set(place, layout::kCallchain, event.callchain);
    writer.set_text(place, layout::kUnit, event.unit);
    writer.set_text(place, layout::kFormat, event.format);
    writer.set(place, layout::kGroup, event.group);
    writer.set_data(place, layout::kAttr, {reinterpret_cast<const std::byte*>(event.attr.data()), event.attr.size()});
}

void write_host(CapnpWriter& writer, StructPlace place, const HostDescription& host) {
    namespace layout = wire_layout::host;
    writer.set_text(place, layout::kOsRelease, host.os_release);
    writer.set_text(place, layout::kCpuDescription, host.cpu_description);
    writer.set_text(place, layout::kCpuId, host.cpu_id);
    writer.set(place, layout::kCpusOnline, host.cpus_online);
    writer.set(place, layout::kCpusConfigured, host.cpus_configured);
    writer.set(place, layout::kMemoryKib, host.memory_kib);
    const auto command_line = writer.make_text_list(place, layout::kCommandLine, host.command_line.size());
    for (std::size_t i = 0; i < host.command_line.size(); ++i) {
        writer.set_text_element(command_line, i, host.command_line[i]);
    }
    writer.set(place, layout::kPageSizeBytes, host.page_size_bytes);
    writer.set_data(place, layout::kTracingHeaderPage, host.tracing_header_page);
    writer.set_data(place, layout::kTracingHeaderEvent, host.tracing_header_event);
}

}  // namespace

std::size_t hello_size_bytes_max(const HelloDescription& hello) {
    // For a text or data: a NUL and the padding; its pointer is part of the struct.
    constexpr std::size_t kTextOverheadBytes = 8;
    constexpr std::size_t kFixedBytes = 1'024;
    constexpr std::size_t kPerEntryBytes = 64;
    static_assert(kPerEntryBytes >=
                  (wire_layout::event::kShape.data_words + wire_layout::event::kShape.pointer_count) * 8);
    std::size_t size = kFixedBytes;
    const auto add = [&size](std::size_t bytes) { size += bytes + kTextOverheadBytes; };
    add(hello.target_name.size());
    add(hello.architecture.size());
    for (const auto& label : hello.labels) {
        size += kPerEntryBytes;
        add(label.key.size());
        add(label.value.size());
    }
    for (const auto& event : hello.events) {
        size += kPerEntryBytes;
        add(event.name.size());
        add(event.unit.size());
        add(event.format.size());
        add(event.attr.size());
    }
    add(hello.clock.name.size());
    add(hello.host.os_release.size());
    add(hello.host.cpu_description.size());
    add(hello.host.cpu_id.size());
    for (const auto& part : hello.host.command_line) {
        size += kPerEntryBytes;
        add(part.size());
    }
    add(hello.host.tracing_header_page.size());
    add(hello.host.tracing_header_event.size());
    for (const auto& offer : hello.image_offers) {
        size += kPerEntryBytes;
        add(offer.build_id.size());
    }
    add(hello.collector_version.size());
    return size;
}

Checked<std::size_t> write_hello(const HelloDescription& hello, std::span<std::byte> out) {
    namespace layout = wire_layout::hello;
    if (hello.events.size() > limits::kEventsMax || hello.labels.size() > limits::kLabelsMax) {
        return Fault{ErrorCode::kTooLarge, hello.events.size(), hello.labels.size()};
    }
    CapnpWriter writer{out};
    const auto envelope = writer.make_root(wire_layout::envelope::kShape);
    const auto place = begin_message(writer, envelope, wire_layout::MessageTag::kHello,
                                     hello.tells_clock ? layout::kShape : layout::kShapeWithoutClockTicks);
    write_session(writer, place, layout::kSession, hello.session);
    writer.set(place, layout::kTargetId, hello.target.value);
    writer.set_text(place, layout::kTargetName, hello.target_name);
    writer.set_text(place, layout::kArchitecture, hello.architecture);
    const auto labels = writer.make_list(place, layout::kLabels, wire_layout::label::kShape, hello.labels.size());
    for (std::size_t i = 0; i < hello.labels.size(); ++i) {
        const auto label = CapnpWriter::element(labels, i);
        writer.set_text(label, wire_layout::label::kKey, hello.labels[i].key);
        writer.set_text(label, wire_layout::label::kValue, hello.labels[i].value);
    }
    const auto events = writer.make_list(place, layout::kEvents, wire_layout::event::kShape, hello.events.size());
    for (std::size_t i = 0; i < hello.events.size(); ++i) {
        write_event(writer, CapnpWriter::element(events, i), hello.events[i]);
    }
    const auto clock = writer.make_struct(place, layout::kClock, wire_layout::clock::kShape);
    writer.set_text(clock, wire_layout::clock::kName, hello.clock.name);
    writer.set(clock, wire_layout::clock::kTicksPerSecond, hello.clock.ticks_per_second);
    writer.set(clock, wire_layout::clock::kLinuxClockid, hello.clock.linux_clockid);
    write_clock_point(writer, writer.make_struct(place, layout::kStartPoint, wire_layout::clock_point::kShape),
                      hello.start_point);
    write_host(writer, writer.make_struct(place, layout::kHost, wire_layout::host::kShape), hello.host);
    const auto offers =
        writer.make_list(place, layout::kImageOffers, wire_layout::image_offer::kShape, hello.image_offers.size());
    for (std::size_t i = 0; i < hello.image_offers.size(); ++i) {
        const auto offer = CapnpWriter::element(offers, i);
        writer.set_data(offer, wire_layout::image_offer::kBuildId, hello.image_offers[i].build_id);
        writer.set(offer, wire_layout::image_offer::kType, static_cast<std::uint16_t>(hello.image_offers[i].type));
        writer.set(offer, wire_layout::image_offer::kSizeBytes, hello.image_offers[i].size_bytes);
    }
    writer.set_text(place, layout::kCollectorVersion, hello.collector_version);
    writer.set(place, layout::kOldestRetainedSeq, hello.oldest_retained.value);
    auto size = writer.finish();
    if (size.ok() && *size > limits::kHelloSizeBytesMax) {
        return Fault{ErrorCode::kTooLarge, *size, limits::kHelloSizeBytesMax};
    }
    return size;
}

}  // namespace perfleet
