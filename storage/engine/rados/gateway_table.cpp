#include "storage/engine/rados/gateway_table.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "schemas/host/host_clock.h"
#include "schemas/text/parse.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {
namespace {

const std::string kTable = "gateways";
constexpr std::string_view kAlone = "alone";
constexpr std::string_view kMeasured = "= ";
// Prefixes of the keys of requests and answers; names of gateways contain no space.
constexpr std::string_view kRequest = "request ";
constexpr std::string_view kAnswer = "answer ";

// Pairs NUMBER:NUMBER, separated by spaces.
template <class Key>
bool take_pairs(std::string_view text, std::map<Key, std::uint64_t>& pairs) {
    while (!text.empty()) {
        Key key = 0;
        std::uint64_t value = 0;
        if (!take_number(text, key, ':') || !take_number(text, value, ' ')) {
            return false;
        }
        pairs[key] = value;
    }
    return true;
}

std::string encode_operator_entry(const OperatorEntry& entry) {
    return fmt::format("{} {}\n{}", entry.shard, entry.since_s, entry.text);
}

std::optional<OperatorEntry> decode_operator_entry_untrusted(std::string_view id, std::string_view bytes) {
    OperatorEntry entry;
    entry.id = id;
    if (!take_number(bytes, entry.shard, ' ') || !take_number(bytes, entry.since_s, '\n')) {
        return std::nullopt;
    }
    entry.text = bytes;
    return entry;
}

}  // namespace

std::uint64_t utc_now_s() { return static_cast<std::uint64_t>(utc_now().value / kNsPerSecond); }

std::string encode_gateway(const GatewayEntry& entry) {
    std::string bytes = fmt::format("{}\n{}\n{}\n{}\n", entry.beat, entry.is_alone ? kAlone : "",
                                    entry.address.endpoint, entry.address.public_key);
    if (entry.sizes) {
        bytes += kMeasured;
        for (const auto& [retention_class, size_bytes] : *entry.sizes) {
            bytes += fmt::format("{}:{} ", retention_class, size_bytes);
        }
    }
    bytes += '\n';
    for (const auto& [shard, lease] : entry.leases) {
        bytes += fmt::format("{}:{} ", shard, lease);
    }
    return bytes;
}

std::optional<GatewayEntry> decode_gateway_untrusted(std::string_view name, std::string_view bytes) {
    std::array<std::string_view, 5> lines;
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
    const bool is_measured = lines[4].starts_with(kMeasured);
    ShardLeases::ClassSizes sizes;
    const bool is_readable = take_number(lines[0], entry.beat, '\n') && (is_measured || lines[4].empty()) &&
                             take_pairs(lines[4].substr(is_measured ? kMeasured.size() : 0), sizes) &&
                             take_pairs(bytes, entry.leases);
    entry.sizes = is_measured ? std::optional{std::move(sizes)} : std::nullopt;
    return is_readable ? std::optional{std::move(entry)} : std::nullopt;
}

Result<Done> change_gateway_table(RadosPool& pool, const GatewayTableChange& change) {
    RadosChange entries;
    entries.is_unguarded = true;
    for (const GatewayEntry& gateway : change.gateways) {
        entries.index[gateway.name] = encode_gateway(gateway);
    }
    for (const OperatorEntry& request : change.requests) {
        entries.index[std::string{kRequest} + request.id] = encode_operator_entry(request);
    }
    for (const OperatorEntry& answer : change.answers) {
        entries.index[std::string{kAnswer} + answer.id] = encode_operator_entry(answer);
    }
    entries.removed = change.removed_gateways;
    for (const std::string& id : change.removed_requests) {
        entries.removed.push_back(std::string{kRequest} + id);
    }
    for (const std::string& id : change.removed_answers) {
        entries.removed.push_back(std::string{kAnswer} + id);
    }
    return pool.change(kTable, entries);
}

Result<GatewayTable> read_gateway_table(RadosPool& pool) {
    GatewayTable table;
    PERFLEET_TRY(pool.read_index(kTable, [&](std::string_view key, std::string_view bytes) {
        for (const auto& [prefix, entries] : {std::pair{kRequest, &table.requests}, {kAnswer, &table.answers}}) {
            if (key.starts_with(prefix)) {
                if (auto entry = decode_operator_entry_untrusted(key.substr(prefix.size()), bytes)) {
                    entries->push_back(std::move(*entry));
                }
                return;
            }
        }
        if (auto gateway = decode_gateway_untrusted(key, bytes)) {
            table.gateways.push_back(std::move(*gateway));
        }
    }));
    return table;
}

}  // namespace perfleet
