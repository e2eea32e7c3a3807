// How long a put waits while a partition is dropped.
//
//   drop_cost [--rows N] [--folder DIR]
//
// A store of two hours of one target, N rows each, in batches of 16k rows. A batch is put into a third hour and synced
// every 20 ms, as a gateway does it; then the first hour is dropped, once by the thread that puts, between two puts,
// and once by another one beside it. Reported is the longest time from the moment at which a batch was due until it was
// on disk.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "storage/store/open_store.h"
#include "storage/store/testing/sample_batches.h"
#include "tests/benchmark/sample_rows.h"

namespace perfleet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr TargetId kTarget{7};
constexpr SessionId kSession{0x1234, 0x5678};
constexpr BucketNumber kFirst{480'000};
constexpr std::uint32_t kBatchRows = 16'000;
constexpr std::size_t kRowsMade = 1U << 20;
constexpr std::chrono::milliseconds kPutInterval{20};
constexpr std::chrono::seconds kBefore{3};

struct Options {
    std::uint64_t row_count = 8'000'000;
    std::string folder = std::filesystem::temp_directory_path().string();
};

template <class Value>
Value checked(Result<Value> result) {
    if (!result.ok()) {
        std::fprintf(stderr, "drop_cost: %s\n", result.error().message.c_str());
        std::exit(1);
    }
    return std::move(*result);
}

double milliseconds(Clock::duration duration) { return std::chrono::duration<double, std::milli>{duration}.count(); }

class Feeder {
public:
    explicit Feeder(Store& store) : store_{store}, rows_{make_sample_rows(kRowsMade)} {}

    void put(BucketNumber bucket) {
        SampleIntegers columns;
        for (std::uint32_t i = 0; i < kBatchRows; ++i) {
            const std::size_t at = (seq_ * kBatchRows + i) % kRowsMade;
            columns[ColumnId::kTime].push_back(seq_ * 1'000'000'000 + rows_.time[at]);
            columns[ColumnId::kCpu].push_back(rows_.cpu[at]);
            columns[ColumnId::kTid].push_back(rows_.tid[at]);
            columns[ColumnId::kStack].push_back(rows_.stack[at]);
        }
        ++seq_;
        SampleBatch batch{kTarget, kSession, Seq{seq_}, EpochNumber{bucket.value - kFirst.value}, bucket};
        batch.add({Kind::kSample, EventNumber{0}}, columns);
        ready_ = {batch.build()};
    }

    // What put() made, into the store and onto the disk.
    void commit(BucketNumber bucket) {
        const Partition partition = partition_of(kTarget, bucket);
        checked(store_.define(partition, sample_session(kTarget, kSession)));
        checked(store_.put(partition, ready_));
        checked(store_.advance_watermark(kTarget, kSession, Seq{seq_}));
        checked(store_.sync());
    }

private:
    Store& store_;
    SampleRows rows_;
    std::uint64_t seq_ = 0;
    std::vector<AdmittedBatch> ready_;
};

void measure(bool is_beside, const Options& options) {
    const std::string folder = options.folder + "/drop_cost." + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
    auto store = checked(open_store(folder));
    Feeder feeder{*store};
    for (std::uint32_t hour = 0; hour < 2; ++hour) {
        for (std::uint64_t row = 0; row < options.row_count; row += kBatchRows) {
            feeder.put(BucketNumber{kFirst.value + hour});
            feeder.commit(BucketNumber{kFirst.value + hour});
        }
    }
    const Partition dropped = partition_of(kTarget, kFirst);
    const double size_mb = static_cast<double>(checked(store->size_bytes({&dropped, 1}))) / 1e6;

    const BucketNumber now{kFirst.value + 2};
    Clock::duration longest_before{};
    Clock::duration longest_while{};
    std::atomic<bool> has_begun = false;
    std::atomic<bool> is_done = false;
    Clock::duration drop_took{};
    const auto drop = [&] {
        const auto began = Clock::now();
        has_begun = true;
        checked(store->drop(dropped));
        drop_took = Clock::now() - began;
        is_done = true;
    };
    std::thread dropper;
    const auto start = Clock::now();
    auto due = start;
    feeder.put(now);
    for (bool was_done = false; !was_done;) {
        was_done = is_done;
        feeder.commit(now);
        Clock::duration& longest = has_begun ? longest_while : longest_before;
        longest = std::max(longest, Clock::now() - due);
        feeder.put(now);
        due = std::max(due + kPutInterval, Clock::now());
        std::this_thread::sleep_until(due);
        if (!has_begun && Clock::now() - start > kBefore) {
            if (is_beside) {
                dropper = std::thread{drop};
            } else {
                drop();
            }
        }
    }
    if (dropper.joinable()) {
        dropper.join();
    }
    std::printf("%-22s %8.1f %10.1f %14.1f %14.1f\n", is_beside ? "beside the writer" : "by the writer", size_mb,
                milliseconds(drop_took), milliseconds(longest_before), milliseconds(longest_while));
    store.reset();
    std::filesystem::remove_all(folder);
}

int run(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--rows") {
            options.row_count = std::strtoull(argv[i + 1], nullptr, 10);
        } else if (name == "--folder") {
            options.folder = argv[i + 1];
        } else {
            std::fprintf(stderr, "usage: drop_cost [--rows N] [--folder DIR]\n");
            return 2;
        }
    }
    std::printf("%llu rows an hour, a partition of them dropped\n", static_cast<unsigned long long>(options.row_count));
    std::printf("%-22s %8s %10s %14s %14s\n", "dropped", "MB", "took, ms", "longest before", "longest while");
    measure(false, options);
    measure(true, options);
    return 0;
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) { return perfleet::run(argc, argv); }
