#include "target-collector/linux/symbols/symbol_keeper.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "schemas/host/content_hash.h"
#include "schemas/text/layout.h"
#include "schemas/wire/hello_limits.h"
#include "target-collector/linux/host/packed_symbols.h"
#include "target-collector/process/elf_note.h"
#include "target-collector/process/kernel_images.h"
#include "target-collector/source/linux/image/debug_file.h"

namespace perfleet {
namespace {

constexpr int kNiceMore = 10;

SymbolKeeper::ReadSymbols read_symbols(int fd, const ImageContentId& expected, std::uint32_t pid,
                                       const std::string& path, ConfinedReader* reader) {
    using Outcome = SymbolKeeper::ReadSymbols::Outcome;
    struct stat before {};
    struct stat after {};
    const bool is_there = ::fstat(fd, &before) == 0;
    const auto size_bytes = static_cast<std::uint64_t>(before.st_size);
    const bool is_hash_whole = !expected.is_hash || size_bytes <= kHashedBytesMax;
    const OpenDebugFile open = [&](const SymbolPart& part) {
        return open_debug_file({pid, path, expected.view(), part.debug_link});
    };
    auto packed = reader != nullptr ? reader->symbols(fd, open) : packed_symbols_of_file(fd, open);
    if (packed.ok() ? packed->bytes.empty() : packed.error().code == ErrorCode::kInvalid) {
        return {};  // nothing to keep
    }
    const ImageContentId content = content_id_of_file(fd, size_bytes);
    const bool is_same = is_there && ::fstat(fd, &after) == 0 && after.st_size == before.st_size &&
                         after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
                         after.st_mtim.tv_nsec == before.st_mtim.tv_nsec && content.is_hash == expected.is_hash &&
                         std::ranges::equal(content.view(), expected.view());
    if (!is_same) {
        return {Outcome::kChanged, {}};
    }
    if (!packed.ok() || !is_hash_whole) {
        return {Outcome::kTooLarge, {}};
    }
    return {Outcome::kRead, std::move(packed->bytes)};
}

}  // namespace

std::string SymbolKeeper::LeftOut::text() const {
    if (sum() == 0) {
        return {};
    }
    std::string text = "the symbols of " + counted_noun(sum(), "file is", "files are") + " not kept with the session (";
    const char* separator = "";
    for (const auto& [count, what] : {std::pair{changed, " gone or changed"}, std::pair{too_large, " too large"},
                                      std::pair{too_many, " past the limits of a session"},
                                      std::pair{undelivered, " not sent in time; a longer --exit-wait sends them"}}) {
        if (count > 0) {
            text += separator + std::to_string(count) + what;
            separator = ", ";
        }
    }
    return text + ")";
}

SymbolKeeper::~SymbolKeeper() { finish(); }

pid_t SymbolKeeper::extract_in(std::string program, bool at_once) {
    reader_ = std::make_unique<ConfinedReader>(std::move(program));
    if (at_once) {
        reader_->start();
    }
    return reader_->pid();
}

void SymbolKeeper::add_kernel(const ImageContentId& content, std::string module) {
    waiting_.push_back(std::make_unique<File>(
        File{FileDescriptor{}, content, 0, std::move(module), protocol::ImageType::kKernelSymbols}));
}

void SymbolKeeper::start(std::function<void()> on_read) {
    on_read_ = std::move(on_read);
    nice_ = ::getpriority(PRIO_PROCESS, 0);
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
    if (is_one_too_many || open_count() >= kFilesOpenMax) {
        ++left_out_.too_many;
        return;
    }
    FileDescriptor fd = FileContents::open(file);
    if (!fd) {
        ++left_out_.changed;
        return;
    }
    waiting_.push_back(std::make_unique<File>(File{std::move(fd), content, file.pid, std::string{file.path}}));
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

// The profiled program has precedence. If raise_priority() won't be permitted, the priority is lowered by only one:
// with more, this thread would hardly run on a busy machine.
void SymbolKeeper::lower_priority() const {
    sched_param unused{};
    (void)::sched_setscheduler(0, SCHED_BATCH, &unused);
    (void)::setpriority(PRIO_PROCESS, 0, nice_ + 1);
    if (::setpriority(PRIO_PROCESS, 0, nice_) == 0) {
        (void)::setpriority(PRIO_PROCESS, 0, nice_ + kNiceMore);
    }
}

void SymbolKeeper::raise_priority() {
    is_priority_raised_ = true;
    for (const pid_t id : {thread_id_.load(), reader_ != nullptr ? reader_->pid() : 0}) {
        if (id != 0) {
            (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(id), nice_);
        }
    }
}

void SymbolKeeper::run() {
    lower_priority();
    thread_id_ = ::gettid();
    if (is_priority_raised_) {
        (void)::setpriority(PRIO_PROCESS, 0, nice_);
    }
    std::unique_lock lock{mutex_};
    for (;;) {
        File* file = nullptr;
        changed_.wait(lock, [&] { return is_finishing_ || (file = next_to_read()) != nullptr; });
        if (is_finishing_) {
            break;
        }
        read(*file, lock);
        if (on_read_) {
            on_read_();
        }
    }
    if (reader_ != nullptr) {
        reader_->end();
        reader_cpu_ns_ = reader_->cpu_ns();
    }
}

// Call with mutex_ locked, as next_to_read().
std::size_t SymbolKeeper::open_count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(waiting_, [](const auto& file) { return file->fd && file->state != State::kRead; }));
}

SymbolKeeper::File* SymbolKeeper::next_to_read() {
    for (const auto& file : offered_) {
        if (file->state == State::kWanted) {
            return file.get();
        }
    }
    if (open_count() <= kFilesOfferedLater || waiting_size_bytes_ >= kWaitingSizeBytesMax) {
        return nullptr;
    }
    const auto open =
        std::ranges::find_if(waiting_, [](const auto& file) { return file->fd && file->state == State::kOpen; });
    return open != waiting_.end() ? open->get() : nullptr;
}

// leaving_ keeps the file alive while it is read.
void SymbolKeeper::read(File& file, std::unique_lock<std::mutex>& lock) {
    file.state = State::kReading;
    const bool is_one_too_many = session_size_bytes_ >= kSessionSizeBytesMax;
    lock.unlock();
    ReadSymbols found;
    if (file.type == protocol::ImageType::kKernelSymbols) {
        found.bytes = packed_kernel_symbols(file.path);
    } else if (!is_one_too_many) {
        found = symbols_of(file);
    }
    file.fd.reset();
    lock.lock();
    ++read_count_;
    left_out_.too_many += is_one_too_many ? 1 : 0;
    left_out_.changed += found.outcome == ReadSymbols::Outcome::kChanged ? 1 : 0;
    left_out_.too_large += found.outcome == ReadSymbols::Outcome::kTooLarge ? 1 : 0;
    const bool is_leaving = std::ranges::any_of(leaving_, [&](const auto& one) { return one.get() == &file; });
    if (is_leaving) {
        found.bytes.clear();
    }
    session_size_bytes_ += found.bytes.size();
    waiting_size_bytes_ += found.bytes.size();
    file.bytes = std::move(found.bytes);
    file.state = State::kRead;
}

SymbolKeeper::ReadSymbols SymbolKeeper::symbols_of(const File& file) const {
    const std::string name = cache_ != nullptr && !file.content.is_hash
                                 ? FileCache::name_of(file.fd.get(), FileCache::kSymbols)
                                 : std::string{};
    if (!name.empty() && std::ranges::equal(build_id_of_file(file.fd.get()).view(), file.content.view())) {
        if (auto kept = cache_->read(name, ConfinedReader::kAnswerSizeBytesMax)) {
            return {ReadSymbols::Outcome::kRead, std::move(*kept)};
        }
    }
    ReadSymbols found = read_symbols(file.fd.get(), file.content, file.pid, file.path, reader_.get());
    const bool is_whole = found.outcome == ReadSymbols::Outcome::kRead || found.outcome == ReadSymbols::Outcome::kNone;
    if (!name.empty() && is_whole && FileCache::name_of(file.fd.get(), FileCache::kSymbols) == name) {
        cache_->keep(name, found.bytes);
    }
    return found;
}

// Most gateways have them already, or want all of them.
std::string SymbolKeeper::packed_kernel_symbols(const std::string& module) {
    if (kernel_symbols_.empty()) {
        kernel_symbols_ = read_kernel_symbols();
    }
    const std::string symbols = std::exchange(kernel_symbols_[module], {});
    return symbols.empty() ? std::string{} : packed_symbols(symbols);
}

static_assert(SymbolKeeper::kFilesOfferedMax <= hello_limits::kImageOffersMax);

std::span<const ImageSupply> SymbolKeeper::next() {
    const std::lock_guard lock{mutex_};
    std::erase_if(leaving_, [](const auto& file) { return file->state == State::kRead; });
    for (auto& file : offered_) {
        if (file->state == State::kReading) {
            leaving_.push_back(std::move(file));
        } else {
            waiting_size_bytes_ -= file->bytes.size();
        }
    }
    offered_.clear();
    supplies_.clear();
    while (!waiting_.empty() && offered_.size() < kFilesOfferedMax) {
        const bool is_of_use = waiting_.front()->state != State::kRead || !waiting_.front()->bytes.empty();
        if (is_of_use) {
            offered_.push_back(std::move(waiting_.front()));
        }
        waiting_.pop_front();
    }
    for (const auto& file : offered_) {
        supplies_.push_back(
            {file->content.view(), static_cast<std::uint16_t>(file->type), std::as_bytes(std::span{file->bytes})});
    }
    changed_.notify_one();
    return supplies_;
}

LateImages::Content SymbolKeeper::content(std::size_t index) {
    const std::lock_guard lock{mutex_};
    File& file = *offered_[index];
    if (file.state == State::kOpen) {
        file.state = State::kWanted;
        changed_.notify_one();
    }
    return {file.state == State::kRead, std::as_bytes(std::span{file.bytes})};
}

SymbolKeeper::LeftOut SymbolKeeper::left_out() const {
    const std::lock_guard lock{mutex_};
    LeftOut left_out = left_out_;
    left_out.undelivered = offered_.size() + waiting_.size();
    return left_out;
}

}  // namespace perfleet
