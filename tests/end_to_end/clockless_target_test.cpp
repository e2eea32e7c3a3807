// Targets without the time of day, by their whole collector and the real gateway: their rows lie in the seconds of
// their run, and sessions are found by their arrival.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "schemas/host/host_clock.h"
#include "schemas/vocabulary/time.h"
#include "storage/select/matcher.h"
#include "storage/store/open_store.h"
#include "target-collector/wire/testing/held_address.h"
#include "target-collector/wire/testing/socket_stream.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/sampled_target.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::clockless_target_test {
namespace {

using nlohmann::json;

std::string text_of_time(std::int64_t utc_s) {
    const auto time = static_cast<std::time_t>(utc_s);
    char text[32];
    struct tm parts {};
    EXPECT_NE(std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&time, &parts)), 0U);
    return text;
}

// A board whose clock stands at `unset` when its session begins.
struct BoardRun {
    SessionId session;
    UtcNs unset;
    std::uint64_t rows = 0;
    std::int64_t first_s = 0;  // UTC between which it lay
    std::int64_t last_s = 0;
};

class ClocklessRuns : public testing::Test {
protected:
    static std::int64_t utc_s() { return utc_now().value / kNsPerSecond; }

    // Rows from before a gateway is there, then of two gateways, of which the first is killed.
    void run(BoardRun& run) {
        const HeldAddress address;
        run.first_s = utc_s();
        SmallTarget target = small_target(run.session);
        target.start_point.utc_ns = run.unset;
        SocketStream stream{address.endpoint()};
        SampledTarget sampled{stream, target};
        sampled.run_until([&] {
            sampled.sample();
            return sampled.collector->status().batches_kept >= 5;
        });
        for (const int signal : {SIGKILL, SIGTERM}) {
            GatewayProgram gateway{data_, address.endpoint()};
            sampled.sample_until_acknowledged(10);
            if (signal == SIGTERM) {
                sampled.finish();
            }
            (void)gateway.end(signal);
        }
        run.rows = sampled.rows;
        run.last_s = utc_s() + 1;
    }

    [[nodiscard]] std::vector<std::string> sessions_named(const std::vector<std::string>& more) const {
        std::vector<std::string> words{"sessions", "--data", data_};
        words.insert(words.end(), more.begin(), more.end());
        std::vector<std::string> names;
        for (const json& row : rows_of(perfleet_json(words))) {
            names.push_back(row.at("session"));
        }
        return names;
    }

    const TemporaryFolder folder_;
    const std::string data_ = folder_ / "data";
};

class ClocklessTarget : public ClocklessRuns, public testing::WithParamInterface<std::int64_t> {};

// 1970, as a counter shows that starts with the power; 2000, as many clocks without a battery do.
INSTANTIATE_TEST_SUITE_P(ClocklessTarget, ClocklessTarget, testing::Values(0, 3, 946'684'800, 1'600'000'000));

TEST_P(ClocklessTarget, ItsRowsLieInTheSecondsOfItsRun) {
    BoardRun one{SessionId{0x5a, 0x31}, UtcNs{GetParam() * kNsPerSecond}};
    run(one);
    const auto rows_between = [&](const std::string& from, const std::string& until) {
        const json answer = perfleet_json({"top", "--data", data_, "--from", from, "--until", until});
        expect_ledger_adds_up(answer);
        std::uint64_t rows = 0;
        for (const json& row : rows_of(answer)) {
            rows += row.at("self_samples").get<std::uint64_t>();
        }
        return rows;
    };
    const auto ledgers = ledgers_of(data_);
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    const StoredLedger::Counts counts = ledgers.front().series.at(kSamples);
    EXPECT_EQ(counts.produced, one.rows);
    EXPECT_EQ(rows_between(text_of_time(one.first_s), text_of_time(one.last_s)), counts.stored);
    EXPECT_EQ(rows_between("-1h", "now"), counts.stored);
    EXPECT_EQ(rows_between("1970-01-01T00:00:00Z", text_of_time(one.first_s)), 0U);
    EXPECT_EQ(sessions_named({"--from", "-1h"}).size(), 1U);

    const auto reader = open_store_reader(data_);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    const SessionRecord session = (*reader)->all_sessions()->at(0);
    EXPECT_GE(session.start_point.utc_ns.value, one.first_s * kNsPerSecond);
    EXPECT_LE(session.start_point.utc_ns.value, one.last_s * kNsPerSecond);
    EXPECT_LE(ledgers.front().end->end_point.utc_ns.value, one.last_s * kNsPerSecond);
    const auto partitions = (*reader)->partitions();
    for (const Partition& partition : *partitions) {
        EXPECT_GE(partition.bucket, bucket_of(UtcNs{one.first_s * kNsPerSecond}));
    }
    (void)perfleet({"inspect", "--verify", "--data", data_});
}

TEST_F(ClocklessRuns, TheLastSessionIsTheOneThatCameLast) {
    // By id the first would be the last.
    BoardRun runs[] = {{SessionId{0xff, 1}, UtcNs{500 * kNsPerSecond}}, {SessionId{0x5a, 1}, UtcNs{3 * kNsPerSecond}}};
    for (BoardRun& one : runs) {
        run(one);
    }
    EXPECT_EQ(sessions_named({}), sessions_named({"--from", "-1h"}));
    EXPECT_EQ(sessions_named({"--session", "last"}), std::vector<std::string>{session_hex(runs[1].session)});
    EXPECT_EQ(sessions_named({"--session", "last~1"}), std::vector<std::string>{session_hex(runs[0].session)});
    EXPECT_EQ(sessions_named({}).back(), session_hex(runs[1].session));
}

}  // namespace
}  // namespace perfleet::end_to_end::clockless_target_test
