#include "exporters/perf-data/features.h"

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {
namespace {

constexpr std::string_view kTracingMagic{"\x17\x08\x44tracing", 10};
constexpr std::uint32_t kPageSizeDefault = 4'096;
constexpr std::size_t kNameAlignment = 64;

class SectionBytes {
public:
    template <class T>
    SectionBytes& put(T value) {
        static_assert(std::is_integral_v<T>);
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
        return *this;
    }
    SectionBytes& put_raw(std::string_view bytes) {
        bytes_ += bytes;
        return *this;
    }
    // u32 length, then the text with its NUL, padded to kNameAlignment.
    SectionBytes& put_string(std::string_view text) {
        const std::size_t padded = (text.size() + kNameAlignment) / kNameAlignment * kNameAlignment;
        put(static_cast<std::uint32_t>(padded));
        bytes_ += text;
        bytes_.append(padded - text.size(), '\0');
        return *this;
    }
    SectionBytes& put_name(std::string_view name) { return put_raw(name).put('\0'); }
    // The size, then the content.
    SectionBytes& put_file(std::string_view content) {
        return put(static_cast<std::uint64_t>(content.size())).put_raw(content);
    }
    [[nodiscard]] std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

// The page header of a 64-bit kernel's ring buffer: perf refuses files without one.
std::string default_header_page(std::uint32_t page_size_bytes) {
    const auto field = [](std::string_view what, int offset, std::uint32_t size, int is_signed) {
        return "\tfield: " + std::string{what} + ";\toffset:" + std::to_string(offset) +
               ";\tsize:" + std::to_string(size) + ";\tsigned:" + std::to_string(is_signed) + ";\n";
    };
    return field("u64 timestamp", 0, 8, 0) + field("local_t commit", 8, 8, 1) + field("int overwrite", 8, 1, 1) +
           field("char data", 16, page_size_bytes - 16, 1);
}

// The TRACING_DATA section, with which readers decode raw data: formats of the events that have some, by system and
// name; page layout as the host gave it.
std::string tracing_data(const HostRecord& host, std::span<const ExportedEvent> events) {
    const std::uint32_t page_size_bytes = host.page_size_bytes > 16 ? host.page_size_bytes : kPageSizeDefault;
    SectionBytes out;
    out.put_raw(kTracingMagic).put_name("0.5");
    out.put(std::uint8_t{0});  // little-endian
    out.put(std::uint8_t{8});  // size of a long
    out.put(page_size_bytes).put_name("header_page");
    out.put_file(host.tracing_header_page.empty() ? default_header_page(page_size_bytes) : host.tracing_header_page);
    out.put_name("header_event").put_file(host.tracing_header_event);
    out.put(std::uint32_t{0});  // formats of ftrace's own entries

    std::map<std::string_view, std::set<std::string_view>> systems;
    for (const ExportedEvent& event : events) {
        if (event.raw) {
            systems[std::string_view{event.name}.substr(0, event.name.find(':'))].insert(event.format);
        }
    }
    out.put(static_cast<std::uint32_t>(systems.size()));
    for (const auto& [system, formats] : systems) {
        out.put_name(system).put(static_cast<std::uint32_t>(formats.size()));
        for (const std::string_view format : formats) {
            out.put_file(format);
        }
    }
    out.put(std::uint32_t{0});  // kallsyms
    out.put(std::uint32_t{0});  // printk formats
    return out.take();
}

std::string text(std::string_view value) { return SectionBytes{}.put_string(value).take(); }

// "sel4-aarch64" → "aarch64": perf looks for a disassembler of this name.
std::string_view machine_of(std::string_view architecture) {
    const std::size_t dash = architecture.find_last_of('-');
    return dash == std::string_view::npos ? architecture : architecture.substr(dash + 1);
}

// perf's own version for an imported recording.
std::string version_of(const std::string& collector_version) {
    constexpr std::string_view kPerf{"perf "};
    return collector_version.starts_with(kPerf) ? collector_version.substr(kPerf.size())
                                                : "perfleet " + collector_version;
}

std::string build_id_section(std::span<const ExportedBuildId> build_ids) {
    SectionBytes out;
    for (const ExportedBuildId& entry : build_ids) {
        const std::size_t padded = (entry.name.size() + kNameAlignment) / kNameAlignment * kNameAlignment;
        const std::uint16_t mode = entry.is_kernel ? perf::misc::kKernel : perf::misc::kUser;
        out.put(static_cast<std::uint32_t>(perf::RecordType::kHeaderBuildId))
            .put(static_cast<std::uint16_t>(mode | perf::misc::kBuildIdSize))
            .put(static_cast<std::uint16_t>(8 + 4 + 24 + padded))
            .put(std::int32_t{-1});
        std::string id = entry.build_id;
        id.resize(limits::kBuildIdSizeBytesMax, '\0');
        out.put_raw(id).put(static_cast<std::uint8_t>(entry.build_id.size())).put_raw(std::string_view{"\0\0\0", 3});
        out.put_raw(entry.name).put_raw(std::string(padded - entry.name.size(), '\0'));
    }
    return out.take();
}

std::string event_section(std::span<const ExportedEvent> events) {
    SectionBytes out;
    out.put(static_cast<std::uint32_t>(events.size()))
        .put(static_cast<std::uint32_t>(events.empty() ? kAttrSizeBytes : events.front().attr().size()));
    for (const ExportedEvent& event : events) {
        out.put_raw(event.attr()).put(std::uint32_t{1}).put_string(event.recorded_name()).put(event.id);
    }
    return out.take();
}

std::string group_section(std::span<const ExportedGroup> groups) {
    SectionBytes out;
    out.put(static_cast<std::uint32_t>(groups.size()));
    for (const ExportedGroup& group : groups) {
        out.put_string("{anon_group}").put(group.leader_index).put(group.event_count);  // perf's name for no name
    }
    return out.take();
}

std::string command_line_section(const std::vector<std::string>& words) {
    SectionBytes out;
    out.put(static_cast<std::uint32_t>(words.size()));
    for (const std::string& word : words) {
        out.put_string(word);
    }
    return out.take();
}

}  // namespace

std::vector<FeatureSection> feature_sections(const SessionRecord& host, std::span<const ExportedEvent> events,
                                             std::span<const ExportedGroup> groups,
                                             std::span<const ExportedBuildId> build_ids,
                                             const std::optional<ExportedTimes>& times) {
    using perf::Feature;
    std::vector<FeatureSection> sections;
    if (std::any_of(events.begin(), events.end(), [](const auto& event) { return event.raw; })) {
        sections.emplace_back(Feature::kTracingData, tracing_data(host.host, events));
    }
    if (!build_ids.empty()) {
        sections.emplace_back(Feature::kBuildId, build_id_section(build_ids));
    }
    // Features 3 to 11 are always written: `perf data convert` needs each of them.
    sections.emplace_back(Feature::kHostname, text(host.target_name));
    sections.emplace_back(Feature::kOsRelease, text(host.host.os_release));
    sections.emplace_back(Feature::kVersion, text(version_of(host.collector_version)));
    sections.emplace_back(Feature::kArch, text(machine_of(host.architecture)));
    const std::uint32_t configured = std::max({1U, host.host.cpus_configured, host.host.cpus_online});
    const std::uint32_t online = host.host.cpus_online != 0 ? host.host.cpus_online : configured;
    sections.emplace_back(Feature::kNrCpus, SectionBytes{}.put(configured).put(online).take());
    sections.emplace_back(Feature::kCpuDesc, text(host.host.cpu_description));
    sections.emplace_back(Feature::kCpuId, text(host.host.cpu_id));
    sections.emplace_back(Feature::kTotalMem, SectionBytes{}.put(host.host.memory_kib).take());
    sections.emplace_back(Feature::kCmdline, command_line_section(host.host.command_line));
    sections.emplace_back(Feature::kEventDesc, event_section(events));
    // perf report needs this feature to show branches.
    if (std::any_of(events.begin(), events.end(), [](const ExportedEvent& event) {
            return (event.sample_type() & perf::sample_type::kBranchStack) != 0 && !event.has_chains_of_branches();
        })) {
        sections.emplace_back(Feature::kBranchStack, std::string{});
    }
    if (!groups.empty()) {
        sections.emplace_back(Feature::kGroupDesc, group_section(groups));
    }
    if (!times) {
        return sections;
    }
    sections.emplace_back(Feature::kSampleTime, SectionBytes{}.put(times->first_ns).put(times->last_ns).take());
    sections.emplace_back(Feature::kClockid, SectionBytes{}.put(std::uint64_t{1}).take());  // resolution, ns
    const auto clock_id = static_cast<std::uint32_t>(events.empty() ? 1 : events.front().clock_id);
    sections.emplace_back(Feature::kClockData, SectionBytes{}
                                                   .put(std::uint32_t{1})
                                                   .put(clock_id)
                                                   .put(times->clock_point.utc_ns.value)
                                                   .put(times->clock_point.ticks.value)
                                                   .take());
    return sections;
}

}  // namespace perfleet
