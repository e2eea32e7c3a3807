// `perfleet import` into a store without a writer, beside a process that records there, and through a gateway: the
// results are the same.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::import_program_test {
namespace {

std::string bytes_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

class ImportProgram : public testing::Test {
protected:
    // A recording of the real perf with call chains, fields that perfleet doesn't have, tracepoints with their bytes,
    // and symbols; and its samples as a profile of pprof.
    void SetUp() override {
        if (run({"sh", "-c", "command -v perf"}).ending.status != 0) {
            GTEST_SKIP() << "perf is not installed";
        }
        const Finished recorded =
            run({"perf", "record", "-q", "-o", perf_data_, "-F", "4999", "-g", "-d", "--phys-data", "-e", "cpu-clock",
                 "-e", "sched:sched_process_exec", "--", "sh", "-c",
                 "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; ls /usr/lib >/dev/null"});
        if (recorded.ending.status != 0) {
            GTEST_SKIP() << "perf can't record here: " << recorded.error_output;
        }
        (void)perfleet({"export", "-i", perf_data_, "--event", "cpu-clock", "--to", "pprof", "-o", pprof_});
    }

    [[nodiscard]] Finished import(const std::string& file, const std::vector<std::string>& where) const {
        std::vector<std::string> command{program_path("perfleet"), "import", file};
        command.insert(command.end(), where.begin(), where.end());
        return run(command);
    }

    // What the session that `imported` (its output) names exports.
    [[nodiscard]] std::string exported(const std::string& data, const std::string& imported,
                                       const std::string& format) const {
        const std::string session = imported.substr(imported.find("session ") + 8, 32);
        const std::string file = folder_ / "exported";
        (void)perfleet({"export", "--data", data, "--session", session, "--to", format, "-o", file, "--force"});
        std::string bytes = bytes_of(file);
        EXPECT_FALSE(bytes.empty());
        return bytes;
    }

    void expect_as_imported_into_a_folder(const std::string& file, const std::string& data, const Finished& imported,
                                          const std::string& format) const {
        ASSERT_EQ(imported.ending.status, 0) << imported.error_output;
        const Finished directly = import(file, {"--data", folder_ / "alone"});
        ASSERT_EQ(directly.ending.status, 0) << directly.error_output;
        if (imported.output.find("was there already") == std::string::npos) {
            EXPECT_EQ(imported.output, directly.output);
        }
        EXPECT_TRUE(exported(data, imported.output, format) == exported(folder_ / "alone", directly.output, format))
            << format;
    }

    TemporaryFolder folder_;
    std::string perf_data_ = folder_ / "perf.data";
    std::string pprof_ = folder_ / "profile.pb.gz";
};

TEST_F(ImportProgram, ThroughAGatewayIsAsIntoAFolder) {
    const std::string data = folder_ / "data";
    GatewayProgram gateway{data};
    expect_as_imported_into_a_folder(perf_data_, data, import(perf_data_, {"--gateway", gateway.listen()}),
                                     "perf.data");
    expect_as_imported_into_a_folder(pprof_, data, import(pprof_, {"--gateway", gateway.listen()}), "pprof");
    // It is stored once, also if the gateway knows it only from its store.
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    GatewayProgram next{data};
    const Finished again = import(perf_data_, {"--gateway", next.listen()});
    EXPECT_NE(again.output.find("was there already"), std::string::npos) << again.output << again.error_output;
    expect_as_imported_into_a_folder(perf_data_, data, again, "perf.data");
    EXPECT_EQ(next.end(SIGTERM).status, 0);
    for (const StoredLedger& ledger : ledgers_of(data)) {
        EXPECT_TRUE(ledger.end.has_value());
        ledger.expect_exact();
    }
}

TEST_F(ImportProgram, WithAKeyItIsOfTheKeysTarget) {
    TestKeys keys;
    keys.enrol("board-7");
    const std::string data = folder_ / "data";
    const GatewayProgram gateway{data,   "tcp://127.0.0.1:*",
                                 "none", program_path("perfleet-gateway"),
                                 {},     {"--key", keys.secret("gateway"), "--collectors", keys.folder()}};
    const std::vector<std::string> where{"--gateway",     gateway.listen(),   "--key", keys.secret("board-7"),
                                         "--gateway-key", keys.pub("gateway")};
    const Finished imported = import(perf_data_, where);
    ASSERT_EQ(imported.ending.status, 0) << imported.error_output;
    EXPECT_NE(imported.output.find(" of board-7: "), std::string::npos) << imported.output;
    std::vector<std::string> as_another = where;
    as_another.insert(as_another.end(), {"--target", "board-8"});
    const Finished refused = import(perf_data_, as_another);
    EXPECT_EQ(refused.ending.status, 1);
    EXPECT_NE(refused.error_output.find("the key isn't enrolled with this --target"), std::string::npos)
        << refused.error_output;
}

TEST_F(ImportProgram, BesideARecordingInTheSameFolder) {
    const std::string data = folder_ / "data";
    Process recorder{{program_path("perfleet"), "record", "--data", data, "-e", "cpu-clock", "--", "sh", "-c",
                      "echo started; until [ -e '" + folder_ / "go" + "' ]; do sleep 0.02; done"}};
    ASSERT_TRUE(recorder.wait_for_output("started").has_value()) << recorder.error_output();
    const Finished imported = import(perf_data_, {"--data", data});
    const Finished numbers = run({"sh", "-c",
                                  "seq 100 | '" + program_path("perfleet") +
                                      "' import - --format columns --event e --target t --data '" + data + "'"});
    EXPECT_EQ(numbers.ending.status, 0) << numbers.error_output;
    EXPECT_NE(numbers.output.find(": 100 rows of 1 series"), std::string::npos) << numbers.output;
    std::ofstream{folder_ / "go"} << "go";
    const auto ending = recorder.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0) << recorder.error_output();
    expect_as_imported_into_a_folder(perf_data_, data, imported, "perf.data");
    const auto ledgers = ledgers_of(data);
    EXPECT_EQ(ledgers.size(), 3U);
    for (const StoredLedger& ledger : ledgers) {
        EXPECT_TRUE(ledger.end.has_value());
        ledger.expect_exact();
    }
}

TEST_F(ImportProgram, FramesGoIntoAStoreAlone) {
    const Finished refused =
        import(perf_data_, {"--format", "frames", "--gateway", "ipc://" + (folder_ / "nobody.sock")});
    EXPECT_EQ(refused.ending.status, 2);
    EXPECT_NE(refused.error_output.find("not through a gateway"), std::string::npos) << refused.error_output;
}

TEST(BenchmarkImportProgram, RecognisesResultsFromFilesAndPipes) {
    const TemporaryFolder folder;
    const std::string data = folder / "store";
    std::string lines = "goos: linux\n";
    for (int i = 0; i < 4; ++i) {
        lines += "BenchmarkX-8  100  " + std::to_string(50 + i) + ".5 ns/op\n";
    }
    std::ofstream{folder / "old.txt"} << lines;
    const Finished imported = run({program_path("perfleet"), "import", "--data", data, folder / "old.txt"});
    EXPECT_TRUE(
        imported.output.starts_with("4 repetitions, stored; compare them with: perfleet diff --before "
                                    "'{file=\"old.txt\"}'"))
        << imported.output << imported.error_output;
    // A pipe brings the first line alone.
    const Finished piped =
        run({"sh", "-c",
             "{ echo 'goos: linux'; sleep 0.2; sed 's/ 5/ 7/' '" + folder / "old.txt" + "'; } | '" +
                 program_path("perfleet") + "' import --data '" + data + "' --label file=new.txt -"});
    EXPECT_EQ(piped.ending.status, 0) << piped.error_output;
    const Finished compared = run({program_path("perfleet"), "diff", "--data", data, "--before", "{file=\"old.txt\"}",
                                   "--after", "{file=\"new.txt\"}"});
    EXPECT_NE(compared.output.find("  BenchmarkX-8  52.000 ns  72.000 ns"), std::string::npos) << compared.output;
    EXPECT_NE(compared.output.find("0.0286  slower"), std::string::npos) << compared.output;
    const Finished refused = run({"sh", "-c", "echo no results | '" + program_path("perfleet") + "' import -"});
    EXPECT_NE(refused.ending.status, 0);
}

// The article's table of funclatency, whose longest bar has 20 stars.
TEST(ImportedHistogram, BarsOfTwentyStarsAreThoseOfTheArticle) {
    const TemporaryFolder folder;
    const std::string data = folder / "store";
    const Finished imported =
        run({"sh", "-c",
             "{ yes 300 | head -3; echo 512; yes 2047 | head -2; yes 2048 | head -13; yes 8191 | head -42; } | '" +
                 program_path("perfleet") + "' import --data '" + data + "' --format columns --unit nsecs -"});
    ASSERT_EQ(imported.ending.status, 0) << imported.error_output;
    const auto bars = [&](const std::string& kind, const std::string& width) {
        return run({program_path("perfleet"), "latency", "--data", data, "--histogram", kind, "--bar-width", width});
    };
    EXPECT_NE(bars("log2", "20")
                  .output.find("                   nsecs     : count    distribution\n"
                               "         256 -> 511          : 3        |*                   |\n"
                               "         512 -> 1023         : 1        |                    |\n"
                               "        1024 -> 2047         : 2        |*                   |\n"
                               "        2048 -> 4095         : 13       |******              |\n"
                               "        4096 -> 8191         : 42       |********************|\n"),
              std::string::npos)
        << bars("log2", "20").output << bars("log2", "20").error_output;
    EXPECT_NE(bars("linear", "7").output.find("|*******|\n"), std::string::npos);
    EXPECT_EQ(bars("cumulative", "20").ending.status, 2);
    EXPECT_EQ(bars("log2", "0").ending.status, 2);
}

}  // namespace
}  // namespace perfleet::end_to_end::import_program_test
