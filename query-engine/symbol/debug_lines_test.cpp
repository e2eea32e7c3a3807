// Lines and inlined functions are those of binutils' addr2line, address by address.
#include "query-engine/symbol/debug_lines.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/source_frames.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet::debug_lines_test {
namespace {

namespace fs = std::filesystem;

class DebugLinesTest : public ::testing::TestWithParam<std::string> {
protected:
    DebugLinesTest() {
        std::string name = (fs::temp_directory_path() / "perfleet-lines-XXXXXX").string();
        folder_ = mkdtemp(name.data());
    }
    ~DebugLinesTest() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string in_folder(const std::string& name) const { return folder_ / name; }
    void run(const std::string& command) const {
        EXPECT_EQ(std::system(("cd " + folder_.string() + " && " + command).c_str()), 0) << command;
    }

    fs::path folder_;
};

std::string no_shared(const std::string& /*name*/, std::string_view /*build_id*/) { return {}; }

// Each second byte of the program's own code, of which none is in a linker's or a C library's start code.
std::vector<std::uint64_t> addresses_of(const std::string& path) {
    const auto file = ElfFile::open(path);
    EXPECT_TRUE(file.ok());
    std::vector<std::uint64_t> addresses;
    for (const ElfSection& section : (*file)->sections()) {
        if (section.name.starts_with(".text")) {
            for (std::uint64_t address = 0; address < section.size_bytes; address += 2) {
                addresses.push_back(section.address + address);
            }
        }
    }
    return addresses;
}

using Frames = std::vector<SourceFrame>;

std::vector<Frames> by_addr2line(const std::string& path, const std::vector<std::uint64_t>& addresses) {
    const std::string list = path + ".addresses";
    {
        std::ofstream out{list};
        for (const std::uint64_t address : addresses) {
            out << std::hex << "0x" << address << "\n";
        }
    }
    std::vector<Frames> all;
    FILE* pipe = popen(("addr2line -a -i -f -e " + path + " < " + list).c_str(), "r");
    std::vector<std::string> lines;
    char* line = nullptr;
    std::size_t capacity = 0;
    while (getline(&line, &capacity, pipe) > 0) {
        lines.emplace_back(line);
        lines.back().pop_back();
    }
    std::free(line);
    EXPECT_EQ(pclose(pipe), 0);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].starts_with("0x")) {
            all.emplace_back();
            continue;
        }
        SourceFrame frame;
        frame.function = lines[i] == "??" ? "" : lines[i];
        const std::string place = lines.at(++i);
        const std::size_t colon = place.rfind(':');
        frame.file = place.starts_with("??") ? "" : place.substr(0, colon);
        frame.line = static_cast<std::uint32_t>(std::atoi(place.c_str() + colon + 1));
        // It repeats that of the innermost function for its callers.
        const std::size_t mark = place.find("(discriminator ");
        if (mark != std::string::npos && all.back().empty()) {
            frame.discriminator = static_cast<std::uint32_t>(std::atoi(place.c_str() + place.find(' ', mark)));
        }
        all.back().push_back(frame);
    }
    return all;
}

std::string text_of(const Frames& frames) {
    std::string text;
    for (const SourceFrame& frame : frames) {
        text += "  " + frame.function + " " + fs::path{frame.file}.lexically_normal().string() + ":" +
                std::to_string(frame.line) + " " + std::to_string(frame.discriminator) + "\n";
    }
    return text;
}

// Where addr2line knows no function of the DWARF it says a symbol's, and no line.
bool is_known(const Frames& frames) { return !frames.empty() && frames.back().line != 0; }

// Where the outermost or the innermost function has no linked name, addr2line says the symbol's at this address: `main`
// of what was inlined into it.
void take_symbols_names(Frames& frames, const Frames& expected) {
    const std::string& symbol = expected.back().function;
    for (const bool is_innermost : {true, false}) {
        if (!frames.empty()) {
            SourceFrame& frame = is_innermost ? frames.front() : frames.back();
            const std::string& said = is_innermost ? expected.front().function : symbol;
            frame.function = said == symbol && !frame.function.starts_with("_Z") ? said : frame.function;
        }
    }
}

void expect_as_addr2line(DebugLines& lines, const std::string& path) {
    const std::vector<std::uint64_t> addresses = addresses_of(path);
    const std::vector<Frames> expected = by_addr2line(path, addresses);
    ASSERT_EQ(expected.size(), addresses.size());
    std::size_t known_count = 0;
    std::size_t inlined_count = 0;
    std::size_t different_count = 0;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        if (!is_known(expected[i])) {
            continue;
        }
        Frames frames = lines.frames_at(addresses[i]);
        take_symbols_names(frames, expected[i]);
        ++known_count;
        inlined_count += frames.size() > 1 ? 1 : 0;
        if (text_of(frames) != text_of(expected[i]) && different_count++ < 5) {
            ADD_FAILURE() << std::hex << addresses[i] << "\n"
                          << text_of(frames) << "addr2line:\n"
                          << text_of(expected[i]);
        }
    }
    EXPECT_EQ(different_count, 0U);
    EXPECT_GT(known_count, 500U);
    EXPECT_GT(inlined_count, 200U);
}

TEST_P(DebugLinesTest, AreThoseOfAddr2line) {
    const auto lines = DebugLines::open(GetParam(), no_shared);
    ASSERT_TRUE(lines.ok()) << lines.error().message;
    expect_as_addr2line(**lines, GetParam());
}

TEST_P(DebugLinesTest, HaveTheFirstLinesOfFunctions) {
    const auto lines = DebugLines::open(GetParam(), no_shared);
    ASSERT_TRUE(lines.ok()) << lines.error().message;
    std::map<std::string, std::set<std::uint32_t>> first_lines;
    for (const std::uint64_t address : addresses_of(GetParam())) {
        for (const SourceFrame& frame : (*lines)->frames_at(address)) {
            first_lines[frame.function].insert(frame.first_line);
        }
    }
    // As in inline_fixture.cpp.
    using Lines = std::set<std::uint32_t>;
    EXPECT_EQ(first_lines["_ZN7fixture9innermostEd"], Lines{12});
    EXPECT_EQ(first_lines["_ZN7fixture6middleEd"], Lines{20});
    EXPECT_EQ(first_lines["_ZNK7fixture6Values3sumEv"], Lines{24});
    EXPECT_EQ(first_lines["_ZN7fixture5outerERKNS_6ValuesE"], Lines{33});
}

TEST_P(DebugLinesTest, ComeFromCompressedSections) {
    const std::string program = in_folder("program");
    run("objcopy --compress-debug-sections " + GetParam() + " " + program);
    const auto lines = DebugLines::open(program, no_shared);
    ASSERT_TRUE(lines.ok()) << lines.error().message;
    expect_as_addr2line(**lines, program);
}

TEST_P(DebugLinesTest, RefusesNamesWithoutAnEnd) {
    for (const char* const compression : {"none", "zlib"}) {
        run("objcopy --decompress-debug-sections --dump-section .debug_str=names " + GetParam() +
            " program && truncate -s -1 names && printf x >> names && objcopy --update-section .debug_str=names "
            "program && " +
            "objcopy --compress-debug-sections=" + compression + " program");
        const auto lines = DebugLines::open(in_folder("program"), no_shared);
        ASSERT_FALSE(lines.ok()) << compression;
        EXPECT_EQ(lines.error().code, ErrorCode::kInvalid);
        EXPECT_NE(lines.error().message.find("has no end"), std::string::npos) << lines.error().message;
    }
}

// As Debian's -dbgsym packages have them: split off by build-id, what several files share in a file of its own.
TEST_P(DebugLinesTest, ComeFromSplitFilesThatShareEntries) {
    if (std::system("command -v dwz >/dev/null") != 0) {
        GTEST_SKIP() << "dwz is not installed";
    }
    run("cp " + GetParam() + " one && cp " + GetParam() + " two && objcopy --only-keep-debug one one.debug && " +
        "objcopy --only-keep-debug two two.debug && strip one && " +
        "dwz -m shared.debug -M shared.debug one.debug two.debug");
    ImageDefinition image;
    image.flags = image_flags::kFileOffset;
    image.name = in_folder("one");
    image.build_id = (*ElfFile::open(image.name))->build_id();
    const std::string id = hex_of(image.build_id);
    const fs::path place = folder_ / "debug" / ".build-id" / id.substr(0, 2);
    fs::create_directories(place);
    const std::string debug_file = place / (id.substr(2) + ".debug");
    fs::copy(in_folder("one.debug"), debug_file);
    SymbolPaths paths;
    paths.build_id_cache.clear();
    paths.debug_folders = {in_folder("debug")};

    const std::vector<std::uint64_t> addresses = addresses_of(GetParam());
    std::vector<std::uint64_t> offsets;
    const auto file = ElfFile::open(image.name);
    for (const std::uint64_t address : addresses) {
        for (const ElfSegment& segment : (*file)->segments()) {
            if (address >= segment.address && address - segment.address < segment.size_bytes) {
                offsets.push_back(address - segment.address + segment.file_offset);
            }
        }
    }
    ASSERT_EQ(offsets.size(), addresses.size());
    auto whole = DebugLines::open(GetParam(), no_shared);
    ASSERT_TRUE(whole.ok());
    {
        SourceFrames without{nullptr, paths};
        const auto frames = without.frames_at(image, offsets);
        ASSERT_EQ(without.warnings().size(), 1U) << "the shared file isn't where it is looked for";
        EXPECT_NE(without.warnings()[0].find("shared.debug"), std::string::npos);
    }
    fs::copy(in_folder("shared.debug"), place / "shared.debug");
    SourceFrames sources{nullptr, paths};
    const auto frames = sources.frames_at(image, offsets);
    std::size_t inlined_count = 0;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        ASSERT_EQ(text_of(frames[i]), text_of((*whole)->frames_at(addresses[i]))) << std::hex << addresses[i];
        inlined_count += frames[i].size() > 1 ? 1 : 0;
    }
    EXPECT_GT(inlined_count, 200U);
    EXPECT_TRUE(sources.warnings().empty()) << sources.warnings()[0];

    image.build_id[0] = static_cast<char>(image.build_id[0] ^ 1);
    for (const Frames& none : sources.frames_at(image, offsets)) {
        ASSERT_TRUE(none.empty()) << "lines of another build";
    }
}

// Whatever the bytes are: lines or none.
TEST_P(DebugLinesTest, SurviveBytesThatAreWrong) {
    std::ifstream in{GetParam(), std::ios::binary};
    std::stringstream text;
    text << in.rdbuf();
    const std::string good = text.str();
    const auto file = ElfFile::open(GetParam());
    ASSERT_TRUE(file.ok());
    const std::vector<std::uint64_t> addresses = addresses_of(GetParam());
    std::mt19937 random{7};
    for (int round = 0; round < 40; ++round) {
        std::string bad = good;
        for (const ElfSection& section : (*file)->sections()) {
            if (section.name.starts_with(".debug_") && section.size_bytes > 0) {
                for (int i = 0; i < 8; ++i) {
                    bad[section.file_offset + random() % section.size_bytes] = static_cast<char>(random());
                }
            }
        }
        std::ofstream{in_folder("bad"), std::ios::binary} << bad;
        auto lines = DebugLines::open(in_folder("bad"), no_shared);
        for (std::size_t i = 0; lines.ok() && i < addresses.size(); i += 37) {
            EXPECT_LE((*lines)->frames_at(addresses[i]).size(), kInlineDepthMax);
        }
    }
}

TEST(DebugLinesOpen, SaysWhyThereAreNone) {
    EXPECT_EQ(DebugLines::open("/no/such/file", no_shared).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(DebugLines::open("/dev/null", no_shared).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(DebugLines::open("/etc/passwd", no_shared).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(DebugLines::open(PERFLEET_SYMBOL_FIXTURE, no_shared).error().code, ErrorCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Dwarf, DebugLinesTest,
                         ::testing::Values(PERFLEET_INLINE_FIXTURE "_4", PERFLEET_INLINE_FIXTURE "_5"));

}  // namespace
}  // namespace perfleet::debug_lines_test
