// A hash table from 64-bit keys to small values: open addressing in one array, at most half full. For inner loops that
// count, where a std::unordered_map would cost a cache miss per node.
//
// One thread. The value Value{} means that a key isn't in the table: of numbers 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace perfleet {

template <class Value>
class FlatTable {
public:
    // The key's value, Value{} if it is new. The reference is valid until the next call. A new key must get another
    // value before it is looked up again.
    Value& operator[](std::uint64_t key) {
        if (used_ * 2 >= slots_.size()) {
            grow();
        }
        Slot& slot = find(slots_, key);
        used_ += slot.value == Value{} ? 1 : 0;
        slot.key = key;
        return slot.value;
    }

    // The key's value; Value{} when it isn't there.
    [[nodiscard]] Value find(std::uint64_t key) const { return slots_.empty() ? Value{} : find(slots_, key).value; }

    template <class Function>
    void for_each(Function function) const {
        for (const Slot& slot : slots_) {
            if (slot.value != Value{}) {
                function(slot.key, slot.value);
            }
        }
    }

    [[nodiscard]] std::size_t count() const { return used_; }
    [[nodiscard]] std::size_t size_bytes() const { return slots_.capacity() * sizeof(Slot); }

private:
    struct Slot {
        std::uint64_t key = 0;
        Value value{};  // Value{}: the slot is free
    };

    template <class Slots>
    static auto& find(Slots& slots, std::uint64_t key) {
        std::uint64_t hash = key * 0x9e37'79b9'7f4a'7c15ULL;
        hash ^= hash >> 32U;
        std::size_t i = hash & (slots.size() - 1);
        while (slots[i].value != Value{} && slots[i].key != key) {
            i = (i + 1) & (slots.size() - 1);
        }
        return slots[i];
    }

    void grow() {
        std::vector<Slot> greater(slots_.empty() ? kSlotsMin : slots_.size() * 2);
        used_ = 0;
        for (const Slot& slot : slots_) {
            if (slot.value != Value{}) {
                find(greater, slot.key) = slot;
                ++used_;
            }
        }
        slots_ = std::move(greater);
    }

    static constexpr std::size_t kSlotsMin = 64;

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

// Numbers of a call tree's nodes by (caller, name). Most nodes have one callee, which is stored with the caller;
// further ones are in a hash table, where each lookup may be a cache miss.
//
// One thread. The user numbers nodes from 1; caller 0 stands for the parent of the outermost nodes.
class CalleeTable {
public:
    // The callee's number, 0 if it is new. The reference is valid until the next call. A new callee must get a number
    // other than 0 before it is looked up again.
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
