// chaos_check: the verdict on one store, or the dropping of all its partitions.
//
//   chaos_check --data DIR [--log FILE]… [--spooled FILE]… [--power-lost FILE]… [--impostor FILE]…
//               [--traced TARGET=FOLDER]… [--dropped BUCKET]…
//       prints what is wrong, a line each, and last `stored=N expired=N`: rows of all sessions, definitions not
//       counted; exit status 1 when something is wrong, 2 when the store or a log can't be read
//   chaos_check --data DIR --drop
//       drops every partition, and prints their buckets
//   chaos_check --data DIR --go-on
//       puts each stored batch once more, which must change nothing, and compacts all that can be compacted; prints
//       what is wrong, exit status 1
//   With --faulty the last two work on the disk of perfleet-gateway-faulty.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <vector>

#include "schemas/peers/key_file.h"
#include "storage/engine/testing/faulty_disk.h"
#include "storage/store/open_store.h"
#include "tests/chaos/source_log.h"
#include "tests/chaos/stored_session.h"
#include "tests/chaos/traced_log.h"
#include "tests/chaos/traced_verdict.h"
#include "tests/chaos/verdict.h"

namespace perfleet::chaos {
namespace {

constexpr int kWrong = 1;
constexpr int kUnreadable = 2;

struct Arguments {
    std::string data;
    std::vector<std::string> logs;
    std::vector<std::string> spooled;
    std::vector<std::string> power_lost;
    std::vector<std::string> impostors;
    std::vector<std::string> traced;
    std::vector<std::uint32_t> dropped;
    bool drop = false;
    bool go_on = false;
    bool faulty = false;
};

int fail(const Error& error) {
    std::printf("%s\n", error.message.c_str());
    return kUnreadable;
}

int drop_all(Result<std::unique_ptr<Store>> store) {
    if (!store.ok()) {
        return fail(store.error());
    }
    const auto partitions = (*store)->partitions();
    if (!partitions.ok()) {
        return fail(partitions.error());
    }
    for (const Partition& partition : *partitions) {
        if (const auto dropped = (*store)->drop(partition); !dropped.ok()) {
            return fail(dropped.error());
        }
        std::printf("%u\n", partition.bucket.value);
    }
    return 0;
}

// Each batch of the partition's sessions, once more. Blocks aren't looked at where it is known.
Result<bool> put_again(Store& store, const Partition& partition) {
    bool is_wrong = false;
    const auto sessions = PERFLEET_TRY(store.sessions(partition));
    for (const SessionRecord& session : sessions) {
        std::vector<AdmittedBatch> batches;
        auto visited = store.visit_batches(partition, session.target, session.session, [&](const BatchRecord& record) {
            AdmittedBatch& batch = batches.emplace_back();
            batch.key = {session.target, session.session, record.seq};
            batch.record = record;
            for (const BatchRecord::Rows& rows : record.rows) {
                batch.series.push_back({rows.series, rows.row_count, rows.first_ticks, rows.last_ticks, {}});
            }
            return Visit::kContinue;
        });
        if (!visited.ok()) {
            return visited.error();
        }
        for (const AdmittedBatch& batch : batches) {
            const auto outcome = PERFLEET_TRY(store.put(partition, std::span{&batch, 1}));
            if (outcome.front() != PutOutcome::kDuplicate) {
                std::printf("%s: batch %llu is there and was taken again\n", session.target_name.c_str(),
                            static_cast<unsigned long long>(batch.key.seq.value));
                is_wrong = true;
            }
        }
    }
    return is_wrong;
}

int go_on(Result<std::unique_ptr<Store>> store) {
    constexpr std::int64_t kLongAfterAllNs = std::numeric_limits<std::int64_t>::max() / 2;
    if (!store.ok()) {
        return fail(store.error());
    }
    const auto partitions = (*store)->partitions();
    if (!partitions.ok()) {
        return fail(partitions.error());
    }
    bool is_wrong = false;
    for (const Partition& partition : *partitions) {
        const auto put = put_again(**store, partition);
        if (!put.ok()) {
            return fail(put.error());
        }
        is_wrong = *put || is_wrong;
    }
    if (const auto compacted =
            (*store)->compact(UtcNs{kLongAfterAllNs}, [](const CompactionStep&) { return Visit::kContinue; });
        !compacted.ok()) {
        return fail(compacted.error());
    }
    if (const auto synced = (*store)->sync(); !synced.ok()) {
        return fail(synced.error());
    }
    return is_wrong ? kWrong : 0;
}

class Check {
public:
    explicit Check(const Arguments& arguments) : arguments_{arguments} {
        for (const std::uint32_t bucket : arguments.dropped) {
            circumstances_.dropped_buckets.insert(BucketNumber{bucket});
        }
    }

    Result<Done> run() {
        const auto reader = PERFLEET_TRY(open_store_reader(arguments_.data));
        sessions_ = PERFLEET_TRY(scan_store(*reader));
        Circumstances spooled = circumstances_;
        spooled.has_disk_spool = true;
        Circumstances power_lost = circumstances_;
        power_lost.has_lost_power = true;
        Circumstances impostor = circumstances_;
        impostor.is_impostor = true;
        for (const auto& [paths, circumstances] :
             {std::pair{&arguments_.logs, &circumstances_}, std::pair{&arguments_.spooled, &spooled},
              std::pair{&arguments_.power_lost, &power_lost}, std::pair{&arguments_.impostors, &impostor}}) {
            for (const std::string& path : *paths) {
                PERFLEET_TRY(judge_log(path, *circumstances));
            }
        }
        for (const std::string& traced : arguments_.traced) {
            PERFLEET_TRY(judge_target(traced));
        }
        return Done{};
    }

    [[nodiscard]] bool is_wrong() const { return is_wrong_; }

    void print_totals() const {
        std::uint64_t stored = 0;
        std::uint64_t expired = 0;
        std::uint64_t compacted = 0;  // blocks
        for (const StoredSession& session : sessions_) {
            for (const StoredSession::Block& block : session.blocks) {
                stored += is_definition(block.series.kind) ? 0 : block.values.size();
                compacted += block.was_compacted ? 1 : 0;
            }
            for (const auto& [series, row_count] : session.expired) {
                expired += is_definition(series.kind) ? 0 : row_count;
            }
        }
        std::printf("stored=%llu expired=%llu compacted=%llu\n", static_cast<unsigned long long>(stored),
                    static_cast<unsigned long long>(expired), static_cast<unsigned long long>(compacted));
    }

private:
    Result<Done> judge_log(const std::string& path, const Circumstances& circumstances) {
        const auto log = PERFLEET_TRY(read_source_log(path));
        const auto stored = std::find_if(sessions_.begin(), sessions_.end(), [&](const StoredSession& session) {
            return session.session == log.session && session.target == log.target;
        });
        say(path, judge(log, stored == sessions_.end() ? nullptr : &*stored, circumstances));
        return Done{};
    }

    Result<Done> judge_target(const std::string& traced) {
        const std::size_t at = traced.find('=');
        const TargetId target = target_id_of(traced.substr(0, at));
        const auto log = PERFLEET_TRY(read_traced_log(traced.substr(at + 1)));
        std::vector<StoredSession> own;
        std::copy_if(sessions_.begin(), sessions_.end(), std::back_inserter(own),
                     [&](const StoredSession& session) { return session.target == target; });
        say(traced, judge_traced(log, own, circumstances_));
        return Done{};
    }

    void say(const std::string& whose, const std::vector<std::string>& warnings) {
        for (const std::string& warning : warnings) {
            is_wrong_ = true;
            std::printf("%s: %s\n", whose.c_str(), warning.c_str());
        }
    }

    const Arguments& arguments_;
    Circumstances circumstances_;
    std::vector<StoredSession> sessions_;
    bool is_wrong_ = false;
};

int run(int argc, char** argv) {
    Arguments arguments;
    CLI::App app{"The verdict on one store, for tests/chaos/run", "chaos_check"};
    app.add_option("--data", arguments.data)->required();
    app.add_option("--log", arguments.logs)->allow_extra_args(false);
    app.add_option("--spooled", arguments.spooled)->allow_extra_args(false);
    app.add_option("--power-lost", arguments.power_lost)->allow_extra_args(false);
    app.add_option("--impostor", arguments.impostors)->allow_extra_args(false);
    app.add_option("--traced", arguments.traced)->allow_extra_args(false);
    app.add_option("--dropped", arguments.dropped)->allow_extra_args(false);
    app.add_flag("--drop", arguments.drop);
    app.add_flag("--go-on", arguments.go_on);
    app.add_flag("--faulty", arguments.faulty);
    CLI11_PARSE(app, argc, argv);
    if (arguments.drop || arguments.go_on) {
        auto store = arguments.faulty ? open_store_on_faulty_disk(arguments.data) : open_store(arguments.data);
        return arguments.drop ? drop_all(std::move(store)) : go_on(std::move(store));
    }
    Check check{arguments};
    if (const auto done = check.run(); !done.ok()) {
        return fail(done.error());
    }
    check.print_totals();
    return check.is_wrong() ? kWrong : 0;
}

}  // namespace
}  // namespace perfleet::chaos

int main(int argc, char** argv) { return perfleet::chaos::run(argc, argv); }
