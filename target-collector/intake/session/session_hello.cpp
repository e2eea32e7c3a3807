#include "target-collector/intake/session/session_hello.h"

#include <span>

#include "target-collector/message/hello.h"

namespace perfleet {
namespace {

EventDescription description_of(const EventRecord& event) {
    return {.name = event.name,
            .kind = event.kind,
            .perf_type = event.perf_type,
            .perf_config = event.perf_config,
            .period = event.period,
            .is_frequency = event.is_frequency,
            .exclude_kernel = event.exclude_kernel,
            .exclude_user = event.exclude_user,
            .callchain = event.callchain,
            .unit = event.unit,
            .format = event.format,
            .group = event.group,
            .attr = event.attr};
}

}  // namespace

Result<std::vector<std::byte>> hello_of(const SessionRecord& record) {
    HelloDescription hello;
    hello.session = record.session;
    hello.target = record.target;
    hello.target_name = record.target_name;
    hello.architecture = record.architecture;
    std::vector<LabelDescription> labels;
    for (const auto& [key, value] : record.labels) {
        labels.push_back({key, value});
    }
    hello.labels = labels;
    std::vector<EventDescription> events;
    for (const EventRecord& event : record.events) {
        events.push_back(description_of(event));
    }
    hello.events = events;
    hello.clock = {record.clock_name, record.ticks_per_second, record.linux_clockid};
    hello.start_point = record.start_point;
    const HostRecord& host = record.host;
    const std::vector<std::string_view> command_line{host.command_line.begin(), host.command_line.end()};
    hello.host = {host.os_release,
                  host.cpu_description,
                  host.cpu_id,
                  host.cpus_online,
                  host.cpus_configured,
                  host.memory_kib,
                  command_line,
                  host.page_size_bytes,
                  std::as_bytes(std::span{host.tracing_header_page}),
                  std::as_bytes(std::span{host.tracing_header_event})};
    hello.collector_version = record.collector_version;
    std::vector<std::byte> message(hello_size_bytes_max(hello));
    const auto size = write_hello(hello, message);
    if (!size.ok()) {
        return error_from_fault(size.error(), "the session's description");
    }
    message.resize(*size);
    return message;
}

}  // namespace perfleet
