#include "gateway/admission/admit_hello.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "gateway/admission/intake_limits.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/protocol.h"

namespace perfleet {
namespace {

// Keeps the first fault of a record's parts.
class RecordCheck {
public:
    void text(const char* what, std::string_view text, std::size_t size_bytes_max) {
        if (text.find('\0') != std::string_view::npos) {
            fail(invalid(std::string{what} + " with a NUL"));
        }
        bytes(what, text, size_bytes_max);
    }
    void name(const char* what, std::string_view name) { text(what, name, intake_limits::kNameSizeBytesMax); }
    void bytes(const char* what, std::string_view bytes, std::size_t size_bytes_max) {
        if (bytes.size() > size_bytes_max) {
            fail(Error{ErrorCode::kTooLarge, std::string{what} + " of " + std::to_string(bytes.size()) +
                                                 " bytes, at most " + std::to_string(size_bytes_max) + " are allowed"});
        }
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

void check_event(const EventRecord& event, RecordCheck& check) {
    check.text("an event's name", event.name, limits::kStringSizeBytesMax);
    check.name("an event's unit", event.unit);
    check.text("a tracepoint's format", event.format, limits::kEventFormatSizeBytesMax);
    check.bytes("an event's perf_event_attr", event.attr, limits::kEventAttrSizeBytesMax);
    const auto kind = static_cast<std::uint8_t>(event.kind);
    if (event.name.empty()) {
        check.fail(invalid("an event without a name"));
    }
    if (!is_known_kind(kind)) {
        check.fail(Error{ErrorCode::kUnsupported,
                         "the event '" + event.name + "' is of the unknown kind " + std::to_string(kind) +
                             "; if the collector is newer than this gateway, update the gateway"});
    } else if (is_definition(event.kind)) {
        check.fail(invalid("an event of kind " + std::to_string(kind)));
    }
}

// Groups are numbered from 1 in order of appearance, with their events side by side; readers rely on it.
void check_groups(const std::vector<EventRecord>& events, RecordCheck& check) {
    std::uint32_t group_count = 0;
    std::uint32_t before = 0;
    for (const EventRecord& event : events) {
        if (event.group != 0 && event.group != before && event.group != ++group_count) {
            check.fail(invalid("the event '" + event.name + "' in group " + std::to_string(event.group) +
                               " where group " + std::to_string(group_count) + " would begin"));
            return;
        }
        before = event.group;
    }
}

void check_host(const HostRecord& host, RecordCheck& check) {
    constexpr std::size_t kTextMax = intake_limits::kHostTextSizeBytesMax;
    check.text("the host's release", host.os_release, kTextMax);
    check.text("the host's cpu description", host.cpu_description, kTextMax);
    check.text("the host's cpu id", host.cpu_id, kTextMax);
    for (const std::string& word : host.command_line) {
        check.text("a word of the command line", word, limits::kHelloSizeBytesMax);
    }
    check.bytes("the tracing header page", host.tracing_header_page, limits::kEventFormatSizeBytesMax);
    check.bytes("the tracing header event", host.tracing_header_event, limits::kEventFormatSizeBytesMax);
}

}  // namespace

Result<SessionRecord> admit_hello(const HelloUntrusted& hello_untrusted) {
    const HelloUntrusted& hello = hello_untrusted;
    if (hello.protocol_version != protocol::kVersion) {
        return Error{ErrorCode::kUnsupported, "the collector has protocol version " +
                                                  std::to_string(hello.protocol_version) + ", this gateway " +
                                                  std::to_string(protocol::kVersion) + "; use programs of one release"};
    }
    if (hello.fault.has_value()) {
        return Error{*hello.fault};
    }
    if (hello.record.session == protocol::kSessionGivenAtImport) {
        return invalid("a session that only an import gives an id; a collector that has none leaves it empty");
    }
    SessionRecord record = hello.record;
    RecordCheck check;
    check.name("the target's name", record.target_name);
    check.name("the architecture", record.architecture);
    for (const auto& [key, value] : record.labels) {
        check.text("a label's key", key, limits::kLabelSizeBytesMax);
        check.text("a label's value", value, limits::kLabelSizeBytesMax);
        if (key.empty()) {
            check.fail(invalid("a label without a key"));
        }
    }
    std::sort(record.labels.begin(), record.labels.end());
    const auto same_key = [](const auto& one, const auto& other) { return one.first == other.first; };
    if (const auto twice = std::adjacent_find(record.labels.begin(), record.labels.end(), same_key);
        twice != record.labels.end()) {
        check.fail(invalid("the label '" + twice->first + "' is there twice"));
    }
    for (const EventRecord& event : record.events) {
        check_event(event, check);
    }
    check_groups(record.events, check);
    check.name("the clock's name", record.clock_name);
    if (record.ticks_per_second == 0) {
        check.fail(invalid("a clock without ticks"));
    }
    check_host(record.host, check);
    check.name("the collector's version", record.collector_version);
    if (check.fault().has_value()) {
        return std::move(*check.fault());
    }
    return record;
}

}  // namespace perfleet
