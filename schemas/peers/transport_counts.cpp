#include "schemas/peers/transport_counts.h"

#include <array>
#include <charconv>

namespace perfleet {
namespace {

constexpr std::string_view kPrefix = "counts";

struct NamedCount {
    std::string_view name;
    std::uint64_t TransportCounts::*count;
};

constexpr std::array kNamedCounts{
    NamedCount{"connections_now", &TransportCounts::connections_now},
    NamedCount{"connections_unheard_now", &TransportCounts::connections_unheard_now},
    NamedCount{"connections_accepted", &TransportCounts::connections_accepted},
    NamedCount{"connections_ended", &TransportCounts::connections_ended},
    NamedCount{"refused_connection_limit", &TransportCounts::refused_connection_limit},
    NamedCount{"refused_unheard_limit", &TransportCounts::refused_unheard_limit},
    NamedCount{"refused_first_message_timeout", &TransportCounts::refused_first_message_timeout},
    NamedCount{"refused_key_limit", &TransportCounts::refused_key_limit},
    NamedCount{"refused_revoked", &TransportCounts::refused_revoked},
    NamedCount{"refused_routing_id", &TransportCounts::refused_routing_id},
    NamedCount{"refused_abuse_limit", &TransportCounts::refused_abuse_limit},
    NamedCount{"refused_unfinished_message", &TransportCounts::refused_unfinished_message},
    NamedCount{"refused_memory_limit", &TransportCounts::refused_memory_limit},
    NamedCount{"handshakes_unknown_key", &TransportCounts::handshakes_unknown_key},
    NamedCount{"handshakes_no_key", &TransportCounts::handshakes_no_key},
    NamedCount{"handshakes_undecipherable", &TransportCounts::handshakes_undecipherable},
    NamedCount{"handshakes_malformed", &TransportCounts::handshakes_malformed},
    NamedCount{"handshakes_unfinished", &TransportCounts::handshakes_unfinished},
    NamedCount{"messages_malformed", &TransportCounts::messages_malformed},
    NamedCount{"messages_revoked", &TransportCounts::messages_revoked},
    NamedCount{"keys_enrolled", &TransportCounts::keys_enrolled},
    NamedCount{"key_files_refused", &TransportCounts::key_files_refused},
};
static_assert(kNamedCounts.size() * sizeof(std::uint64_t) == sizeof(TransportCounts), "each has its name here");

}  // namespace

std::string format_counts(const TransportCounts& counts) {
    std::string line{kPrefix};
    for (const NamedCount& named : kNamedCounts) {
        line += ' ';
        line += named.name;
        line += '=';
        line += std::to_string(counts.*named.count);
    }
    return line;
}

std::optional<TransportCounts> parse_counts(std::string_view line) {
    if (!line.starts_with(kPrefix)) {
        return std::nullopt;
    }
    line.remove_prefix(kPrefix.size());
    TransportCounts counts;
    while (!line.empty()) {
        if (line.front() != ' ') {
            return std::nullopt;
        }
        line.remove_prefix(1);
        const std::string_view word = line.substr(0, line.find(' '));
        line.remove_prefix(word.size());
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos) {
            return std::nullopt;
        }
        std::uint64_t value = 0;
        const char* const end = word.data() + word.size();
        const auto read = std::from_chars(word.data() + equals + 1, end, value);
        if (read.ec != std::errc{} || read.ptr != end) {
            return std::nullopt;
        }
        for (const NamedCount& named : kNamedCounts) {
            if (named.name == word.substr(0, equals)) {
                counts.*named.count = value;
            }
        }
    }
    return counts;
}

}  // namespace perfleet
