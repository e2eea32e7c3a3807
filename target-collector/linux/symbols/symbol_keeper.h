// Offers the symbols of kernel modules and of sampled files to the gateway, and reads those that it asks for: a thread
// of low priority has them extracted and compressed. A file is held open until the gateway has said what it wants of
// it, so that it can be removed meanwhile.
//
// note() is for the thread of the source; next() and content() for the one of the delivery (LateImages). Each content
// once a session. Where many files wait (the gateway is away) they are read at once, and their bytes wait instead.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/wire/protocol.h"
#include "target-collector/linux/symbols/confined_reader.h"
#include "target-collector/process/file_contents.h"
#include "target-collector/wire/delivery.h"

namespace perfleet {

class SymbolKeeper final : public LateImages {
public:
    static constexpr std::size_t kImagesMax = 4'096;                  // of a session
    static constexpr std::size_t kSessionSizeBytesMax = 512U << 20U;  // compressed, of all that were read
    static constexpr std::size_t kFilesOpenMax = 256;                 // that wait to be offered
    static constexpr std::size_t kFilesOfferedLater = 88;             // beyond it they are read without being asked for
    static constexpr std::size_t kWaitingSizeBytesMax = 64U << 20U;   // compressed, that wait for the gateway
    static constexpr std::size_t kFilesOfferedMax = 8;                // at once: what it fetches of them is in memory

    // Files whose symbols weren't kept.
    struct LeftOut {
        std::uint64_t changed = 0;  // gone or changed since they were mapped, or not readable
        std::uint64_t too_large = 0;
        std::uint64_t too_many = 0;     // past the session's bounds
        std::uint64_t undelivered = 0;  // the gateway didn't take them
        [[nodiscard]] std::uint64_t sum() const { return changed + too_large + too_many + undelivered; }
        [[nodiscard]] std::string text() const;  // for a log; empty where there are none
    };

    SymbolKeeper() = default;
    SymbolKeeper(const SymbolKeeper&) = delete;
    SymbolKeeper& operator=(const SymbolKeeper&) = delete;
    ~SymbolKeeper();

    // Files are read by a process that runs `program` (confined_reader.h), which starts with the first of them or at
    // once. Gives its process id, if it runs. Without this they are read here. Before start().
    pid_t extract_in(std::string program, bool at_once);
    // The symbols of a kernel module, packed; before start().
    void add_module(const ImageContentId& content, std::string packed);
    void start();
    void note(const MappedFile& file, const ImageContentId& content);
    // The session ends: the files that are left are read at the priority of the process. Any thread, after start().
    void raise_priority();
    // After the end of the delivery.
    void finish();

    [[nodiscard]] std::span<const ImageSupply> next() override;
    [[nodiscard]] Content content(std::size_t index) override;

    // After finish().
    [[nodiscard]] LeftOut left_out() const;
    [[nodiscard]] std::uint64_t reader_cpu_ns() const { return reader_cpu_ns_; }
    [[nodiscard]] std::uint64_t read_count() const { return read_count_; }  // of files

private:
    enum class State : std::uint8_t { kOpen, kWanted, kReading, kRead };
    struct File {
        FileDescriptor fd;
        ImageContentId content;
        std::uint32_t pid = 0;
        std::string path;
        protocol::ImageType type = protocol::ImageType::kElfSymbols;
        State state = State::kOpen;
        std::string bytes{};  // of kRead; empty: it has no symbols, or they can't be had
    };

    void run();
    void lower_priority() const;
    [[nodiscard]] std::size_t open_count() const;  // of those that wait
    [[nodiscard]] File* next_to_read();
    void read(File& file, std::unique_lock<std::mutex>& lock);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::unordered_set<std::string> known_;      // contents; of the source's thread
    std::deque<std::unique_ptr<File>> waiting_;  // to be offered
    std::vector<std::unique_ptr<File>> offered_;
    std::vector<std::unique_ptr<File>> leaving_;  // that the gateway doesn't want any more, while they are being read
    std::vector<ImageSupply> supplies_;
    std::size_t waiting_size_bytes_ = 0;
    std::size_t session_size_bytes_ = 0;
    LeftOut left_out_;
    bool is_finishing_ = false;
    std::unique_ptr<ConfinedReader> reader_;
    int nice_ = 0;  // of the process
    std::atomic<bool> is_priority_raised_{false};
    std::atomic<pid_t> thread_id_{0};
    std::uint64_t reader_cpu_ns_ = 0;
    std::uint64_t read_count_ = 0;
    std::thread thread_;
};

}  // namespace perfleet
