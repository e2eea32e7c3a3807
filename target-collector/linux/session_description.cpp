#include "target-collector/linux/session_description.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <span>
#include <string_view>

#include "schemas/text/parse.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/hello_limits.h"
#include "target-collector/message/hello.h"
#include "target-collector/process/small_file.h"
#include "target-collector/source/linux/event/tracepoint_finder.h"

namespace perfleet {
namespace {

constexpr std::size_t kSmallFileSizeBytesMax = 4U << 20U;

std::string text_of(const std::string& path) {
    auto text = read_small_file(path, kSmallFileSizeBytesMax);
    return text.ok() ? std::move(*text) : std::string{};
}

// The value of "key\t: value" in /proc/cpuinfo; empty if there is none.
std::string_view cpu_field(std::string_view cpuinfo, std::string_view key) {
    while (!cpuinfo.empty()) {
        const std::string_view line = take_part(cpuinfo, '\n');
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || !line.starts_with(key)) {
            continue;
        }
        const std::string_view between = line.substr(key.size(), colon - key.size());
        if (between.find_first_not_of(" \t") == std::string_view::npos) {
            return line.substr(std::min(colon + 2, line.size()));
        }
    }
    return {};
}

// As in perf.data: vendor,family,model,stepping on x86; the main id register on Arm.
std::string cpu_id(std::string_view cpuinfo) {
    if (const std::string_view vendor = cpu_field(cpuinfo, "vendor_id"); !vendor.empty()) {
        return std::string(vendor) + "," + std::string(cpu_field(cpuinfo, "cpu family")) + "," +
               std::string(cpu_field(cpuinfo, "model")) + "," + std::string(cpu_field(cpuinfo, "stepping"));
    }
    std::string midr = text_of("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
    while (!midr.empty() && midr.back() == '\n') {
        midr.pop_back();
    }
    return midr;
}

// The command line is for people: it is cut to fit a Hello, and a last word reports the cut.
std::vector<std::string> reported_words(const std::vector<std::string>& words) {
    constexpr std::size_t kWordsMax = hello_limits::kCommandLineWordsMax - 1;
    constexpr std::size_t kWordOverheadBytes = 16;
    constexpr std::size_t kSizeBytesMax = limits::kHelloSizeBytesMax / 4;
    std::size_t size_bytes = 0;
    std::size_t count = 0;
    while (count < words.size() && count < kWordsMax &&
           size_bytes + words[count].size() + kWordOverheadBytes <= kSizeBytesMax) {
        size_bytes += words[count++].size() + kWordOverheadBytes;
    }
    std::vector<std::string> named(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
    if (count < words.size()) {
        named.push_back("...(" + std::to_string(words.size() - count) + " more words)");
    }
    return named;
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

}  // namespace

Result<std::vector<std::byte>> describe_session(const SessionDescription& session, const CollectorOptions& options,
                                                const PerfSource& source) {
    HelloDescription hello;
    hello.session = session.session;
    hello.target = session.target;
    hello.target_name = session.target_name;
    hello.start_point = session.start_point;
    hello.clock = {"monotonic", static_cast<std::uint64_t>(kNsPerSecond), CLOCK_MONOTONIC};
    hello.collector_version = PERFLEET_VERSION;

    utsname system{};
    ::uname(&system);
    hello.architecture = system.machine;
    hello.host.os_release = system.release;

    std::vector<LabelDescription> labels;
    for (const auto& [key, value] : options.labels) {
        labels.push_back({key, value});
    }
    hello.labels = labels;

    std::vector<EventDescription> events;
    std::vector<std::string> attrs;
    attrs.reserve(source.events().events().size());
    for (const OpenEvent& open : source.events().events()) {
        EventDescription event;
        event.name = open.spec.name;
        event.kind = open.spec.row_kind();
        event.perf_type = open.spec.type;
        event.perf_config = open.spec.config;
        event.period = open.rate.value;
        event.is_frequency = open.rate.is_frequency;
        event.exclude_kernel = open.spec.exclude_kernel;
        event.exclude_user = open.spec.exclude_user;
        event.callchain = open.layout.has(perf::sample_type::kCallchain);
        event.unit = open.spec.unit;
        event.format = open.spec.format;
        event.group = open.spec.group;
        if (options.details.any()) {
            const perf_event_attr attr = source.events().stored_attr(open);
            attrs.emplace_back(reinterpret_cast<const char*>(&attr), sizeof(attr));
            event.attr = attrs.back();
        }
        events.push_back(event);
    }
    hello.events = events;

    const std::string cpuinfo = text_of("/proc/cpuinfo");
    const std::string id = cpu_id(cpuinfo);
    hello.host.cpu_description = cpu_field(cpuinfo, "model name");
    hello.host.cpu_id = id;
    hello.host.cpus_online = static_cast<std::uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 0L));
    hello.host.cpus_configured = static_cast<std::uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_CONF), 0L));
    struct sysinfo memory {};
    if (::sysinfo(&memory) == 0) {
        hello.host.memory_kib = std::uint64_t{memory.totalram} * memory.mem_unit / 1'024;
    }
    hello.host.page_size_bytes = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
    const std::vector<std::string> words = reported_words(options.own_command_line);
    const std::vector<std::string_view> command_line(words.begin(), words.end());
    hello.host.command_line = command_line;

    std::string header_page;
    std::string header_event;
    const auto is_tracepoint = [](const OpenEvent& event) { return event.spec.is_tracepoint(); };
    if (std::any_of(source.events().events().begin(), source.events().events().end(), is_tracepoint)) {
        const std::string root = find_tracefs({});
        header_page = text_of(root + "/events/header_page");
        header_event = text_of(root + "/events/header_event");
    }
    hello.host.tracing_header_page = bytes_of(header_page);
    hello.host.tracing_header_event = bytes_of(header_event);

    std::vector<std::byte> message(hello_size_bytes_max(hello));
    const auto size = write_hello(hello, message);
    if (!size.ok()) {
        return error_from_fault(size.error(),
                                "the session can't be described: too many or too long labels, events or "
                                "words of the command line (at most " +
                                    std::to_string(limits::kHelloSizeBytesMax) + " bytes in all)");
    }
    message.resize(*size);
    return message;
}

}  // namespace perfleet
