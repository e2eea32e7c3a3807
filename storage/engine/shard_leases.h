// Which shards of a store this process writes, where several gateways share one. A shard has one holder at a time; what
// it wrote is there for the next one, and it writes nothing more once it was replaced.
//
// Threads: join, take_news, give_up, take_requests and answer by the writer's; the rest by any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

// Where collectors find a gateway.
struct GatewayAddress {
    std::string endpoint;
    std::string public_key;  // as text; empty: it has none

    friend bool operator==(const GatewayAddress&, const GatewayAddress&) = default;
};

class ShardLeases {
public:
    ShardLeases() = default;
    ShardLeases(const ShardLeases&) = delete;
    ShardLeases& operator=(const ShardLeases&) = delete;
    virtual ~ShardLeases() = default;

    // From then on it takes its part of the shards. Errors: kBusy (somebody writes the store who shares it with
    // nobody), those of the engine.
    [[nodiscard]] virtual Result<Done> join(const GatewayAddress& own) = 0;

    // What has happened since the last call. Shards that were taken are held from now on, those that were lost aren't
    // any more; `surplus` are for others, to be given up as soon as nothing is under way in them.
    struct News {
        std::vector<std::uint16_t> taken;
        std::vector<std::uint16_t> lost;
        std::vector<std::uint16_t> surplus;
    };
    [[nodiscard]] virtual News take_news() = 0;
    virtual void give_up(std::uint16_t shard) = 0;

    [[nodiscard]] virtual bool is_held(std::uint16_t shard) const = 0;
    [[nodiscard]] virtual std::uint16_t held_count() const = 0;
    // Another gateway; nothing where none that lives is known to hold it.
    [[nodiscard]] virtual std::optional<GatewayAddress> holder_of(std::uint16_t shard) const = 0;

    // Requests of operators that were sent to shards that are held (request_box.h), each once; and the answer to one.
    struct Message {
        std::string id;
        std::string text;
    };
    [[nodiscard]] virtual std::vector<Message> take_requests() = 0;
    virtual void answer(Message answer) = 0;

    // About what the shards of each gateway have, by retention class: each tells it of its own. `as_of` is
    // change_count() before they were measured: sizes of other shards than are held now are ignored.
    using ClassSizes = std::map<std::uint8_t, std::uint64_t>;  // bytes
    [[nodiscard]] virtual std::uint64_t change_count() const = 0;
    virtual void publish_sizes(const ClassSizes& held, std::uint64_t as_of) = 0;
    // Nothing while a shard is nobody's, or somebody hasn't measured those that it has now.
    [[nodiscard]] virtual std::optional<ClassSizes> sizes_of_others() const = 0;
};

}  // namespace perfleet
