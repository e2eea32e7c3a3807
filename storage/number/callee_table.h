// Numbers of a call tree's nodes by (caller, name). Most nodes have one callee, which is found beside its caller;
// further ones are in a hash table, where each look may be a miss of the processor's cache.
//
// One thread. Nodes are numbered by the user, from 1; caller 0 stands for what the outermost nodes hang on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/number/flat_table.h"

namespace perfleet {

class CalleeTable {
public:
    // The callee's number, 0 when it is new. The reference holds until the next call; whoever leaves it 0 may not look
    // for it again.
    std::uint32_t& number_of(std::uint32_t caller, std::uint32_t name) {
        if (caller >= firsts_.size()) {
            firsts_.resize(std::size_t{caller} + 1);
        }
        Callee& first = firsts_[caller];
        if (first.number == 0) {
            first.name = name;
        }
        return first.name == name ? first.number : others_[key_of(caller, name)];
    }

    // The callee's number; 0 when it isn't there.
    [[nodiscard]] std::uint32_t find(std::uint32_t caller, std::uint32_t name) const {
        const Callee first = caller < firsts_.size() ? firsts_[caller] : Callee{};
        return first.number == 0 || first.name == name ? first.number : others_.find(key_of(caller, name));
    }

    [[nodiscard]] std::size_t size_bytes() const { return firsts_.capacity() * sizeof(Callee) + others_.size_bytes(); }

private:
    struct Callee {
        std::uint32_t number = 0;
        std::uint32_t name = 0;
    };

    static std::uint64_t key_of(std::uint32_t caller, std::uint32_t name) {
        return std::uint64_t{caller} << 32U | name;
    }

    std::vector<Callee> firsts_;  // by caller
    FlatTable<std::uint32_t> others_;
};

}  // namespace perfleet
