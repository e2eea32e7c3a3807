// What a listening socket saw of connections since it was bound, those that were refused by reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

struct TransportCounts {
    std::uint64_t connections_now = 0;
    std::uint64_t connections_unheard_now = 0;  // of them, those that haven't said anything yet
    std::uint64_t connections_accepted = 0;
    std::uint64_t connections_ended = 0;

    // Closed here.
    std::uint64_t refused_connection_limit = 0;       // more connections than there may be
    std::uint64_t refused_unheard_limit = 0;          // one of too many that had said nothing, to make room for others
    std::uint64_t refused_first_message_timeout = 0;  // said nothing in the time that there is for a first message
    std::uint64_t refused_key_limit = 0;              // more connections with one key than there may be
    std::uint64_t refused_revoked = 0;                // its key was taken off the allow-list, or changed there
    std::uint64_t refused_routing_id = 0;             // chose its own routing id, where keys say who is who
    std::uint64_t refused_abuse_limit = 0;            // went on sending what it may not
    std::uint64_t refused_unfinished_message = 0;     // sent a message of several parts
    std::uint64_t refused_memory_limit = 0;           // held most of too much memory for longest

    // Handshakes that failed.
    std::uint64_t handshakes_unknown_key = 0;  // not on the allow-list
    std::uint64_t handshakes_no_key = 0;       // speaks without a key where keys are asked for, or the other way round
    std::uint64_t handshakes_undecipherable = 0;  // made for another gateway's key, or tampered with
    std::uint64_t handshakes_malformed = 0;       // not ZeroMQ as it should be
    std::uint64_t handshakes_unfinished = 0;      // gave up, or took too long

    std::uint64_t messages_malformed = 0;  // of clients: weren't understood, or had parts
    std::uint64_t messages_revoked = 0;    // were on their way when their key was taken off the allow-list

    std::uint64_t keys_enrolled = 0;      // now
    std::uint64_t key_files_refused = 0;  // now

    bool operator==(const TransportCounts&) const = default;
};

// One line without its newline, `counts NAME=NUMBER …`, for another process of the same release.
[[nodiscard]] std::string format_counts(const TransportCounts& counts);
// Names that aren't known are left out, as are those that are missing. Nothing: not such a line.
[[nodiscard]] std::optional<TransportCounts> parse_counts(std::string_view line);

}  // namespace perfleet
