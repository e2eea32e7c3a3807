#include "target-collector/intake/perf-data/recorded_session.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "schemas/perf/perf_event.h"
#include "schemas/text/numbered_name.h"
#include "schemas/text/parse.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/intake/perf-data/simpleperf.h"
#include "target-collector/records/byte_cursor.h"

namespace perfleet {
namespace {

constexpr std::size_t kBuildIdSizeBytes = 20;
constexpr std::uint32_t kListMax = 1U << 16;  // systems, formats, words

std::string feature_name(unsigned number) { return "feature " + std::to_string(number); }

std::uint64_t format_id(std::string_view format) {
    std::size_t at = format.find("\nID:");
    at = at == std::string_view::npos ? format.size() : format.find_first_not_of(' ', at + 4);
    std::uint64_t id = 0;
    if (at < format.size()) {
        std::from_chars(format.data() + at, format.data() + format.size(), id);
    }
    return id;
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<Done> RecordedSession::read_sections(const FileBytes& file, const PerfDataHeader& header) {
    PERFLEET_TRY(read_attrs(file, header));
    for (const auto& [number, section] : header.features) {
        const auto bytes = file.piece(section.offset, std::min(section.size_bytes, kSectionSizeBytesMax));
        if (bytes.size() < section.size_bytes || !take_feature(number, bytes)) {
            warnings.push_back("damaged at offset " + std::to_string(section.offset) + ": " + feature_name(number) +
                               "; what it says is missing");
        }
    }
    return Done{};
}

Result<Done> RecordedSession::read_attrs(const FileBytes& file, const PerfDataHeader& header) {
    constexpr std::uint64_t kIdsSectionSizeBytes = 16;
    const std::uint64_t entry_size = header.attr_entry_size_bytes;
    if (entry_size < kAttrSizeBytesMin + kIdsSectionSizeBytes || entry_size > limits::kEventAttrSizeBytesMax) {
        return Error{ErrorCode::kInvalid, file.path() + ": attrs of " + std::to_string(entry_size) +
                                              " bytes (offset 16 of the file); perf writes 80 and more"};
    }
    if (header.attrs.size_bytes / entry_size > limits::kEventsMax) {
        return Error{ErrorCode::kTooLarge, file.path() + ": " + std::to_string(header.attrs.size_bytes / entry_size) +
                                               " events, at most " + std::to_string(limits::kEventsMax) +
                                               " fit a session"};
    }
    const auto entries = file.piece(header.attrs.offset, header.attrs.size_bytes);
    for (std::size_t at = 0; at + entry_size <= entries.size(); at += entry_size) {
        const auto entry = std::span{entries}.subspan(at, static_cast<std::size_t>(entry_size));
        auto event = read_attr(entry.first(entry.size() - kIdsSectionSizeBytes), is_foreign_);
        ByteCursor place{entry.last(kIdsSectionSizeBytes), is_foreign_};
        const std::uint64_t offset = place.u64();
        const auto ids = file.piece(offset, std::min(place.u64(), kSectionSizeBytesMax));
        ByteCursor cursor{ids, is_foreign_};
        for (std::size_t i = 0; i < ids.size() / 8; ++i) {
            event->ids.push_back(cursor.u64());
        }
        events.push_back(std::move(*event));
    }
    if (events.empty()) {
        return Error{ErrorCode::kInvalid, file.path() + ": no events (offset " + std::to_string(header.attrs.offset) +
                                              "): the recording was never finished, or the file was cut"};
    }
    return Done{};
}

bool RecordedSession::take_attr(std::span<const std::byte> body) {
    ByteCursor cursor{body, is_foreign_};
    cursor.skip(4);
    const std::uint64_t size_reported = cursor.u32();
    const std::uint64_t size = size_reported == 0 ? kAttrSizeBytesMin : size_reported;
    cursor = ByteCursor{body, is_foreign_};
    auto event = read_attr(cursor.bytes(size), is_foreign_);
    if (!event || events.size() == limits::kEventsMax) {
        return false;
    }
    while (cursor.rest().size() >= 8) {
        event->ids.push_back(cursor.u64());
    }
    events.push_back(std::move(*event));
    return true;
}

bool RecordedSession::take_event_update(std::span<const std::byte> body) {
    enum : std::uint64_t { kUnit, kScale, kName };  // others list CPUs, which samples don't need
    ByteCursor cursor{body, is_foreign_};
    const std::uint64_t what = cursor.u64();
    const std::uint64_t id = cursor.u64();
    if (cursor.failed()) {
        return false;
    }
    for (RecordedEvent& event : events) {
        if (std::find(event.ids.begin(), event.ids.end(), id) == event.ids.end()) {
            continue;
        }
        switch (what) {
            case kUnit: event.unit_name = printable(cursor.text()); break;
            case kScale: event.scale = std::bit_cast<double>(cursor.u64()); break;
            case kName: event.name = cursor.text(); break;
            default: break;
        }
        return !cursor.failed();
    }
    return true;
}

bool RecordedSession::take_build_id(std::uint16_t misc, std::span<const std::byte> body) {
    ByteCursor cursor{body, is_foreign_};
    cursor.skip(4);
    const auto id = cursor.bytes(kBuildIdSizeBytes);
    const auto size_and_padding = cursor.bytes(4);
    const std::string_view path = cursor.text();
    if (cursor.failed() || path.empty()) {
        return false;
    }
    // Older versions have padding in place of the length.
    const bool has_size = (misc & perf::misc::kBuildIdSize) != 0;
    const std::size_t size =
        has_size ? std::min(std::to_integer<std::size_t>(size_and_padding[0]), kBuildIdSizeBytes) : kBuildIdSizeBytes;
    if (build_ids.size() < kBuildIdsMax) {
        build_ids.insert_or_assign(std::string{path}, text_of(id.first(size)));
    }
    return true;
}

bool RecordedSession::take_build_ids(std::span<const std::byte> section) {
    ByteCursor cursor{section, is_foreign_};
    while (!cursor.rest().empty()) {
        cursor.skip(4);
        const std::uint16_t misc = cursor.u16();
        const std::uint16_t size = cursor.u16();
        if (cursor.failed() || size < 8 || !take_build_id(misc, cursor.bytes(size - 8U))) {
            return false;
        }
    }
    return true;
}

bool RecordedSession::take_event_descriptions(std::span<const std::byte> section) {
    ByteCursor cursor{section, is_foreign_};
    const std::uint32_t count = cursor.u32();
    const std::uint32_t attr_size = cursor.u32();
    for (std::uint32_t i = 0; i < count && !cursor.failed(); ++i) {
        cursor.skip(attr_size);
        const std::uint32_t id_count = cursor.u32();
        const std::string_view name = cursor.sized_text();
        std::uint64_t first_id = 0;
        for (std::uint32_t k = 0; k < id_count && !cursor.failed(); ++k) {
            const std::uint64_t id = cursor.u64();
            first_id = k == 0 ? id : first_id;
        }
        if (cursor.failed()) {
            break;
        }
        const auto of_id = std::find_if(events.begin(), events.end(), [&](const RecordedEvent& event) {
            return std::find(event.ids.begin(), event.ids.end(), first_id) != event.ids.end();
        });
        RecordedEvent* const event = id_count > 0 && of_id != events.end() ? &*of_id
                                     : i < events.size()                   ? &events[i]
                                                                           : nullptr;
        if (event != nullptr) {
            event->name = name.substr(0, limits::kStringSizeBytesMax);
        }
    }
    return !cursor.failed();
}

bool RecordedSession::take_groups(std::span<const std::byte> section) {
    ByteCursor cursor{section, is_foreign_};
    const std::uint32_t count = cursor.u32();
    std::size_t next = 0;  // groups are listed in the order of events
    for (std::uint32_t i = 0; i < count && !cursor.failed(); ++i) {
        (void)cursor.sized_text();
        const std::size_t leader = cursor.u32();
        const std::size_t size = cursor.u32();
        if (cursor.failed() || leader < next || leader > events.size() || size > events.size() - leader || size < 2) {
            return false;
        }
        next = leader + size;
        for (std::size_t k = leader; k < next; ++k) {
            events[k].group = static_cast<std::uint16_t>(i + 1);
        }
    }
    return !cursor.failed();
}

bool RecordedSession::take_tracing_data(std::span<const std::byte> bytes) {
    ByteCursor start{bytes, false};
    constexpr std::string_view kMagic{"\x17\x08\x44tracing", 10};
    if (text_of(start.bytes(kMagic.size())) != kMagic) {
        return false;
    }
    (void)start.text();  // version
    const auto byte_order = start.bytes(1);
    const bool is_big_endian = !byte_order.empty() && byte_order[0] != std::byte{0};
    start.skip(1);  // size of a long
    ByteCursor cursor{start.rest(), is_big_endian == (std::endian::native == std::endian::little)};
    host.page_size_bytes = cursor.u32();
    const auto take_file = [&cursor] {
        const std::uint64_t size = cursor.u64();
        return text_of(cursor.bytes(size));
    };
    const auto bounded = [](std::string text) {
        text.resize(std::min<std::size_t>(text.size(), limits::kEventFormatSizeBytesMax));
        return text;
    };
    (void)cursor.text();
    host.tracing_header_page = bounded(take_file());
    (void)cursor.text();
    host.tracing_header_event = bounded(take_file());
    const std::uint32_t own_count = cursor.u32();  // formats of ftrace's own entries
    for (std::uint32_t i = 0; i < std::min(own_count, kListMax) && !cursor.failed(); ++i) {
        (void)take_file();
    }
    const std::uint32_t system_count = cursor.u32();
    for (std::uint32_t i = 0; i < std::min(system_count, kListMax) && !cursor.failed(); ++i) {
        const std::string system{cursor.text()};
        const std::uint32_t count = cursor.u32();
        for (std::uint32_t k = 0; k < std::min(count, kListMax) && !cursor.failed(); ++k) {
            std::string text = take_file();
            constexpr std::string_view kName{"name: "};
            if (!text.starts_with(kName) || text.size() > limits::kEventFormatSizeBytesMax ||
                text.find('\0') != std::string::npos) {
                continue;
            }
            std::string name = system + ":" + text.substr(kName.size(), text.find('\n') - kName.size());
            const std::uint64_t id = format_id(text);
            formats_[id] = {std::move(name), std::move(text)};
        }
    }
    return !cursor.failed();
}

bool RecordedSession::take_event_ids(std::span<const std::byte> body) {
    ByteCursor cursor{body, is_foreign_};
    const std::uint64_t count = cursor.u64();
    for (std::uint64_t i = 0; i < count && !cursor.failed(); ++i) {
        const std::uint64_t index = cursor.u64();
        const std::uint64_t id = cursor.u64();
        if (!cursor.failed() && index < events.size()) {
            events[index].ids.push_back(id);
        }
    }
    return !cursor.failed();
}

bool RecordedSession::take_kallsyms(std::span<const std::byte> body) {
    ByteCursor cursor{body, is_foreign_};
    const std::uint32_t size = cursor.u32();
    kallsyms = text_of(cursor.bytes(size));
    return !cursor.failed();
}

bool RecordedSession::take_meta_info(std::span<const std::byte> section) {
    constexpr std::size_t kEntriesMax = 256;
    ByteCursor cursor{section, is_foreign_};
    while (!cursor.rest().empty() && meta.size() < kEntriesMax) {
        std::string key{cursor.text()};
        meta.insert_or_assign(std::move(key), std::string{cursor.text()});
    }
    return true;
}

// "cpu-cycles,0,0\nsched:sched_switch,2,95": name, type and config of each.
void RecordedSession::name_events_of_meta_info() {
    const auto types = meta.find("event_type_info");
    std::string_view rest = types == meta.end() ? std::string_view{} : types->second;
    while (!rest.empty()) {
        const std::string_view line = take_part(rest, '\n');
        const std::size_t config_at = line.rfind(',');
        const std::size_t type_at = config_at == std::string_view::npos ? config_at : line.rfind(',', config_at - 1);
        if (type_at == std::string_view::npos || type_at == 0) {
            continue;
        }
        std::uint32_t type = 0;
        std::uint64_t config = 0;
        std::from_chars(line.data() + type_at + 1, line.data() + config_at, type);
        std::from_chars(line.data() + config_at + 1, line.data() + line.size(), config);
        for (RecordedEvent& event : events) {
            // Other events get perf's names.
            if (event.name.empty() && event.type == perf::kTypeTracepoint && event.type == type &&
                event.config == config) {
                event.name = line.substr(0, std::min(type_at, limits::kStringSizeBytesMax));
            }
        }
    }
}

bool RecordedSession::take_feature(unsigned number, std::span<const std::byte> section) {
    using perf::Feature;
    ByteCursor cursor{section, is_foreign_};
    const auto text = [&cursor] {
        // Hosts are shown; longer text isn't a host.
        constexpr std::size_t kTextMax = 256;
        return std::string{cursor.sized_text().substr(0, kTextMax)};
    };
    switch (number) {
        case simpleperf::kMetaInfo: return take_meta_info(section);
        case simpleperf::kFile: return take_simpleperf_files(section, is_foreign_, symbols);
        case simpleperf::kFile2: return take_simpleperf_messages(section, is_foreign_, symbols);
        default: break;
    }
    switch (static_cast<Feature>(number)) {
        case Feature::kTracingData: return take_tracing_data(section);
        case Feature::kBuildId: return take_build_ids(section);
        case Feature::kHostname: host_name = text(); break;
        case Feature::kOsRelease: host.os_release = text(); break;
        case Feature::kVersion: perf_version = text(); break;
        case Feature::kArch: architecture = text(); break;
        case Feature::kNrCpus:
            host.cpus_configured = cursor.u32();
            host.cpus_online = cursor.u32();
            break;
        case Feature::kCpuDesc: host.cpu_description = text(); break;
        case Feature::kCpuId: host.cpu_id = text(); break;
        case Feature::kTotalMem: host.memory_kib = cursor.u64(); break;
        case Feature::kCmdline: {
            const std::uint32_t count = cursor.u32();
            host.command_line.clear();
            for (std::uint32_t i = 0; i < std::min(count, kListMax) && !cursor.failed(); ++i) {
                host.command_line.emplace_back(cursor.sized_text());
            }
            break;
        }
        case Feature::kEventDesc: return take_event_descriptions(section);
        case Feature::kGroupDesc: return take_groups(section);
        case Feature::kSampleTime:
            first_ns = cursor.u64();
            last_ns = cursor.u64();
            break;
        case Feature::kClockData: {
            cursor.skip(4);
            ClockPair pair;
            pair.clock_id = cursor.u32();
            pair.utc_ns = static_cast<std::int64_t>(cursor.u64());
            pair.ticks = cursor.u64();
            if (!cursor.failed()) {
                clock_pair = pair;
            }
            break;
        }
        default: break;
    }
    return !cursor.failed();
}

void RecordedSession::name_events() {
    name_events_of_meta_info();
    for (RecordedEvent& event : events) {
        if (event.type == perf::kTypeTracepoint) {
            if (const auto format = formats_.find(event.config); format != formats_.end()) {
                event.format = format->second.text;
                event.name = event.name.empty() ? format->second.name : event.name;
            }
        }
        if (event.name.empty()) {
            event.name = name_of_attr(event);
        }
        if (event.name.empty()) {
            event.name = "tracepoint-" + std::to_string(event.config);
        }
    }
    for (std::size_t i = 1; i < events.size(); ++i) {
        const std::string name = std::exchange(events[i].name, {});
        events[i].name = numbered(name, std::span{events}.first(i),
                                  [](const RecordedEvent& event) -> const std::string& { return event.name; });
        if (events[i].name != name) {
            warnings.push_back("several events are named " + printable(name) + ": one of them is " +
                               printable(events[i].name) + " here");
        }
    }
}

}  // namespace perfleet
