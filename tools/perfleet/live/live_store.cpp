#include "tools/perfleet/live/live_store.h"

#include <utility>
#include <vector>

#include "schemas/host/host_clock.h"
#include "storage/store/memory_store.h"

namespace perfleet {
namespace {

// Parts of the memory: an epoch, symbols, rows. The rest is for keys and records.
constexpr std::uint64_t kEpochShare = 16;
constexpr std::uint64_t kImagesShare = 4;
constexpr std::uint64_t rows_size_bytes_max(std::uint64_t size_bytes) { return size_bytes / 8 * 5; }

}  // namespace

LiveStore::LiveStore(std::uint64_t size_bytes_max, std::function<void()> end_epoch)
    : size_bytes_max_{size_bytes_max},
      end_epoch_{std::move(end_epoch)},
      store_{make_memory_store({}, size_bytes_max)},
      frames_{
          *store_,
          utc_now(),
          {.path = {}, .placement = BatchPlacement::kByEpoch, .images_size_bytes_max = size_bytes_max / kImagesShare}} {
}

Result<Done> LiveStore::take(std::span<const std::byte> frame) {
    const auto taken = frames_.take(frame);
    if (!taken.ok() && taken.error().code != ErrorCode::kTooLarge) {
        return Error{taken.error()};
    }
    image_count_ = frames_.image_count();
    batches_left_out_ += taken.ok() ? 0 : 1;
    epoch_size_bytes_ += frame.size();
    if (taken.ok() && epoch_size_bytes_ < size_bytes_max_ / kEpochShare) {
        return Done{};
    }
    epoch_size_bytes_ = 0;
    end_epoch_();
    return make_space();
}

Result<Done> LiveStore::make_space() {
    auto partitions = PERFLEET_TRY(store_->partitions());  // one for each epoch
    for (std::size_t i = 0; i + 1 < partitions.size(); ++i) {
        const auto size_bytes = PERFLEET_TRY(store_->size_bytes(std::span{partitions}.subspan(i)));
        if (size_bytes <= rows_size_bytes_max(size_bytes_max_)) {
            break;
        }
        PERFLEET_TRY(store_->drop(partitions[i]));
    }
    return Done{};
}

}  // namespace perfleet
