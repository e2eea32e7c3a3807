#include "storage/model/record.h"

#include "storage/model/record_bytes.h"

namespace perfleet {
namespace {

// Bits of an event's flags byte.
constexpr std::uint8_t kIsFrequency = 1;
constexpr std::uint8_t kExcludeKernel = 2;
constexpr std::uint8_t kExcludeUser = 4;
constexpr std::uint8_t kCallchain = 8;
constexpr std::uint8_t kHasAttr = 16;

// Bits of a session note's flags byte.
constexpr std::uint8_t kIsRemoved = 1;

void write_event(RecordWriter& writer, const EventRecord& event) {
    writer.text(event.name);
    writer.fixed_u8(static_cast<std::uint8_t>(event.kind));
    writer.varint(event.perf_type);
    writer.varint(event.perf_config);
    writer.varint(event.period);
    unsigned flags = 0;
    flags |= event.is_frequency ? kIsFrequency : 0U;
    flags |= event.exclude_kernel ? kExcludeKernel : 0U;
    flags |= event.exclude_user ? kExcludeUser : 0U;
    flags |= event.callchain ? kCallchain : 0U;
    flags |= event.attr.empty() ? 0U : kHasAttr;
    writer.fixed_u8(static_cast<std::uint8_t>(flags));
    writer.text(event.unit);
    writer.text(event.format);
    writer.varint(event.group);
    if (!event.attr.empty()) {
        writer.text(event.attr);
    }
}

EventRecord read_event(RecordReader& reader) {
    EventRecord event;
    event.name = reader.text();
    event.kind = static_cast<Kind>(reader.fixed_u8());
    event.perf_type = static_cast<std::uint32_t>(reader.varint(0xffff'ffff));
    event.perf_config = reader.varint();
    event.period = reader.varint();
    const unsigned flags = reader.fixed_u8();
    event.is_frequency = (flags & kIsFrequency) != 0;
    event.exclude_kernel = (flags & kExcludeKernel) != 0;
    event.exclude_user = (flags & kExcludeUser) != 0;
    event.callchain = (flags & kCallchain) != 0;
    event.unit = reader.text();
    event.format = reader.text();
    event.group = static_cast<std::uint16_t>(reader.varint(0xffff));
    if ((flags & kHasAttr) != 0) {
        event.attr = reader.text();
    }
    return event;
}

void write_host(RecordWriter& writer, const HostRecord& host) {
    writer.text(host.os_release);
    writer.text(host.cpu_description);
    writer.text(host.cpu_id);
    writer.varint(host.cpus_online);
    writer.varint(host.cpus_configured);
    writer.varint(host.memory_kib);
    writer.list(host.command_line, [&](const std::string& word) { writer.text(word); });
    writer.varint(host.page_size_bytes);
    writer.text(host.tracing_header_page);
    writer.text(host.tracing_header_event);
}

HostRecord read_host(RecordReader& reader) {
    HostRecord host;
    host.os_release = reader.text();
    host.cpu_description = reader.text();
    host.cpu_id = reader.text();
    host.cpus_online = static_cast<std::uint32_t>(reader.varint(0xffff'ffff));
    host.cpus_configured = static_cast<std::uint32_t>(reader.varint(0xffff'ffff));
    host.memory_kib = reader.varint();
    reader.list(host.command_line, [&] { return reader.text(); });
    host.page_size_bytes = static_cast<std::uint32_t>(reader.varint(0xffff'ffff));
    host.tracing_header_page = reader.text();
    host.tracing_header_event = reader.text();
    return host;
}

template <class Record>
Result<Record> finish(RecordReader& reader, Record record) {
    PERFLEET_TRY(reader.end());
    return record;
}

}  // namespace

std::string encode_record(const SessionRecord& session) {
    RecordWriter writer;
    writer.varint(session.target.value);
    writer.varint(session.session.high);
    writer.varint(session.session.low);
    writer.text(session.target_name);
    writer.text(session.architecture);
    writer.list(session.labels, [&](const auto& label) {
        writer.text(label.first);
        writer.text(label.second);
    });
    writer.list(session.events, [&](const EventRecord& event) { write_event(writer, event); });
    writer.text(session.clock_name);
    writer.varint(session.ticks_per_second);
    writer.signed_varint(session.linux_clockid);
    writer.clock_point(session.start_point);
    write_host(writer, session.host);
    writer.text(session.collector_version);
    writer.signed_varint(session.received.value);
    return writer.finish();
}

Result<SessionRecord> decode_session_untrusted(std::string_view bytes) {
    RecordReader reader{bytes, "session record"};
    SessionRecord session;
    session.target.value = reader.varint();
    session.session.high = reader.varint();
    session.session.low = reader.varint();
    session.target_name = reader.text();
    session.architecture = reader.text();
    reader.list(session.labels, [&] {
        std::string key = reader.text();
        return std::pair{std::move(key), reader.text()};
    });
    reader.list(session.events, [&] { return read_event(reader); });
    session.clock_name = reader.text();
    session.ticks_per_second = reader.varint();
    session.linux_clockid = static_cast<std::int32_t>(reader.signed_varint());
    session.start_point = reader.clock_point();
    session.host = read_host(reader);
    session.collector_version = reader.text();
    session.received.value = reader.signed_varint();
    return finish(reader, std::move(session));
}

std::string encode_record(const SessionEnd& end) {
    RecordWriter writer;
    writer.varint(end.last_seq.value);
    writer.list(end.counts, [&](const CountEntry& entry) { writer.entry(entry); });
    writer.list(end.dropped, [&](const SeqRange& range) { writer.seq_range(range); });
    writer.clock_point(end.end_point);
    return writer.finish();
}

Result<SessionEnd> decode_session_end_untrusted(std::string_view bytes) {
    RecordReader reader{bytes, "session end"};
    SessionEnd end;
    end.last_seq.value = reader.varint();
    reader.list(end.counts, [&] { return reader.entry(); });
    reader.list(end.dropped, [&] { return reader.seq_range(); });
    end.end_point = reader.clock_point();
    return finish(reader, std::move(end));
}

std::string encode_record(const ExpiredBatch& batch) {
    RecordWriter writer;
    writer.fixed_u32(batch.seal);
    writer.list(batch.rows, [&](const auto& rows) {
        writer.series(rows.first);
        writer.varint(rows.second);
    });
    return writer.finish();
}

Result<ExpiredBatch> decode_expired_batch_untrusted(std::string_view bytes) {
    RecordReader reader{bytes, "expired batch"};
    ExpiredBatch batch;
    batch.seal = reader.fixed_u32();
    reader.list(batch.rows, [&] {
        const Series series = reader.series();
        return std::pair{series, reader.varint()};
    });
    return finish(reader, std::move(batch));
}

std::string encode_record(const ImageContent& image) {
    RecordWriter writer;
    writer.varint(image.type);
    writer.text(image.bytes);
    return writer.finish();
}

Result<ImageContent> decode_image_untrusted(std::string_view bytes) {
    RecordReader reader{bytes, "image"};
    ImageContent image;
    image.type = static_cast<std::uint16_t>(reader.varint(0xffff));
    image.bytes = reader.text();
    return finish(reader, std::move(image));
}

std::string encode_record(const SessionNote& note) {
    RecordWriter writer;
    writer.fixed_u8(note.is_removed ? kIsRemoved : 0);
    writer.text(note.given_name);
    return writer.finish();
}

Result<SessionNote> decode_session_note_untrusted(std::string_view bytes) {
    RecordReader reader{bytes, "session note"};
    SessionNote note;
    note.is_removed = (reader.fixed_u8() & kIsRemoved) != 0;
    note.given_name = reader.text();
    return finish(reader, std::move(note));
}

std::string encode_record(std::uint64_t number) {
    RecordWriter writer;
    writer.varint(number);
    return writer.finish();
}

Result<std::uint64_t> decode_number_untrusted(std::string_view bytes) {
    RecordReader reader{bytes, "number"};
    const std::uint64_t number = reader.varint();
    return finish(reader, number);
}

}  // namespace perfleet
