#include "storage/engine/rocksdb/manifest.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "storage/engine/rocksdb/log_format.h"
#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

// rocksdb/db/version_edit.h: these numbers never change. Others belong to features that the store doesn't use.
enum class Tag : std::uint32_t {
    kComparator = 1,
    kLogNumber = 2,
    kNextFileNumber = 3,
    kLastSequence = 4,
    kCompactCursor = 5,
    kDeletedFile = 6,
    kPreviousLogNumber = 9,
    kMinLogNumberToKeep = 10,
    kNewFile = 103,
    kColumnFamily = 200,
    kColumnFamilyAdd = 201,
    kMaxColumnFamily = 203,
};
constexpr std::uint32_t kIgnorableTag = 1U << 13;  // tags with this bit have a sized text
constexpr std::uint64_t kFieldsEnd = 1;            // ends the fields of a new file
constexpr std::uint64_t kMinLogNumberField = 3;
constexpr std::uint64_t kUniqueIdField = 12;
constexpr std::size_t kSequenceAndTypeSizeBytes = 8;  // after a key in RocksDB's internal form

constexpr std::size_t kSessionIdDigits = 20;
constexpr std::size_t kSessionIdLowerDigits = 12;
constexpr unsigned kSessionIdLowerBits = 62;  // from these digits; the other 2 bits come from the upper digits

class EditReader {
public:
    explicit EditReader(std::string_view bytes) : rest_{bytes} {}

    [[nodiscard]] bool has_more() const { return !has_failed_ && !rest_.empty(); }
    [[nodiscard]] bool has_failed() const { return has_failed_; }
    void fail() { has_failed_ = true; }

    std::uint64_t varint() {
        constexpr unsigned kBits = 7;
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += kBits) {
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80) {
                return value;
            }
        }
        has_failed_ = true;
        return 0;
    }

    std::string_view text() {
        const std::uint64_t size = varint();
        if (size > rest_.size()) {
            has_failed_ = true;
            return {};
        }
        const std::string_view text = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return text;
    }

    std::string key() {
        const std::string_view key = text();
        return std::string{key.substr(0, key.size() - std::min(key.size(), kSequenceAndTypeSizeBytes))};
    }

private:
    std::string_view rest_;
    bool has_failed_ = false;
};

// Applies one edit: removals before additions, because a file that changes its level is both.
class Edits {
public:
    [[nodiscard]] bool apply(std::string_view bytes) {
        EditReader edit{bytes};
        std::vector<std::pair<std::uint64_t, ManifestTable>> added;
        while (edit.has_more()) {
            const auto tag = static_cast<std::uint32_t>(edit.varint());
            switch (static_cast<Tag>(tag)) {
                case Tag::kComparator:
                case Tag::kColumnFamilyAdd: (void)edit.text(); break;
                case Tag::kPreviousLogNumber:
                case Tag::kColumnFamily:
                case Tag::kMaxColumnFamily: (void)edit.varint(); break;
                case Tag::kNextFileNumber: raise(manifest_.next_file, edit.varint()); break;
                case Tag::kLastSequence: raise(manifest_.last_sequence, edit.varint()); break;
                case Tag::kLogNumber: raise(manifest_.first_replayed_log, edit.varint()); break;
                case Tag::kMinLogNumberToKeep: raise(manifest_.first_needed_log, edit.varint()); break;
                case Tag::kCompactCursor:
                    (void)edit.varint();
                    (void)edit.text();
                    break;
                case Tag::kDeletedFile:
                    (void)edit.varint();
                    manifest_.tables.erase(edit.varint());
                    break;
                case Tag::kNewFile: added.push_back(new_file(edit)); break;
                default:
                    if ((tag & kIgnorableTag) == 0) {
                        return false;
                    }
                    (void)edit.text();
            }
        }
        for (auto& [number, table] : added) {
            manifest_.tables.insert_or_assign(number, std::move(table));
        }
        return !edit.has_failed();
    }

    [[nodiscard]] Manifest take() { return std::move(manifest_); }

private:
    static void raise(std::uint64_t& value, std::uint64_t to) { value = std::max(value, to); }

    std::pair<std::uint64_t, ManifestTable> new_file(EditReader& edit) {
        ManifestTable table;
        (void)edit.varint();  // level
        const std::uint64_t number = edit.varint();
        table.size_bytes = edit.varint();
        table.first_key = edit.key();
        table.last_key = edit.key();
        (void)edit.varint();  // smallest sequence number
        raise(manifest_.tables_sequence, edit.varint());
        while (edit.has_more()) {
            const std::uint64_t field = edit.varint();
            if (field == kFieldsEnd) {
                return {number, std::move(table)};
            }
            const std::string_view value = edit.text();
            if (field == kUniqueIdField && value.size() >= sizeof table.session_id) {
                table.session_id = load_little_endian<std::uint64_t>(value.data());
            } else if (field == kMinLogNumberField && value.size() >= sizeof(std::uint64_t)) {
                raise(manifest_.first_needed_log, load_little_endian<std::uint64_t>(value.data()));
            }
        }
        edit.fail();
        return {};
    }

    Manifest manifest_;
};

// Returns the size of the whole records read; the visitor returns false to stop.
std::size_t visit_edits(std::string_view bytes, const std::function<bool(std::string_view)>& visitor) {
    std::string joined;
    bool is_joining = false;
    std::size_t whole_size_bytes = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t left = kLogBlockSizeBytes - at % kLogBlockSizeBytes;
        if (left < kLogHeaderSizeBytes) {
            at += left;
            continue;
        }
        const auto record = log_record_in(bytes.substr(at, left));
        const bool is_first = record && (record->type == Fragment::kFull || record->type == Fragment::kFirst);
        if (!record || is_first == is_joining) {
            break;
        }
        joined = is_first ? std::string{record->payload} : joined.append(record->payload);
        is_joining = record->type == Fragment::kFirst || record->type == Fragment::kMiddle;
        at += record->size_bytes();
        if (!is_joining) {
            if (!visitor(joined)) {
                break;
            }
            whole_size_bytes = at;
        }
    }
    return whole_size_bytes;
}

}  // namespace

std::size_t whole_edits_size_bytes(std::string_view bytes) {
    return visit_edits(bytes, [](std::string_view) { return true; });
}

std::optional<Manifest> decode_manifest(std::string_view bytes) {
    Edits edits;
    bool is_understood = true;
    const std::size_t size = visit_edits(bytes, [&](std::string_view edit) {
        is_understood = edits.apply(edit);
        return is_understood;
    });
    return is_understood && size != 0 ? std::optional{edits.take()} : std::nullopt;
}

std::optional<std::uint64_t> session_id_in(std::string_view text) {
    constexpr std::uint64_t kBase = 36;
    if (text.size() != kSessionIdDigits) {
        return std::nullopt;
    }
    std::uint64_t halves[2] = {0, 0};
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char digit = text[i];
        const bool is_number = digit >= '0' && digit <= '9';
        if (!is_number && !(digit >= 'A' && digit <= 'Z')) {
            return std::nullopt;
        }
        std::uint64_t& half = halves[i < kSessionIdDigits - kSessionIdLowerDigits ? 0 : 1];
        half = half * kBase + static_cast<std::uint64_t>(is_number ? digit - '0' : digit - 'A' + 10);
    }
    constexpr std::uint64_t kLowerMask = (std::uint64_t{1} << kSessionIdLowerBits) - 1;
    return (halves[1] & kLowerMask) | halves[0] << kSessionIdLowerBits;
}

}  // namespace perfleet
