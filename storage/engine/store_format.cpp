#include "storage/engine/store_format.h"

#include <optional>

#include "storage/engine/damaged_reads.h"
#include "storage/key/key.h"
#include "storage/model/record.h"

namespace perfleet {
namespace {

Result<std::optional<std::uint64_t>> decode_version(const Result<std::optional<std::string>>& bytes) {
    if (!bytes.ok()) {
        return bytes.error();
    }
    if (!bytes->has_value()) {
        return std::optional<std::uint64_t>{};
    }
    auto version = decode_number_untrusted(**bytes);
    if (!version.ok()) {
        return at_key(format_key(), version.error());
    }
    return std::optional{*version};
}

}  // namespace

Result<Done> check_format(const Engine& engine, const std::string& where) {
    bool is_damaged = false;
    const auto bytes = get_readable(engine, format_key(), [&](const DamagedRange&) { is_damaged = true; });
    auto version = decode_version(bytes);
    // It is the first key of the file that it stands in, or in a log of which something is lost. Records and blocks of
    // another version say so themselves.
    if (version.ok() && !version->has_value() &&
        (is_damaged || begins_lost_file(engine, format_key()) || !engine.damage_at_open().empty())) {
        return Done{};
    }
    if (!version.ok()) {
        const std::string& said = version.error().message;
        return Error{version.error().code, (said.starts_with(where) ? said : where + ": " + said) +
                                               "; without it nothing of the store can be read: put the file back, or "
                                               "restore the store from a backup (perfleet restore --help)"};
    }
    if (!version->has_value()) {
        const auto unreleased = engine.get(unreleased_format_key());
        return unreleased.ok() && unreleased->has_value()
                   ? Error{ErrorCode::kUnsupported, where +
                                                        " has a store format from before the first release, which "
                                                        "this build doesn't read; give another folder (--data)"}
                   : Error{ErrorCode::kNotFound, where + " holds no perfleet store"};
    }
    if (**version != kStoreFormatVersion) {
        return Error{ErrorCode::kUnsupported, where + " has store format " + std::to_string(**version) +
                                                  ", this build reads format " + std::to_string(kStoreFormatVersion) +
                                                  " only; use the perfleet that wrote it"};
    }
    return Done{};
}

}  // namespace perfleet
