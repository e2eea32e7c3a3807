// What a session saw keeps its names when its files are rebuilt or removed: recordings with the real programs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "query-engine/symbol/elf_file.h"
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
    return part.ok() ? *part : std::string{};
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
    // A program of two functions that takes a while.
    void build(const std::string& function, const std::string& options = "") const {
        std::ofstream{folder_ / "program.c"}
            << "__attribute__((noinline)) long " << function
            << "(long n) { volatile long sum = 0; for (long i = 0; i < n; ++i) sum += i * " << function.size()
            << "; return sum; }\n"
            << "int main(void) { long sum = 0; for (int i = 0; i < 60; ++i) sum += " << function
            << "(2000000); return sum == 1; }\n";
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

TEST_F(RecordedSymbols, OfACollectorsFileAreImported) {
    build("first_function");
    const Finished collected = run({program_path("perfleet-collector"), "--keep-symbols", "--output",
                                    folder_ / "frames", "-e", "cpu-clock", "-F", "999", "--", program()});
    ASSERT_EQ(collected.ending.status, 0) << collected.error_output;
    std::filesystem::remove(program());
    const Finished imported =
        run({program_path("perfleet"), "import", "--format", "frames", "--data", data(), folder_ / "frames"});
    ASSERT_EQ(imported.ending.status, 0) << imported.error_output;
    EXPECT_EQ(top(), "first_function");
}

}  // namespace
}  // namespace perfleet::end_to_end::kept_symbols_test
