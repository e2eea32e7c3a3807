// The rows of one series of one epoch, block by block, when the reader wants them: the scan pushes, a merge pulls.
//
// The scan runs in a thread of its own, which waits while the reader works on a block: one decoded block a feed is in
// memory, whatever the length of the series.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>

#include "query-engine/scan/scan.h"

namespace perfleet {

class SeriesFeed {
public:
    // Borrows the scan.
    SeriesFeed(const Scan& scan, std::size_t session_index, EpochNumber epoch, Series series);
    ~SeriesFeed();
    SeriesFeed(const SeriesFeed&) = delete;
    SeriesFeed& operator=(const SeriesFeed&) = delete;

    // The next block with at least one row; nullptr after the last, or when the scan failed. Gives back the one before.
    [[nodiscard]] const DecodedRows* next();

    // Why it ended early. After next() has given nullptr.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

private:
    enum class Turn : std::uint8_t { kScan, kReader };

    std::mutex mutex_;
    std::condition_variable changed_;
    Turn turn_ = Turn::kReader;  // the scan waits until it is asked
    const DecodedRows* rows_ = nullptr;
    bool is_over_ = false;
    bool is_unwanted_ = false;
    std::optional<Error> error_;
    std::thread thread_;
};

}  // namespace perfleet
