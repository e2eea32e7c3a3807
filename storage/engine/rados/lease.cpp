#include "storage/engine/rados/lease.h"

#include <chrono>
#include <string>
#include <utility>

namespace perfleet {
namespace {

const std::string kLease = "lease";
constexpr std::chrono::milliseconds kAnswerTimeout{3'000};  // of a holder that lives
constexpr int kTriesMax = 100;                              // beside one that still writes

// Changes nothing but the lease of the head; makes the object where there is none.
Result<RadosHead> fence_object(RadosPool& pool, const std::string& object, std::uint64_t lease) {
    for (int tries = 1;; ++tries) {
        auto before = pool.head(object);
        if (!before.ok()) {
            return before.error();
        }
        RadosHead head;
        if (before->has_value()) {
            const auto known = decode_head_untrusted(**before);
            if (!known) {
                return Error{ErrorCode::kCorrupt, pool.where() + ": the head of " + object + " is damaged"};
            }
            head = *known;
        }
        if (head.lease > lease) {
            return Error{ErrorCode::kBusy, pool.where() + ": another gateway has taken the store over meanwhile"};
        }
        head.lease = lease;
        auto changed = pool.change(object, {*before, encode_head(head), 0, {}, {}, {}});
        if (changed.ok()) {
            return head;
        }
        if (changed.error().code != ErrorCode::kConflict || tries == kTriesMax) {
            return changed.error();
        }
    }
}

}  // namespace

Result<std::optional<std::uint64_t>> current_lease(RadosPool& pool) {
    auto bytes = pool.head(kLease);
    if (!bytes.ok()) {
        return bytes.error();
    }
    if (!bytes->has_value()) {
        return std::optional<std::uint64_t>{};
    }
    const auto head = decode_head_untrusted(**bytes);
    return head ? Result<std::optional<std::uint64_t>>{std::optional{head->lease}}
                : Error{ErrorCode::kCorrupt, pool.where() + ": the head of " + kLease + " is damaged"};
}

Result<std::uint64_t> take_lease(RadosPool& pool) {
    auto before = current_lease(pool);
    if (!before.ok()) {
        return before.error();
    }
    if (before->has_value()) {
        auto is_held = pool.is_held(kLease, kAnswerTimeout);
        if (!is_held.ok() || *is_held) {
            return is_held.ok() ? Error{ErrorCode::kBusy, pool.where() + ": another gateway writes there (it answers)"}
                                : is_held.error();
        }
    }
    RadosHead head;
    head.lease = before->value_or(0) + 1;
    RadosHead known;
    known.lease = before->value_or(0);
    auto taken = pool.change(
        kLease,
        {before->has_value() ? std::optional{encode_head(known)} : std::nullopt, encode_head(head), 0, {}, {}, {}});
    if (taken.ok()) {
        taken = pool.hold(kLease);
    } else if (taken.error().code == ErrorCode::kConflict) {
        return Error{ErrorCode::kBusy, pool.where() + ": another gateway takes the store at this moment"};
    }
    return taken.ok() ? Result<std::uint64_t>{head.lease} : taken.error();
}

Result<Directories> fence(RadosPool& pool, std::uint64_t lease) {
    Directories directories;
    for (std::size_t i = 0; i < kDirectories; ++i) {
        auto fenced = fence_object(pool, directory_object(i), lease);
        auto directory = fenced.ok() ? read_directory(pool, i) : fenced.error();
        if (!directory.ok()) {
            return directory.error();
        }
        if (!directory->has_value()) {
            return Error{ErrorCode::kNotFound, pool.where() + ": " + directory_object(i) + " was removed"};
        }
        directories[i] = std::move(**directory);
        for (const auto& [domain, segments] : directories[i].domains) {
            if (!segments.back()->is_sealed) {
                if (auto sealed = fence_object(pool, segments.back()->object, lease); !sealed.ok()) {
                    return sealed.error();
                }
            }
        }
    }
    return directories;
}

}  // namespace perfleet
