// The part of a SAMPLE record that a row of Kind::kRecord keeps: the fields without a column in the sample's own row.
//
//  0        4          8
//  ┌────────┬──────────┬─────┬──────────┬──────────────┬───────┬─────┬──────┐
//  │ parts  │ raw size │ ip  │ address  │ chain length │ words │ raw │ tail │
//  │ u32    │ u32      │ u64 │ u64      │ u64          │ u64   │     │      │
//  └────────┴──────────┴─────┴──────────┴──────────────┴───────┴─────┴──────┘
//                       kIp   kAddress   kChain
//
// A word is present if its bit is set in `parts`. The bits of `parts` must never change. Everything is in this
// machine's byte order. Raw data is that of events without a format. The tail has the fields after RAW as perf writes
// them, in the order of perf_event_attr.sample_type, without copies of the stack and of AUX areas.
//
// Parsed values borrow from the input. The input is untrusted.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "schemas/perf/perf_event.h"

namespace perfleet::perf {

namespace sample_parts {
inline constexpr std::uint32_t kIp = 1U << 0;  // differs from the chain's leaf
inline constexpr std::uint32_t kAddress = 1U << 1;
inline constexpr std::uint32_t kChain = 1U << 2;  // as recorded, because the row's stack differs from it
inline constexpr std::uint32_t kAll = 7;
}  // namespace sample_parts

// The fields of the tail.
inline constexpr std::uint64_t kTailFields =
    sample_type::kBranchStack | sample_type::kRegsUser | sample_type::kWeight | sample_type::kDataSrc |
    sample_type::kTransaction | sample_type::kRegsIntr | sample_type::kPhysAddr | sample_type::kCgroup |
    sample_type::kDataPageSize | sample_type::kCodePageSize | sample_type::kWeightStruct;

struct SampleRest {
    std::uint32_t parts = 0;
    std::uint64_t ip = 0;
    std::uint64_t address = 0;
    std::string_view chain;  // words of 8 bytes, context markers among them
    std::string_view raw;
    std::string_view tail;

    [[nodiscard]] bool has(std::uint32_t part) const { return (parts & part) != 0; }
};

[[nodiscard]] inline std::size_t encoded_size_bytes(const SampleRest& rest) {
    constexpr std::size_t kWordBytes = 8;
    return kWordBytes + static_cast<std::size_t>(std::popcount(rest.parts)) * kWordBytes + rest.chain.size() +
           rest.raw.size() + rest.tail.size();
}

// Writes encoded_size_bytes() bytes; `out` must have space for them.
inline void encode_sample_rest(const SampleRest& rest, std::span<std::byte> out) {
    const auto put = [&out](const void* first, std::size_t size_bytes) {
        if (size_bytes != 0) {  // `first` may be null then, which memcpy doesn't take
            std::memcpy(out.data(), first, size_bytes);
            out = out.subspan(size_bytes);
        }
    };
    const auto raw_size = static_cast<std::uint32_t>(rest.raw.size());
    const std::uint64_t chain_length = rest.chain.size() / sizeof(std::uint64_t);
    put(&rest.parts, sizeof(rest.parts));
    put(&raw_size, sizeof(raw_size));
    put(&rest.ip, rest.has(sample_parts::kIp) ? sizeof(rest.ip) : 0);
    put(&rest.address, rest.has(sample_parts::kAddress) ? sizeof(rest.address) : 0);
    put(&chain_length, rest.has(sample_parts::kChain) ? sizeof(chain_length) : 0);
    for (const std::string_view part : {rest.chain, rest.raw, rest.tail}) {
        put(part.data(), part.size());
    }
}

// Empty if the bytes are invalid.
[[nodiscard]] inline std::optional<SampleRest> parse_sample_rest(std::string_view bytes) {
    SampleRest rest;
    bool is_whole = true;
    const auto take = [&bytes, &is_whole](std::uint64_t size_bytes) {
        is_whole = is_whole && size_bytes <= bytes.size();
        const auto taken = bytes.substr(0, is_whole ? static_cast<std::size_t>(size_bytes) : 0);
        bytes.remove_prefix(taken.size());
        return taken;
    };
    const auto take_number = [&take](auto& number, bool is_there) {
        const auto taken = take(is_there ? sizeof(number) : 0);
        if (!taken.empty()) {
            std::memcpy(&number, taken.data(), sizeof(number));
        }
    };
    std::uint32_t raw_size = 0;
    std::uint64_t chain_length = 0;
    take_number(rest.parts, true);
    take_number(raw_size, true);
    take_number(rest.ip, rest.has(sample_parts::kIp));
    take_number(rest.address, rest.has(sample_parts::kAddress));
    take_number(chain_length, rest.has(sample_parts::kChain));
    rest.chain = take(chain_length > bytes.size() ? ~std::uint64_t{0} : chain_length * sizeof(std::uint64_t));
    rest.raw = take(raw_size);
    rest.tail = bytes;
    return is_whole && (rest.parts & ~sample_parts::kAll) == 0 ? std::optional{rest} : std::nullopt;
}

}  // namespace perfleet::perf
