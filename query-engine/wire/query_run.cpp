#include "query-engine/wire/query_run.h"

#include <algorithm>

#include "query-engine/limits/query_limits.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

using namespace query_message;

constexpr std::size_t kValueSizeBytes = 16;  // of a value in a message, beside its text

std::size_t size_of(const std::vector<AnswerValue>& row) {
    std::size_t size = 0;
    for (const AnswerValue& value : row) {
        const auto* text = std::get_if<std::string>(&value);
        size += kValueSizeBytes + (text == nullptr ? 0 : text->size());
    }
    return size;
}

}  // namespace

Outbox::Outbox() { PERFLEET_ASSERT(wake_event_); }

void Outbox::post(Item item) {
    {
        const std::lock_guard lock{mutex_};
        items_.push_back(std::move(item));
    }
    wake_event_.signal();
}

std::deque<Outbox::Item> Outbox::take_all() {
    wake_event_.clear();
    const std::lock_guard lock{mutex_};
    return std::exchange(items_, {});
}

QueryRun::QueryRun(QueryName name, Ask ask, const QueryHandler& handler, Outbox& outbox)
    : name_{name}, outbox_{outbox}, credit_{std::min(ask.chunk_count, limits::kQueryChunksAheadMax)} {
    thread_ = std::thread{[this, own_ask = std::move(ask), &handler] { run(own_ask, handler); }};
}

QueryRun::~QueryRun() {
    cancel();
    thread_.join();
}

void QueryRun::add_credit(std::uint32_t chunk_count) {
    const std::lock_guard lock{mutex_};
    credit_ = std::min(credit_ + std::min(chunk_count, limits::kQueryChunksAheadMax), limits::kQueryChunksAheadMax);
    changed_.notify_all();
}

void QueryRun::cancel() {
    const std::lock_guard lock{mutex_};
    cancelled_ = true;
    changed_.notify_all();
}

void QueryRun::cancel(Error error) {
    const std::lock_guard lock{mutex_};
    if (!cancelled_) {
        error_ = std::move(error);
        cancelled_ = true;
        changed_.notify_all();
    }
}

std::chrono::nanoseconds QueryRun::stalled() const {
    const std::lock_guard lock{mutex_};
    return stalled_before_ + (stalled_since_ ? Clock::now() - *stalled_since_ : std::chrono::nanoseconds{0});
}

void QueryRun::run(const Ask& ask, const QueryHandler& handler) {
    Result<QueryEnd> end = handler({ask.command, ask.options}, *this);
    if (end.ok()) {
        post(std::move(end).value(), true);
        return;
    }
    std::optional<Error> error;
    {
        const std::lock_guard lock{mutex_};
        error = std::exchange(error_, std::nullopt);
    }
    post(error ? std::move(*error) : std::move(end).error(), true);
}

Result<Done> QueryRun::send_table(Answer answer) {
    PERFLEET_TRY(send_chunk(Columns{answer.columns}));
    Rows chunk;
    std::size_t chunk_size = 0;
    for (const std::vector<AnswerValue>& row : answer.rows) {
        const std::size_t row_size = size_of(row);
        const bool is_full =
            chunk.rows.size() == limits::kQueryChunkRows || chunk_size + row_size > limits::kQueryChunkSizeBytes;
        if (is_full && !chunk.rows.empty()) {
            PERFLEET_TRY(send_chunk(std::exchange(chunk, {})));
            chunk_size = 0;
        }
        chunk.rows.push_back(row);
        chunk_size += row_size;
    }
    return chunk.rows.empty() ? Result<Done>{Done{}} : send_chunk(std::move(chunk));
}

Result<Done> QueryRun::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::span<const std::byte> part = bytes.first(std::min(bytes.size(), limits::kQueryChunkSizeBytes));
        if (Result<Done> sent =
                send_chunk(Bytes{offset, std::string{reinterpret_cast<const char*>(part.data()), part.size()}});
            !sent.ok()) {
            return sent;
        }
        offset += part.size();
        bytes = bytes.subspan(part.size());
    }
    return Done{};
}

ProgressReport QueryRun::progress() {
    return [this](std::uint64_t done, std::uint64_t total) {
        done_ = done;
        total_ = total;
    };
}

Result<Done> QueryRun::send_chunk(Body body) {
    {
        std::unique_lock lock{mutex_};
        const auto is_over = [this] { return cancelled_.load() || credit_ != 0; };
        if (!is_over()) {
            stalled_since_ = Clock::now();
            if (!changed_.wait_for(lock, std::chrono::nanoseconds{limits::kQueryIdleNs}, is_over)) {
                cancelled_ = true;
            }
            stalled_before_ += Clock::now() - *stalled_since_;
            stalled_since_.reset();
        }
        stalled_before_ -= std::min(stalled_before_, std::chrono::nanoseconds{limits::kQueryChunkTimeNs});
        if (cancelled_) {
            return Error{ErrorCode::kCancelled, "the query was cancelled, or its client stopped reading"};
        }
        --credit_;
    }
    post(std::move(body), false);
    return Done{};
}

void QueryRun::post(Body body, bool is_last) {
    outbox_.post({name_, encode_query_message({name_.second, std::move(body)}), is_last});
}

}  // namespace perfleet
