// Which peers go on doing what they must not: what they did lately, by routing id. Who passes a limit is to be cut off.
//
// Bounded: past kPeersWatchedMax of them everything is forgotten. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/gateway_counts.h"

namespace perfleet {

class ConductBook {
public:
    // One more of these. True: it is enough; the peer is forgotten here.
    [[nodiscard]] bool is_enough(std::string_view routing_id, PeerCut reason, std::size_t size_bytes);

    void forget(std::string_view routing_id);

    // To be called once an acknowledgement interval: half of everything is forgiven.
    void forgive();

private:
    struct Deeds {
        std::uint32_t count = 0;
        std::uint64_t size_bytes = 0;
    };
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    using Record = std::array<Deeds, kReasonCount<PeerCut>>;

    std::unordered_map<std::string, Record, TextHash, std::equal_to<>> peers_;
};

}  // namespace perfleet
