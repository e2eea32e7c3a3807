#include "target-collector/linux/symbol_keeper.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <utility>

#include "schemas/vocabulary/content_hash.h"
#include "schemas/wire/hello_limits.h"
#include "schemas/wire/protocol.h"
#include "target-collector/linux/packed_symbols.h"
#include "target-collector/source/linux/elf_note.h"
#include "target-collector/source/linux/symbol_part.h"

namespace perfleet {
SymbolKeeper::~SymbolKeeper() {
    finish();
    for (const File& file : files_) {
        ::close(file.fd);
    }
}

void SymbolKeeper::start() {
    thread_ = std::thread([this] { run(); });
}

void SymbolKeeper::note(const MappedFile& file, const ImageContentId& content) {
    const auto id = content.view();
    if (!known_.emplace(reinterpret_cast<const char*>(id.data()), id.size()).second) {
        return;
    }
    const bool is_one_too_many = known_.size() > kImagesMax;
    if (is_one_too_many) {
        known_.erase(std::string{reinterpret_cast<const char*>(id.data()), id.size()});
    }
    const std::lock_guard lock{mutex_};
    if (is_one_too_many || files_.size() >= kFilesOpenMax) {
        ++left_out_.too_many;
        return;
    }
    const int fd = FileContents::open(file);
    if (fd < 0) {
        ++left_out_.changed;
        return;
    }
    files_.push_back({fd, content});
    changed_.notify_one();
}

void SymbolKeeper::finish() {
    {
        const std::lock_guard lock{mutex_};
        is_finishing_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

void SymbolKeeper::run() {
    // What is profiled comes first.
    sched_param idle{};
    (void)::sched_setscheduler(0, SCHED_BATCH, &idle);
    (void)!::nice(10);
    std::unique_lock lock{mutex_};
    for (;;) {
        const auto has_room = [this] { return waiting_size_bytes_ < kWaitingSizeBytesMax || is_finishing_; };
        changed_.wait(lock, [&] { return is_finishing_ || (!files_.empty() && has_room()); });
        if (files_.empty()) {
            break;
        }
        const File file = files_.front();
        files_.pop_front();
        if (!has_room() || session_size_bytes_ >= kSessionSizeBytesMax || waiting_size_bytes_ >= kWaitingSizeBytesMax) {
            ++left_out_.too_many;
        } else {
            lock.unlock();
            read(file);
            lock.lock();
        }
        ::close(file.fd);
    }
    timespec cpu{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    cpu_ns_ = (static_cast<std::uint64_t>(cpu.tv_sec) * 1'000'000'000) + static_cast<std::uint64_t>(cpu.tv_nsec);
}

void SymbolKeeper::read(const File& file) {
    struct stat before {};
    struct stat after {};
    const bool is_there = ::fstat(file.fd, &before) == 0;
    const auto size_bytes = static_cast<std::uint64_t>(before.st_size);
    const bool is_hash_whole = !file.content.is_hash || size_bytes <= kHashedBytesMax;
    auto part = symbol_part_of_file(file.fd, size_bytes);
    if (!part.ok() && (part.error().code == ErrorCode::kNotFound || part.error().code == ErrorCode::kInvalid)) {
        return;  // nothing to keep
    }
    Kept kept{file.content, part.ok() ? packed_symbols(*part) : std::string{}};
    const ImageContentId content = content_id_of_file(file.fd, size_bytes);
    const bool is_same = is_there && ::fstat(file.fd, &after) == 0 && after.st_size == before.st_size &&
                         after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
                         after.st_mtim.tv_nsec == before.st_mtim.tv_nsec && content.is_hash == file.content.is_hash &&
                         std::ranges::equal(content.view(), file.content.view());
    const std::lock_guard lock{mutex_};
    if (!is_same) {
        ++left_out_.changed;
    } else if (kept.bytes.empty() || !is_hash_whole) {
        ++left_out_.too_large;
    } else {
        session_size_bytes_ += kept.bytes.size();
        waiting_size_bytes_ += kept.bytes.size();
        waiting_.push_back(std::move(kept));
    }
}

std::span<const ImageSupply> SymbolKeeper::next() {
    const std::lock_guard lock{mutex_};
    for (const Kept& kept : offered_) {
        waiting_size_bytes_ -= kept.bytes.size();
    }
    offered_.clear();
    supplies_.clear();
    while (!waiting_.empty() && offered_.size() < hello_limits::kImageOffersMax) {
        offered_.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
    }
    for (const Kept& kept : offered_) {
        supplies_.push_back({kept.content.view(), static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols),
                             std::as_bytes(std::span{kept.bytes})});
    }
    changed_.notify_one();
    return supplies_;
}

SymbolKeeper::LeftOut SymbolKeeper::left_out() const {
    const std::lock_guard lock{mutex_};
    LeftOut left_out = left_out_;
    left_out.undelivered = offered_.size() + waiting_.size();
    return left_out;
}

}  // namespace perfleet
