#include "storage/engine/rados/lease.h"

#include <optional>
#include <string>
#include <utility>

namespace perfleet {
namespace {

constexpr int kTriesMax = 100;  // while another process still writes

Error taken(const RadosPool& pool, const std::string& object) {
    return {ErrorCode::kBusy, pool.where() + ": another gateway has taken " + object + " over meanwhile"};
}

// Nothing if the object doesn't exist.
Result<std::optional<RadosHead>> read_head(RadosPool& pool, const std::string& object) {
    auto bytes = PERFLEET_TRY(pool.head(object));
    if (!bytes.has_value()) {
        return std::optional<RadosHead>{};
    }
    const auto head = decode_head_untrusted(*bytes);
    return head ? Result<std::optional<RadosHead>>{head}
                : Error{ErrorCode::kCorrupt, pool.where() + ": the head of " + object + " is damaged"};
}

Result<Done> change_head(RadosPool& pool, const std::string& object, const std::optional<RadosHead>& before,
                         const RadosHead& head) {
    RadosChange change;
    if (before.has_value()) {
        change.head_before = encode_head(*before);
    }
    change.head = encode_head(head);
    return pool.change(object, change);
}

// Raises only the lease in the head; creates the object if it doesn't exist.
Result<Done> fence_object(RadosPool& pool, const std::string& object, std::uint64_t lease) {
    for (int tries = 1;; ++tries) {
        auto before = PERFLEET_TRY(read_head(pool, object));
        RadosHead head = before.value_or(RadosHead{});
        if (head.lease > lease) {
            return taken(pool, object);
        }
        head.lease = lease;
        auto changed = change_head(pool, object, before, head);
        if (changed.ok() || changed.error().code != ErrorCode::kConflict || tries == kTriesMax) {
            return changed;
        }
    }
}

// Fences the open segments with `lease`, which the directory's head must have.
Result<Directory> fence_segments(RadosPool& pool, std::size_t number, std::uint64_t lease) {
    auto directory = PERFLEET_TRY(read_directory(pool, number));
    if (!directory.has_value()) {
        return Error{ErrorCode::kNotFound, pool.where() + ": " + directory_object(number) + " was removed"};
    }
    if (directory->head.lease != lease) {
        return taken(pool, directory_object(number));
    }
    for (const auto& [domain, segments] : directory->domains) {
        if (!segments.back()->is_sealed) {
            PERFLEET_TRY(fence_object(pool, segments.back()->object, lease));
        }
    }
    return std::move(*directory);
}

}  // namespace

Result<Directory> take_directory(RadosPool& pool, std::size_t directory) {
    const std::string object = directory_object(directory);
    for (int tries = 1;; ++tries) {
        auto before = PERFLEET_TRY(read_head(pool, object));
        RadosHead head = before.value_or(RadosHead{});
        ++head.lease;
        auto changed = change_head(pool, object, before, head);
        if (changed.ok()) {
            return fence_segments(pool, directory, head.lease);
        }
        if (changed.error().code != ErrorCode::kConflict) {
            return changed.error();
        }
        // The lease holder has written there, or another process took the lease first.
        auto now = PERFLEET_TRY(read_head(pool, object));
        if (now.value_or(RadosHead{}).lease >= head.lease || tries == kTriesMax) {
            return taken(pool, object);
        }
    }
}

Result<Directory> fence_directory(RadosPool& pool, std::size_t directory, std::uint64_t lease) {
    PERFLEET_TRY(fence_object(pool, directory_object(directory), lease));
    return fence_segments(pool, directory, lease);
}

}  // namespace perfleet
