// The connections of a listening socket, by descriptor: how many there may be, and which of them are shut down because
// they take room and give nothing.
//
// It knows no ZeroMQ: its owner tells what the socket's monitor says. Connections are ended with shutdown(2), which
// makes whoever owns the descriptor close it; the kernel's cookie of each socket keeps a descriptor that was used again
// from being taken for the old one. Any thread.
//
// What is refused, and why:
//   - above `connections_max` the newest, so that the descriptor limit is never reached (libzmq would spin there);
//   - above `unheard_max` connections that never sent a message, one of these by chance: a flood of half handshakes
//     hits mostly itself, and a peer that is quick gets through;
//   - one that sent nothing for `first_word_ns`;
//   - above `key_connections_max` with one key, the newest;
//   - one that sent more than `unfinished_size_bytes_max` without finishing a message, however small its parts are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "schemas/peers/key_folder.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {

// A connection, which its descriptor alone doesn't name: that is used again.
struct ConnectionName {
    int descriptor = -1;
    std::uint64_t cookie = 0;  // the kernel's; 0: of none
};

class ConnectionTable {
public:
    struct Limits {
        std::size_t connections_max = 1'024;
        std::size_t unheard_max = 512;
        std::uint64_t first_word_ns = 15'000'000'000;
        std::size_t key_connections_max = 64;
        std::size_t unfinished_size_bytes_max = 4 * limits::kBatchSizeBytesMax;
    };

    enum class HandshakeFault : std::uint8_t { kUnknownKey, kNoKey, kUndecipherable, kMalformed, kUnfinished };

    static constexpr std::uint64_t kSweepEveryNs = 100'000'000;
    static constexpr std::size_t kSweepConnectionsMax = 2'048;  // looked at in one sweep

    explicit ConnectionTable(const Limits& table_limits) : limits_{table_limits} {}

    // -- as the monitor tells
    void accepted(int descriptor, std::uint64_t now_ns);
    void ended(int descriptor);
    void handshake_failed(HandshakeFault fault);

    // -- as messages come; they may be ahead of what the monitor tells
    // A message came from there, without a key.
    void heard(int descriptor);
    // A message came from there with this key. Null: it isn't on the allow-list any more, and the message doesn't
    // count.
    [[nodiscard]] KeySet::Entry heard(int descriptor, const PublicKey& key);
    // Everything that was there has been taken.
    void drained();
    void refuse_routing_id(int descriptor);
    // For a later cut(); that of none where it isn't known.
    [[nodiscard]] ConnectionName name_of(int descriptor);
    // Who reads its messages wants no more of them. Does nothing when it has ended.
    void cut(const ConnectionName& name);

    // -- from time to time
    void sweep(std::uint64_t now_ns);
    // From now on these may come in. Ends the connections of peers that it doesn't have, or has otherwise.
    void allow(std::shared_ptr<const KeySet> allowed, std::size_t bad_file_count);

    [[nodiscard]] TransportCounts counts() const;

private:
    struct Connection {
        bool is_open = false;
        bool is_shut = false;  // by us; its end is on its way
        bool is_heard = false;
        bool has_delivered = true;  // since the last look
        std::uint64_t cookie = 0;
        std::uint64_t accepted_ns = 0;
        std::size_t unheard_index = 0;
        std::uint64_t received_at_delivery_bytes = 0;
        std::uint64_t received_bytes = 0;  // at the last look
        KeySet::Entry peer;
        std::uint64_t early_cookie = 0;  // of a socket that was heard before accepted() told of it; outlives an end
    };

    [[nodiscard]] Connection* find(int descriptor);
    [[nodiscard]] Connection* find_heard(int descriptor);
    void shut(int descriptor, Connection& connection, std::uint64_t TransportCounts::*reason);
    void end(Connection& connection);
    void mark_heard(Connection& connection);
    void forget_unheard(Connection& connection);
    void forget_peer(Connection& connection);
    void look_at(int descriptor, Connection& connection, std::uint64_t now_ns, bool was_drained);
    [[nodiscard]] std::uint64_t random();

    mutable std::mutex mutex_;
    Limits limits_;
    std::vector<Connection> connections_;  // by descriptor
    std::vector<int> unheard_;
    std::unordered_map<PublicKey, std::size_t, PublicKey::Hash> key_connections_;
    std::shared_ptr<const KeySet> allowed_ = std::make_shared<KeySet>();
    std::size_t next_look_ = 0;
    std::uint64_t drained_count_ = 0;
    std::uint64_t drained_seen_ = 0;
    std::uint64_t random_state_ = 0x9e3779b97f4a7c15ULL;
    TransportCounts counts_;
};

// How many connections a process may have, for its limit of descriptors: room is left for files and for what is
// accepted before it can be refused.
[[nodiscard]] std::size_t connections_for(std::size_t descriptor_limit);

}  // namespace perfleet
