// What a row of Kind::kRecord has of a SAMPLE record: the fields that the sample's own row has no column for.
//
//  0        4          8
//  ┌────────┬──────────┬────────┬─────────────────────┬─────────┬───────────┬──────────────────┬─────┬──────┐
//  │ parts  │ raw size │ ip     │ count, words        │ address │ stream id │ enabled, running │ raw │ tail │
//  │ u32    │ u32      │ u64    │ u64 each            │ u64     │ u64       │ u64 each, ns     │     │      │
//  └────────┴──────────┴────────┴─────────────────────┴─────────┴───────────┴──────────────────┴─────┴──────┘
//                        kIp      kChain                kAddress  kStreamId   kRead              kRaw  the rest
//
// A part stands there if its bit is set in `parts`; the bits must never change. All is in this machine's byte order.
// The tail has the fields behind RAW as perf writes them, in the order of perf_event_attr.sample_type, without copies
// of the stack and of AUX areas.
//
// What is parsed is borrowed from the input. The input isn't trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "schemas/perf/perf_event.h"

namespace perfleet::perf {

namespace sample_parts {
inline constexpr std::uint32_t kIp = 1U << 0;     // it isn't the chain's leaf
inline constexpr std::uint32_t kChain = 1U << 1;  // as it was recorded; the row's stack doesn't say it word by word
inline constexpr std::uint32_t kAddress = 1U << 2;
inline constexpr std::uint32_t kStreamId = 1U << 3;
inline constexpr std::uint32_t kRaw = 1U << 4;   // of an event without a format
inline constexpr std::uint32_t kRead = 1U << 5;  // its times; what events had counted is in the weights of rows
inline constexpr std::uint32_t kAll = 63;
}  // namespace sample_parts

// Fields of the tail.
inline constexpr std::uint64_t kTailFields =
    sample_type::kBranchStack | sample_type::kRegsUser | sample_type::kWeight | sample_type::kDataSrc |
    sample_type::kTransaction | sample_type::kRegsIntr | sample_type::kPhysAddr | sample_type::kCgroup |
    sample_type::kDataPageSize | sample_type::kCodePageSize | sample_type::kWeightStruct;

struct SampleRest {
    std::uint32_t parts = 0;
    std::uint64_t ip = 0;
    std::string_view chain;  // words of 8 bytes, context markers among them
    std::uint64_t address = 0;
    std::uint64_t stream_id = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
    std::string_view raw;
    std::string_view tail;

    [[nodiscard]] bool has(std::uint32_t part) const { return (parts & part) != 0; }
};

[[nodiscard]] inline std::size_t encoded_size_bytes(const SampleRest& rest) {
    const std::size_t words = 1 + (rest.has(sample_parts::kIp) ? 1U : 0U) +
                              (rest.has(sample_parts::kChain) ? 1 + rest.chain.size() / 8 : 0) +
                              (rest.has(sample_parts::kAddress) ? 1U : 0U) +
                              (rest.has(sample_parts::kStreamId) ? 1U : 0U) + (rest.has(sample_parts::kRead) ? 2U : 0U);
    return words * 8 + rest.raw.size() + rest.tail.size();
}

// Writes encoded_size_bytes() bytes, which `out` has room for.
inline void encode_sample_rest(const SampleRest& rest, std::span<std::byte> out) {
    std::size_t used = 0;
    const auto put = [&out, &used](const void* first, std::size_t size_bytes) {
        if (size_bytes != 0) {  // `first` may be null then, which memcpy doesn't take
            std::memcpy(out.data() + used, first, size_bytes);
            used += size_bytes;
        }
    };
    const auto put_word = [&put](std::uint64_t word) { put(&word, sizeof word); };
    const auto raw_size = static_cast<std::uint32_t>(rest.raw.size());
    put(&rest.parts, sizeof rest.parts);
    put(&raw_size, sizeof raw_size);
    if (rest.has(sample_parts::kIp)) {
        put_word(rest.ip);
    }
    if (rest.has(sample_parts::kChain)) {
        put_word(rest.chain.size() / 8);
        put(rest.chain.data(), rest.chain.size() / 8 * 8);
    }
    if (rest.has(sample_parts::kAddress)) {
        put_word(rest.address);
    }
    if (rest.has(sample_parts::kStreamId)) {
        put_word(rest.stream_id);
    }
    if (rest.has(sample_parts::kRead)) {
        put_word(rest.enabled_ns);
        put_word(rest.running_ns);
    }
    put(rest.raw.data(), rest.raw.size());
    put(rest.tail.data(), rest.tail.size());
}

// Empty: it breaks its format.
[[nodiscard]] inline std::optional<SampleRest> parse_sample_rest(std::string_view bytes) {
    SampleRest rest;
    std::uint32_t raw_size = 0;
    if (bytes.size() < sizeof rest.parts + sizeof raw_size) {
        return std::nullopt;
    }
    std::memcpy(&rest.parts, bytes.data(), sizeof rest.parts);
    std::memcpy(&raw_size, bytes.data() + sizeof rest.parts, sizeof raw_size);
    bytes.remove_prefix(sizeof rest.parts + sizeof raw_size);
    bool is_whole = (rest.parts & ~sample_parts::kAll) == 0;
    const auto take = [&bytes, &is_whole](std::uint64_t size_bytes) {
        is_whole = is_whole && size_bytes <= bytes.size();
        const auto taken = bytes.substr(0, is_whole ? static_cast<std::size_t>(size_bytes) : 0);
        bytes.remove_prefix(taken.size());
        return taken;
    };
    const auto take_word = [&take](std::uint64_t& word) {
        const auto taken = take(sizeof word);
        if (!taken.empty()) {
            std::memcpy(&word, taken.data(), sizeof word);
        }
    };
    if (rest.has(sample_parts::kIp)) {
        take_word(rest.ip);
    }
    if (rest.has(sample_parts::kChain)) {
        std::uint64_t count = 0;
        take_word(count);
        rest.chain = take(count > bytes.size() ? ~std::uint64_t{0} : count * 8);
    }
    if (rest.has(sample_parts::kAddress)) {
        take_word(rest.address);
    }
    if (rest.has(sample_parts::kStreamId)) {
        take_word(rest.stream_id);
    }
    if (rest.has(sample_parts::kRead)) {
        take_word(rest.enabled_ns);
        take_word(rest.running_ns);
    }
    rest.raw = take(raw_size);
    rest.tail = bytes;
    return is_whole ? std::optional{rest} : std::nullopt;
}

}  // namespace perfleet::perf
