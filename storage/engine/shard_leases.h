// Which shards of a store this process writes, if several gateways share the store. A shard has one holder at a time;
// the next holder sees everything that it wrote, and a replaced holder can't write any more.
//
// Threads: join, take_news, give_up, take_requests and answer by the writer's thread; the rest by any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

// The address where collectors connect to a gateway.
struct GatewayAddress {
    std::string endpoint;
    std::string public_key;  // as text; empty: none

    friend bool operator==(const GatewayAddress&, const GatewayAddress&) = default;
};

class ShardLeases : NonCopyable {
public:
    virtual ~ShardLeases() = default;

    // Joins the gateways and then takes its part of the shards. Errors: kBusy (a process that doesn't share the store
    // writes it), those of the engine.
    [[nodiscard]] virtual Result<Done> join(const GatewayAddress& own) = 0;

    // Changes since the last call. Shards in `taken` are held from now on, those in `lost` no longer; give up those in
    // `surplus` when no work is under way in them.
    struct News {
        std::vector<std::uint16_t> taken;
        std::vector<std::uint16_t> lost;
        std::vector<std::uint16_t> surplus;
    };
    [[nodiscard]] virtual News take_news() = 0;
    virtual void give_up(std::uint16_t shard) = 0;

    [[nodiscard]] virtual bool is_held(std::uint16_t shard) const = 0;
    [[nodiscard]] virtual std::uint16_t held_count() const = 0;
    // The address of another gateway that holds the shard; nothing if no live holder is known.
    [[nodiscard]] virtual std::optional<GatewayAddress> holder_of(std::uint16_t shard) const = 0;

    // Operators' requests to held shards (request_box.h), each once; answer() replies to one.
    struct Message {
        std::string id;
        std::string text;
    };
    [[nodiscard]] virtual std::vector<Message> take_requests() = 0;
    virtual void answer(Message answer) = 0;

    // Approximate sizes of a gateway's shards, by retention class; each gateway publishes its own. `as_of` is
    // change_count() before measuring: sizes measured for other shards than those held now are ignored.
    using ClassSizes = std::map<std::uint8_t, std::uint64_t>;  // bytes
    [[nodiscard]] virtual std::uint64_t change_count() const = 0;
    virtual void publish_sizes(const ClassSizes& held, std::uint64_t as_of) = 0;
    // The sum over other gateways; nothing while a shard has no holder, or a gateway hasn't measured its present
    // shards.
    [[nodiscard]] virtual std::optional<ClassSizes> sizes_of_others() const = 0;
};

}  // namespace perfleet
