#include "storage/model/record.h"

#include "storage/model/record_bytes.h"

namespace perfleet {
namespace {

// What records consist of. Io is a RecordWriter or a RecordReader.

template <class Io, class Event>
void event_fields(Io& io, Event& event) {
    io.fields(event.name, event.kind, event.perf_type, event.perf_config, event.period);
    bool has_attr = !event.attr.empty();
    io.flags(event.is_frequency, event.exclude_kernel, event.exclude_user, event.callchain, has_attr);
    io.fields(event.unit, event.format, event.group);
    if (has_attr) {
        io.field(event.attr);
    }
}

constexpr auto kSessionFields = [](auto& io, auto& session) {
    io.fields(session.target, session.session, session.target_name, session.architecture, session.labels);
    io.each(session.events, [&](auto& event) { event_fields(io, event); });
    io.fields(session.clock_name, session.ticks_per_second, session.linux_clockid, session.start_point);
    auto& host = session.host;
    io.fields(host.os_release, host.cpu_description, host.cpu_id, host.cpus_online, host.cpus_configured,
              host.memory_kib, host.command_line, host.page_size_bytes, host.tracing_header_page,
              host.tracing_header_event);
    io.fields(session.collector_version, session.received);
};

constexpr auto kEndFields = [](auto& io, auto& end) {
    io.fields(end.last_seq, end.counts, end.dropped, end.end_point);
};

constexpr auto kImageFields = [](auto& io, auto& image) { io.fields(image.type, image.bytes); };

constexpr auto kNoteFields = [](auto& io, auto& note) {
    io.flags(note.is_removed);
    io.field(note.given_name);
};

constexpr auto kNumberFields = [](auto& io, auto& number) { io.field(number); };

template <class Record, class Fields>
std::string encode(const Record& record, Fields fields) {
    RecordWriter writer;
    fields(writer, record);
    return writer.finish();
}

template <class Record, class Fields>
Result<Record> decode(std::string_view bytes_untrusted, std::string_view what, Fields fields) {
    RecordReader reader{bytes_untrusted, what};
    Record record{};
    fields(reader, record);
    PERFLEET_TRY(reader.end());
    return record;
}

}  // namespace

std::string encode_record(const SessionRecord& session) { return encode(session, kSessionFields); }
Result<SessionRecord> decode_session_untrusted(std::string_view bytes) {
    return decode<SessionRecord>(bytes, "session record", kSessionFields);
}

std::string encode_record(const SessionEnd& end) { return encode(end, kEndFields); }
Result<SessionEnd> decode_session_end_untrusted(std::string_view bytes) {
    return decode<SessionEnd>(bytes, "session end", kEndFields);
}

std::string encode_record(const ExpiredBatch& batch) {
    RecordWriter writer;
    writer.fixed_u32(batch.seal);
    writer.field(batch.rows);
    return writer.finish();
}
Result<ExpiredBatch> decode_expired_batch_untrusted(std::string_view bytes) {
    RecordReader reader{bytes, "expired batch"};
    ExpiredBatch batch;
    batch.seal = reader.fixed_u32();
    reader.field(batch.rows);
    PERFLEET_TRY(reader.end());
    return batch;
}

std::string encode_record(const ImageContent& image) { return encode(image, kImageFields); }
Result<ImageContent> decode_image_untrusted(std::string_view bytes) {
    return decode<ImageContent>(bytes, "image", kImageFields);
}

std::string encode_record(const SessionNote& note) { return encode(note, kNoteFields); }
Result<SessionNote> decode_session_note_untrusted(std::string_view bytes) {
    return decode<SessionNote>(bytes, "session note", kNoteFields);
}

std::string encode_record(std::uint64_t number) { return encode(number, kNumberFields); }
Result<std::uint64_t> decode_number_untrusted(std::string_view bytes) {
    return decode<std::uint64_t>(bytes, "number", kNumberFields);
}

}  // namespace perfleet
