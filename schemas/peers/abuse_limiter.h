// Counts strikes per peer (routing id) and kind, with decay. A peer that passes a limit should be disconnected.
//
// Bounded: when more than `peers_max` peers have strikes, all are forgotten. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schemas/peers/text_map.h"

namespace perfleet {

class AbuseLimiter {
public:
    static constexpr std::size_t kKindsMax = 8;

    // Limits of one peer's strikes of one kind.
    struct Limits {
        std::uint32_t count_max = 0;
        std::uint64_t size_bytes_max = 0;
        std::size_t peers_max = 0;
    };

    explicit AbuseLimiter(const Limits& limits) : limits_{limits} {}

    // Adds a strike of a kind below kKindsMax. True: the limit is passed, and the peer is forgotten here.
    [[nodiscard]] bool is_enough(std::string_view routing_id, std::size_t type, std::size_t size_bytes);

    // The strikes of this kind that haven't decayed.
    [[nodiscard]] std::uint32_t count_of(std::string_view routing_id, std::size_t type) const;

    void forget(std::string_view routing_id);

    // Halves all strikes; call it about once a second.
    void decay();

private:
    struct Strikes {
        std::uint32_t count = 0;
        std::uint64_t size_bytes = 0;
    };
    using Record = std::array<Strikes, kKindsMax>;

    Limits limits_;
    TextMap<Record> peers_;
};

}  // namespace perfleet
