#include "storage/engine/rados/common.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "storage/engine/rados/segment_bytes.h"
#include "storage/engine/store_format.h"
#include "storage/key/key_bytes.h"

namespace perfleet {
namespace {

const std::string kCommon = "common";

std::string image_object(std::string_view key) {
    std::string object = "image.";
    for (const char byte : key.substr(1)) {  // after the byte of the table
        object += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    return object;
}

bool is_image(std::string_view key) { return !key.empty() && key.front() == static_cast<char>(Table::kImage); }

IndexValue image_value(std::string_view key, std::uint64_t size_bytes) {
    Segment whole;
    whole.object = image_object(key);
    whole.is_sealed = true;
    return {nullptr, std::make_shared<const Segment>(std::move(whole)), 0, size_bytes};
}

Result<Done> list(RadosPool& pool, std::string_view key, const RadosEntry& entry) {
    RadosChange change;
    change.is_unguarded = true;
    change.index[std::string{key}] = encode_entry(entry);
    return pool.change(kCommon, change);
}

Result<Done> list_image(RadosPool& pool, std::string_view key, std::uint64_t size_bytes) {
    return list(pool, key, {RadosEntry::Type::kBody, 0, {}, 0, size_bytes});
}

}  // namespace

Result<DomainIndex> read_common(RadosPool& pool) {
    DomainIndex index;
    PERFLEET_TRY(pool.read_index(kCommon, [&](std::string_view key, std::string_view bytes) {
        const auto entry = decode_entry_untrusted(bytes);
        IndexValue value;
        if (entry && entry->type == RadosEntry::Type::kInline) {
            value.value = std::make_shared<const std::string>(entry->value);
        } else if (entry && entry->type == RadosEntry::Type::kBody && is_image(key)) {
            value = image_value(key, entry->size_bytes);
        }
        index.insert_or_assign(std::string{key}, std::move(value));
    }));
    return index;
}

Result<Done> begin_common(RadosPool& pool, ShardCount shards) {
    const StoreFormat format = encode_format(shards);
    RadosChange change;
    change.head = encode_head(RadosHead{});  // no change compares this head
    change.index[format_key()] = encode_entry({RadosEntry::Type::kInline, 0, format.version, 0, 0});
    change.index[shards_key()] = encode_entry({RadosEntry::Type::kInline, 0, format.shards, 0, 0});
    auto begun = pool.change(kCommon, change);
    return !begun.ok() && begun.error().code == ErrorCode::kConflict ? Result<Done>{Done{}} : std::move(begun);
}

// Writes the object before its index entry, so that entries name existing objects. find_image() finds unlisted ones.
Result<IndexValue> put_common(RadosPool& pool, std::string_view key, std::string_view value) {
    if (!is_image(key)) {
        auto listed = list(pool, key, {RadosEntry::Type::kInline, 0, value, 0, 0});
        return listed.ok() ? Result<IndexValue>{{std::make_shared<const std::string>(value), nullptr, 0, 0}}
                           : listed.error();
    }
    RadosHead head;
    head.size_bytes = value.size();
    auto written = pool.change(image_object(key), {std::nullopt, encode_head(head), 0, value, {}, {}});
    if (!written.ok() && written.error().code == ErrorCode::kConflict) {
        auto there = find_image(pool, key);
        if (!there.ok() || there->has_value()) {
            return there.ok() ? Result<IndexValue>{std::move(**there)} : there.error();
        }
    }
    if (written.ok()) {
        written = list_image(pool, key, value.size());
    }
    return written.ok() ? Result<IndexValue>{image_value(key, value.size())} : written.error();
}

Result<std::optional<IndexValue>> find_image(RadosPool& pool, std::string_view key) {
    auto bytes = PERFLEET_TRY(pool.head(image_object(key)));
    const auto head = bytes.has_value() ? decode_head_untrusted(*bytes) : std::nullopt;
    if (!head) {
        return std::optional<IndexValue>{};
    }
    PERFLEET_TRY(list_image(pool, key, head->size_bytes));
    return std::optional{image_value(key, head->size_bytes)};
}

Result<Done> remove_common(RadosPool& pool, std::string_view key) {
    RadosChange change;
    change.is_unguarded = true;
    change.removed.emplace_back(key);
    auto removed = pool.change(kCommon, change);
    return removed.ok() && is_image(key) ? pool.remove(image_object(key)) : std::move(removed);
}

}  // namespace perfleet
