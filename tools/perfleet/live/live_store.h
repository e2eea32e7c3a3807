// The rows of a live profile: a store in memory of limited size. Its session's epochs are ended while they are small,
// and the oldest are dropped to make space; a query counts their rows as expired.
//
// take() is for one thread; others may read meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "schemas/vocabulary/error.h"
#include "storage/store/store.h"
#include "tools/perfleet/import/frame_import.h"

namespace perfleet {

class LiveStore {
public:
    static constexpr std::uint64_t kSizeBytesDefault = 64U << 20;

    // `end_epoch` is called by take(): the collector should begin another epoch.
    LiveStore(std::uint64_t size_bytes_max, std::function<void()> end_epoch);

    // A frame of the collector. A batch that doesn't fit even then is left out, and counted. Errors: those of
    // SessionFrames.
    [[nodiscard]] Result<Done> take(std::span<const std::byte> frame);

    [[nodiscard]] const StoreReader& reader() const { return *store_; }
    [[nodiscard]] std::uint64_t image_count() const { return image_count_; }  // with symbols
    [[nodiscard]] std::uint64_t batches_left_out() const { return batches_left_out_; }

private:
    [[nodiscard]] Result<Done> make_space();

    const std::uint64_t size_bytes_max_;
    std::function<void()> end_epoch_;
    std::unique_ptr<Store> store_;
    SessionFrames frames_;
    std::uint64_t epoch_size_bytes_ = 0;  // of frames since the last end of an epoch
    std::atomic<std::uint64_t> image_count_{0};
    std::atomic<std::uint64_t> batches_left_out_{0};
};

}  // namespace perfleet
