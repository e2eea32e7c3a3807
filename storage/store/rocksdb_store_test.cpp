// What only a store on disk can do: be opened twice, be read beside, be killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "storage/block/block.h"
#include "storage/store/keyed_reads.h"
#include "storage/store/record.h"
#include "storage/store/rocksdb_engine.h"
#include "storage/store/store.h"
#include "storage/store/test_stores.h"
#include "storage/store/test_writer.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;
using test_writer::kBucket;
using test_writer::kSeries;
using test_writer::kSession;
using test_writer::kTarget;

// The process of test_writer.cpp.
class Child {
public:
    Child(const std::string& role, const std::string& directory) {
        int to[2];
        int from[2];
        EXPECT_EQ(::pipe2(to, O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(from, O_CLOEXEC), 0);
        const std::string program = fs::read_symlink("/proc/self/exe").parent_path() / "storage_test_writer";
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(to[0], STDIN_FILENO);
            ::dup2(from[1], STDOUT_FILENO);
            ::execl(program.c_str(), program.c_str(), role.c_str(), directory.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(to[0]);
        ::close(from[1]);
        in_ = to[1];
        out_ = ::fdopen(from[0], "r");
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (pid_ > 0) {
            kill();
        }
        ::close(in_);
        (void)std::fclose(out_);
    }

    // The next line without its end; empty when there is none.
    std::string line() {
        std::string text;
        for (int letter = std::fgetc(out_); letter != EOF && letter != '\n'; letter = std::fgetc(out_)) {
            text.push_back(static_cast<char>(letter));
        }
        return text;
    }

    void write(char letter) const { EXPECT_EQ(::write(in_, &letter, 1), 1); }

    void kill() {
        ::kill(pid_, SIGKILL);
        wait();
    }

    int wait() {
        int status = -1;
        EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
        pid_ = -1;
        return status;
    }

private:
    ::pid_t pid_ = -1;
    int in_ = -1;
    std::FILE* out_ = nullptr;
};

class RocksdbStore : public testing::Test {
protected:
    void SetUp() override {
        auto folder = TemporaryFolder::make("perfleet-test-");
        ASSERT_TRUE(folder.ok());
        folder_ = std::move(*folder);
        directory_ = folder_->path() + "/data";
    }

    std::unique_ptr<Store> open() {
        auto store = open_rocksdb_store(directory_);
        EXPECT_TRUE(store.ok()) << store.error().message;
        return store.ok() ? std::move(*store) : nullptr;
    }

    std::unique_ptr<StoreReader> open_reader() {
        auto reader = open_rocksdb_reader(directory_);
        EXPECT_TRUE(reader.ok()) << reader.error().message;
        return reader.ok() ? std::move(*reader) : nullptr;
    }

    static void put(Store& store, std::uint64_t first, std::uint64_t last) {
        ASSERT_TRUE(store.define(test_writer::partition(), test_writer::session()).ok());
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            const std::vector batches{test_writer::batch(Seq{seq})};
            auto outcomes = store.put(test_writer::partition(), batches);
            ASSERT_TRUE(outcomes.ok()) << outcomes.error().message;
            ASSERT_EQ(outcomes->at(0), PutOutcome::kStored);
        }
    }

    // The seqs whose blocks and records are there, each byte of which must be right.
    static std::vector<std::uint64_t> intact_seqs(const StoreReader& reader) {
        std::vector<std::uint64_t> seqs;
        auto visited = reader.visit_blocks(test_writer::partition(), kTarget, kSession, kSeries,
                                           [&](const BlockKey& key, std::string_view block) {
                                               EXPECT_EQ(block, test_writer::batch(key.first_seq).series[0].block);
                                               seqs.push_back(key.first_seq.value);
                                               return Visit::kContinue;
                                           });
        EXPECT_TRUE(visited.ok()) << visited.error().message;
        std::size_t at = 0;
        visited = reader.visit_batches(test_writer::partition(), kTarget, kSession, [&](const BatchRecord& record) {
            EXPECT_LT(at, seqs.size());
            EXPECT_EQ(record.seq.value, seqs[at++]);
            return Visit::kContinue;
        });
        EXPECT_TRUE(visited.ok()) << visited.error().message;
        EXPECT_EQ(at, seqs.size());
        return seqs;
    }

    static void expect_error(const Error& error, ErrorCode code, std::string_view words) {
        EXPECT_EQ(error.code, code) << error.message;
        EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
    }

    std::unique_ptr<TemporaryFolder> folder_;
    std::string directory_;
};

std::vector<std::uint64_t> one_to(std::uint64_t last) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t number = 1; number <= last; ++number) {
        numbers.push_back(number);
    }
    return numbers;
}

TEST_F(RocksdbStore, CreatesItsFolderAndThoseAbove) {
    directory_ = folder_->path() + "/a/b/c/";
    auto store = open();
    ASSERT_NE(store, nullptr);
    put(*store, 1, 3);
    store.reset();
    EXPECT_EQ(intact_seqs(*open_reader()), one_to(3));
}

TEST_F(RocksdbStore, RefusesASecondWriterInTheSameProcess) {
    auto first = open();
    auto second = open_rocksdb_store(directory_);
    ASSERT_FALSE(second.ok());
    expect_error(second.error(), ErrorCode::kBusy, directory_ + ": another gateway is writing to this folder");
    first.reset();
    EXPECT_NE(open(), nullptr);
}

TEST_F(RocksdbStore, RefusesASecondWriterInAnotherProcess) {
    {
        Child child{"open", directory_};
        ASSERT_EQ(child.line(), "open");
        auto second = open_rocksdb_store(directory_);
        ASSERT_FALSE(second.ok());
        expect_error(second.error(), ErrorCode::kBusy, "another gateway is writing");
        EXPECT_NE(second.error().message.find(directory_), std::string::npos);
    }
    EXPECT_NE(open(), nullptr) << "a killed writer leaves no lock behind";
}

TEST_F(RocksdbStore, KeepsWhatWasSyncedWhenTheWriterIsKilled) {
    std::uint64_t promised = 0;
    for (const int more : {1, 40, 200}) {
        directory_ = folder_->path() + "/data" + std::to_string(more);
        Child child{"write", directory_};
        for (int i = 0; i < more; ++i) {
            const std::string line = child.line();
            ASSERT_FALSE(line.empty());
            promised = std::stoull(line);
        }
        child.kill();
        for (std::string line = child.line(); !line.empty(); line = child.line()) {
            promised = std::stoull(line);  // said before it was killed
        }
        const auto expect_promise = [&](const StoreReader& reader) {
            const auto seqs = intact_seqs(reader);
            EXPECT_GE(seqs.size(), promised);
            EXPECT_EQ(seqs, one_to(seqs.size())) << "no holes";
            auto watermark = reader.watermark(kTarget, kSession);
            ASSERT_TRUE(watermark.ok());
            EXPECT_GE(watermark->value, promised);
        };
        expect_promise(*open_reader());
        auto store = open();
        ASSERT_NE(store, nullptr);
        expect_promise(*store);
        const std::vector again{test_writer::batch(Seq{promised})};
        auto outcomes = store->put(test_writer::partition(), again);
        ASSERT_TRUE(outcomes.ok());
        EXPECT_EQ(outcomes->at(0), PutOutcome::kDuplicate);
    }
}

TEST_F(RocksdbStore, IsReadBesideItsWriter) {
    auto store = open();
    put(*store, 1, 5);
    ASSERT_TRUE(store->sync().ok());
    auto reader = open_reader();
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(intact_seqs(*reader), one_to(5));

    put(*store, 6, 9);
    ASSERT_TRUE(store->sync().ok());
    EXPECT_EQ(intact_seqs(*reader), one_to(5)) << "what a reader sees changes with refresh() only";
    ASSERT_TRUE(reader->refresh().ok());
    EXPECT_EQ(intact_seqs(*reader), one_to(9));

    store = nullptr;
    store = open();  // writes its log into table files
    put(*store, 10, 12);
    ASSERT_TRUE(store->sync().ok());
    ASSERT_TRUE(reader->refresh().ok());
    EXPECT_EQ(intact_seqs(*reader), one_to(12));
}

TEST_F(RocksdbStore, IsReadWithoutErrorsWhileItIsWritten) {
    Child child{"follow", directory_};  // or a slow reader would have ever more to read
    child.write('.');
    std::uint64_t promised = std::stoull(child.line());
    auto reader = open_reader();
    for (int round = 0; round < 30; ++round) {
        child.write('.');
        promised = std::max<std::uint64_t>(promised, std::stoull(child.line()));
        auto refreshed = reader->refresh();
        ASSERT_TRUE(refreshed.ok()) << refreshed.error().message;
        const auto seqs = intact_seqs(*reader);
        EXPECT_GE(seqs.size(), promised);
        EXPECT_EQ(seqs, one_to(seqs.size()));
        EXPECT_GE(intact_seqs(*open_reader()).size(), promised);
        promised = seqs.size();
    }
}

TEST_F(RocksdbStore, ShowsItsLastWordToReadersAfterAReopen) {
    auto store = open();
    ASSERT_TRUE(store->advance_watermark(kTarget, kSession, Seq{5}).ok());
    auto reader = open_reader();
    ASSERT_TRUE(store->advance_watermark(kTarget, kSession, Seq{9}).ok());
    store = nullptr;
    store = open();
    ASSERT_TRUE(reader->refresh().ok());
    auto watermark = reader->watermark(kTarget, kSession);
    ASSERT_TRUE(watermark.ok());
    EXPECT_EQ(*watermark, Seq{9});
}

// Memtables so small that logs are deleted while readers look at them.
TEST_F(RocksdbStore, ShowsReadersAllThatWasSyncedWhileLogsComeAndGo) {
    constexpr std::uint64_t kSeqs = 1'500;
    constexpr std::uint64_t kSeqsAhead = 150;  // some logs, of which a reader may meet each once
    auto store = open_rocksdb_store(directory_, {1U << 20});
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE((*store)->define(test_writer::partition(), test_writer::session()).ok());
    ASSERT_TRUE((*store)->sync().ok());
    std::atomic<std::uint64_t> synced{0};
    std::atomic<std::uint64_t> may_be_put{kSeqsAhead};
    std::atomic<bool> is_done{false};
    std::thread writer{[&] {
        for (std::uint64_t seq = 1; !is_done; ++seq) {
            while (!is_done && seq > may_be_put) {
                std::this_thread::sleep_for(std::chrono::microseconds{50});
            }
            const std::vector batches{test_writer::batch(Seq{seq})};
            EXPECT_TRUE((*store)->put(test_writer::partition(), batches).ok());
            EXPECT_TRUE((*store)->sync().ok());
            synced = seq;
        }
    }};
    auto following = open_reader();
    for (int round = 0; round < 40 && synced < kSeqs; ++round) {
        const std::uint64_t promised = synced;
        may_be_put = promised + kSeqsAhead;
        EXPECT_TRUE(following->refresh().ok());
        EXPECT_GE(intact_seqs(*following).size(), promised);
        const std::uint64_t promised_now = synced;
        may_be_put = promised_now + kSeqsAhead;
        EXPECT_GE(intact_seqs(*open_reader()).size(), promised_now);
    }
    is_done = true;
    writer.join();
}

TEST_F(RocksdbStore, ShowsADropToItsReaders) {
    auto store = open();
    put(*store, 1, 5);
    ASSERT_TRUE(store->sync().ok());
    auto reader = open_reader();
    ASSERT_TRUE(store->drop(test_writer::partition()).ok());
    EXPECT_EQ(intact_seqs(*reader), one_to(5));
    ASSERT_TRUE(reader->refresh().ok());
    EXPECT_TRUE(intact_seqs(*reader).empty());
    auto expired = reader->expired(kTarget, kSession);
    ASSERT_TRUE(expired.ok());
    EXPECT_EQ(*expired, (std::vector<std::pair<Series, std::uint64_t>>{{kSeries, 5'000}}));
}

// The rows' times, in the order of the visit.
std::vector<std::uint64_t> times_in(const StoreReader& reader) {
    std::vector<std::uint64_t> times;
    DecodedRows rows;
    const std::vector<ColumnId> wanted{ColumnId::kTime};
    EXPECT_TRUE(reader
                    .visit_blocks(test_writer::partition(), kTarget, kSession, kSeries,
                                  [&](const BlockKey&, std::string_view bytes) {
                                      const auto block = parse_block_untrusted(bytes);
                                      EXPECT_TRUE(block.ok() && rows.decode(*block, wanted).ok());
                                      const auto own = rows.integers(ColumnId::kTime);
                                      times.insert(times.end(), own.begin(), own.end());
                                      return Visit::kContinue;
                                  })
                    .ok());
    return times;
}

// Beside the writer while it joins, step by step, and when a later writer has taken over: the same rows.
TEST_F(RocksdbStore, ShowsItsReadersTheSameRowsWhileTheyAreJoined) {
    auto store = open();
    put(*store, 1, 40);
    ASSERT_TRUE(store->advance_watermark(kTarget, kSession, Seq{40}).ok());
    ASSERT_TRUE(store->sync().ok());
    const auto reader = open_reader();
    const auto times = times_in(*reader);
    ASSERT_EQ(times.size(), 40'000U);
    constexpr UtcNs kLater{4'000'000'000 * kNsPerSecond};
    int step_count = 0;
    for (int call = 0; call < 3; ++call) {
        ASSERT_TRUE(store
                        ->join(kLater,
                               [&](const JoinStep&) {
                                   EXPECT_TRUE(reader->refresh().ok());
                                   EXPECT_EQ(times_in(*reader), times);
                                   return ++step_count < 3 ? Visit::kStop : Visit::kContinue;
                               })
                        .ok());
        EXPECT_EQ(times_in(*reader), times) << "before it looks";
        store = nullptr;
        store = open();
        EXPECT_EQ(times_in(*reader), times);
        ASSERT_TRUE(reader->refresh().ok());
        EXPECT_EQ(times_in(*reader), times);
    }
    EXPECT_EQ(step_count, 4) << "three blocks and the records";
    int block_count = 0;
    ASSERT_TRUE(reader
                    ->visit_blocks(test_writer::partition(), kTarget, kSession, kSeries,
                                   [&](const BlockKey&, std::string_view) {
                                       ++block_count;
                                       return Visit::kContinue;
                                   })
                    .ok());
    EXPECT_EQ(block_count, 3);
}

// It is in no log: a kill before it is in a table file undoes it, and nothing else.
TEST_F(RocksdbStore, JoinsAgainWhatAKillHasUndone) {
    constexpr UtcNs kLater{4'000'000'000 * kNsPerSecond};
    const auto block_count = [&](const StoreReader& reader) {
        int count = 0;
        EXPECT_TRUE(reader
                        .visit_blocks(test_writer::partition(), kTarget, kSession, kSeries,
                                      [&](const BlockKey&, std::string_view) {
                                          ++count;
                                          return Visit::kContinue;
                                      })
                        .ok());
        return count;
    };
    auto store = open();
    put(*store, 1, 40);
    ASSERT_TRUE(store->advance_watermark(kTarget, kSession, Seq{40}).ok());
    ASSERT_TRUE(store->sync().ok());
    const std::string killed = directory_ + "-killed";
    std::vector<std::uint64_t> times;
    int step_count = 0;
    const auto joined = store->join(kLater, [&](const JoinStep&) {
        if (++step_count == 2) {
            put(*store, 41, 42);  // goes to the log behind what doesn't
            EXPECT_TRUE(store->sync().ok());
            EXPECT_LT(block_count(*store), 42);
            times = times_in(*store);
            fs::copy(directory_, killed);
        }
        return Visit::kContinue;
    });
    ASSERT_TRUE(joined.ok());
    EXPECT_EQ(times.size(), 42'000U);
    directory_ = killed;
    const auto opened = open();
    EXPECT_EQ(block_count(*opened), 42);
    EXPECT_EQ(times_in(*opened), times);
    ASSERT_TRUE(opened->advance_watermark(kTarget, kSession, Seq{42}).ok());
    ASSERT_TRUE(opened->sync().ok());
    const auto reader = open_reader();
    ASSERT_TRUE(opened->join(kLater, [](const JoinStep&) { return Visit::kContinue; }).ok());
    EXPECT_EQ(times_in(*opened), times);
    ASSERT_TRUE(reader->refresh().ok());
    EXPECT_EQ(times_in(*reader), times);
    EXPECT_EQ(block_count(*reader), block_count(*opened)) << "what is done is shown to readers";
    EXPECT_LT(block_count(*reader), 10);
}

TEST_F(RocksdbStore, IsReadWithoutAWriterAndLeavesNothingBehind) {
    auto store = open();
    put(*store, 1, 5);
    store.reset();
    const auto files = [&] {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator{directory_}) {
            names.push_back(entry.path().filename().string() + " " + std::to_string(fs::file_size(entry.path())));
        }
        std::sort(names.begin(), names.end());
        return names;
    };
    const auto before = files();
    ASSERT_EQ(::setenv("TMPDIR", folder_->path().c_str(), 1), 0);
    {
        auto reader = open_reader();
        EXPECT_EQ(intact_seqs(*reader), one_to(5));
        EXPECT_EQ(std::distance(fs::directory_iterator{folder_->path()}, fs::directory_iterator{}), 2);
    }
    ASSERT_EQ(::unsetenv("TMPDIR"), 0);
    EXPECT_EQ(std::distance(fs::directory_iterator{folder_->path()}, fs::directory_iterator{}), 1);
    EXPECT_EQ(files(), before) << "a reader changes nothing";
}

TEST_F(RocksdbStore, RemovesWhatAKilledReaderLeftBehind) {
    open().reset();
    const fs::path place = folder_->path() + "/tmp";
    const fs::path abandoned = place / "perfleet-reader-killed";
    fs::create_directories(abandoned / "below");
    const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours{1};
    ASSERT_EQ(::setenv("TMPDIR", place.c_str(), 1), 0);
    auto used = TemporaryFolder::make("perfleet-reader-");
    ASSERT_TRUE(used.ok());
    fs::last_write_time(abandoned, long_ago);
    fs::last_write_time((*used)->path(), long_ago);
    const auto reader = open_reader();
    ASSERT_EQ(::unsetenv("TMPDIR"), 0);
    EXPECT_FALSE(fs::exists(abandoned));
    EXPECT_TRUE(fs::exists((*used)->path()));
}

TEST_F(RocksdbStore, IsReadByAUserWhoMayOnlyRead) {
    auto store = open();
    put(*store, 1, 5);
    ASSERT_TRUE(store->sync().ok());
    ASSERT_EQ(::chmod(folder_->path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(directory_.c_str(), 0555), 0);
    Child beside{"count", directory_};
    EXPECT_EQ(beside.line(), "5");
    EXPECT_EQ(beside.wait(), 0);
    store.reset();
    Child alone{"count", directory_};
    EXPECT_EQ(alone.line(), "5");
    EXPECT_EQ(alone.wait(), 0);
    ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
}

TEST_F(RocksdbStore, SaysWhenItMayNotBeRead) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root, to have another user's folder";
    }
    open().reset();
    ASSERT_EQ(::chmod(folder_->path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
    Child child{"count", directory_};
    const std::string line = child.line();
    EXPECT_TRUE(line.starts_with("error 8 " + directory_)) << line;
}

TEST_F(RocksdbStore, SaysWhenItMayNotBeWritten) {
    open().reset();
    ASSERT_EQ(::chmod(folder_->path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(directory_.c_str(), 0555), 0);
    Child child{"intrude", directory_};
    const std::string line = child.line();
    EXPECT_TRUE(line.starts_with("error 8 " + directory_)) << line;
    Child above{"intrude", directory_ + "/new"};
    const std::string line_above = above.line();
    EXPECT_TRUE(line_above.starts_with("error 8 creating " + directory_ + "/new")) << line_above;
    ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
}

TEST_F(RocksdbStore, OfANewerFormatIsRefusedByBothVersions) {
    open().reset();
    {
        auto engine = open_rocksdb_writer_engine(directory_);
        ASSERT_TRUE(engine.ok());
        const std::string version = encode_record(kStoreFormatVersion + 1);
        Changes changes;
        changes.puts.push_back({format_key(), version});
        ASSERT_TRUE((*engine)->write(changes).ok());
        ASSERT_TRUE((*engine)->sync().ok());
    }
    auto store = open_rocksdb_store(directory_);
    ASSERT_FALSE(store.ok());
    expect_error(store.error(), ErrorCode::kUnsupported, "has store format 3, this build knows up to 2");
    EXPECT_NE(store.error().message.find(directory_), std::string::npos);
    auto reader = open_rocksdb_reader(directory_);
    ASSERT_FALSE(reader.ok());
    expect_error(reader.error(), ErrorCode::kUnsupported, "has store format 3, this build knows up to 2");
}

TEST_F(RocksdbStore, RefusesADatabaseOfSomebodyElse) {
    {
        auto engine = open_rocksdb_writer_engine(directory_);
        ASSERT_TRUE(engine.ok());
        Changes changes;
        changes.puts.push_back({"their key", "their value"});
        ASSERT_TRUE((*engine)->write(changes).ok());
    }
    auto store = open_rocksdb_store(directory_);
    ASSERT_FALSE(store.ok());
    expect_error(store.error(), ErrorCode::kInvalid, directory_ + ": holds a database that is not a perfleet store");
    auto reader = open_rocksdb_reader(directory_);
    ASSERT_FALSE(reader.ok());
    expect_error(reader.error(), ErrorCode::kNotFound, directory_);
    auto engine = open_rocksdb_writer_engine(directory_);
    ASSERT_TRUE(engine.ok());
    auto value = (*engine)->get("their key");
    ASSERT_TRUE(value.ok() && value->has_value());
    EXPECT_EQ(**value, "their value");
}

TEST_F(RocksdbStore, RefusesAFolderOfOtherThings) {
    ASSERT_TRUE(fs::create_directory(directory_));
    std::ofstream{directory_ + "/thesis.tex"} << "x";
    auto store = open_rocksdb_store(directory_);
    ASSERT_FALSE(store.ok());
    expect_error(store.error(), ErrorCode::kInvalid, directory_ + ": holds thesis.tex but no perfleet store");
    EXPECT_EQ(std::distance(fs::directory_iterator{directory_}, fs::directory_iterator{}), 1) << "and left it alone";
}

TEST_F(RocksdbStore, RefusesWhatIsNotAFolder) {
    std::ofstream{directory_} << "x";
    auto store = open_rocksdb_store(directory_);
    ASSERT_FALSE(store.ok());
    expect_error(store.error(), ErrorCode::kInvalid, directory_ + ": is not a folder");
    auto reader = open_rocksdb_reader(directory_);
    ASSERT_FALSE(reader.ok());
    expect_error(reader.error(), ErrorCode::kInvalid, directory_ + ": is not a folder");
    auto below = open_rocksdb_store(directory_ + "/below");
    ASSERT_FALSE(below.ok());
    EXPECT_NE(below.error().message.find(directory_), std::string::npos) << below.error().message;
    EXPECT_FALSE(open_rocksdb_store("").ok());
}

TEST_F(RocksdbStore, FindsNothingToReadInAMissingOrEmptyFolder) {
    auto missing = open_rocksdb_reader(directory_);
    ASSERT_FALSE(missing.ok());
    expect_error(missing.error(), ErrorCode::kNotFound, directory_);
    EXPECT_FALSE(fs::exists(directory_)) << "a reader creates nothing";
    ASSERT_TRUE(fs::create_directory(directory_));
    auto empty = open_rocksdb_reader(directory_);
    ASSERT_FALSE(empty.ok());
    expect_error(empty.error(), ErrorCode::kNotFound, directory_);
}

TEST_F(RocksdbStore, GivesBackTheSpaceOfADroppedPartition) {
    constexpr BucketNumber kNext{kBucket.value + 1};
    const Partition next = partition_of(kTarget, kNext);
    auto store = open();
    put(*store, 1, 1'000);
    ASSERT_TRUE(store->define(next, test_writer::session()).ok());
    const std::vector kept{test_writer::batch(Seq{1'001}, kSession, kNext)};
    ASSERT_TRUE(store->put(next, kept).ok());
    store = nullptr;
    store = open();
    const auto size_bytes = [&] {
        std::uintmax_t sum = 0;
        for (const auto& entry : fs::directory_iterator{directory_}) {
            if (entry.path().extension() == ".sst") {
                sum += entry.file_size();
            }
        }
        return sum;
    };
    const std::uintmax_t before = size_bytes();
    ASSERT_GT(before, 1'000'000U);
    ASSERT_TRUE(store->drop(test_writer::partition()).ok());
    store = nullptr;
    store = open();
    EXPECT_LT(size_bytes(), before / 4);
    EXPECT_TRUE(intact_seqs(*store).empty());
    std::size_t kept_count = 0;
    ASSERT_TRUE(store
                    ->visit_blocks(next, kTarget, kSession, kSeries,
                                   [&](const BlockKey&, std::string_view block) {
                                       EXPECT_EQ(block, kept[0].series[0].block);
                                       ++kept_count;
                                       return Visit::kContinue;
                                   })
                    .ok());
    EXPECT_EQ(kept_count, 1U);
}

}  // namespace
}  // namespace perfleet
