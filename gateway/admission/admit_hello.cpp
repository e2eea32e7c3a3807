#include "gateway/admission/admit_hello.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "gateway/admission/intake_limits.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/protocol.h"

namespace perfleet {
namespace {

// Checks texts one by one, and keeps the first fault.
class Texts {
public:
    std::string text(const char* what, std::string_view text_untrusted, std::size_t size_bytes_max) {
        if (text_untrusted.find('\0') != std::string_view::npos) {
            fail(invalid(std::string{what} + " with a NUL"));
            return {};
        }
        return bytes(what, text_untrusted, size_bytes_max);
    }

    std::string name(const char* what, std::string_view text_untrusted) {
        return text(what, text_untrusted, intake_limits::kNameSizeBytesMax);
    }

    std::string bytes(const char* what, std::string_view bytes_untrusted, std::size_t size_bytes_max) {
        if (bytes_untrusted.size() > size_bytes_max) {
            fail(Error{ErrorCode::kTooLarge, std::string{what} + " of " + std::to_string(bytes_untrusted.size()) +
                                                 " bytes, at most " + std::to_string(size_bytes_max) + " are allowed"});
            return {};
        }
        return std::string{bytes_untrusted};
    }

    void fail(Error fault) {
        if (!fault_.has_value()) {
            fault_ = std::move(fault);
        }
    }

    [[nodiscard]] std::optional<Error>& fault() { return fault_; }

private:
    std::optional<Error> fault_;
};

EventRecord event_of(const EventUntrusted& from, Texts& texts) {
    EventRecord event{
        .name = texts.text("an event's name", from.name, limits::kStringSizeBytesMax),
        .kind = from.kind,
        .perf_type = from.perf_type,
        .perf_config = from.perf_config,
        .period = from.period,
        .is_frequency = from.is_frequency,
        .exclude_kernel = from.exclude_kernel,
        .exclude_user = from.exclude_user,
        .callchain = from.callchain,
        .unit = texts.name("an event's unit", from.unit),
        .format = texts.text("a tracepoint's format", from.format, limits::kEventFormatSizeBytesMax),
        .group = from.group,
        .attr = texts.bytes("an event's perf_event_attr", from.attr, limits::kEventAttrSizeBytesMax),
    };
    const auto kind = static_cast<std::uint8_t>(from.kind);
    if (event.name.empty()) {
        texts.fail(invalid("an event without a name"));
    }
    if (!is_known_kind(kind)) {
        texts.fail(Error{ErrorCode::kUnsupported,
                         "the event '" + event.name + "' is of the unknown kind " + std::to_string(kind) +
                             "; if the collector is newer than this gateway, update the gateway"});
    } else if (is_definition(from.kind)) {
        texts.fail(invalid("an event of kind " + std::to_string(kind)));
    }
    return event;
}

// Groups are numbered from 1 in order of appearance, with their events side by side; readers rely on it.
void check_groups(const std::vector<EventRecord>& events, Texts& texts) {
    std::uint32_t group_count = 0;
    std::uint32_t before = 0;
    for (const EventRecord& event : events) {
        if (event.group != 0 && event.group != before && event.group != ++group_count) {
            texts.fail(invalid("the event '" + event.name + "' in group " + std::to_string(event.group) +
                               " where group " + std::to_string(group_count) + " would begin"));
            return;
        }
        before = event.group;
    }
}

HostRecord host_of(const HostUntrusted& from, Texts& texts) {
    constexpr std::size_t kTextMax = intake_limits::kHostTextSizeBytesMax;
    HostRecord host;
    host.os_release = texts.text("the host's release", from.os_release, kTextMax);
    host.cpu_description = texts.text("the host's cpu description", from.cpu_description, kTextMax);
    host.cpu_id = texts.text("the host's cpu id", from.cpu_id, kTextMax);
    host.cpus_online = from.cpus_online;
    host.cpus_configured = from.cpus_configured;
    host.memory_kib = from.memory_kib;
    host.page_size_bytes = from.page_size_bytes;
    for (const std::string_view word : from.command_line) {
        host.command_line.push_back(texts.text("a word of the command line", word, limits::kHelloSizeBytesMax));
    }
    host.tracing_header_page =
        texts.bytes("the tracing header page", from.tracing_header_page, limits::kEventFormatSizeBytesMax);
    host.tracing_header_event =
        texts.bytes("the tracing header event", from.tracing_header_event, limits::kEventFormatSizeBytesMax);
    return host;
}

}  // namespace

Result<SessionRecord> admit_hello(const HelloUntrusted& hello_untrusted) {
    const HelloUntrusted& hello = hello_untrusted;
    if (hello.protocol_version != protocol::kVersion) {
        return Error{ErrorCode::kUnsupported, "the collector speaks protocol version " +
                                                  std::to_string(hello.protocol_version) + ", this gateway " +
                                                  std::to_string(protocol::kVersion) + "; use programs of one release"};
    }
    if (hello.fault.has_value()) {
        return Error{*hello.fault};
    }
    if (hello.session == protocol::kSessionGivenAtImport) {
        return invalid("a session that only an import gives an id; a collector that has none leaves it empty");
    }
    Texts texts;
    SessionRecord record;
    record.target = hello.target;
    record.session = hello.session;
    record.target_name = texts.name("the target's name", hello.target_name);
    record.architecture = texts.name("the architecture", hello.architecture);
    for (const LabelUntrusted& label : hello.labels) {
        record.labels.emplace_back(texts.text("a label's key", label.key, limits::kLabelSizeBytesMax),
                                   texts.text("a label's value", label.value, limits::kLabelSizeBytesMax));
        if (record.labels.back().first.empty()) {
            texts.fail(invalid("a label without a key"));
        }
    }
    std::sort(record.labels.begin(), record.labels.end());
    const auto same_key = [](const auto& one, const auto& other) { return one.first == other.first; };
    if (const auto twice = std::adjacent_find(record.labels.begin(), record.labels.end(), same_key);
        twice != record.labels.end()) {
        texts.fail(invalid("the label '" + twice->first + "' is there twice"));
    }
    for (const EventUntrusted& event : hello.events) {
        record.events.push_back(event_of(event, texts));
    }
    check_groups(record.events, texts);
    record.clock_name = texts.name("the clock's name", hello.clock_name);
    record.ticks_per_second = hello.ticks_per_second;
    if (record.ticks_per_second == 0) {
        texts.fail(invalid("a clock without ticks"));
    }
    record.linux_clockid = hello.linux_clockid;
    record.start_point = hello.start_point;
    record.host = host_of(hello.host, texts);
    record.collector_version = texts.name("the collector's version", hello.collector_version);
    if (texts.fault().has_value()) {
        return std::move(*texts.fault());
    }
    return record;
}

}  // namespace perfleet
