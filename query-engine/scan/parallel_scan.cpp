// One thread reads blocks from the store, the workers check, decode and visit them.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "query-engine/scan/scan.h"
#include "query-engine/scan/start_threads.h"

namespace perfleet {
namespace {

struct ReadBlock {
    Partition partition;
    Seq first_seq;
    std::string bytes_untrusted;
};

// Between the reader and the workers. Holds at most `capacity` blocks.
class BlockQueue {
public:
    explicit BlockQueue(std::size_t capacity) : capacity_{capacity} {}

    void push(ReadBlock block) {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return blocks_.size() < capacity_; });
        blocks_.push_back(std::move(block));
        changed_.notify_all();
    }

    // Nothing when the queue is closed and empty.
    std::optional<ReadBlock> pop() {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return closed_ || !blocks_.empty(); });
        if (blocks_.empty()) {
            return std::nullopt;
        }
        ReadBlock block = std::move(blocks_.front());
        blocks_.pop_front();
        changed_.notify_all();
        return block;
    }

    void close() {
        const std::lock_guard lock{mutex_};
        closed_ = true;
        changed_.notify_all();
    }

private:
    std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<ReadBlock> blocks_;
    bool closed_ = false;
};

constexpr std::size_t kQueuedBlocksPerWorker = 4;

}  // namespace

Result<Done> Scan::visit_rows_alone(std::size_t session_index, EpochNumber epoch, Series series, const RowsLeft& left,
                                    const std::function<void(unsigned worker, const RowBlock&)>& visitor) const {
    DecodedRows rows;
    std::uint64_t row_count = 0;
    Result<Done> visited =
        visit_blocks(session_index, epoch, series, &left,
                     [&](const Partition& partition, Seq first_seq, std::string_view bytes_untrusted) -> Result<Visit> {
                         bool is_read = false;
                         const Result<std::uint64_t> seen =
                             visit_block({session_index, epoch, series, partition, first_seq}, bytes_untrusted, &left,
                                         std::nullopt, rows, [&](const RowBlock& block) {
                                             visitor(0, block);
                                             is_read = true;
                                         });
                         sources_->add_block_if(is_read);
                         if (!seen.ok()) {
                             return Error{seen.error()};
                         }
                         row_count += *seen;
                         return memory_->is_exceeded() ? Visit::kStop : Visit::kContinue;
                     });
    if (visited.ok() && memory_->is_exceeded()) {
        return memory_->exceeded();
    }
    if (visited.ok()) {
        count_unseen(session_index, epoch, series, &left, row_count);
    }
    return visited;
}

Result<Done> Scan::visit_rows_in_parallel(std::size_t session_index, EpochNumber epoch, Series series,
                                          const RowsLeft& left, unsigned worker_count,
                                          const std::function<void(unsigned worker, const RowBlock&)>& visitor) const {
    if (worker_count == 1) {
        return visit_rows_alone(session_index, epoch, series, left, visitor);
    }
    BlockQueue queue{kQueuedBlocksPerWorker * worker_count};
    std::vector<std::uint64_t> row_counts(worker_count, 0);

    const auto work = [&](std::size_t index) {
        const auto worker = static_cast<unsigned>(index);
        DecodedRows rows;
        while (const std::optional<ReadBlock> read = queue.pop()) {
            bool is_read = false;
            const Result<std::uint64_t> seen =
                visit_block({session_index, epoch, series, read->partition, read->first_seq}, read->bytes_untrusted,
                            &left, std::nullopt, rows, [&](const RowBlock& block) {
                                visitor(worker, block);
                                is_read = true;
                            });
            sources_->add_block_if(is_read);
            if (seen.ok()) {
                row_counts[worker] += *seen;
            } else {
                damage_->add_note(session_index, seen.error().message);
            }
        }
    };
    std::vector<std::thread> workers;
    start_threads(worker_count, workers, work);
    if (workers.empty()) {
        return visit_rows_alone(session_index, epoch, series, left, visitor);
    }
    const Result<Done> visited =
        visit_blocks(session_index, epoch, series, &left,
                     [&](const Partition& partition, Seq first_seq, std::string_view bytes_untrusted) -> Result<Visit> {
                         queue.push(ReadBlock{partition, first_seq, std::string{bytes_untrusted}});
                         return memory_->is_exceeded() ? Visit::kStop : Visit::kContinue;
                     });
    queue.close();
    for (std::thread& worker : workers) {
        worker.join();
    }
    if (!visited.ok()) {
        return Error{visited.error()};
    }
    if (memory_->is_exceeded()) {
        return memory_->exceeded();
    }
    std::uint64_t row_count = 0;
    for (const std::uint64_t count : row_counts) {
        row_count += count;
    }
    count_unseen(session_index, epoch, series, &left, row_count);
    return Done{};
}

}  // namespace perfleet
