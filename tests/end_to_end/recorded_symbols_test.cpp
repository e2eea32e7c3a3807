// A recorded session keeps its names when its files are rebuilt or removed: recordings with the real programs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::recorded_symbols_test {
namespace {

std::string build_id_of(const std::string& path) { return std::string{(*ElfFile::open(path))->build_id()}; }

std::string bytes_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

// The files whose symbols aren't kept, as `record` reports.
int files_left_out(const std::string& says) {
    constexpr std::string_view kBefore = "the symbols of ";
    const std::size_t at = says.find(kBefore);
    return at == std::string::npos ? 0 : std::stoi(says.substr(at + kBefore.size()));
}

class RecordedSymbols : public testing::Test {
protected:
    // A program of two functions that takes so many milliseconds of CPU time: 150, or as many as its argument requests.
    void build(const std::string& function, const std::string& options = "") const {
        std::ofstream{folder_ / "program.c"}
            << "#include <stdlib.h>\n#include <time.h>\n"
            << "static inline __attribute__((always_inline)) unsigned long step(unsigned long sum, unsigned long i) {\n"
            << "    for (int k = 0; k < 8; ++k) sum = sum * 3 + i;\n    return sum;\n}\n"
            << "__attribute__((noinline)) long " << function
            << "(long n) { volatile long sum = 0; for (long i = 0; i < n; ++i) sum = step(sum, i + " << function.size()
            << "); return sum; }\n"
            << "int main(int count, char** arguments) { const clock_t end = (count > 1 ? atol(arguments[1]) : 150) * "
               "(CLOCKS_PER_SEC / 1000); long sum = 0; while (clock() < end) sum += "
            << function << "(50000); return sum == 1; }\n";
        const Finished built =
            run({"sh", "-c", "gcc -O1 " + options + " -o '" + program() + "' '" + folder_ / "program.c" + "'"});
        ASSERT_EQ(built.ending.status, 0) << built.error_output;
    }
    // Its debug information goes to a folder that represents a debuginfod server.
    void serve_and_strip() const {
        const std::string served = folder_ / ("served/buildid/" + hex_of(build_id_of(program())));
        std::filesystem::create_directories(served);
        std::filesystem::copy(program(), served + "/executable");
        const Finished split = run({"sh", "-c",
                                    "objcopy --only-keep-debug '" + program() + "' '" + served +
                                        "/debuginfo' && strip --strip-all '" + program() + "'"});
        ASSERT_EQ(split.ending.status, 0) << split.error_output;
    }
    void record(const std::vector<std::string>& options = {}, std::vector<std::string> profiled = {}) const {
        std::vector<std::string> command{
            program_path("perfleet"), "record", "--data", data(), "-e", "cpu-clock", "-F", "999"};
        command.insert(command.end(), options.begin(), options.end());
        profiled = profiled.empty() ? std::vector{program()} : std::move(profiled);
        command.emplace_back("--");
        command.insert(command.end(), profiled.begin(), profiled.end());
        const Finished recorded = run(command);
        ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
        EXPECT_EQ(recorded.error_output.find("are not kept"), std::string::npos) << recorded.error_output;
    }
    [[nodiscard]] std::string rows(std::vector<std::string> query) const {
        query.insert(query.begin(), program_path("perfleet"));
        query.insert(query.end(), {"--data", data(), "--format", "csv"});
        const Finished answer = run(query);
        EXPECT_EQ(answer.ending.status, 0) << answer.error_output;
        return answer.output;
    }
    // The first row of a session.
    [[nodiscard]] std::string top(const std::string& session = "last") const {
        const std::string all = rows({"top", "--session", session, "--limit", "1"});
        const std::string row = all.substr(all.find('\n') + 1);
        return row.substr(0, row.find(','));
    }
    [[nodiscard]] Finished symbols(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {program_path("perfleet"), "symbols"});
        arguments.insert(arguments.end(), {"--data", data()});
        return run(arguments);
    }
    [[nodiscard]] std::string program() const { return folder_ / "program"; }
    [[nodiscard]] std::string data() const { return folder_ / "data"; }

    TemporaryFolder folder_;
};

TEST_F(RecordedSymbols, StayWhenTheProgramIsRebuiltAndRemoved) {
    for (const char* options : {"", "-Wl,--build-id=none"}) {
        build("first_function", options);
        record();
        EXPECT_EQ(top(), "first_function");
        std::filesystem::remove(program());
        build("another_function", options);
        EXPECT_EQ(top(), "first_function") << options;
        record();
        EXPECT_EQ(top(), "another_function") << options;
        EXPECT_EQ(top("last~1"), "first_function") << options;
        std::filesystem::remove(program());
        EXPECT_EQ(top(), "another_function") << options;
        EXPECT_EQ(top("last~1"), "first_function") << options;
    }
}

TEST_F(RecordedSymbols, ArentKeptWhereNobodyWantsThem) {
    build("first_function");
    record({"--no-keep-symbols"});
    EXPECT_EQ(top(), "first_function");
    std::filesystem::remove(program());
    EXPECT_EQ(top(), "[program]");
}

// 300 builds of one program, which differ in build-id and in one name.
TEST_F(RecordedSymbols, OfManyBuildsStayApart) {
    constexpr int kBuilds = 300;
    build("function_of_000");
    const std::string build_id = build_id_of(program());
    std::string bytes = bytes_of(program());
    const std::size_t id_at = bytes.find(build_id);
    ASSERT_NE(id_at, std::string::npos);
    std::filesystem::create_directory(folder_ / "builds");
    const auto name_of = [](int number) {
        std::string digits = std::to_string(number);
        return "function_of_" + std::string(3 - digits.size(), '0') + digits;
    };
    for (int i = 0; i < kBuilds; ++i) {
        std::string one = bytes;
        for (std::size_t at = one.find("function_of_"); at != std::string::npos;
             at = one.find("function_of_", at + 1)) {
            one.replace(at, name_of(i).size(), name_of(i));
        }
        one[id_at] = static_cast<char>(i % 256);
        one[id_at + 1] = static_cast<char>(i / 256);
        const std::string path = folder_ / ("builds/program" + std::to_string(i));
        std::ofstream{path, std::ios::binary} << one;
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    // All are gone when they are queried. They begin with pauses: of more files than may wait on a busy machine
    // (SymbolKeeper::kFilesOpenMax) the last are left out.
    const std::string script = "cd '" + (folder_ / "builds") + "'; i=0; while [ $i -lt " + std::to_string(kBuilds) +
                               " ]; do ./program$i 10; sleep 0.05; i=$((i+1)); done; sleep 1; rm program*; exit 0";
    const Finished recorded = run({program_path("perfleet"), "record", "--data", data(), "-e", "cpu-clock", "-F", "999",
                                   "--exit-wait", "200", "--", "sh", "-c", script});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const Finished top =
        run({program_path("perfleet"), "top", "--data", data(), "--by", "image,symbol", "--format", "csv"});
    // A program may have a row in its libraries or in main() alone, if starting it took its time.
    int named_count = 0;
    int unnamed_count = 0;
    for (int i = 0; i < kBuilds; ++i) {
        const std::string image = ",program" + std::to_string(i) + ",";
        for (std::size_t at = top.output.find(image); at != std::string::npos; at = top.output.find(image, at + 1)) {
            const std::size_t begin = top.output.rfind('\n', at) + 1;
            const std::string symbol = top.output.substr(begin, at - begin);
            if (symbol.starts_with("function_of_")) {
                EXPECT_EQ(symbol, name_of(i));
                ++named_count;
            }
            unnamed_count += symbol.starts_with('[') ? 1 : 0;
        }
    }
    EXPECT_GT(named_count, kBuilds * 9 / 10);
    EXPECT_LE(unnamed_count, files_left_out(recorded.error_output)) << recorded.error_output;
}

class RecordedDebugFile : public RecordedSymbols, public testing::WithParamInterface<const char*> {};

// Statically linked it has no .dynsym either.
INSTANTIATE_TEST_SUITE_P(, RecordedDebugFile, testing::Values("", "-static"));

TEST_P(RecordedDebugFile, NamesAStrippedProgram) {
    build("first_function", GetParam());
    const std::string link = folder_ / "program.debug";
    const Finished split = run({"sh", "-c",
                                "cd '" + folder_.path().string() +
                                    "' && objcopy --only-keep-debug program program.debug && strip "
                                    "--strip-all program && objcopy --add-gnu-debuglink=program.debug program"});
    ASSERT_EQ(split.ending.status, 0) << split.error_output;
    record();
    std::filesystem::remove(program());
    std::filesystem::remove(link);
    EXPECT_EQ(top(), "first_function");
}

TEST_F(RecordedSymbols, OfAProgramInAMountNamespaceThatIsGone) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root";
    }
    build("first_function");
    const std::string place = folder_ / "mount";
    std::filesystem::create_directory(place);
    const std::string script = "mount -t tmpfs none '" + place + "' && cp '" + program() + "' '" + place +
                               "/hidden' && rm '" + program() + "' && exec '" + place + "/hidden' 600";
    const Finished recorded = run({program_path("perfleet"), "record", "--data", data(), "-e", "cpu-clock", "-F", "999",
                                   "--", "unshare", "-m", "sh", "-c", script});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    EXPECT_TRUE(std::filesystem::is_empty(place));
    EXPECT_EQ(top(), "first_function");
}

TEST_F(RecordedSymbols, OfAProgramThatIsRemovedWhileItRuns) {
    build("first_function");
    record({}, {"sh", "-c", "'" + program() + "' 600 & sleep 0.1; rm '" + program() + "'; wait"});
    build("another_function");
    EXPECT_EQ(top(), "first_function");
}

TEST_F(RecordedSymbols, OfAProgramInAnotherRoot) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root";
    }
    build("first_function", "-static");
    const std::string root = folder_ / "root";
    std::filesystem::create_directory(root);
    std::filesystem::rename(program(), root + "/program");
    record({}, {"chroot", root, "/program", "600"});
    std::filesystem::remove_all(root);
    EXPECT_EQ(top(), "first_function");
}

TEST_F(RecordedSymbols, KeepTheirLinesAndInlinedFunctions) {
    const auto split = [&] {
        const Finished done = run({"sh", "-c",
                                   "cd '" + folder_.path().string() +
                                       "' && objcopy --only-keep-debug program program.debug && strip program && "
                                       "objcopy --add-gnu-debuglink=program.debug program"});
        ASSERT_EQ(done.ending.status, 0) << done.error_output;
    };
    for (const bool is_split : {false, true}) {
        build("first_function", "-O2 -g");
        if (is_split) {
            split();
        }
        record();
        const std::vector<std::string> lines{"top", "--lines", "--limit", "3"};
        const std::vector<std::string> inlines{"tree", "--inlines", "--comm", "program"};
        const std::string lines_before = rows(lines);
        const std::string inlines_before = rows(inlines);
        EXPECT_NE(lines_before.find("program.c:"), std::string::npos) << lines_before;
        EXPECT_NE(inlines_before.find("step (inlined)"), std::string::npos) << inlines_before;
        EXPECT_NE(rows({"symbols"}).find(program() + "," + hex_of(build_id_of(program())) + ",all,yes,"),
                  std::string::npos);
        std::filesystem::remove(program());
        std::filesystem::remove(program() + ".debug");
        EXPECT_EQ(rows(lines), lines_before);
        EXPECT_EQ(rows(inlines), inlines_before);
        build("another_function_altogether", "-O0 -g");
        EXPECT_EQ(rows(lines), lines_before);
        EXPECT_EQ(rows(inlines), inlines_before);
    }
}

TEST_F(RecordedSymbols, TravelToTheGatewayOnceABuild) {
    build("first_function", "-static");  // no library joins it later
    const auto collect = [&](const std::vector<std::string>& options) {
        Process gateway({program_path("perfleet-gateway"), "--data", data(), "--listen", "tcp://127.0.0.1:*", "--query",
                         "none", "--symbols", options.front()});
        const auto ready = gateway.wait_for_output("ready ");
        ASSERT_TRUE(ready.has_value()) << gateway.error_output();
        const std::string listen = ready->substr(ready->find("listen=") + 7);
        std::vector<std::string> command{program_path("perfleet-collector"),
                                         "--gateway",
                                         listen.substr(0, listen.find(' ')),
                                         "-e",
                                         "cpu-clock",
                                         "-F",
                                         "999"};
        command.insert(command.end(), options.begin() + 1, options.end());
        command.insert(command.end(), {"--", program()});
        const Finished collected = run(command);
        EXPECT_EQ(collected.ending.status, 0) << collected.error_output;
        gateway.send_signal(SIGTERM);
        (void)gateway.wait();
    };
    const auto images_stored = [&] {
        const Finished sizes =
            run({program_path("perfleet"), "inspect", "--sizes", "--data", data(), "--format", "csv"});
        const std::size_t at = sizes.output.find("(images),");
        return at == std::string::npos ? std::string{} : sizes.output.substr(at, sizes.output.find('\n', at) - at);
    };
    collect({"off"});
    EXPECT_NE(images_stored().find("(images),,0,"), std::string::npos) << images_stored();
    collect({"ask"});
    const std::string stored = images_stored();
    EXPECT_EQ(stored.find("(images),,0,"), std::string::npos) << stored;
    collect({"ask"});
    EXPECT_EQ(images_stored(), stored) << "it travels once";
    std::filesystem::remove(program());
    build("another_function");
    for (const char* session : {"last", "last~1", "last~2"}) {
        EXPECT_EQ(top(session), "first_function") << session;  // of the first session, too: it names the same build
    }
}

TEST_F(RecordedSymbols, AreListedPushedAndPruned) {
    build("first_function");
    record({"--no-keep-symbols"});
    const auto listed = [&] {
        const Finished list = symbols({"list", "--format", "csv"});
        EXPECT_EQ(list.ending.status, 0) << list.error_output;
        const std::size_t at = list.output.find(program() + ",");
        return at == std::string::npos ? std::string{} : list.output.substr(at, list.output.find('\n', at) - at);
    };
    EXPECT_NE(listed().find(",,,1"), std::string::npos) << listed();
    const Finished pushed = symbols({"push", program()});
    ASSERT_EQ(pushed.ending.status, 0) << pushed.error_output;
    EXPECT_NE(pushed.error_output.find("symbols are stored"), std::string::npos) << pushed.error_output;
    EXPECT_NE(listed().find(",all,"), std::string::npos) << listed();
    EXPECT_NE(symbols({"push", program()}).error_output.find("already"), std::string::npos);
    std::filesystem::remove(program());
    EXPECT_EQ(top(), "first_function");
    // Of another build: they stay until `prune`.
    build("another_function");
    ASSERT_EQ(symbols({"push", program()}).ending.status, 0);
    EXPECT_EQ(top(), "first_function") << "a name of another build never appears";
    EXPECT_NE(symbols({"prune"}).error_output.find(" bytes of symbols"), std::string::npos);
    EXPECT_NE(symbols({"push", "/etc/passwd"}).ending.status, 0);
}

TEST_F(RecordedSymbols, ArePushedBesideAGateway) {
    build("first_function");
    record({"--no-keep-symbols"});
    GatewayProgram gateway{data()};
    const Finished pushed = symbols({"push", program()});
    ASSERT_EQ(pushed.ending.status, 0) << pushed.error_output;
    EXPECT_NE(pushed.error_output.find("symbols are stored"), std::string::npos) << pushed.error_output;
    EXPECT_NE(symbols({"push", program()}).error_output.find("already"), std::string::npos);
    std::filesystem::remove(program());
    EXPECT_EQ(top(), "first_function");
    EXPECT_EQ(gateway.end(SIGKILL).signal, SIGKILL);
    EXPECT_EQ(top(), "first_function") << "what is said to be stored is on disk";
}

TEST_F(RecordedSymbols, AreFetchedByAGateway) {
    build("first_function");
    serve_and_strip();
    record({"--no-keep-symbols"});
    std::filesystem::remove(program());
    EXPECT_EQ(top(), "[program]");
    GatewayProgram gateway{data(),
                           "tcp://127.0.0.1:*",
                           "none",
                           program_path("perfleet-gateway"),
                           {{"DEBUGINFOD_CACHE_PATH=" + (folder_ / "cache")}, "", std::nullopt},
                           {"--debuginfod", "file://" + (folder_ / "served")}};
    for (int i = 0; i < 600 && top() != "first_function"; ++i) {
        ::usleep(100'000);
    }
    EXPECT_EQ(top(), "first_function");
    EXPECT_EQ(gateway.end(SIGTERM).status, 0) << gateway.process().error_output();
}

TEST_F(RecordedSymbols, AreFetchedFromDebuginfod) {
    build("first_function");
    const std::string build_id = build_id_of(program());
    serve_and_strip();
    record({"--no-keep-symbols"});
    std::filesystem::remove(program());
    EXPECT_EQ(top(), "[program]");
    const Finished fetched =
        run({"env", "DEBUGINFOD_CACHE_PATH=" + (folder_ / "cache"), program_path("perfleet"), "symbols", "fetch",
             "--data", data(), "--debuginfod", "file://" + (folder_ / "served"), hex_of(build_id)});
    ASSERT_EQ(fetched.ending.status, 0) << fetched.error_output;
    EXPECT_NE(fetched.error_output.find("symbols of 1 of 1"), std::string::npos) << fetched.error_output;
    EXPECT_EQ(top(), "first_function");
}

TEST_F(RecordedSymbols, OfACollectorsFileAreImported) {
    build("first_function");
    const Finished collected = run({program_path("perfleet-collector"), "--output", folder_ / "frames", "-e",
                                    "cpu-clock", "-F", "999", "--exit-wait", "200", "--", program()});
    ASSERT_EQ(collected.ending.status, 0) << collected.error_output;
    EXPECT_EQ(files_left_out(collected.error_output), 0) << collected.error_output;
    std::filesystem::remove(program());
    const Finished imported =
        run({program_path("perfleet"), "import", "--format", "frames", "--data", data(), folder_ / "frames"});
    ASSERT_EQ(imported.ending.status, 0) << imported.error_output;
    EXPECT_EQ(top(), "first_function");
}

}  // namespace
}  // namespace perfleet::end_to_end::recorded_symbols_test
