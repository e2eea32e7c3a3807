// A store's kept symbols name functions as the files themselves do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/kept_symbols.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/wire/protocol.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/stores.h"
#include "target-collector/process/symbol_part.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::kept_symbols_test {
namespace {

std::string packed(const std::string& bytes) {
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
    return frame;
}

std::string part_of(const std::string& path, PartKind kind = PartKind::kSymbols) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const auto part = symbol_part_of_file(fd, std::filesystem::file_size(path), kind);
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
        std::size_t function_count = 0;
        for (std::uint64_t offset = 0; offset < std::filesystem::file_size(path); offset += 997) {
            const Symbol symbol = whole.resolve(image, offset);
            named_count += symbol.resolved ? 1 : 0;
            const Symbol same = kept.resolve(gone, offset);
            ASSERT_EQ(same.name, symbol.name) << path << " " << offset;
            ASSERT_EQ(same.function_offset, symbol.function_offset) << path << " " << offset;
            function_count += symbol.function_offset ? 1 : 0;
        }
        EXPECT_GT(named_count, 0U) << path;
        EXPECT_EQ(function_count > 0, path == "/bin/ls" || path.ends_with("libc.so.6")) << path;
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

TEST(KeptSymbols, BecomeOneDebugFile) {
    const std::string path = std::filesystem::read_symlink("/proc/self/exe");
    const auto whole = ElfFile::open(path);
    ASSERT_TRUE(whole.ok());
    const std::string build_id{(*whole)->build_id()};
    const std::string symbols = packed(part_of(path));
    const std::string lines = packed(part_of(path, PartKind::kLines));
    for (const std::string& content : {symbols + packed("") + lines, symbols + symbols + lines}) {
        auto made = debug_file_of(content, build_id, "made");
        ASSERT_TRUE(made.ok()) << made.error().message;
        const auto debug = ElfFile::from_memory(*made, "made");
        ASSERT_TRUE(debug.ok()) << debug.error().message;
        EXPECT_EQ((*debug)->build_id(), build_id);
        for (const std::string name : {".symtab", ".strtab", ".debug_info", ".debug_line", ".debug_str"}) {
            const auto expected = (*whole)->find_section(name);
            ASSERT_TRUE(expected) << name;
            const auto section = section_of(*made, name, "made");
            ASSERT_TRUE(section.ok()) << section.error().message;
            EXPECT_EQ(section->size(), (*whole)->sections()[*expected].size_bytes) << name;
            EXPECT_TRUE(*section == (*whole)->section_bytes(*expected)) << name;
        }
        for (const std::string name : {".text", ".data", ".nothing", ""}) {
            EXPECT_EQ(section_of(*made, name, "made").error().code, ErrorCode::kNotFound) << name;
        }
    }
    EXPECT_EQ(unpacked_size_bytes(symbols + packed("") + lines),
              part_of(path).size() + part_of(path, PartKind::kLines).size());
    EXPECT_EQ(debug_file_of(symbols, build_id + "x", "made").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(debug_file_of(symbols, "", "made").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(debug_file_of("", build_id, "made").error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(debug_file_of(symbols.substr(0, symbols.size() / 2), build_id, "made").error().code, ErrorCode::kCorrupt);
    // System programs are stripped: they have only the kept symbols.
    const std::string stripped = packed(part_of("/bin/ls"));
    EXPECT_EQ(debug_file_of(stripped, (*ElfFile::open("/bin/ls"))->build_id(), "made").error().code,
              ErrorCode::kNotFound);
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

}  // namespace
}  // namespace perfleet::end_to_end::kept_symbols_test
