// A manifest that is cut short, damaged, gone, or another one: everything is read from its copy, the next writer
// restores it, and no table file is deleted.
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "storage/engine/rocksdb/log_format.h"
#include "storage/engine/rocksdb/manifest_copy.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/engine/rocksdb/table_files.h"
#include "storage/engine/testing/file_bytes.h"
#include "storage/engine/testing/rocksdb_fixture.h"
#include "storage/store/keyed_store.h"
#include "storage/store/options.h"
#include "storage/verify/store_check.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFlushes = 3;
constexpr std::uint64_t kBatchesPerFlush = 5;

std::set<std::string> tables_in(const std::string& directory) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator{directory}) {
        if (entry.path().extension() == ".sst") {
            names.insert(entry.path().filename());
        }
    }
    return names;
}

class StoreWithManifest : public RocksdbStore {
protected:
    void SetUp() override {
        RocksdbStore::SetUp();
        intact_ = folder_->path() + "/intact";
        fill(intact_);
        reset();
        manifest_ = find_manifest(intact_)->file;
        bytes_ = read_file(fs::path{intact_} / manifest_);
        ASSERT_EQ(bytes_, read_file(fs::path{intact_} / (manifest_ + ".copy")));
    }

    // Each table file is named by an edit of its own.
    static void fill(const std::string& directory) {
        auto engine = open_rocksdb_writer_engine(directory);
        ASSERT_TRUE(engine.ok()) << engine.error().message;
        Engine& flushed = **engine;
        auto store = open_keyed_store(std::move(*engine), directory, StoreOptions{});
        ASSERT_TRUE(store.ok()) << store.error().message;
        for (std::uint64_t flush = 0; flush < kFlushes; ++flush) {
            put(**store, flush * kBatchesPerFlush + 1, (flush + 1) * kBatchesPerFlush);
            ASSERT_TRUE((*store)->sync().ok());
            ASSERT_TRUE(flushed.flush_unlogged().ok());
        }
    }

    void reset() {
        fs::remove_all(directory_);
        fs::copy(intact_, directory_);
    }

    fs::path manifest() { return fs::path{directory_} / manifest_; }

    // The view of a reader, a check, a writer and all after it.
    void expect_mended(const std::string& harm, const std::string& named) {
        SCOPED_TRACE(harm);
        const auto names_it = [&](const std::vector<std::string>& damage) {
            return std::any_of(damage.begin(), damage.end(),
                               [&](const std::string& one) { return one.find(named) != std::string::npos; });
        };
        const auto everything = one_to(kFlushes * kBatchesPerFlush);
        {
            const auto reader = open_reader();
            ASSERT_NE(reader, nullptr);
            EXPECT_EQ(intact_seqs(*reader), everything);
            EXPECT_TRUE(names_it(reader->damage()));
        }
        const auto check = check_store(directory_, true);
        ASSERT_TRUE(check.ok());
        ASSERT_EQ(check->damage.size(), 1U);
        EXPECT_NE((check->damage[0].place + " " + check->damage[0].what).find(named), std::string::npos)
            << check->damage[0].place << " " << check->damage[0].what;
        const std::set<std::string> before = tables_in(directory_);
        {
            const auto store = open();
            ASSERT_NE(store, nullptr);
            EXPECT_TRUE(names_it(store->damage()));
            EXPECT_EQ(intact_seqs(*store), everything);
        }
        const std::set<std::string> after = tables_in(directory_);
        EXPECT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end()));
        expect_sound(harm);
    }

    void expect_sound(const std::string& harm) {
        SCOPED_TRACE(harm);
        const auto check = check_store(directory_, true);
        ASSERT_TRUE(check.ok());
        EXPECT_TRUE(check->damage.empty()) << check->damage[0].place << " " << check->damage[0].what;
        const auto reader = open_reader();
        ASSERT_NE(reader, nullptr);
        EXPECT_EQ(intact_seqs(*reader), one_to(kFlushes * kBatchesPerFlush));
        EXPECT_TRUE(reader->damage().empty());
    }

    [[nodiscard]] std::set<std::size_t> record_ends() const {
        std::set<std::size_t> ends;
        std::size_t at = 0;
        while (const auto record = log_record_in(std::string_view{bytes_}.substr(at))) {
            at += record->size_bytes();
            ends.insert(at);
        }
        return ends;
    }

    std::string intact_;
    std::string manifest_;
    std::string bytes_;
};

TEST_F(StoreWithManifest, IsSoundAsLongAsNothingIsDamaged) {
    expect_sound("nothing");
    ASSERT_NE(open(), nullptr);
    expect_sound("opened again");
    fs::remove(fs::path{directory_} / (find_manifest(directory_)->file + ".copy"));
    expect_sound("without a copy");
}

TEST_F(StoreWithManifest, HasEverythingWhereverTheManifestIsCut) {
    std::set<std::size_t> sizes = record_ends();
    ASSERT_GE(sizes.size(), 2 + kFlushes);
    ASSERT_EQ(*sizes.rbegin(), bytes_.size());
    sizes.erase(bytes_.size());
    sizes.insert({0, 1, 3, 9, bytes_.size() - 1, bytes_.size() - 16});
    for (const std::size_t size : sizes) {
        reset();
        fs::resize_file(manifest(), size);
        expect_mended("cut to " + std::to_string(size),
                      manifest_ + " has " + std::to_string(size) + " bytes, not " + std::to_string(bytes_.size()));
    }
}

TEST_F(StoreWithManifest, HasEverythingWhereverTheManifestIsOverwritten) {
    constexpr std::size_t kStep = 53;
    for (std::size_t at = 0; at < bytes_.size(); at += kStep) {
        for (const bool is_flip : {true, false}) {
            std::string damaged = bytes_;
            if (is_flip) {
                damaged[at] = static_cast<char>(damaged[at] ^ 8);
            } else {
                std::fill(damaged.begin() + static_cast<std::ptrdiff_t>(at), damaged.end(), '\0');
            }
            reset();
            write_file(manifest(), damaged);
            expect_mended((is_flip ? "flip at " : "zeros from ") + std::to_string(at),
                          manifest_ + " is damaged at byte ");
        }
    }
}

TEST_F(StoreWithManifest, HasEverythingWhateverCurrentNames) {
    const fs::path current = fs::path{directory_} / "CURRENT";
    const std::map<std::string, std::function<void()>> harms{
        {"gone", [&] { fs::remove(current); }},
        {"empty", [&] { write_file(current, ""); }},
        {"cut", [&] { write_file(current, manifest_); }},
        {"noise", [&] { write_file(current, "MBNIFEST-000005\n"); }},
        {"a manifest that isn't there", [&] { write_file(current, "MANIFEST-000099\n"); }},
        {"an older one",
         [&] {
             fs::copy(manifest(), fs::path{directory_} / "MANIFEST-000001");
             fs::resize_file(fs::path{directory_} / "MANIFEST-000001", *record_ends().begin());
             write_file(current, "MANIFEST-000001\n");
         }},
        {"an older one with a newer name",
         [&] {
             fs::copy(manifest(), fs::path{directory_} / "MANIFEST-000099");
             fs::resize_file(fs::path{directory_} / "MANIFEST-000099", *record_ends().begin());
             write_file(current, "MANIFEST-000099\n");
         }},
    };
    for (const auto& [harm, damage] : harms) {
        reset();
        damage();
        expect_mended(harm, manifest_ + " is the store's manifest, but CURRENT ");
    }
}

TEST_F(StoreWithManifest, HasEverythingWhereTheManifestIsGoneOrAnotherStores) {
    fs::remove(manifest());
    expect_mended("gone", manifest_ + " is missing");
    reset();
    fs::remove(manifest());
    fs::create_directory(manifest());
    expect_mended("a folder", manifest_ + " is missing or can't be read");
    // Of a store whose table files have the same numbers, and of an empty one.
    const std::string other = folder_->path() + "/other";
    fill(other);
    ASSERT_EQ(find_manifest(other)->file, manifest_);
    reset();
    write_file(manifest(), read_file(fs::path{other} / manifest_));
    expect_mended("another store's", manifest_ + " is damaged at byte ");
    const std::string empty = folder_->path() + "/empty";
    ASSERT_TRUE(open_store(empty).ok());
    reset();
    write_file(manifest(), read_file(fs::path{empty} / manifest_));
    expect_mended("an empty store's", manifest_ + " ");
}

TEST_F(StoreWithManifest, IsntAlarmedByADamagedCopy) {
    const auto copy = [&] { return fs::path{directory_} / (manifest_ + ".copy"); };
    const std::string other = folder_->path() + "/other";
    fill(other);
    const std::map<std::string, std::function<void()>> harms{
        {"gone", [&] { fs::remove(copy()); }},
        {"empty", [&] { write_file(copy(), ""); }},
        {"cut", [&] { fs::resize_file(copy(), bytes_.size() - 20); }},
        {"zeros behind it", [&] { fs::resize_file(copy(), bytes_.size() + 500); }},
        {"flip",
         [&] {
             std::string damaged = bytes_;
             damaged[100] = static_cast<char>(damaged[100] ^ 1);
             write_file(copy(), damaged);
         }},
        {"another store's",
         [&] { fs::copy_file(fs::path{other} / (manifest_ + ".copy"), copy(), fs::copy_options::overwrite_existing); }},
    };
    for (const auto& [harm, damage] : harms) {
        reset();
        damage();
        expect_sound(harm);
        const auto store = open();
        ASSERT_NE(store, nullptr) << harm;
        EXPECT_TRUE(store->damage().empty()) << harm << store->damage()[0];
        EXPECT_EQ(find_manifest(directory_)->bytes,
                  read_file(fs::path{directory_} / (find_manifest(directory_)->file + ".copy")));
    }
}

TEST_F(StoreWithManifest, IsntOpenedAndKeepsEverythingWhereManifestAndCopyAreDamagedInOnePlace) {
    for (const std::size_t at : {150U, 151U}) {
        std::string damaged = bytes_;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        write_file(fs::path{directory_} / (at == 150U ? manifest_ : manifest_ + ".copy"), damaged);
    }
    const auto expect_refused = [&](const std::string& what) {
        const std::set<std::string> before = tables_in(directory_);
        const auto reader = open_store_reader(directory_);
        ASSERT_FALSE(reader.ok());
        expect_error(reader.error(), ErrorCode::kCorrupt, what);
        const auto store = open_store(directory_);
        ASSERT_FALSE(store.ok());
        expect_error(store.error(), ErrorCode::kCorrupt, "restore the store from a backup");
        EXPECT_EQ(tables_in(directory_), before);
    };
    expect_refused(manifest_ + " and its copy are both damaged at byte ");
    reset();
    fs::remove(fs::path{directory_} / "CURRENT");
    write_file(fs::path{directory_} / (manifest_ + ".copy"), "");
    expect_refused("CURRENT is missing or damaged, and no manifest has a copy");
}

// The state after a kill between a manifest's edit and its copy, or between a new manifest and its first copy.
TEST_F(StoreWithManifest, IsSoundWhereACopyIsOlderThanItsManifest) {
    for (const std::size_t size : record_ends()) {
        reset();
        fs::resize_file(fs::path{directory_} / (manifest_ + ".copy"), size);
        expect_sound("copy of " + std::to_string(size) + " bytes");
    }
    reset();
    const std::string copy = read_file(fs::path{directory_} / (manifest_ + ".copy"));
    ASSERT_NE(open(), nullptr);
    fs::remove(fs::path{directory_} / (find_manifest(directory_)->file + ".copy"));
    write_file(fs::path{directory_} / (manifest_ + ".copy"), copy);
    expect_sound("the copy of the manifest before");
}

TEST_F(StoreWithManifest, SaysWhatRocksdbReadsInIt) {
    auto engine = open_rocksdb_writer_engine(directory_);
    ASSERT_TRUE(engine.ok());
    const auto expect_same = [&] {
        auto found = find_manifest(directory_);
        std::unique_ptr<rocksdb::DB> db;
        int attempts = 0;
        for (bool is_same = false; !is_same;) {  // a compaction may come between, and delete what is being opened
            ASSERT_LT(++attempts, 100);
            rocksdb::Options options;
            options.wal_dir = folder_->path();
            rocksdb::DB* opened = nullptr;
            if (!rocksdb::DB::OpenForReadOnly(options, directory_, &opened).ok()) {
                continue;
            }
            db.reset(opened);
            auto now = find_manifest(directory_);
            ASSERT_TRUE(now.ok() && now->content);
            is_same = now->bytes == found->bytes;
            found = std::move(now);
        }
        std::vector<rocksdb::LiveFileMetaData> live;
        db->GetLiveFilesMetaData(&live);
        ASSERT_EQ(found->content->tables.size(), live.size());
        for (const rocksdb::LiveFileMetaData& file : live) {
            const ManifestTable& table = found->content->tables.at(file.file_number);
            EXPECT_EQ(table.size_bytes, file.size);
            EXPECT_EQ(table.first_key, file.smallestkey);
            EXPECT_EQ(table.last_key, file.largestkey);
            EXPECT_NE(table.session_id, 0U);
        }
        std::uint64_t first_needed = 0;
        ASSERT_TRUE(db->GetIntProperty(rocksdb::DB::Properties::kMinLogNumberToKeep, &first_needed));
        EXPECT_EQ(found->content->first_needed_log, first_needed);
        // The copy follows the manifest: a compaction may just have ended.
        const auto is_copied = [&] {
            return read_file(fs::path{directory_} / (found->file + ".copy")).starts_with(found->bytes);
        };
        for (int i = 0; i < 1'000 && !is_copied(); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
        EXPECT_TRUE(is_copied());
        EXPECT_TRUE(lost_table_files(directory_)->empty());
    };
    for (int step = 0; step < 12; ++step) {
        expect_same();
        const std::string value(1'000, 'v');
        Changes changes;
        for (int i = 0; i < 20; ++i) {
            changes.puts.push_back({"\x01key " + std::to_string(step % 4) + " " + std::to_string(i), value});
        }
        ASSERT_TRUE((*engine)->write({}, 0, changes).ok());
        ASSERT_TRUE((*engine)->flush_unlogged().ok());
        if (step % 5 == 4) {
            ASSERT_TRUE((*engine)->erase({"\x01key 1", "\x01key 2"}, nullptr).ok());
        }
    }
    expect_same();
}

TEST_F(StoreWithManifest, IsntAlarmedBesideAWriterThatFlushesCompactsAndTakesOver) {
    std::atomic<bool> is_stopping = false;
    std::thread writer{[&] {
        for (int round = 0; round < 5; ++round) {
            auto engine = open_rocksdb_writer_engine(directory_);
            ASSERT_TRUE(engine.ok()) << engine.error().message;
            EXPECT_TRUE((*engine)->damage()->at_open.empty());
            for (int i = 0; i < 20; ++i) {
                const std::string value(100, 'v');
                Changes changes;
                changes.puts.push_back({"\xf0key " + std::to_string(i), value});
                ASSERT_TRUE((*engine)->write({}, 0, changes).ok());
                ASSERT_TRUE((*engine)->flush_unlogged().ok());
            }
            ASSERT_TRUE((*engine)->erase({"\xf0", "\xf1"}, nullptr).ok());
        }
        is_stopping = true;
    }};
    std::uint64_t looks = 0;
    while (!is_stopping) {
        const auto found = find_manifest(directory_);
        ASSERT_TRUE(found.ok()) << found.error().message;
        EXPECT_EQ(found->damage, "");
        if (++looks % 10 == 0) {
            const auto reader = open_store_reader(directory_);
            ASSERT_TRUE(reader.ok()) << reader.error().message;
            EXPECT_TRUE((*reader)->damage().empty()) << (*reader)->damage()[0];
        }
    }
    writer.join();
    EXPECT_GT(looks, 0U);
}

}  // namespace
}  // namespace perfleet
