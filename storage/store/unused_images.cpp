#include "storage/store/unused_images.h"

#include <map>

#include "storage/block/block.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/engine/damaged_reads.h"

namespace perfleet {
namespace {

// By key: the size of key and value.
using Images = std::map<std::string, std::uint64_t>;

Result<Images> stored_images(const Engine& engine) {
    Images images;
    PERFLEET_TRY(visit_readable(engine, all_images_range(), [&](std::string_view key, std::string_view value) {
        images.emplace(key, key.size() + value.size());
        return Visit::kContinue;
    }));
    return images;
}

// False if the block can't be read.
bool forget_named(std::string_view block_untrusted, Images& images) {
    EpochDictionary dictionary;
    const auto block = parse_block_untrusted(block_untrusted);
    if (!block.ok() || !dictionary.add(*block).ok()) {
        return false;
    }
    for (std::uint32_t number = 0; number < dictionary.image_count(); ++number) {
        if (dictionary.has_image(ImageNumber{number})) {
            images.erase(image_key(dictionary.image(ImageNumber{number}).build_id));
        }
    }
    return true;
}

}  // namespace

Result<UnusedImages> unused_images(const KeyedReads& reads) {
    Images images = PERFLEET_TRY(stored_images(reads.engine()));
    const auto partitions = PERFLEET_TRY(reads.partitions());
    bool is_known = reads.engine().damage()->lost.empty();
    for (const Partition& partition : partitions) {
        auto sessions = PERFLEET_TRY(reads.session_names(partition));
        for (const SessionName& session : sessions) {
            if (images.empty() || !is_known) {
                return UnusedImages{};
            }
            BlockCursor blocks = reads.blocks(partition, session.target, session.session, {Kind::kImage, kNoEvent});
            for (auto at = PERFLEET_TRY(blocks.next()); at.step != CursorStep::kEnd; at = PERFLEET_TRY(blocks.next())) {
                is_known = is_known && at.step == CursorStep::kItem && forget_named(at.value, images);
            }
        }
    }
    UnusedImages unused;
    if (is_known) {
        for (const auto& [key, size_bytes] : images) {
            unused.keys.push_back(key);
            unused.size_bytes += size_bytes;
        }
    }
    return unused;
}

}  // namespace perfleet
