#include "exporters/perf-data/tracing_data.h"

#include <map>
#include <set>

namespace perfleet {
namespace {

constexpr std::string_view kTracingMagic{"\x17\x08\x44tracing", 10};
constexpr std::uint32_t kPageSizeDefault = 4'096;

template <class T>
void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_name(std::string& out, std::string_view name) {
    out += name;
    out += '\0';
}

void put_file(std::string& out, std::string_view content) {
    put(out, static_cast<std::uint64_t>(content.size()));
    out += content;
}

// The page header of a 64-bit kernel's ring buffer: perf refuses files without one.
std::string default_header_page(std::uint32_t page_size_bytes) {
    const auto field = [](std::string_view what, int offset, std::uint32_t size, int is_signed) {
        return "\tfield: " + std::string{what} + ";\toffset:" + std::to_string(offset) +
               ";\tsize:" + std::to_string(size) + ";\tsigned:" + std::to_string(is_signed) + ";\n";
    };
    return field("u64 timestamp", 0, 8, 0) + field("local_t commit", 8, 8, 1) + field("int overwrite", 8, 1, 1) +
           field("char data", 16, page_size_bytes - 16, 1);
}

}  // namespace

std::string tracing_data(const HostRecord& host, std::span<const ExportedEvent> events) {
    const std::uint32_t page_size_bytes = host.page_size_bytes > 16 ? host.page_size_bytes : kPageSizeDefault;
    std::string out{kTracingMagic};
    put_name(out, "0.5");
    put(out, std::uint8_t{0});  // little-endian
    put(out, std::uint8_t{8});  // size of a long
    put(out, page_size_bytes);
    put_name(out, "header_page");
    put_file(out, host.tracing_header_page.empty() ? default_header_page(page_size_bytes) : host.tracing_header_page);
    put_name(out, "header_event");
    put_file(out, host.tracing_header_event);
    put(out, std::uint32_t{0});  // formats of ftrace's own entries

    std::map<std::string_view, std::set<std::string_view>> systems;
    for (const ExportedEvent& event : events) {
        if (event.raw) {
            systems[std::string_view{event.name}.substr(0, event.name.find(':'))].insert(event.format);
        }
    }
    put(out, static_cast<std::uint32_t>(systems.size()));
    for (const auto& [system, formats] : systems) {
        put_name(out, system);
        put(out, static_cast<std::uint32_t>(formats.size()));
        for (const std::string_view format : formats) {
            put_file(out, format);
        }
    }
    put(out, std::uint32_t{0});  // kallsyms
    put(out, std::uint32_t{0});  // printk formats
    return out;
}

}  // namespace perfleet
