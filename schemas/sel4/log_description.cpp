#include "schemas/sel4/log_description.h"

#include "schemas/text/parse.h"
#include "schemas/vocabulary/batch_limits.h"

namespace perfleet::sel4 {
namespace {

constexpr std::string_view kFirstLine = "sel4 1";
constexpr std::uint64_t kFirstOfNewNumbers = 14;

// Replaces line breaks in a name.
std::string one_line(std::string_view text) {
    std::string line{text};
    for (char& c : line) {
        c = c == '\n' || c == '\r' ? ' ' : c;
    }
    return line;
}

void take_line(std::string_view line, LogDescription& description) {
    const std::size_t space = line.find(' ');
    const std::string_view key = line.substr(0, space);
    const std::string_view value = space == std::string_view::npos ? std::string_view{} : line.substr(space + 1);
    if (key == "arch") {
        description.architecture_name = value;
        description.architecture = architecture_of(value);
    } else if (key == "version") {
        description.version = value;
    } else if (key == "mcs") {
        description.is_mcs = true;
    } else if (key == "saturated") {
        description.is_saturated = true;
    } else if (key == "loss") {
        description.is_loss_known = value != "unknown";
    } else if (key == "tracepoint") {
        description.tracepoint_id = number_of<std::uint64_t>(value);
    } else if (key == "bits") {
        description.counter_bits = number_of<std::uint64_t>(value);
    } else if (key == "thread") {
        const std::size_t name = value.find(' ');
        if (const auto number = number_of<std::uint64_t>(value.substr(0, name));
            number && name != std::string_view::npos) {
            description.thread_names[*number] = value.substr(name + 1);
        }
    }
}

}  // namespace

std::optional<std::uint64_t> major_version(std::string_view version) {
    const std::string_view major = version.substr(0, version.find('.'));
    return number_of<std::uint64_t>(major);
}

PathNumbering LogDescription::numbering() const {
    return major_version(version).value_or(kFirstOfNewNumbers) < kFirstOfNewNumbers ? PathNumbering::kBefore14
                                                                                    : PathNumbering::kSince14;
}

std::string format_description(const LogDescription& description) {
    std::string text{kFirstLine};
    text += '\n';
    const auto add = [&](std::string_view key, const std::string& value) {
        std::string line{key};
        line += (value.empty() ? "" : " ") + one_line(value) + "\n";
        if (text.size() + line.size() < limits::kEventFormatSizeBytesMax) {
            text += line;
        }
    };
    if (!description.architecture_name.empty()) {
        add("arch", description.architecture_name);
    }
    if (!description.version.empty()) {
        add("version", description.version);
    }
    if (description.is_mcs) {
        add("mcs", "");
    }
    if (description.is_saturated) {
        add("saturated", "");
    }
    if (!description.is_loss_known) {
        add("loss", "unknown");
    }
    if (description.tracepoint_id) {
        add("tracepoint", std::to_string(*description.tracepoint_id));
    }
    if (description.counter_bits) {
        add("bits", std::to_string(*description.counter_bits));
    }
    for (const auto& [number, name] : description.thread_names) {
        add("thread", std::to_string(number) + " " + name);
    }
    return text;
}

std::optional<LogDescription> parse_description(std::string_view text_untrusted) {
    if (!text_untrusted.starts_with(kFirstLine) || text_untrusted.size() > limits::kEventFormatSizeBytesMax) {
        return std::nullopt;
    }
    LogDescription description;
    while (!text_untrusted.empty()) {
        take_line(take_part(text_untrusted, '\n'), description);
    }
    return description;
}

}  // namespace perfleet::sel4
