// A running query: its thread, its client's credit, and the transfer of its chunks to the socket's thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "query-engine/wire/query_queue.h"
#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

// Passes chunks from the queries' threads to the socket's thread, which is woken by a descriptor.
class Outbox : NonCopyable {
public:
    struct Item {
        QueryName name;
        std::string message;
        bool is_last = false;  // the query's thread is done
    };

    Outbox();

    void post(Item item);
    [[nodiscard]] std::deque<Item> take_all();
    [[nodiscard]] int wake_fd() const { return wake_event_.fd(); }

private:
    std::mutex mutex_;
    std::deque<Item> items_;
    WakeEvent wake_event_;
};

class QueryRun : public QueryReply, NonCopyable {
public:
    // Starts the thread. All are borrowed.
    QueryRun(QueryName name, query_message::Ask ask, const QueryHandler& handler, Outbox& outbox);
    ~QueryRun() override;

    // To be called by the socket's thread.
    void add_credit(std::uint32_t chunk_count);
    void cancel();
    // Cancels with this error for the client, to free the place for others.
    void cancel(Error error);
    // How long its client has blocked it: time without taking chunks, beyond limits::kQueryChunkTimeNs for each chunk
    // that it took.
    [[nodiscard]] std::chrono::nanoseconds stalled() const;
    [[nodiscard]] query_message::Working working() const { return {done_, total_}; }

    // To be called by the query's thread.
    [[nodiscard]] Result<Done> send_table(Answer answer) override;
    [[nodiscard]] Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;
    [[nodiscard]] const std::atomic<bool>& cancelled() const override { return cancelled_; }
    [[nodiscard]] ProgressReport progress() override;

private:
    using Clock = std::chrono::steady_clock;

    void run(const query_message::Ask& ask, const QueryHandler& handler);
    [[nodiscard]] Result<Done> send_chunk(query_message::Body body);
    void post(query_message::Body body, bool is_last);

    QueryName name_;
    Outbox& outbox_;
    std::atomic<bool> cancelled_ = false;
    std::atomic<std::uint64_t> done_ = 0;
    std::atomic<std::uint64_t> total_ = 0;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint32_t credit_;
    std::optional<Clock::time_point> stalled_since_;
    std::chrono::nanoseconds stalled_before_{0};
    std::optional<Error> error_;  // replaces the handler's
    std::thread thread_;
};

}  // namespace perfleet
