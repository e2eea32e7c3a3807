// Offers symbols of the kernel, its modules and sampled files to the gateway, and reads those that it requests: a
// thread of low priority has them extracted and compressed. A file is held open until the gateway has decided about it,
// so that it may be removed meanwhile.
//
// note() is for the source's thread; next() and content() for the delivery's (LateImages). Each content is offered once
// a session. If many files wait (the gateway is unreachable), they are read at once and their bytes are kept.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/wire/protocol.h"
#include "target-collector/linux/symbols/confined_reader.h"
#include "target-collector/linux/symbols/file_cache.h"
#include "target-collector/process/file_contents.h"
#include "target-collector/wire/delivery.h"

namespace perfleet {

class SymbolKeeper final : public LateImages, NonCopyable {
public:
    static constexpr std::size_t kImagesMax = 4'096;                  // of a session
    static constexpr std::size_t kSessionSizeBytesMax = 512U << 20U;  // compressed, of all files read
    static constexpr std::size_t kFilesOpenMax = 256;                 // waiting to be offered
    static constexpr std::size_t kFilesOfferedLater = 88;             // above this, read before requested
    static constexpr std::size_t kWaitingSizeBytesMax = 64U << 20U;   // compressed, waiting for the gateway
    static constexpr std::size_t kFilesOfferedMax = 8;                // offered at once; those that the gateway fetches
                                                                      // are in memory

    // Files whose symbols weren't stored, by reason.
    struct LeftOut {
        std::uint64_t changed = 0;  // gone, changed since they were mapped, or unreadable
        std::uint64_t too_large = 0;
        std::uint64_t too_many = 0;     // above the session's limits
        std::uint64_t undelivered = 0;  // not fetched by the gateway
        [[nodiscard]] std::uint64_t sum() const { return changed + too_large + too_many + undelivered; }
        [[nodiscard]] std::string text() const;  // for a log; empty if there are none
    };

    struct ReadSymbols {
        enum class Outcome : std::uint8_t { kRead, kNone, kChanged, kTooLarge };
        Outcome outcome = Outcome::kNone;
        std::string bytes;  // of kRead
    };

    ~SymbolKeeper();

    // Files are read by a process that runs `program` (confined_reader.h), started with the first file or `at_once`.
    // Returns its process id, if it runs. Without this call they are read in this process. To be called before start().
    pid_t extract_in(std::string program, bool at_once);
    // Symbols are kept in the cache, and come from it in later sessions; null: none. To be called before start().
    void keep_in(std::shared_ptr<FileCache> cache) { cache_ = std::move(cache); }
    // Adds the running kernel, or a module of it, by its name in read_kernel_symbols(); to be called before start().
    void add_kernel(const ImageContentId& content, std::string module);
    // `on_read`: a requested file was read, so the delivery can go on; called by the keeper's thread until finish().
    void start(std::function<void()> on_read = {});
    void note(const MappedFile& file, const ImageContentId& content);
    // From now on files are read at the process's normal priority, as when the session ends. Any thread, after start().
    void raise_priority();
    // To be called after the end of the delivery.
    void finish();

    [[nodiscard]] std::span<const ImageSupply> next() override;
    [[nodiscard]] Content content(std::size_t index) override;

    // Valid after finish().
    [[nodiscard]] LeftOut left_out() const;
    [[nodiscard]] std::uint64_t reader_cpu_ns() const { return reader_cpu_ns_; }
    [[nodiscard]] std::uint64_t read_count() const { return read_count_; }  // of files

private:
    enum class State : std::uint8_t { kOpen, kWanted, kReading, kRead };
    struct File {
        FileDescriptor fd;
        ImageContentId content;
        std::uint32_t pid = 0;
        std::string path;  // of kKernelSymbols the module's name
        protocol::ImageType type = protocol::ImageType::kElfSymbols;
        State state = State::kOpen;
        std::string bytes{};  // of kRead; empty: no symbols, or unreadable
    };

    void run();
    void lower_priority() const;
    [[nodiscard]] std::size_t open_count() const;  // of those that wait
    [[nodiscard]] File* next_to_read();
    void read(File& file, std::unique_lock<std::mutex>& lock);
    [[nodiscard]] ReadSymbols symbols_of(const File& file) const;
    [[nodiscard]] std::string packed_kernel_symbols(const std::string& module);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::unordered_set<std::string> known_;      // contents; of the source's thread
    std::deque<std::unique_ptr<File>> waiting_;  // to be offered
    std::vector<std::unique_ptr<File>> offered_;
    std::vector<std::unique_ptr<File>> leaving_;  // no longer wanted by the gateway, still being read
    std::vector<ImageSupply> supplies_;
    std::size_t waiting_size_bytes_ = 0;
    std::size_t session_size_bytes_ = 0;
    LeftOut left_out_;
    bool is_finishing_ = false;
    std::unique_ptr<ConfinedReader> reader_;
    std::shared_ptr<FileCache> cache_;
    std::map<std::string, std::string> kernel_symbols_;  // of the thread; read with the first that is requested
    int nice_ = 0;                                       // of the process
    std::function<void()> on_read_;
    std::atomic<bool> is_priority_raised_{false};
    std::atomic<pid_t> thread_id_{0};
    std::uint64_t reader_cpu_ns_ = 0;
    std::uint64_t read_count_ = 0;
    std::thread thread_;
};

}  // namespace perfleet
