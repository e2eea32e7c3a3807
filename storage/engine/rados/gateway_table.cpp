#include "storage/engine/rados/gateway_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace perfleet {
namespace {

const std::string kTable = "gateways";
constexpr std::string_view kAlone = "alone";

// And what stands behind it, unless that is the end.
template <class Integer>
bool take_number(std::string_view& text, Integer& number, char behind) {
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || (at != text.data() + text.size() && *at != behind)) {
        return false;
    }
    text.remove_prefix(std::min(static_cast<std::size_t>(at - text.data()) + 1, text.size()));
    return true;
}

}  // namespace

std::string encode_gateway(const GatewayEntry& entry) {
    std::string bytes = fmt::format("{}\n{}\n{}\n{}\n", entry.beat, entry.is_alone ? kAlone : "",
                                    entry.address.endpoint, entry.address.public_key);
    for (const auto& [shard, lease] : entry.leases) {
        bytes += fmt::format("{}:{} ", shard, lease);
    }
    return bytes;
}

std::optional<GatewayEntry> decode_gateway_untrusted(std::string_view name, std::string_view bytes) {
    std::array<std::string_view, 4> lines;
    for (std::string_view& line : lines) {
        const std::size_t end = bytes.find('\n');
        if (end == std::string_view::npos) {
            return std::nullopt;
        }
        line = bytes.substr(0, end);
        bytes.remove_prefix(end + 1);
    }
    GatewayEntry entry;
    entry.name = name;
    entry.is_alone = lines[1] == kAlone;
    entry.address = {std::string{lines[2]}, std::string{lines[3]}};
    if (!take_number(lines[0], entry.beat, '\n')) {
        return std::nullopt;
    }
    while (!bytes.empty()) {
        std::uint16_t shard = 0;
        std::uint64_t lease = 0;
        if (!take_number(bytes, shard, ':') || !take_number(bytes, lease, ' ')) {
            return std::nullopt;
        }
        entry.leases[shard] = lease;
    }
    return entry;
}

Result<Done> write_gateway(RadosPool& pool, const GatewayEntry& entry) {
    RadosChange change;
    change.is_unguarded = true;
    change.index[entry.name] = encode_gateway(entry);
    return pool.change(kTable, change);
}

Result<Done> remove_gateway(RadosPool& pool, const std::string& name) {
    RadosChange change;
    change.is_unguarded = true;
    change.removed.push_back(name);
    return pool.change(kTable, change);
}

Result<std::vector<GatewayEntry>> read_gateways(RadosPool& pool) {
    std::vector<GatewayEntry> entries;
    auto read = pool.read_index(kTable, [&](std::string_view name, std::string_view bytes) {
        if (auto entry = decode_gateway_untrusted(name, bytes)) {
            entries.push_back(std::move(*entry));
        }
    });
    return read.ok() ? Result<std::vector<GatewayEntry>>{std::move(entries)} : read.error();
}

}  // namespace perfleet
