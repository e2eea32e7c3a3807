#include "schemas/peers/transport_counts.h"

#include <array>
#include <charconv>

namespace perfleet {
namespace {

constexpr std::string_view kPrefix = "counts";

#define PERFLEET_MEMBER(type, field, ...) &TransportCounts::field,
constexpr std::array kMembers{PERFLEET_TRANSPORT_COUNTS(PERFLEET_MEMBER)};

}  // namespace

void show_counts(MetricPage& page, const std::string& prefix,
                 const TransportCounts& counts){PERFLEET_TRANSPORT_COUNTS(PERFLEET_COUNT_METRIC)}

std::string format_counts(const TransportCounts& counts) {
    std::string line{kPrefix};
    for (const auto member : kMembers) {
        line += ' ' + std::to_string(counts.*member);
    }
    return line;
}

std::optional<TransportCounts> parse_counts(std::string_view line) {
    TransportCounts counts;
    if (!line.starts_with(kPrefix)) {
        return std::nullopt;
    }
    line.remove_prefix(kPrefix.size());
    for (const auto member : kMembers) {
        if (!line.starts_with(' ')) {
            return std::nullopt;
        }
        const auto [end, error] = std::from_chars(line.data() + 1, line.data() + line.size(), counts.*member);
        if (error != std::errc{}) {
            return std::nullopt;
        }
        line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    }
    return line.empty() ? std::optional{counts} : std::nullopt;
}

}  // namespace perfleet
