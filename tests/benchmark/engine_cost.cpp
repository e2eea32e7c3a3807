// Which of RocksDB's ways is best for blocks of columns: each as one value, its columns under keys of their own, values
// in blob files; and for data that can be made again, memtables without a log or table files of our own that are
// ingested.
//
//   engine_cost [--blocks N] [--rounds N] [--folder DIR]
//
// Blocks of 16k rows as two CPUs produce them at 999 Hz: 5.1 bytes a row in six columns, by size; their bytes are
// random, because nothing is compressed. Eight blocks a synced group, as a gateway does it, with the store's own
// options. It reports the CPU time per block of all threads, compactions included; the bytes written for each byte that
// is kept; and the CPU time per row of reading everything and of reading one column from the page cache, checksums
// included. Ways take turns; medians.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

namespace perfleet {
namespace {

constexpr std::uint64_t kBlockRows = 16'000;
constexpr std::array<std::size_t, 6> kColumnSizes{31'200, 31'700, 9'800, 8'800, 16, 16};  // time, stack, tid, pid, …
constexpr std::size_t kStackColumn = 1;
constexpr std::uint64_t kGroupBlocks = 8;
constexpr std::size_t kMemtableSizeBytes = 64U << 20;
constexpr std::size_t kBlobSizeBytesMin = 4'096;

enum class Way : std::uint8_t { kBlocks, kColumns, kBlobs, kNoLog, kIngested };
constexpr std::array kWays{Way::kBlocks, Way::kColumns, Way::kBlobs, Way::kNoLog, Way::kIngested};
constexpr std::array<const char*, kWays.size()> kNames{"a block is a value", "a column is a value", "blob files",
                                                       "no log, then a memtable", "ingested table files"};

struct Options {
    std::uint64_t block_count = 6'000;
    unsigned round_count = 3;
    std::string folder = std::filesystem::temp_directory_path().string();
};

struct Figures {
    double put_us = 0;         // a block
    double written = 0;        // bytes for each that is kept
    double read_all_ns = 0;    // a row
    double read_stack_ns = 0;  // a row
};

void check(const rocksdb::Status& status) {
    if (!status.ok()) {
        std::fprintf(stderr, "engine_cost: %s\n", status.ToString().c_str());
        std::exit(1);
    }
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// By this process, with system calls, so far.
std::uint64_t written_bytes() {
    std::ifstream file{"/proc/self/io"};
    std::string name;
    std::uint64_t value = 0;
    while (file >> name >> value && name != "wchar:") {
    }
    return value;
}

// Ascending by (column, block), as the store's keys: a table and a partition before, a series and a seq after it.
std::string key_of(std::uint64_t block, std::size_t column) {
    std::string key(36, 's');
    key += static_cast<char>(column);
    for (int shift = 56; shift >= 0; shift -= 8) {
        key += static_cast<char>(block >> static_cast<unsigned>(shift) & 0xffU);
    }
    return key;
}

class Columns {
public:
    Columns() {
        std::mt19937_64 random{1};
        for (std::uint64_t& word : words_) {
            word = random();
        }
    }
    // Other bytes for each block.
    [[nodiscard]] rocksdb::Slice column(std::uint64_t block, std::size_t column) const {
        return {reinterpret_cast<const char*>(words_.data()) + (block * 8 + column * 4'096) % kSpareBytes,
                kColumnSizes.at(column)};
    }
    [[nodiscard]] std::string whole(std::uint64_t block) const {
        std::string value;
        for (std::size_t i = 0; i < kColumnSizes.size(); ++i) {
            value += column(block, i).ToStringView();
        }
        return value;
    }

private:
    static constexpr std::size_t kSpareBytes = 1U << 20;
    std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>((kSpareBytes + 65'536) / 8);
};

// The store's own options (storage/engine/rocksdb/rocksdb_options.cpp), except for days, which these keys don't have.
rocksdb::Options options_of(Way way) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.write_buffer_size = kMemtableSizeBytes;
    options.max_write_buffer_number = 3;
    options.level_compaction_dynamic_level_bytes = true;
    options.target_file_size_base = 128U << 20;
    options.max_bytes_for_level_base = 512U << 20;
    options.bytes_per_sync = 1U << 20;
    options.enable_blob_files = way == Way::kBlobs;
    options.min_blob_size = kBlobSizeBytesMin;
    rocksdb::BlockBasedTableOptions table;
    table.checksum = rocksdb::kXXH3;
    table.block_size = 16U << 10;
    table.block_size_deviation = 99;
    table.block_cache = rocksdb::NewLRUCache(kMemtableSizeBytes);
    table.cache_index_and_filter_blocks = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

std::unique_ptr<rocksdb::DB> opened(const std::string& folder, Way way) {
    rocksdb::DB* db = nullptr;
    check(rocksdb::DB::Open(options_of(way), folder, &db));
    return std::unique_ptr<rocksdb::DB>{db};
}

void wait_for_compactions(rocksdb::DB& db) {
    check(db.Flush({}));
    std::uint64_t left = 1;
    while (left != 0) {
        std::uint64_t running = 0;
        std::uint64_t pending = 0;
        db.GetIntProperty(rocksdb::DB::Properties::kNumRunningCompactions, &running);
        db.GetIntProperty(rocksdb::DB::Properties::kCompactionPending, &pending);
        left = running + pending;
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
}

void put_all(rocksdb::DB& db, Way way, const Columns& columns, std::uint64_t block_count) {
    rocksdb::WriteOptions no_log;
    no_log.disableWAL = way == Way::kNoLog;
    for (std::uint64_t block = 0; block < block_count;) {
        for (const std::uint64_t end = std::min(block + kGroupBlocks, block_count); block < end; ++block) {
            if (way == Way::kColumns) {
                rocksdb::WriteBatch batch;
                for (std::size_t i = 0; i < kColumnSizes.size(); ++i) {
                    batch.Put(key_of(block, i), columns.column(block, i));
                }
                check(db.Write(no_log, &batch));
            } else {
                check(db.Put(no_log, key_of(block, 0), columns.whole(block)));
            }
        }
        if (way != Way::kNoLog) {
            check(db.SyncWAL());
        }
    }
}

void ingest_all(rocksdb::DB& db, const std::string& folder, const Columns& columns, std::uint64_t block_count) {
    constexpr std::uint64_t kFileBlocks = (64U << 20) / 81'600;
    rocksdb::IngestExternalFileOptions how;
    how.move_files = true;
    for (std::uint64_t block = 0; block < block_count;) {
        const std::string path = folder + "/made";
        rocksdb::SstFileWriter writer{rocksdb::EnvOptions{}, options_of(Way::kIngested)};
        check(writer.Open(path));
        for (const std::uint64_t end = std::min(block + kFileBlocks, block_count); block < end; ++block) {
            check(writer.Put(key_of(block, 0), columns.whole(block)));
        }
        check(writer.Finish());
        check(db.IngestExternalFile({path}, how));
    }
}

// Every cache line of it.
std::uint64_t touched(const rocksdb::Slice& value) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < value.size(); i += 64) {
        sum += static_cast<unsigned char>(value[i]);
    }
    return sum;
}

// CPU time a row.
double read_ns(rocksdb::DB& db, std::uint64_t block_count, const std::string& first, const std::string& last) {
    static volatile std::uint64_t kept = 0;
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    const double before = cpu_seconds();
    const std::unique_ptr<rocksdb::Iterator> at{db.NewIterator(options)};
    std::uint64_t sum = 0;
    for (at->Seek(first); at->Valid() && at->key().compare(last) < 0; at->Next()) {
        sum += touched(at->value());
    }
    check(at->status());
    kept = kept + sum;
    return (cpu_seconds() - before) * 1e9 / static_cast<double>(block_count * kBlockRows);
}

Figures measure(Way way, const Columns& columns, const Options& options) {
    const std::string folder = options.folder + "/perfleet-engine-cost-" + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::unique_ptr<rocksdb::DB> db = opened(folder + "/db", way);
    std::size_t block_size = 0;
    for (const std::size_t size : kColumnSizes) {
        block_size += size;
    }
    Figures figures;
    const double count = static_cast<double>(options.block_count);
    const double before_s = cpu_seconds();
    const std::uint64_t before_bytes = written_bytes();
    if (way == Way::kIngested) {
        ingest_all(*db, folder, columns, options.block_count);
    } else {
        put_all(*db, way, columns, options.block_count);
    }
    wait_for_compactions(*db);
    figures.put_us = (cpu_seconds() - before_s) * 1e6 / count;
    figures.written = static_cast<double>(written_bytes() - before_bytes) / (static_cast<double>(block_size) * count);
    const bool by_column = way == Way::kColumns;
    figures.read_all_ns = read_ns(*db, options.block_count, key_of(0, 0), key_of(0, kColumnSizes.size()));
    figures.read_stack_ns = read_ns(*db, options.block_count, key_of(0, by_column ? kStackColumn : 0),
                                    key_of(0, by_column ? kStackColumn + 1 : 1));
    db.reset();
    std::filesystem::remove_all(folder);
    return figures;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

Options parse(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string name = arguments[i];
        const char* value = i + 1 < count ? arguments[++i] : nullptr;
        if (value != nullptr && name == "--blocks" && std::atoll(value) > 0) {
            options.block_count = static_cast<std::uint64_t>(std::atoll(value));
        } else if (value != nullptr && name == "--rounds" && std::atoi(value) > 0) {
            options.round_count = static_cast<unsigned>(std::atoi(value));
        } else if (value != nullptr && name == "--folder" && std::filesystem::is_directory(value)) {
            options.folder = value;
        } else {
            std::fprintf(stderr, "usage: engine_cost [--blocks N] [--rounds N] [--folder DIR, which is there]\n");
            std::exit(2);
        }
    }
    return options;
}

int run(const Options& options) {
    const Columns columns;
    std::vector<std::vector<Figures>> all(kWays.size());
    for (unsigned round = 0; round < options.round_count; ++round) {
        for (std::size_t i = 0; i < kWays.size(); ++i) {
            all[i].push_back(measure(kWays.at(i), columns, options));
        }
    }
    std::printf("%-26s %16s %22s %20s %20s\n", "", "put, us a block", "written a byte kept", "read all, ns a row",
                "one column, ns a row");
    for (std::size_t i = 0; i < kWays.size(); ++i) {
        const auto of = [&](double Figures::*figure) {
            std::vector<double> values;
            for (const Figures& round : all[i]) {
                values.push_back(round.*figure);
            }
            return median(values);
        };
        std::printf("%-26s %16.1f %22.2f %20.2f %20.2f\n", kNames.at(i), of(&Figures::put_us), of(&Figures::written),
                    of(&Figures::read_all_ns), of(&Figures::read_stack_ns));
    }
    return 0;
}

}  // namespace
}  // namespace perfleet

int main(int count, char** arguments) { return perfleet::run(perfleet::parse(count, arguments)); }
