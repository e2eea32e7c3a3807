// Keeps the symbol tables of sampled files: a thread of low priority reads and compresses them while their files are
// there, and the delivery offers them to the gateway.
//
// note() is for the thread of the source, next() for the one of the delivery (LateImages). Each content once a session.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "target-collector/source/linux/file_contents.h"
#include "target-collector/wire/delivery.h"

namespace perfleet {

class SymbolKeeper final : public LateImages {
public:
    static constexpr std::size_t kImagesMax = 4'096;                  // of a session
    static constexpr std::size_t kSessionSizeBytesMax = 512U << 20U;  // compressed, of all of them
    static constexpr std::size_t kFilesOpenMax = 64;                  // that wait to be read
    static constexpr std::size_t kWaitingSizeBytesMax = 64U << 20U;   // compressed, that wait for the gateway

    // Files whose symbols weren't kept.
    struct LeftOut {
        std::uint64_t changed = 0;  // gone or changed since they were mapped, or not readable
        std::uint64_t too_large = 0;
        std::uint64_t too_many = 0;     // past the session's bounds
        std::uint64_t undelivered = 0;  // the gateway didn't take them
        [[nodiscard]] std::uint64_t sum() const { return changed + too_large + too_many + undelivered; }
    };

    SymbolKeeper() = default;
    SymbolKeeper(const SymbolKeeper&) = delete;
    SymbolKeeper& operator=(const SymbolKeeper&) = delete;
    ~SymbolKeeper();

    void start();
    void note(const MappedFile& file, const ImageContentId& content);
    // Nothing more is noted: reads what still waits. Before the delivery may end.
    void finish();

    [[nodiscard]] std::span<const ImageSupply> next() override;

    // After finish() and the end of the delivery.
    [[nodiscard]] LeftOut left_out() const;
    [[nodiscard]] std::uint64_t cpu_ns() const { return cpu_ns_; }

private:
    struct File {
        int fd = -1;
        ImageContentId content;
    };
    struct Kept {
        ImageContentId content;
        std::string bytes;
    };

    void run();
    void read(const File& file);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::unordered_set<std::string> known_;  // contents; of the source's thread
    std::deque<File> files_;
    std::deque<Kept> waiting_;
    std::vector<Kept> offered_;
    std::vector<ImageSupply> supplies_;
    std::size_t waiting_size_bytes_ = 0;
    std::size_t session_size_bytes_ = 0;
    LeftOut left_out_;
    bool is_finishing_ = false;
    std::uint64_t cpu_ns_ = 0;
    std::thread thread_;
};

}  // namespace perfleet
