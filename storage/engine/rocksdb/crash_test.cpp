// Stores whose power fails at any moment, on faulty disks: what was promised is there, once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

#include "storage/block/block.h"
#include "storage/compact/compaction_step.h"
#include "storage/compact/policy.h"
#include "storage/dictionary/partition_dictionary.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/testing/faulty_disk.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/sample_batches.h"
#include "storage/store/testing/visit_blocks.h"
#include "storage/summary/day_summary.h"

namespace perfleet::crash_test {
namespace {

using Breakage = FaultPlan::Breakage;

constexpr BucketNumber kBucket{480'000};
constexpr Series kSeries{Kind::kCounter, EventNumber{0}};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr std::uint64_t kSeqsPerBucket = 20;

// A session as its collector sees it.
struct Sender {
    TargetId target;
    SessionId session;
    Seq sent;
    Seq promised;  // acknowledged, or covered by a watermark: never sent again
    bool has_samples = false;
    Seq greatest_sent{};  // of all times, also before a crash
    bool is_removed = false;

    [[nodiscard]] Partition partition(Seq seq) const {
        return partition_of(target,
                            BucketNumber{kBucket.value + static_cast<std::uint32_t>(seq.value / kSeqsPerBucket)});
    }

    // Made once: it is compared with what is stored after each crash.
    [[nodiscard]] const AdmittedBatch& batch(Seq seq) const {
        static std::map<std::tuple<TargetId, SessionId, Seq, bool>, AdmittedBatch> kept;
        const auto [at, is_new] = kept.try_emplace({target, session, seq, has_samples});
        if (is_new) {
            at->second = make_batch(seq);
        }
        return at->second;
    }

    [[nodiscard]] static std::uint64_t sample_count(Seq seq) { return 1 + seq.value * 13 % 20; }
    [[nodiscard]] static std::uint64_t stack(Seq seq) { return seq.value % 4; }

private:
    [[nodiscard]] AdmittedBatch make_batch(Seq seq) const {
        SampleBatch batch{target, session, seq, EpochNumber{0}, partition(seq).bucket};
        std::vector<std::uint64_t> values;
        for (std::uint64_t i = 0; i < 1 + seq.value * 37 % 200; ++i) {
            values.push_back((seq.value * 1'000'003 + i * i * 7'919) % 1'000'000);
        }
        const std::vector<std::uint64_t> times(values.size(), seq.value);
        batch.add(kSeries, {{ColumnId::kTime, times}, {ColumnId::kValue, values}});
        if (has_samples) {
            batch.add(kSamples, {{ColumnId::kTime, std::vector<std::uint64_t>(sample_count(seq), seq.value)},
                                 {ColumnId::kStack, std::vector<std::uint64_t>(sample_count(seq), stack(seq))}});
            batch.add_images({{0, 0, "\x12", "/bin/true"}});
            batch.add_stacks({{1 + static_cast<std::uint32_t>(seq.value), 0, 0, seq.value % 7}});
        }
        return batch.build();
    }
};

// Senders, a gateway that commits their batches in groups, and its disk. What a gateway must do after errors is what
// CommitGroup does: the whole group again.
class CrashRun {
public:
    CrashRun(std::uint64_t seed, Breakage breakage, bool is_compacting = true)
        : random_{seed}, breakage_{breakage}, is_compacting_{is_compacting} {
        auto folder = TemporaryFolder::make("perfleet-test-");
        EXPECT_TRUE(folder.ok());
        folder_ = std::move(*folder);
        for (std::uint64_t i = 1; i <= 3; ++i) {
            senders_.push_back({TargetId{i}, SessionId{i, 7}, Seq{0}, Seq{0}, is_compacting});
        }
    }

    // What is wrong; empty when nothing is.
    [[nodiscard]] std::string run(int crashes) {
        for (int crash = 0; crash <= crashes && wrong_.empty(); ++crash) {
            const bool is_last = crash == crashes;
            disk_ = std::make_unique<FaultyDisk>(is_last ? healthy() : random_plan());
            open();
            if (store_ != nullptr) {
                commit_groups(is_last);
            }
            disk_->crash();
            store_.reset();
        }
        if (wrong_.empty()) {
            disk_ = std::make_unique<FaultyDisk>(healthy());
            open();
            check_all_is_there();
        }
        return wrong_;
    }

    [[nodiscard]] std::uint64_t compacted_batch_count() const { return compacted_batch_count_; }
    [[nodiscard]] std::uint64_t dropped_row_count() const { return dropped_row_count_; }
    [[nodiscard]] std::uint64_t removed_row_count() const { return removed_row_count_; }
    [[nodiscard]] std::uint64_t summary_count() const { return summary_count_; }
    [[nodiscard]] std::uint64_t map_count() const { return map_count_; }

private:
    FaultPlan healthy() {
        FaultPlan plan;
        plan.seed = random_();
        plan.breakage = breakage_;
        return plan;
    }

    FaultPlan random_plan() {
        using Type = FaultPlan::When::Type;
        FaultPlan plan = healthy();
        plan.loss = static_cast<FaultPlan::Loss>(random_() % 3);
        plan.crash_at = 20 + random_() % 150;
        switch (random_() % 6) {
            case 0: plan.sync = {Type::kEvery, 5 + random_() % 10}; break;
            case 1: plan.write = {Type::kEvery, 10 + random_() % 30}; break;
            case 2: plan.room_size_bytes = 20'000 + random_() % 60'000; break;
            default: break;
        }
        return plan;
    }

    // The power may go while it is opened; then it is opened again.
    void open() {
        std::string said;
        for (int attempt = 0; attempt < 5; ++attempt) {
            StoreOptions options;
            if (is_compacting_) {
                options.summaries = SummaryPolicy{.hours_min = 1, .saving = 1, .sums_max = 3};
                options.dictionaries = DictionaryPolicy{.epochs_min = 1, .reuse = 1};
            }
            auto store = disk_->open_store(folder_->path() + "/data", options);
            if (store.ok()) {
                store_ = std::move(*store);
                welcome_all();
                check();
                return;
            }
            said = store.error().message;
            disk_->set_plan(healthy());
        }
        wrong_ = "doesn't open without help: " + said;
    }

    void welcome_all() {
        for (Sender& sender : senders_) {
            auto watermark = store_->watermark(sender.target, sender.session);
            if (!watermark.ok()) {
                wrong_ = watermark.error().message;
                return;
            }
            sender.promised = std::max(sender.promised, *watermark);
            sender.sent = sender.promised;
        }
    }

    void commit_groups(bool is_last) {
        int failures = 0;
        for (int group = 0; group < (is_last ? 5 : 1'000) && failures < 4;) {
            for (Sender& sender : senders_) {
                sender.sent = std::max(sender.sent, Seq{sender.promised.value + random_() % 4});
            }
            if (commit()) {
                ++group;
                compact();
                drop();
                failures = 0;
                for (Sender& sender : senders_) {
                    sender.promised = sender.sent;
                }
                remove();
            } else {
                ++failures;
                if (failures == 2) {
                    disk_->set_plan(healthy());  // and it goes on by itself
                }
            }
        }
        if (failures >= 4 && is_last) {
            wrong_ = "doesn't go on by itself: " + said_;
        }
    }

    // Whatever becomes of it, also half of it: nothing that was promised may go.
    void compact() {
        if (!is_compacting_ || random_() % 3 != 0) {
            return;
        }
        now_s_ += 2 * kBucketDurationS;
        const bool is_patient = random_() % 2 == 0;
        const auto compacted = store_->compact(UtcNs{now_s_ * kNsPerSecond}, [&](const CompactionStep& step) {
            compacted_batch_count_ += step.batches_in;
            return !is_patient && random_() % 8 == 0 ? Visit::kStop : Visit::kContinue;
        });
        said_ = compacted.ok() ? said_ : compacted.error().message;
    }

    // The oldest bucket that is left, of all senders; whatever becomes of it.
    void drop() {
        if (!is_compacting_ || breakage_ != Breakage::kNone || random_() % 12 != 0) {
            return;
        }
        BucketNumber newest;
        for (const Sender& sender : senders_) {
            newest = std::max(newest, sender.partition(sender.promised).bucket);
        }
        if (dropped_until_ >= newest) {
            return;
        }
        std::vector<Partition> partitions;
        for (const Sender& sender : senders_) {
            partitions.push_back(partition_of(sender.target, dropped_until_));
        }
        begun_until_ = BucketNumber{dropped_until_.value + 1};
        const auto dropped = store_->drop(partitions, nullptr);
        if (dropped.ok()) {
            dropped_until_ = begun_until_;
            dropped_row_count_ += *dropped;
        } else {
            said_ = dropped.error().message;
        }
    }

    // A session whose removal fails is removed once more, by and by.
    void remove() {
        if (!is_compacting_ || breakage_ != Breakage::kNone) {
            return;
        }
        if (random_() % 25 == 0) {
            Sender& sender = senders_[random_() % senders_.size()];
            removed_.push_back(sender);
            sender = {sender.target, SessionId{sender.session.high, sender.session.low + 1}, Seq{0}, Seq{0}, true};
        }
        for (Sender& sender : removed_) {
            if (sender.is_removed) {
                continue;
            }
            const std::vector<SessionName> session{{sender.target, sender.session}};
            const auto gone = store_->remove_sessions(session, nullptr);
            sender.is_removed = gone.ok();
            removed_row_count_ += gone.ok() ? *gone : 0;
            said_ = gone.ok() ? said_ : gone.error().message;
        }
    }

    bool is_done(const Result<Done>& done) {
        said_ = done.ok() ? said_ : done.error().message;
        return done.ok();
    }

    bool commit() {
        for (Sender& sender : senders_) {
            for (Seq seq{sender.promised.value + 1}; seq <= sender.sent; seq = Seq{seq.value + 1}) {
                if (!is_done(store_->define(sender.partition(seq), sample_session(sender.target, sender.session)))) {
                    return false;
                }
                const std::vector batches{sender.batch(seq)};
                sender.greatest_sent = std::max(sender.greatest_sent, seq);
                auto outcomes = store_->put(sender.partition(seq), batches);
                if (!outcomes.ok()) {
                    said_ = outcomes.error().message;
                    return false;
                }
                if (outcomes->front() != PutOutcome::kStored && outcomes->front() != PutOutcome::kDuplicate &&
                    (outcomes->front() != PutOutcome::kExpired || !may_be_dropped(sender, seq))) {
                    wrong_ = "an honest batch was judged " + std::to_string(static_cast<int>(outcomes->front()));
                }
            }
        }
        for (const Sender& sender : senders_) {
            if (!is_done(store_->advance_watermark(sender.target, sender.session, sender.sent))) {
                return false;
            }
        }
        return is_done(store_->sync());
    }

    // How often each seq of a sender is there, by its blocks, whose bytes must be right.
    std::map<std::uint64_t, int> blocks_of(const StoreReader& reader, const Sender& sender) {
        std::map<std::uint64_t, int> found;
        auto partitions = reader.partitions();
        if (!partitions.ok()) {
            wrong_ = partitions.error().message;
            return found;
        }
        for (const Partition& partition : *partitions) {
            auto visited = visit_blocks(reader, partition, sender.target, sender.session, kSeries,
                                        [&](const BlockKey&, std::string_view block) {
                                            take_block(sender, block, found);
                                            return wrong_.empty() ? Visit::kContinue : Visit::kStop;
                                        });
            if (!visited.ok()) {
                wrong_ = visited.error().message;
            }
        }
        return found;
    }

    // One as it was put, or the rows of several, each as they were put.
    void take_block(const Sender& sender, std::string_view bytes, std::map<std::uint64_t, int>& found) {
        const auto view = parse_block_untrusted(bytes);
        if (!view.ok()) {
            wrong_ = view.error().message;
            return;
        }
        if (view->parts.empty()) {
            const Seq seq = view->header.first_seq;
            if (bytes != sender.batch(seq).series[0].block) {
                wrong_ = "other bytes than were put";
            }
            ++found[seq.value];
            return;
        }
        DecodedRows rows;
        DecodedRows put_rows;
        if (!rows.decode(*view).ok()) {
            wrong_ = "a joined block that can't be decoded";
            return;
        }
        std::size_t first = 0;
        for (const BlockPart& part : view->parts) {
            const std::string& block = sender.batch(part.seq).series[0].block;
            const auto put = parse_block_untrusted(block);
            if (!put.ok() || !put_rows.decode(*put).ok() || put_rows.row_count() != part.row_count ||
                !std::ranges::equal(put_rows.integers(ColumnId::kValue),
                                    rows.integers(ColumnId::kValue).subspan(first, part.row_count))) {
                wrong_ = "other rows than were put";
            }
            first += part.row_count;
            ++found[part.seq.value];
        }
    }

    // Batch records: as many, and each once.
    void check_records(const StoreReader& reader, const Sender& sender, const std::map<std::uint64_t, int>& found) {
        std::map<std::uint64_t, int> seen;
        const auto partitions = reader.partitions();
        for (const Partition& partition : *partitions) {
            const auto visited =
                reader.visit_batches(partition, sender.target, sender.session, [&](const BatchRecord& record) {
                    ++seen[record.seq.value];
                    if (record.seal != sender.batch(record.seq).record.seal) {
                        wrong_ = "another record than was put";
                    }
                    return Visit::kContinue;
                });
            wrong_ = visited.ok() ? wrong_ : visited.error().message;
        }
        if (wrong_.empty() && seen != found) {
            wrong_ = "other batch records than blocks";
        }
    }

    void check() {
        auto reader = open_store_reader(folder_->path() + "/data");
        if (!reader.ok()) {
            wrong_ = reader.error().message;
            return;
        }
        for (const Sender& sender : senders_) {
            const std::map<std::uint64_t, int> found = blocks_of(**reader, sender);
            const std::string who = "target " + std::to_string(sender.target.value) + " seq ";
            for (std::uint64_t seq = 1; seq <= sender.promised.value && wrong_.empty(); ++seq) {
                if (!found.contains(seq) && !may_be_dropped(sender, Seq{seq})) {
                    wrong_ = who + std::to_string(seq) + " was promised and is lost";
                }
            }
            for (const auto& [seq, count] : found) {
                if (count > 1 && wrong_.empty()) {
                    wrong_ = who + std::to_string(seq) + " is there " + std::to_string(count) + " times";
                }
            }
            if (wrong_.empty()) {
                check_records(**reader, sender, found);
                check_expired(**reader, sender, found);
                check_summaries(**reader, sender, found);
                check_maps(**reader, sender);
            }
        }
        for (const Sender& sender : removed_) {
            if (wrong_.empty()) {
                check_removed(**reader, sender);
            }
        }
    }

    // Each row of it is there, or has expired. From its mark on all of them have: what is still there isn't looked for.
    void check_removed(const StoreReader& reader, const Sender& sender) {
        const std::map<std::uint64_t, int> found = blocks_of(reader, sender);
        check_records(reader, sender, found);
        if (sender.is_removed && !found.empty()) {
            wrong_ = "a session was removed and is there";
        }
        const auto notes = reader.session_notes();
        const auto note = notes->find({sender.target, sender.session});
        const bool is_marked = note != notes->end() && note->second.is_removed;
        std::uint64_t row_count = 0;
        const auto counts = reader.expired(sender.target, sender.session);
        for (const auto& [series, expired] : *counts) {
            row_count += series == kSeries ? expired : 0;
        }
        std::uint64_t least = 0;
        std::uint64_t most = 0;
        for (std::uint64_t seq = 1; seq <= sender.greatest_sent.value; ++seq) {
            const std::uint64_t rows = sender.batch(Seq{seq}).record.rows[0].row_count;
            row_count += found.contains(seq) && !is_marked ? rows : 0;
            most += rows;
            least += seq <= sender.promised.value ? rows : 0;
        }
        if (wrong_.empty() && (row_count < least || row_count > most)) {
            wrong_ = "of a session that is removed " + std::to_string(row_count) + " rows are there or expired, not " +
                     std::to_string(least) + " to " + std::to_string(most);
        }
    }

    // Each sums the rows of its hours; of hours that weren't dropped since batches that are there, none twice.
    void check_summaries(const StoreReader& reader, const Sender& sender, const std::map<std::uint64_t, int>& found) {
        const auto partitions = reader.partitions();
        for (const Partition& partition : *partitions) {
            std::map<std::uint64_t, int> covered;
            const auto visited = visit_summaries(reader, partition, sender.target, sender.session, kSamples,
                                                 [&](const SummaryKey&, std::string_view bytes) {
                                                     const auto day = decode_summary_untrusted(bytes);
                                                     for (std::size_t i = 0; day.ok() && i < day->hours.size(); ++i) {
                                                         if (!has_its_rows(sender, day->hours[i], found, covered)) {
                                                             wrong_ = "a summary of other rows than were put";
                                                         }
                                                     }
                                                     wrong_ = day.ok() ? wrong_ : day.error().message;
                                                     ++summary_count_;
                                                     return Visit::kContinue;
                                                 });
            wrong_ = visited.ok() ? wrong_ : visited.error().message;
        }
    }

    // Each leads into the dictionary that is there, to the frames that its stacks were defined with.
    void check_maps(const StoreReader& reader, const Sender& sender) {
        const auto partitions = reader.partitions();
        for (const Partition& partition : *partitions) {
            const auto map_bytes = reader.stack_map({partition, sender.target, sender.session, EpochNumber{0}});
            const auto bytes = reader.dictionary(partition);
            if (!map_bytes.ok() || !bytes.ok()) {
                wrong_ = map_bytes.ok() ? bytes.error().message : map_bytes.error().message;
                return;
            }
            if (!map_bytes->has_value()) {
                continue;
            }
            const auto map = decode_stack_map_untrusted(**map_bytes);
            const auto dictionary = decode_dictionary_untrusted(bytes->value_or(""));
            if (!map.ok() || !dictionary.ok() || map->dictionary_checksum != dictionary_checksum(**bytes)) {
                wrong_ = "a map without its dictionary";
                return;
            }
            for (std::uint32_t stack = 1; stack < map->nodes.size(); ++stack) {
                const std::uint32_t node = map->nodes[stack];
                if (node > dictionary->nodes.size() ||
                    (node != 0 && dictionary->nodes[node - 1] != PartitionDictionary::Node{0, 0, (stack - 1) % 7})) {
                    wrong_ = "a map of other stacks than were defined";
                }
            }
            ++map_count_;
        }
    }

    [[nodiscard]] bool has_its_rows(const Sender& sender, const DayHour& hour,
                                    const std::map<std::uint64_t, int>& found,
                                    std::map<std::uint64_t, int>& covered) const {
        std::uint64_t row_count = 0;
        for (const SeqRange& range : hour.rows.seqs) {
            for (Seq seq = range.first; seq <= range.last; seq = Seq{seq.value + 1}) {
                const bool is_there = found.contains(seq.value) || may_be_dropped(sender, seq);
                if (!is_there || sender.partition(seq) != hour.partition || ++covered[seq.value] != 1) {
                    return false;
                }
                row_count += Sender::sample_count(seq);
            }
        }
        return row_count == hour.rows.row_count;
    }

    [[nodiscard]] bool may_be_dropped(const Sender& sender, Seq seq) const {
        return sender.partition(seq).bucket < begun_until_;
    }

    // What was dropped is gone, and its rows are counted once: all that were promised, perhaps some that were not.
    void check_expired(const StoreReader& reader, const Sender& sender, const std::map<std::uint64_t, int>& found) {
        std::uint64_t expired = 0;
        const auto counts = reader.expired(sender.target, sender.session);
        for (const auto& [series, row_count] : *counts) {
            expired += series == kSeries ? row_count : 0;
        }
        std::uint64_t least = 0;
        std::uint64_t most = 0;
        for (std::uint64_t seq = 1; may_be_dropped(sender, Seq{seq}); ++seq) {
            if (found.contains(seq)) {
                if (sender.partition(Seq{seq}).bucket < dropped_until_) {
                    wrong_ = "seq " + std::to_string(seq) + " was dropped and is there";
                }
                continue;
            }
            const std::uint64_t row_count = sender.batch(Seq{seq}).record.rows[0].row_count;
            most += row_count;
            least += seq <= sender.promised.value ? row_count : 0;
        }
        if (expired < least || expired > most) {
            wrong_ = "target " + std::to_string(sender.target.value) + ": " + std::to_string(expired) +
                     " rows expired, not " + std::to_string(least) + " to " + std::to_string(most);
        }
    }

    void check_all_is_there() {
        if (wrong_.empty()) {
            check();
        }
        for (const Sender& sender : senders_) {
            const bool is_first = sender.session == SessionId{sender.target.value, 7};
            if (wrong_.empty() && is_first && sender.promised.value == 0) {
                wrong_ = "nothing was stored at all";
            }
        }
    }

    std::mt19937_64 random_;
    Breakage breakage_;
    bool is_compacting_;
    std::unique_ptr<TemporaryFolder> folder_;
    std::vector<Sender> senders_;
    std::vector<Sender> removed_;  // or about to be
    std::unique_ptr<FaultyDisk> disk_;
    std::unique_ptr<Store> store_;        // closed before its disk goes
    std::int64_t now_s_ = 4'000'000'000;  // every bucket is over
    std::uint64_t compacted_batch_count_ = 0;
    std::uint64_t summary_count_ = 0;       // that were looked at
    std::uint64_t map_count_ = 0;           // likewise
    BucketNumber dropped_until_ = kBucket;  // every bucket before it is dropped
    BucketNumber begun_until_ = kBucket;    // every one before it may be
    std::uint64_t dropped_row_count_ = 0;
    std::uint64_t removed_row_count_ = 0;
    std::string said_;  // the last failure
    std::string wrong_;
};

constexpr int kCrashesPerRun = 6;
constexpr std::uint64_t kFirstSeed = 3;
constexpr std::uint64_t kLastSeed = 8;

// For campaigns: PERFLEET_CRASH_SEEDS=FIRST-LAST.
std::pair<std::uint64_t, std::uint64_t> seeds() {
    const char* text = std::getenv("PERFLEET_CRASH_SEEDS");  // NOLINT(concurrency-mt-unsafe)
    if (text == nullptr) {
        return {kFirstSeed, kLastSeed};
    }
    char* dash = nullptr;
    const std::uint64_t first = std::strtoull(text, &dash, 10);
    return {first, *dash == '-' ? std::strtoull(dash + 1, nullptr, 10) : first};
}

TEST(Crash, KeepsWhatWasPromisedOnceWhateverTheDiskDoes) {
    const auto [first, last] = seeds();
    std::uint64_t compacted_batch_count = 0;
    std::uint64_t dropped_row_count = 0;
    std::uint64_t removed_row_count = 0;
    std::uint64_t summary_count = 0;
    std::uint64_t map_count = 0;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        CrashRun run{seed, Breakage::kNone};
        EXPECT_EQ(run.run(kCrashesPerRun), "") << "seed " << seed;
        compacted_batch_count += run.compacted_batch_count();
        dropped_row_count += run.dropped_row_count();
        removed_row_count += run.removed_row_count();
        summary_count += run.summary_count();
        map_count += run.map_count();
    }
    EXPECT_GT(compacted_batch_count, 0U);
    EXPECT_GT(dropped_row_count, 0U);
    EXPECT_GT(removed_row_count, 0U);
    EXPECT_GT(summary_count, 0U);
    EXPECT_GT(map_count, 0U);
}

// Of its logs only the last was left, and that began with a torn record.
TEST(Crash, OpensALogThatBeginsWithATornRecord) {
    EXPECT_EQ(CrashRun(34, Breakage::kNone, false).run(kCrashesPerRun), "");
}

// Whether some run reports these words; its first report depends on when the store flushes, too.
testing::AssertionResult is_noticed(Breakage breakage, const std::string& words) {
    std::string others;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const std::string wrong = CrashRun(seed, breakage).run(kCrashesPerRun);
        if (wrong.find(words) != wrong.npos) {
            return testing::AssertionSuccess();
        }
        others += wrong + "\n";
    }
    return testing::AssertionFailure() << others;
}

TEST(Crash, NoticesAnAcknowledgementBeforeTheSync) {
    EXPECT_TRUE(is_noticed(Breakage::kAckBeforeSync, "was promised and is lost"));
}

TEST(Crash, NoticesAKeyWithoutSeq) { EXPECT_TRUE(is_noticed(Breakage::kKeyWithoutSeq, " times")); }

TEST(Crash, NoticesAWatermarkBeforeItsRows) {
    EXPECT_TRUE(is_noticed(Breakage::kWatermarkBeforeRows, "was promised and is lost"));
}

}  // namespace
}  // namespace perfleet::crash_test
