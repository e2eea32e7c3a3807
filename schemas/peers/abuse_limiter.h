// Which peers go on doing what they must not: what they did lately, by routing id. Who passes a limit is to be cut off.
//
// Bounded: past `peers_max` of them everything is forgotten. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace perfleet {

class AbuseLimiter {
public:
    static constexpr std::size_t kSortsMax = 8;

    // Of one peer and one kind of misdeed.
    struct Limits {
        std::uint32_t count_max = 0;
        std::uint64_t size_bytes_max = 0;
        std::size_t peers_max = 0;
    };

    explicit AbuseLimiter(const Limits& limits) : limits_{limits} {}

    // One more of this sort, a number below kSortsMax. True: it is enough; the peer is forgotten here.
    [[nodiscard]] bool is_enough(std::string_view routing_id, std::size_t type, std::size_t size_bytes);

    // Of this sort, lately.
    [[nodiscard]] std::uint32_t count_of(std::string_view routing_id, std::size_t type) const;

    void forget(std::string_view routing_id);

    // To be called once a second or so: half of everything is forgiven.
    void decay();

private:
    struct Deeds {
        std::uint32_t count = 0;
        std::uint64_t size_bytes = 0;
    };
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    using Record = std::array<Deeds, kSortsMax>;

    Limits limits_;
    std::unordered_map<std::string, Record, TextHash, std::equal_to<>> peers_;
};

}  // namespace perfleet
