// What small batches cost in bytes, on the wire and at rest, and what their compaction costs and saves.
//
//   compaction_cost [--rows N] [--batch-rows N[,N…]] [--folder DIR]
//
// For each size of batch: a collector's sealing, a gateway's admission and the store as it is, all in this process,
// with real rows (two CPUs at 999 Hz, jittered time, skewed stacks). Then the store compacts. It reports bytes beside
// those of the columns, bytes a row, the bytes written to disk for each byte that was kept (system calls' bytes: log,
// table files, compactions), the CPU time of compaction, and the longest step of it.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gateway/admission/admit_batch.h"
#include "gateway/admission/decode.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/block/block.h"
#include "storage/compact/compaction_step.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/sample_batches.h"
#include "storage/verify/store_check.h"
#include "target-collector/message/batch_builder.h"
#include "tests/benchmark/sample_rows.h"

namespace perfleet {
namespace {

constexpr TargetId kTarget{7};
constexpr SessionId kSession{0x1234, 0x5678};
constexpr std::uint64_t kBatchesPerSync = 64;
constexpr std::uint64_t kRowsPerBucket = 2 * 999 * 3'600;
// The rows of a bucket are made anew from these, later: their times move on.
constexpr std::size_t kRowsMade = 1U << 20;

struct Options {
    std::uint64_t row_count = 16'000'000;
    std::vector<std::uint32_t> batch_rows{100, 1'000, 16'000};
    std::string folder = std::filesystem::temp_directory_path().string();
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "compaction_cost: %s\n", what.c_str());
    std::exit(1);
}

template <class Value>
Value checked(Result<Value> result) {
    if (!result.ok()) {
        fail(result.error().message);
    }
    return std::move(*result);
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double thread_cpu_ms() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

// By this process, with system calls, so far.
std::uint64_t written_bytes() {
    std::ifstream file{"/proc/self/io"};
    std::string name;
    std::uint64_t value = 0;
    while (file >> name >> value) {
        if (name == "wchar:") {
            return value;
        }
    }
    fail("/proc/self/io can't be read");
}

std::uint64_t table_file_bytes(const std::string& folder) {
    std::uint64_t size_bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        size_bytes += entry.path().extension() == ".sst" ? entry.file_size() : 0;
    }
    return size_bytes;
}

class Source {
public:
    explicit Source(std::uint32_t batch_rows)
        : batch_rows_{batch_rows},
          rows_{make_sample_rows(kRowsMade)},
          values_(BatchBuilder::values_count(limits::kBatchRowsMax, 6, 4)),
          bytes_(1U << 20) {}

    // A sealed message.
    std::vector<std::byte> next() {
        BatchBuilder builder{values_, bytes_, limits::kBatchRowsMax};
        for (std::uint32_t i = 0; i < batch_rows_; ++i, ++row_) {
            const std::size_t at = row_ % kRowsMade;
            time_ = rows_.time[at] + row_ / kRowsMade * (rows_.time.back() - rows_.time.front() + 500'000);
            const std::uint64_t values[] = {rows_.cpu[at], rows_.pid[at], rows_.tid[at], rows_.stack[at],
                                            rows_.weight[at]};
            if (!builder.append({kSampleSeries, Ticks{time_}, values})) {
                fail("a row was refused");
            }
        }
        ++seq_;
        const CountEntry counts[] = {{kSampleSeries, CountName::kProduced, row_}};
        const ClockPoint point{Ticks{time_}, UtcNs{static_cast<std::int64_t>(time_) + 1'700'000'000'000'000'000}, 800};
        const bool has_point = seq_ % 5 == 0;
        const std::span<const ClockPoint> points{&point, has_point ? 1U : 0U};
        const BatchHeader header{kSession, Seq{seq_}, EpochNumber{static_cast<std::uint32_t>(row_ / kRowsPerBucket)},
                                 bucket()};
        std::vector<std::byte> message(builder.sealed_size_bytes_max(1, 0, points.size()));
        const auto size = builder.seal(header, Ticks{time_}, counts, {}, points, message);
        if (!size.ok()) {
            fail("sealing failed");
        }
        message.resize(*size);
        return message;
    }

    [[nodiscard]] BucketNumber bucket() const {
        return BucketNumber{400'000 + static_cast<std::uint32_t>(row_ / kRowsPerBucket)};
    }
    [[nodiscard]] std::uint64_t row_count() const { return row_; }

private:
    std::uint32_t batch_rows_;
    SampleRows rows_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    std::uint64_t row_ = 0;
    std::uint64_t seq_ = 0;
    std::uint64_t time_ = 0;
};

std::uint64_t column_bytes(const AdmittedBatch& batch) {
    std::uint64_t size_bytes = 0;
    for (const BatchSeries& series : batch.series) {
        for (const ColumnView& column : checked(parse_block_untrusted(series.block)).columns) {
            size_bytes += column.bytes.size();
        }
    }
    return size_bytes;
}

// Keys and values of all partitions.
std::uint64_t content_bytes(const std::string& folder) {
    std::uint64_t size_bytes = 0;
    const StoreCheck check = checked(check_store(folder, false));
    if (!check.damage.empty()) {
        fail(check.damage.front().what);
    }
    for (const PartitionContent& partition : check.partitions) {
        size_bytes += partition.size_bytes;
    }
    return size_bytes;
}

void measure(std::uint32_t batch_rows, const Options& options) {
    const std::string folder = options.folder + "/compaction_cost." + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
    std::uint64_t wire_bytes = 0;
    std::uint64_t columns_bytes = 0;
    std::uint64_t batch_count = 0;
    Source source{batch_rows};
    const std::uint64_t written_at_start = written_bytes();
    auto store = checked(open_store(folder));
    const SessionRecord session = sample_session(kTarget, kSession);
    Decoder decoder;
    BatchAdmission admission;
    while (source.row_count() < options.row_count) {
        const std::vector<std::byte> message = source.next();
        wire_bytes += message.size();
        const auto decoded = decoder.decode(message);
        const auto* untrusted = decoded.ok() ? std::get_if<BatchUntrusted>(&*decoded) : nullptr;
        if (untrusted == nullptr) {
            fail("a message that isn't a batch");
        }
        const AdmittedBatch batch = checked(admission.admit(*untrusted, session));
        columns_bytes += column_bytes(batch);
        const Partition partition = partition_of(kTarget, batch.record.bucket);
        checked(store->define(partition, session));
        checked(store->put(partition, {&batch, 1}));
        ++batch_count;
        if (batch_count % kBatchesPerSync == 0) {
            checked(store->advance_watermark(kTarget, kSession, batch.key.seq));
            checked(store->sync());
        }
    }
    checked(store->advance_watermark(kTarget, kSession, Seq{batch_count}));
    checked(store->sync());
    store.reset();
    store = checked(open_store(folder));  // what is in memory goes into a table file
    const double written = static_cast<double>(written_bytes() - written_at_start);
    const std::uint64_t kept = content_bytes(folder);

    double longest_ms = 0;
    std::uint64_t step_count = 0;
    double step_began = thread_cpu_ms();
    const double cpu_at_start = cpu_seconds();
    const UtcNs later{2'000'000'000 * kNsPerSecond};
    checked(store->compact(later, [&](const CompactionStep&) {
        const double now = thread_cpu_ms();
        longest_ms = std::max(longest_ms, now - step_began);
        step_began = now;
        ++step_count;
        return Visit::kContinue;
    }));
    const double cpu_ns = 1e9 * (cpu_seconds() - cpu_at_start);
    checked(store->sync());
    store.reset();
    store = checked(open_store(folder));
    store.reset();
    const double written_after = static_cast<double>(written_bytes() - written_at_start);
    const std::uint64_t kept_after = content_bytes(folder);

    const auto rows = static_cast<double>(source.row_count());
    const auto batches = static_cast<double>(batch_count);
    const auto a_row = [&](std::uint64_t size_bytes) { return static_cast<double>(size_bytes) / rows; };
    std::printf("%10u %10.1f %10.2f %10.1f %10.2f %10.1f %10.2f %8.2f %8.2f %8.2f %10.2f %8.1f %8.2f\n", batch_rows,
                (static_cast<double>(wire_bytes) - static_cast<double>(columns_bytes)) / batches, a_row(wire_bytes),
                (static_cast<double>(kept) - static_cast<double>(columns_bytes)) / batches, a_row(kept),
                (static_cast<double>(kept_after) - static_cast<double>(columns_bytes)) / batches, a_row(kept_after),
                written / static_cast<double>(kept), written_after / static_cast<double>(kept),
                static_cast<double>(table_file_bytes(folder)) / static_cast<double>(kept_after), cpu_ns / rows,
                longest_ms, static_cast<double>(step_count));
    std::filesystem::remove_all(folder);
}

void run(const Options& options) {
    std::printf("bytes a batch beside its columns, and bytes a row in all; written bytes for each kept one\n");
    std::printf("%10s %21s %21s %21s %8s %8s %8s %10s %8s %8s\n", "", "wire", "at rest", "joined", "written", "joined",
                "files", "join ns", "most CPU", "steps");
    std::printf("%10s %10s %10s %10s %10s %10s %10s %8s %8s %8s %10s %8s %8s\n", "batch rows", "a batch", "a row",
                "a batch", "a row", "a batch", "a row", "/ kept", "/ kept", "/ joined", "a row", "step ms", "");
    for (const std::uint32_t batch_rows : options.batch_rows) {
        measure(batch_rows, options);
    }
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    perfleet::Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (i + 1 == argc) {
            perfleet::fail(name + ": --rows N | --batch-rows N[,N…] | --folder DIR");
        }
        const std::string value = argv[++i];
        if (name == "--rows") {
            options.row_count = std::strtoull(value.c_str(), nullptr, 10);
        } else if (name == "--batch-rows") {
            options.batch_rows.clear();
            for (std::size_t at = 0; at < value.size();
                 at = value.find(',', at) == std::string::npos ? value.size() : value.find(',', at) + 1) {
                options.batch_rows.push_back(static_cast<std::uint32_t>(std::strtoul(value.c_str() + at, nullptr, 10)));
            }
        } else if (name == "--folder") {
            options.folder = value;
        } else {
            perfleet::fail(name + ": not known");
        }
    }
    perfleet::run(options);
    return 0;
}
