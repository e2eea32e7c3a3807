// What a session saw keeps its names when its files are rebuilt or removed: recordings with the real programs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbol_files.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/wire/protocol.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/stores.h"
#include "target-collector/source/linux/symbol_part.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::kept_symbols_test {
namespace {

std::string packed(const std::string& bytes) {
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
    return frame;
}

std::string part_of(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const auto part = symbol_part_of_file(fd, std::filesystem::file_size(path));
    ::close(fd);
    EXPECT_TRUE(part.ok()) << path << ": " << (part.ok() ? "" : part.error().message);
    return part.ok() ? part->bytes : std::string{};
}

ImageDefinition image_of(const std::string& path) {
    ImageDefinition image;
    image.flags = image_flags::kFileOffset;
    image.name = path;
    image.build_id = (*ElfFile::open(path))->build_id();
    return image;
}

SymbolPaths no_debug_files() {
    SymbolPaths paths;
    paths.debug_folders.clear();
    paths.build_id_cache.clear();
    paths.uses_debuginfod = false;
    return paths;
}

std::string bytes_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

constexpr auto kType = static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols);

TEST(KeptSymbols, AreThoseOfTheWholeFile) {
    for (const std::string& path :
         {std::string{std::filesystem::read_symlink("/proc/self/exe")}, std::string{"/lib/x86_64-linux-gnu/libc.so.6"},
          program_path("perfleet"), std::string{"/bin/ls"}}) {
        if (!std::filesystem::exists(path) || !ElfFile::open(path).ok()) {
            continue;
        }
        const std::string part = part_of(path);
        EXPECT_LT(part.size(), std::filesystem::file_size(path));
        ImageDefinition image = image_of(path);
        const auto store = make_memory_store();
        ASSERT_TRUE(store->put_image(image.build_id, {kType, packed(part)}).ok());
        Symbolizer whole{nullptr, no_debug_files()};
        Symbolizer kept{store.get(), no_debug_files()};
        ImageDefinition gone = image;
        gone.name = "/nowhere/" + std::filesystem::path{path}.filename().string();
        std::size_t named_count = 0;
        for (std::uint64_t offset = 0; offset < std::filesystem::file_size(path); offset += 997) {
            const Symbol symbol = whole.resolve(image, offset);
            named_count += symbol.resolved ? 1 : 0;
            ASSERT_EQ(kept.resolve(gone, offset).name, symbol.name) << path << " " << offset;
        }
        EXPECT_GT(named_count, 0U) << path;
        EXPECT_TRUE(kept.warnings().empty()) << kept.warnings().front();
    }
}

TEST(KeptSymbols, ThatAreDamagedOrOfAnotherBuildGiveWayToTheFile) {
    const std::string path = std::filesystem::read_symlink("/proc/self/exe");
    const ImageDefinition image = image_of(path);
    const Symbol expected = [&] {
        Symbolizer whole{nullptr, no_debug_files()};
        for (std::uint64_t offset = std::filesystem::file_size(path) / 8;; offset += 64) {
            if (Symbol symbol = whole.resolve(image, offset); symbol.resolved) {
                return symbol;
            }
        }
    }();
    const std::string part = part_of(path);
    std::string cut = packed(part);
    cut.resize(cut.size() / 2);
    std::string other = part;
    const std::size_t at = other.find(image.build_id);
    ASSERT_NE(at, std::string::npos);
    other[at] = static_cast<char>(other[at] + 1);
    for (const auto& [content, told] : {std::pair{std::string{"no zstd frame"}, "damaged"},
                                        {cut, "damaged"},
                                        {packed("no ELF file"), "not an ELF"},
                                        {packed(other), "another build-id"}}) {
        const auto store = make_memory_store();
        ASSERT_TRUE(store->put_image(image.build_id, {kType, content}).ok());
        Symbolizer symbolizer{store.get(), no_debug_files()};
        EXPECT_EQ(symbolizer.resolve(image, expected.first).name, expected.name);
        EXPECT_TRUE(symbolizer.warnings().empty()) << "the file is there";
        ImageDefinition gone = image;
        gone.name = "/nowhere/program";
        EXPECT_FALSE(symbolizer.resolve(gone, expected.first).resolved);
        const std::vector<std::string> warnings = symbolizer.warnings();
        EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [&, &text = told](const std::string& warning) {
            return warning.find(text) != std::string::npos;
        })) << told;
    }
}

TEST(KeptSymbols, OfALieAboutTheirSizeTakeNoMemory) {
    std::string frame = packed(std::string(200'000, 'x'));
    frame.replace(5, 4, "\xff\xff\xff\xff");  // the content's size, behind magic and descriptor
    ImageDefinition image;
    image.name = "/nowhere/a";
    image.build_id = std::string(20, 'b');
    const auto store = make_memory_store();
    ASSERT_TRUE(store->put_image(image.build_id, {kType, frame}).ok());
    Symbolizer symbolizer{store.get(), no_debug_files()};
    EXPECT_FALSE(symbolizer.resolve(image, 1).resolved);
    EXPECT_FALSE(symbolizer.warnings().empty());
}

class RecordedSymbols : public testing::Test {
protected:
    // A program of two functions that takes so many milliseconds of CPU time: 150, or as many as its argument says.
    void build(const std::string& function, const std::string& options = "") const {
        std::ofstream{folder_ / "program.c"}
            << "#include <stdlib.h>\n#include <time.h>\n"
            << "__attribute__((noinline)) long " << function
            << "(long n) { volatile long sum = 0; for (long i = 0; i < n; ++i) sum += i * " << function.size()
            << "; return sum; }\n"
            << "int main(int count, char** arguments) { const clock_t end = (count > 1 ? atol(arguments[1]) : 150) * "
               "(CLOCKS_PER_SEC / 1000); long sum = 0; while (clock() < end) sum += "
            << function << "(500000); return sum == 1; }\n";
        const Finished built =
            run({"sh", "-c", "gcc -O1 " + options + " -o '" + program() + "' '" + folder_ / "program.c" + "'"});
        ASSERT_EQ(built.ending.status, 0) << built.error_output;
    }
    void record(const std::vector<std::string>& options = {}) const {
        std::vector<std::string> command{
            program_path("perfleet"), "record", "--data", data(), "-e", "cpu-clock", "-F", "999"};
        command.insert(command.end(), options.begin(), options.end());
        command.insert(command.end(), {"--", program()});
        const Finished recorded = run(command);
        ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
        EXPECT_EQ(recorded.error_output.find("are not kept"), std::string::npos) << recorded.error_output;
    }
    // The first row of a session.
    [[nodiscard]] std::string top(const std::string& session = "last") const {
        const Finished top = run({program_path("perfleet"), "top", "--data", data(), "--session", session, "--format",
                                  "csv", "--limit", "1"});
        EXPECT_EQ(top.ending.status, 0) << top.error_output;
        const std::string row = top.output.substr(top.output.find('\n') + 1);
        return row.substr(0, row.find(','));
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
    const std::string build_id = image_of(program()).build_id;
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
    // All are gone when they are asked about.
    const std::string script = "cd '" + (folder_ / "builds") + "'; i=0; while [ $i -lt " + std::to_string(kBuilds) +
                               " ]; do ./program$i 10; i=$((i+1)); done; sleep 1; rm program*; exit 0";
    const Finished recorded = run({program_path("perfleet"), "record", "--data", data(), "-e", "cpu-clock", "-F", "999",
                                   "--", "sh", "-c", script});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const Finished top =
        run({program_path("perfleet"), "top", "--data", data(), "--by", "image,symbol", "--format", "csv"});
    int seen_count = 0;
    for (int i = 0; i < kBuilds; ++i) {
        const std::string image = "program" + std::to_string(i) + ",";
        if (top.output.find("," + image) == std::string::npos) {
            continue;  // the machine was too busy for a sample in it
        }
        ++seen_count;
        EXPECT_NE(top.output.find(name_of(i) + "," + image), std::string::npos) << i;
    }
    EXPECT_GT(seen_count, kBuilds * 9 / 10);
}

TEST_F(RecordedSymbols, ComeFromTheSeparateDebugFile) {
    build("first_function");
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
                               "/hidden' && rm '" + program() + "' && exec '" + place + "/hidden' 2000";
    const Finished recorded = run({program_path("perfleet"), "record", "--data", data(), "-e", "cpu-clock", "-F", "999",
                                   "--", "unshare", "-m", "sh", "-c", script});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    EXPECT_TRUE(std::filesystem::is_empty(place));
    EXPECT_EQ(top(), "first_function");
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
    const auto symbols = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {program_path("perfleet"), "symbols"});
        arguments.insert(arguments.end(), {"--data", data()});
        return run(arguments);
    };
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
    // Of another build: they stay until somebody prunes.
    build("another_function");
    ASSERT_EQ(symbols({"push", program()}).ending.status, 0);
    EXPECT_EQ(top(), "first_function") << "a name of another build never appears";
    EXPECT_NE(symbols({"prune"}).error_output.find(" bytes of symbols"), std::string::npos);
    EXPECT_NE(symbols({"push", "/etc/passwd"}).ending.status, 0);
}

TEST_F(RecordedSymbols, AreFetchedFromDebuginfod) {
    build("first_function");
    const std::string build_id = image_of(program()).build_id;
    const std::string served = folder_ / ("served/buildid/" + build_id_text(build_id));
    std::filesystem::create_directories(served);
    std::filesystem::copy(program(), served + "/executable");
    const Finished split = run({"sh", "-c",
                                "objcopy --only-keep-debug '" + program() + "' '" + served +
                                    "/debuginfo' && strip --strip-all '" + program() + "'"});
    ASSERT_EQ(split.ending.status, 0) << split.error_output;
    record({"--no-keep-symbols"});
    std::filesystem::remove(program());
    EXPECT_EQ(top(), "[program]");
    const Finished fetched =
        run({"env", "DEBUGINFOD_CACHE_PATH=" + (folder_ / "cache"), program_path("perfleet"), "symbols", "fetch",
             "--data", data(), "--debuginfod", "file://" + (folder_ / "served"), build_id_text(build_id)});
    ASSERT_EQ(fetched.ending.status, 0) << fetched.error_output;
    EXPECT_NE(fetched.error_output.find("symbols of 1 of 1"), std::string::npos) << fetched.error_output;
    EXPECT_EQ(top(), "first_function");
}

TEST_F(RecordedSymbols, OfACollectorsFileAreImported) {
    build("first_function");
    const Finished collected = run({program_path("perfleet-collector"), "--output", folder_ / "frames", "-e",
                                    "cpu-clock", "-F", "999", "--", program()});
    ASSERT_EQ(collected.ending.status, 0) << collected.error_output;
    std::filesystem::remove(program());
    const Finished imported =
        run({program_path("perfleet"), "import", "--format", "frames", "--data", data(), folder_ / "frames"});
    ASSERT_EQ(imported.ending.status, 0) << imported.error_output;
    EXPECT_EQ(top(), "first_function");
}

}  // namespace
}  // namespace perfleet::end_to_end::kept_symbols_test
