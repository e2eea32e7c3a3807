// A kernel for tests: writes its log as seL4 does, byte by byte, and remembers what it logged. The test controls the
// threads.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "target-collector/message/row_sink.h"
#include "target-collector/source/sel4/kernel_interface.h"
#include "target-collector/source/sel4/log_buffer.h"

namespace perfleet::sel4 {

using RecordBytes = std::vector<std::byte>;

class SimulatedKernel final : public KernelInterface {
public:
    explicit SimulatedKernel(const KernelFeatures& features) : features_{features} {
        is_entries_ = features.mode == BenchmarkMode::kKernelEntries;
        record_size_ = is_entries_ ? entry_size_bytes(entry_layout_of(features.architecture))
                                   : tracepoint_size_bytes(word_size_of(features.architecture));
        capacity_ = kLogBufferSizeBytes / record_size_;
    }

    // -- events on the machine ----------------------------------------------------------------------------------------

    // A kernel entry of 10 ticks; the clock advances by 25.
    void log_entry(std::uint8_t path, std::uint32_t detail) {
        const bool is_short = has_short_clock(features_.architecture);
        put({{is_short ? now_.value % (1ULL << 32) : now_.value, 8}, {10, 4}, {path, 1}, {detail, 4}});
        now_.value += 25;
    }
    void log_tracepoint(std::uint64_t id, std::uint64_t duration) {
        put({{id, record_size_ / 2}, {duration, record_size_ / 2}});
    }
    void pass(std::uint64_t ticks) { now_.value += ticks; }
    // Called by reset_log() before it resets.
    std::function<void()> in_window;
    // Called once after the index was read, before memory is read.
    std::function<void()> behind_finalize;
    // Whether benchmark calls are logged, as a kernel that logs its entries does.
    bool logs_calls = true;

    // Records that the kernel logged, in order.
    std::vector<RecordBytes> logged;
    // Records that a full buffer dropped.
    std::uint64_t swallowed = 0;
    std::vector<std::string> calls;
    std::uint64_t set_error = kNoError;
    std::map<std::uint32_t, std::array<std::uint64_t, kUtilisationWords>> words;
    std::set<std::uint32_t> gone;  // threads
    std::map<std::uint32_t, ThreadRegisters> registers;
    std::map<std::uint32_t, std::uint64_t> consumed;

    [[nodiscard]] std::uint64_t index() const { return index_; }
    [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
    [[nodiscard]] std::size_t record_size() const { return record_size_; }
    // Loads the beginning of the buffer from a file of recorded bytes.
    void load(std::span<const std::byte> recorded, std::uint64_t index) {
        std::memcpy(log_.data(), recorded.data(), recorded.size());
        index_ = index;
    }

    // -- KernelInterface ---------------------------------------------------------------------------------------------

    [[nodiscard]] const KernelFeatures& features() const override { return features_; }
    [[nodiscard]] Ticks now() override { return now_; }
    [[nodiscard]] std::uint64_t set_log_buffer() override {
        calls.emplace_back("set buffer");
        has_buffer_ = set_error == kNoError;
        return set_error;
    }
    [[nodiscard]] std::uint64_t reset_log() override {
        calls.emplace_back("reset log");
        if (features_.mode != BenchmarkMode::kUtilisation && !has_buffer_) {
            return kIllegalOperation;
        }
        if (in_window) {
            in_window();
        }
        index_ = 0;
        log_call();
        return kNoError;
    }
    std::uint64_t finalize_log() override {
        calls.emplace_back("finalize");
        const std::uint64_t index = index_;
        log_call();
        is_behind_finalize_ = true;
        return index;
    }
    [[nodiscard]] std::span<const std::byte> log() const override {
        if (std::exchange(is_behind_finalize_, false) && behind_finalize) {
            behind_finalize();
        }
        return log_;
    }
    void reset_utilisation(ThreadNumber thread) override {
        calls.push_back("reset thread " + std::to_string(thread.value));
        words[thread.value] = {};
    }
    [[nodiscard]] std::span<const std::byte> utilisation(ThreadNumber thread) override {
        return gone.contains(thread.value) ? std::span<const std::byte>{}
                                           : std::as_bytes(std::span{words[thread.value]});
    }
    [[nodiscard]] bool read_registers(ThreadNumber thread, ThreadRegisters& into) override {
        const auto found = registers.find(thread.value);
        into = found == registers.end() ? ThreadRegisters{} : found->second;
        return found != registers.end();
    }
    [[nodiscard]] std::optional<std::uint64_t> consumed_ticks(ThreadNumber thread) override {
        if (!features_.is_mcs) {
            return std::nullopt;
        }
        return std::exchange(consumed[thread.value], 0);
    }

private:
    struct Field {
        std::uint64_t value;
        std::size_t size_bytes;
    };
    void put(std::initializer_list<Field> fields) {
        RecordBytes record;
        for (const Field& field : fields) {
            for (std::size_t i = 0; i < field.size_bytes; ++i) {
                record.push_back(static_cast<std::byte>(field.value >> (8 * i)));
            }
        }
        record.resize(record_size_);
        if (index_ < capacity_) {
            std::memcpy(log_.data() + index_ * record_size_, record.data(), record_size_);
            logged.push_back(record);
        } else {
            ++swallowed;
        }
        // The index of tracepoints goes on past the capacity, that of entries doesn't.
        index_ += index_ < capacity_ || !is_entries_ ? 1 : 0;
    }
    void log_call() {
        if (is_entries_ && logs_calls && has_buffer_) {
            log_entry(features_.numbering == PathNumbering::kSince14 ? 6 : 5, 0x5);
        }
    }

    KernelFeatures features_;
    bool is_entries_;
    std::size_t record_size_;
    std::uint64_t capacity_;
    bool has_buffer_ = false;
    mutable bool is_behind_finalize_ = false;
    std::uint64_t index_ = 0;
    Ticks now_{1'000};
    std::vector<std::byte> log_ = std::vector<std::byte>(kLogBufferSizeBytes);
};

// Keeps the rows that a source passes on.
class KeptRows final : public RowSink {
public:
    struct Row {
        Series series;
        Ticks time;
        std::vector<std::uint64_t> integers;
        friend bool operator==(const Row&, const Row&) = default;
    };
    std::vector<Row> rows;
    std::map<std::pair<Series, CountName>, std::uint64_t> counted;

    void append(const RowView& row) override {
        rows.push_back({row.series, row.time, {row.integers.begin(), row.integers.end()}});
    }
    void count_lost(Series series, CountName reason, std::uint64_t row_count) override {
        counted[{series, reason}] += row_count;
    }
    void count(Series series, CountName name, std::uint64_t value) override { counted[{series, name}] += value; }
    [[nodiscard]] bool epoch_is_over() const override { return false; }
    void begin_epoch(Ticks /*now*/) override {}
};

}  // namespace perfleet::sel4
