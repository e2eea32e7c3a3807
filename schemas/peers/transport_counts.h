// A listening socket's counts of connections since it was bound; rejected ones by reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/host/counter.h"

// Closed by this side.
#define PERFLEET_REFUSED(ROW, why)                                                                               \
    ROW(std::uint64_t, refused_##why, "connections_refused_total", "Connections rejected before the handshake.", \
        "reason", #why)
#define PERFLEET_FAILED(ROW, why) \
    ROW(std::uint64_t, handshakes_##why, "handshakes_failed_total", "Handshakes that failed.", "reason", #why)
#define PERFLEET_TRANSPORT_COUNTS(ROW)                                                                               \
    ROW(std::uint64_t, connections_now, "connections", "Connections that are open.")                                 \
    ROW(std::uint64_t, connections_unheard_now, "connections_unheard",                                               \
        "Open connections that have sent no message yet.")                                                           \
    ROW(std::uint64_t, connections_accepted, "connections_accepted_total", "Connections accepted.")                  \
    ROW(std::uint64_t, connections_ended, "connections_ended_total", "Connections that ended.")                      \
    PERFLEET_REFUSED(ROW, connection_limit)      /* more connections than there may be */                            \
    PERFLEET_REFUSED(ROW, unheard_limit)         /* one of too many that had sent nothing, closed for others */      \
    PERFLEET_REFUSED(ROW, first_message_timeout) /* sent no message within the time for the first one */             \
    PERFLEET_REFUSED(ROW, key_limit)             /* more connections with one key than there may be */               \
    PERFLEET_REFUSED(ROW, revoked)               /* its key was taken off the allow-list, or changed there */        \
    PERFLEET_REFUSED(ROW, routing_id)            /* chose its own routing id, although keys identify peers */        \
    PERFLEET_REFUSED(ROW, abuse_limit)           /* went on sending what it may not */                               \
    PERFLEET_REFUSED(ROW, memory_limit)          /* held most of too much memory for longest */                      \
    PERFLEET_REFUSED(ROW, unfinished_message)    /* sent a message of several parts */                               \
    PERFLEET_FAILED(ROW, unknown_key)            /* not on the allow-list */                                         \
    PERFLEET_FAILED(ROW, no_key)         /* speaks without a key where keys are asked for, or the other way round */ \
    PERFLEET_FAILED(ROW, undecipherable) /* made for another gateway's key, or tampered with */                      \
    PERFLEET_FAILED(ROW, malformed)      /* not ZeroMQ as it should be */                                            \
    PERFLEET_FAILED(ROW, unfinished)     /* gave up, or took too long */                                             \
    ROW(std::uint64_t, messages_revoked, "messages_revoked_total",                                                   \
        "Messages dropped because their key was removed from the allow-list.")                                       \
    ROW(std::uint64_t, messages_malformed, "", "") /* of query clients: weren't understood, or had parts */          \
    ROW(std::uint64_t, keys_enrolled, "keys_enrolled", "Keys on the allow-list.")                                    \
    ROW(std::uint64_t, key_files_refused, "key_files_refused", "Invalid files in the allow-list folder.")

namespace perfleet {

struct TransportCounts {
    PERFLEET_TRANSPORT_COUNTS(PERFLEET_COUNT_FIELD)

    bool operator==(const TransportCounts&) const = default;
};

void show_counts(MetricPage& page, const std::string& prefix, const TransportCounts& counts);

// One line without its newline, `counts NUMBER …`, for another process of the same release.
[[nodiscard]] std::string format_counts(const TransportCounts& counts);
// Nothing if it isn't such a line.
[[nodiscard]] std::optional<TransportCounts> parse_counts(std::string_view line);

}  // namespace perfleet
