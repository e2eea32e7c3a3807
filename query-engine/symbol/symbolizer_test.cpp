#include "query-engine/symbol/symbolizer.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "query-engine/symbol/elf_file.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/wire/protocol.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::symbolizer_test {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (fs::temp_directory_path() / "perfleet-symbol-XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~TemporaryFolder() { fs::remove_all(path_); }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    [[nodiscard]] const fs::path& path() const { return path_; }
    [[nodiscard]] fs::path operator/(const std::string& name) const { return path_ / name; }

private:
    fs::path path_;
};

std::string output_of(const std::string& command) {
    std::string text;
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[4096];
    for (std::size_t size = 0; (size = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
        text.append(buffer, size);
    }
    EXPECT_EQ(pclose(pipe), 0) << command;
    return text;
}

std::string packed(const std::string& bytes) {
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
    return frame;
}

std::string content_of(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

void write(const fs::path& path, std::string_view content) {
    fs::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << content;
}

const std::string kFixture = PERFLEET_SYMBOL_FIXTURE;

ImageDefinition image_of(const std::string& path) {
    ImageDefinition image;
    image.flags = image_flags::kFileOffset;
    image.name = path;
    const auto file = ElfFile::open(path);
    if (file.ok()) {
        image.build_id = (*file)->build_id();
    }
    return image;
}

SymbolPaths no_paths() {
    SymbolPaths paths;
    paths.debug_folders.clear();
    paths.build_id_cache.clear();
    return paths;
}

// Name → file offset, as nm gives the addresses and readelf the segments.
std::map<std::string, std::uint64_t> functions_by_nm(const std::string& path) {
    std::vector<ElfSegment> segments;
    std::istringstream headers{output_of("readelf -lW " + path)};
    for (std::string line; std::getline(headers, line);) {
        unsigned long offset = 0;
        unsigned long address = 0;
        unsigned long size = 0;
        if (std::sscanf(line.c_str(), " LOAD %lx %lx %*x %lx", &offset, &address, &size) == 3) {
            segments.push_back({address, offset, size});
        }
    }
    std::map<std::string, std::uint64_t> functions;
    std::istringstream symbols{output_of("nm --defined-only " + path)};
    for (std::string line; std::getline(symbols, line);) {
        unsigned long address = 0;
        char type = 0;
        char name[1024];
        if (std::sscanf(line.c_str(), "%lx %c %1023s", &address, &type, name) != 3 || type != 'T') {
            continue;
        }
        for (const ElfSegment& segment : segments) {
            if (address >= segment.address && address - segment.address < segment.size_bytes) {
                functions[name] = address - segment.address + segment.file_offset;
            }
        }
    }
    return functions;
}

TEST(Symbolizer, NamesFunctionsAsNmDoes) {
    Symbolizer symbolizer{nullptr, no_paths()};
    const ImageDefinition image = image_of(kFixture);
    const auto functions = functions_by_nm(kFixture);
    ASSERT_TRUE(functions.contains("fixture_plain"));
    for (const char* name : {"main", "fixture_plain", "_start"}) {
        const Symbol symbol = symbolizer.resolve(image, functions.at(name) + 1);
        EXPECT_TRUE(symbol.resolved);
        EXPECT_EQ(symbol.name, name);
        EXPECT_EQ(symbol.offset, functions.at(name));
        EXPECT_LE(symbol.first, functions.at(name));
        EXPECT_GT(symbol.last, functions.at(name));
        EXPECT_EQ(symbolizer.resolve(image, symbol.first).name, name);
        EXPECT_EQ(symbolizer.resolve(image, symbol.last).name, name);
        EXPECT_NE(symbolizer.resolve(image, symbol.last + 1).name, name);
    }
    EXPECT_TRUE(symbolizer.warnings().empty());
}

TEST(Symbolizer, TakesNamesOfStrippedProgramFromDebugFile) {
    const TemporaryFolder folder;
    const std::string stripped = folder / "program";
    output_of("strip -o " + stripped + " " + kFixture);
    const ImageDefinition image = image_of(stripped);
    const std::uint64_t offset = functions_by_nm(kFixture).at("fixture_plain");

    EXPECT_FALSE(Symbolizer(nullptr, no_paths()).resolve(image, offset).resolved);

    const std::string id = output_of("readelf -n " + stripped + " | sed -n 's/.*Build ID: //p' | tr -d '\\n'");
    const fs::path debug = folder / ("debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
    fs::create_directories(debug.parent_path());
    output_of("objcopy --only-keep-debug " + kFixture + " " + debug.string());
    SymbolPaths paths = no_paths();
    paths.debug_folders = {folder / "debug"};
    EXPECT_EQ(Symbolizer(nullptr, paths).resolve(image, offset).name, "fixture_plain");

    // The program itself need not be there.
    fs::remove(stripped);
    EXPECT_TRUE(Symbolizer(nullptr, paths).resolve(image, offset).resolved);
}

TEST(Symbolizer, TellsFunctionsOfAStrippedProgramApart) {
    const TemporaryFolder folder;
    const std::string stripped = folder / "program";
    output_of("strip -o " + stripped + " " + kFixture);
    const ImageDefinition image = image_of(stripped);
    Symbolizer symbolizer{nullptr, no_paths()};
    const auto functions = functions_by_nm(kFixture);
    for (const char* name : {"main", "fixture_plain", "_start"}) {
        const Symbol symbol = symbolizer.resolve(image, functions.at(name) + 1);
        EXPECT_FALSE(symbol.resolved);
        EXPECT_EQ(symbol.function_offset, functions.at(name)) << name;
        EXPECT_EQ(symbol.name, Symbolizer::place_name("program", functions.at(name) + 1));
    }
    std::vector<std::uint64_t> offsets{functions.at("main"), functions.at("main") + 1, functions.at("fixture_plain")};
    std::sort(offsets.begin(), offsets.end());
    std::vector<std::uint64_t> starts;
    symbolizer.resolve_all(image, offsets, [&](const SymbolRun& run) {
        EXPECT_TRUE(run.is_place);
        EXPECT_EQ(run.name, "program");
        starts.push_back(run.function_offset.value_or(0));
    });
    EXPECT_EQ(std::set<std::uint64_t>(starts.begin(), starts.end()),
              (std::set<std::uint64_t>{functions.at("main"), functions.at("fixture_plain")}));
    EXPECT_EQ(starts.size(), 2U) << "once for each function";

    // The whole file names them, so its table adds nothing.
    Symbolizer whole{nullptr, no_paths()};
    EXPECT_EQ(whole.resolve(image_of(kFixture), functions.at("main") + 1).function_offset, std::nullopt);
}

// As Debian's dh_strip, Yocto and others lay them out.
TEST(Symbolizer, TakesNamesFromTheDebugFileThatAStrippedProgramNames) {
    const TemporaryFolder folder;
    const std::string program = folder / "bin/program";
    const std::string debug = folder / "program.debug";
    fs::create_directories(folder / "bin/.debug");
    output_of("objcopy --only-keep-debug " + kFixture + " " + debug);
    output_of("objcopy --strip-all --add-gnu-debuglink=" + debug + " " + kFixture + " " + program);
    const ImageDefinition image = image_of(program);
    const std::uint64_t offset = functions_by_nm(kFixture).at("fixture_plain");
    SymbolPaths paths = no_paths();
    paths.debug_folders = {folder / "debug"};
    EXPECT_FALSE(Symbolizer(nullptr, paths).resolve(image, offset).resolved);
    for (const fs::path& place : {folder / "bin/program.debug", folder / "bin/.debug/program.debug",
                                  fs::path{paths.debug_folders[0] + folder.path().string() + "/bin/program.debug"}}) {
        write(place, content_of(debug));
        EXPECT_EQ(Symbolizer(nullptr, paths).resolve(image, offset).name, "fixture_plain") << place;
        // One of another build is passed over, and named.
        output_of("objcopy --remove-section=.note.gnu.build-id " + debug + " " + place.string());
        Symbolizer symbolizer{nullptr, paths};
        EXPECT_FALSE(symbolizer.resolve(image, offset).resolved) << place;
        ASSERT_EQ(symbolizer.warnings().size(), 1U);
        EXPECT_TRUE(symbolizer.warnings()[0].starts_with(place.string() + ": its build-id isn't that of"));
        fs::remove(place);
    }
}

// As Fedora's find-debuginfo makes it.
TEST(Symbolizer, TakesNamesThatDynsymLacksFromGnuDebugdata) {
    const TemporaryFolder folder;
    const std::string program = folder / "program";
    const std::string rest = folder / "rest";
    output_of("nm " + kFixture + " --format=posix --defined-only | awk '$2 ~ /[Tt]/ {print $1}' | grep -v '^main$' > " +
              (folder / "keep").string());
    output_of("objcopy -S --keep-symbols=" + (folder / "keep").string() + " " + kFixture + " " + rest);
    output_of("objcopy --only-keep-debug " + rest + " && xz -f " + rest);
    output_of("objcopy --strip-all --add-section .gnu_debugdata=" + rest + ".xz " + kFixture + " " + program);
    ImageDefinition image = image_of(program);
    const std::uint64_t offset = functions_by_nm(kFixture).at("fixture_plain");
    EXPECT_EQ(Symbolizer(nullptr, no_paths()).resolve(image, offset).name, "fixture_plain");

    // One that is damaged gives no names and one warning.
    std::string bytes = content_of(program);
    const std::size_t content = bytes.find(
        "\xfd"
        "7zXZ");
    ASSERT_NE(content, std::string::npos);
    bytes[content + 40] = static_cast<char>(~bytes[content + 40]);
    write(program, bytes);
    Symbolizer symbolizer{nullptr, no_paths()};
    EXPECT_FALSE(symbolizer.resolve(image, offset).resolved);
    ASSERT_EQ(symbolizer.warnings().size(), 1U);
    EXPECT_NE(symbolizer.warnings()[0].find(".gnu_debugdata): damaged"), std::string::npos) << symbolizer.warnings()[0];
}

TEST(Symbolizer, FollowsNoDebugFileOutOfItsFolder) {
    const TemporaryFolder folder;
    const std::string program = folder / "bin/program";
    fs::create_directories(folder / "bin");
    output_of("objcopy --only-keep-debug " + kFixture + " " + (folder / "else.dbg").string());
    output_of("objcopy --strip-all --add-gnu-debuglink=" + (folder / "else.dbg").string() + " " + kFixture + " " +
              program);
    std::string bytes = content_of(program);
    const std::size_t name = bytes.find("else.dbg");
    ASSERT_NE(name, std::string::npos);
    bytes.replace(name, 8, "../o.dbg");
    write(program, bytes);
    fs::copy_file(folder / "else.dbg", folder / "o.dbg");
    const std::uint64_t offset = functions_by_nm(kFixture).at("fixture_plain");
    EXPECT_FALSE(Symbolizer(nullptr, no_paths()).resolve(image_of(program), offset).resolved);
}

TEST(Symbolizer, TellsOfFilesThatAreGone) {
    const TemporaryFolder folder;
    ImageDefinition image = image_of(kFixture);
    for (const int count : {1, 3, 5}) {
        Symbolizer symbolizer{nullptr, no_paths()};
        for (int number = 1; number <= count; ++number) {
            image.name = folder / ("program" + std::to_string(number));
            EXPECT_FALSE(symbolizer.is_missing(image));
            EXPECT_FALSE(symbolizer.resolve(image, 0x1000).resolved);
            EXPECT_TRUE(symbolizer.is_missing(image));
        }
        const std::vector<std::string> warnings = symbolizer.warnings();
        ASSERT_EQ(warnings.size(), count == 5 ? 1U : static_cast<std::size_t>(count));
        EXPECT_TRUE(warnings[0].starts_with((folder / "program1").string()));
        EXPECT_EQ(warnings[0].find("and 2 more aren't here") != std::string::npos, count == 5);
    }
    // Nobody misses a program whose debug file is there, nor what was never a file.
    SymbolPaths paths = no_paths();
    paths.debug_folders = {folder / "debug"};
    image.name = folder / "program1";
    write(paths.debug_folders[0] + image.name + ".debug", content_of(kFixture));
    Symbolizer symbolizer{nullptr, paths};
    EXPECT_TRUE(symbolizer.resolve(image, functions_by_nm(kFixture).at("main")).resolved);
    image.name = "[vsyscall]";
    (void)symbolizer.resolve(image, 0x10);
    EXPECT_TRUE(symbolizer.warnings().empty());
}

TEST(Symbolizer, TakesNamesFromBuildIdCache) {
    const TemporaryFolder folder;
    ImageDefinition image = image_of(kFixture);
    const std::string id = output_of("readelf -n " + kFixture + " | sed -n 's/.*Build ID: //p' | tr -d '\\n'");
    write(folder / (".build-id/" + id.substr(0, 2) + "/" + id.substr(2) + "/elf"), content_of(kFixture));
    image.name = "/nowhere/program";
    SymbolPaths paths = no_paths();
    paths.build_id_cache = (folder / "").string();
    EXPECT_EQ(Symbolizer(nullptr, paths).resolve(image, functions_by_nm(kFixture).at("main")).name, "main");
}

TEST(Symbolizer, LooksBelowSymfs) {
    const TemporaryFolder folder;
    write(folder / "bin/program", content_of(kFixture));
    ImageDefinition image = image_of(kFixture);
    image.name = "/bin/program";
    SymbolPaths paths = no_paths();
    paths.symfs = (folder / "").parent_path();
    EXPECT_EQ(Symbolizer(nullptr, paths).resolve(image, functions_by_nm(kFixture).at("main")).name, "main");
}

TEST(Symbolizer, NeverUsesFileWithAnotherBuildId) {
    Symbolizer symbolizer{nullptr, no_paths()};
    ImageDefinition image = image_of(kFixture);
    image.build_id[0] = static_cast<char>(image.build_id[0] + 1);
    const std::uint64_t offset = functions_by_nm(kFixture).at("main");
    char expected[64];
    std::snprintf(expected, sizeof(expected), "symbol_fixture+0x%lx", offset);
    for (int again = 0; again < 3; ++again) {
        const Symbol symbol = symbolizer.resolve(image, offset);
        EXPECT_FALSE(symbol.resolved);
        EXPECT_EQ(symbol.name, expected);
    }
    ASSERT_EQ(symbolizer.warnings().size(), 1U);
    EXPECT_NE(symbolizer.warnings()[0].find(kFixture), std::string::npos);
}

TEST(Symbolizer, TellsOfManyReplacedFilesInOneLine) {
    const TemporaryFolder folder;
    std::vector<ImageDefinition> images;
    for (int number = 1; number <= 5; ++number) {
        ImageDefinition image = image_of(kFixture);
        image.build_id[0] = static_cast<char>(image.build_id[0] + 1);
        image.name = folder / ("program" + std::to_string(number));
        fs::copy_file(kFixture, image.name);
        images.push_back(image);
    }
    for (const std::size_t count : {3U, 5U}) {
        Symbolizer symbolizer{nullptr, no_paths()};
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_FALSE(symbolizer.resolve(images[i], 0x1000).resolved);
        }
        const std::vector<std::string> warnings = symbolizer.warnings();
        ASSERT_EQ(warnings.size(), count == 3 ? 3U : 1U);
        EXPECT_TRUE(warnings[0].starts_with(images[0].name));
        EXPECT_EQ(warnings[0].find("and 2 more have other build-ids") != std::string::npos, count == 5);
    }
}

TEST(Symbolizer, ShowsUnresolvedAsImageAndOffset) {
    Symbolizer symbolizer{nullptr, no_paths()};
    ImageDefinition image;
    image.name = "/usr/lib/libgone.so";
    EXPECT_EQ(symbolizer.resolve(image, 0x1a2b).name, "libgone.so+0x1a2b");
    image = {.flags = image_flags::kAnonymous, .address = 0, .size_bytes = 0, .build_id = {}, .name = "//anon"};
    EXPECT_EQ(symbolizer.resolve(image, 16).name, "//anon");
    // One function that was made there.
    image = {
        .flags = image_flags::kAnonymous, .address = 0x7000, .size_bytes = 64, .build_id = {}, .name = "JS:*f a.js"};
    const Symbol made = symbolizer.resolve(image, 16);
    EXPECT_EQ(made.name, "JS:*f a.js");
    EXPECT_TRUE(made.resolved);
    EXPECT_EQ(made.first, 0U);
    EXPECT_EQ(made.last, 63U);
    EXPECT_EQ(Symbolizer::image_display_name(image), "[JIT]");
    image = {.flags = image_flags::kUnknown, .address = 0, .size_bytes = 0, .build_id = {}, .name = "[unknown]"};
    EXPECT_EQ(symbolizer.resolve(image, 0).name, "[unknown]");
    EXPECT_EQ(symbolizer.warnings().size(), 1U) << "but for the file that is gone";
}

TEST(Symbolizer, ImageDisplayNameIsWhatPerfShows) {
    ImageDefinition image;
    const auto shown = [&](std::string name, std::uint64_t flags = 0) {
        image.name = std::move(name);
        image.flags = flags;
        return Symbolizer::image_display_name(image);
    };
    EXPECT_EQ(shown("/usr/bin/xz"), "xz");
    EXPECT_EQ(shown("/tmp/gone (deleted)"), "gone (deleted)");
    EXPECT_EQ(shown("[kernel.kallsyms]"), "[kernel.kallsyms]");
    EXPECT_EQ(shown("//anon"), "//anon");
    EXPECT_EQ(shown(""), "[unknown]");
    EXPECT_EQ(shown("/lib/modules/6.1/kernel/fs/nf-nat.ko.xz", image_flags::kKernel | image_flags::kKernelModule),
              "[nf_nat]");
}

// Each under its own build-id, wherever it lies.
TEST(Symbolizer, TakesNamesOfKernelAndModulesFromTheStore) {
    const auto image = [](std::string name, char build, std::uint64_t flags, std::uint64_t address) {
        ImageDefinition made;
        made.name = std::move(name);
        made.build_id = std::string(20, build);
        made.flags = image_flags::kKernel | flags;
        made.address = address;
        return made;
    };
    const auto type = static_cast<std::uint16_t>(protocol::ImageType::kKernelSymbols);
    const auto store = make_memory_store();
    ASSERT_TRUE(store->put_image(std::string(20, 'K'), {type, packed("0 T _stext\n100 T do_work\n")}).ok());
    ASSERT_TRUE(store->put_image(std::string(20, 'M'), {type, packed("0 t init\n200 t ext4_read\n")}).ok());
    Symbolizer symbolizer{store.get(), no_paths()};
    EXPECT_EQ(symbolizer.resolve(image("[kernel.kallsyms]", 'K', 0, 0xffffffff80000000), 0x180).name, "do_work");
    for (const std::uint64_t address : {0xffffffffc0001000, 0xffffffffc0abc000}) {
        const ImageDefinition module = image("[ext4]", 'M', image_flags::kKernelModule, address);
        const Symbol symbol = symbolizer.resolve(module, 0x210);
        EXPECT_EQ(symbol.name, "ext4_read");
        EXPECT_EQ(symbol.offset, 0x200U);
        EXPECT_EQ(symbol.first, 0x200U);
        EXPECT_EQ(symbol.last, 0x1fffU) << "to the end of the page behind it";
        EXPECT_EQ(symbolizer.resolve(module, 0x10).name, "init");
    }
    EXPECT_EQ(symbolizer.resolve(image("[ext4]", 'N', image_flags::kKernelModule, 0xffffffffc0001000), 0x210).name,
              "[ext4]+0x210")
        << "of another build";
}

// The vdso as a debugger would see it, and what nm says of it.
TEST(Symbolizer, ReadsOwnVdsoFromMemoryOnlyWhenItIsTheSame) {
    Symbolizer symbolizer{nullptr, no_paths()};
    ImageDefinition image;
    image.name = "[vdso]";
    image.flags = image_flags::kVdso | image_flags::kFileOffset;
    image.build_id = std::string(20, 'x');
    EXPECT_FALSE(symbolizer.resolve(image, 0x800).resolved);

    const auto* start = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));  // NOLINT(performance-no-int-to-ptr)
    if (start == nullptr) {
        GTEST_SKIP() << "no vdso here";
    }
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(start);
    const TemporaryFolder folder;
    const std::string copy = folder / "vdso";
    write(copy, {start, header->e_shoff + std::size_t{header->e_shentsize} * header->e_shnum});
    image.build_id = (*ElfFile::open(copy))->build_id();
    const std::string line = output_of("nm -D --defined-only " + copy + " | grep ' T __vdso_clock_gettime'");
    const Symbol symbol = symbolizer.resolve(image, std::stoull(line, nullptr, 16) + 1);
    EXPECT_EQ(symbol.name, "__vdso_clock_gettime");
}

TEST(Symbolizer, GivesManyThreadsTheSameNames) {
    Symbolizer symbolizer{nullptr, no_paths()};
    const ImageDefinition image = image_of(kFixture);
    const auto functions = functions_by_nm(kFixture);
    std::vector<std::thread> threads;
    std::vector<std::string> names(8);
    for (std::size_t number = 0; number < names.size(); ++number) {
        threads.emplace_back([&, number] {
            for (const auto& [name, offset] : functions) {
                names[number] += symbolizer.resolve(image, offset).name + "\n";
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const std::string& each : names) {
        EXPECT_EQ(each, names[0]);
    }
}

// -- hostile files ----------------------------------------------------------------------------------------------------

void look_around(const std::string& path, std::size_t size_bytes) {
    SymbolPaths paths = no_paths();
    Symbolizer symbolizer{nullptr, paths};
    const ImageDefinition image = image_of(path);
    for (std::size_t offset = 0; offset < size_bytes + 4096; offset += 97) {
        EXPECT_FALSE(symbolizer.resolve(image, offset).name.empty());
    }
    EXPECT_FALSE(symbolizer.resolve(image, ~0ULL).name.empty());
}

TEST(HostileElf, TruncatedAnywhereGivesNoCrash) {
    const TemporaryFolder folder;
    const std::string whole = content_of(kFixture);
    const std::string path = folder / "cut";
    for (std::size_t size = 0; size < whole.size(); size += size < 4096 ? 61 : 997) {
        write(path, std::string_view{whole}.substr(0, size));
        look_around(path, 8192);
    }
}

TEST(HostileElf, FlippedBytesGiveNoCrash) {
    const TemporaryFolder folder;
    const std::string stripped = folder / "small";
    output_of("strip -o " + stripped + " " + kFixture);  // so that its functions are those of its unwind table
    const std::string whole = content_of(stripped);
    const auto file = ElfFile::open(stripped);
    ASSERT_TRUE(file.ok());
    // Headers, notes, symbols and relocations: where the lengths are.
    std::vector<std::pair<std::size_t, std::size_t>> places{{0, 64}, {64, 1024}};
    places.emplace_back(whole.size() - 64 * (*file)->sections().size(), 64 * (*file)->sections().size());
    for (const ElfSection& section : (*file)->sections()) {
        if ((section.type != SHT_PROGBITS || section.name == ".eh_frame_hdr") && section.size_bytes > 0 &&
            section.file_offset + section.size_bytes <= whole.size()) {
            places.emplace_back(section.file_offset, section.size_bytes);
        }
    }
    std::mt19937 random{20240607};
    const std::string path = folder / "flipped";
    for (int round = 0; round < 600; ++round) {
        std::string broken = whole;
        for (int flip = 0; flip < 1 + round % 8; ++flip) {
            const auto [first, size] = places[random() % places.size()];
            constexpr unsigned char kNasty[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe};
            const std::size_t at = first + random() % size;
            broken[at] = static_cast<char>(flip % 2 == 0 ? kNasty[random() % 6] : random());
        }
        write(path, broken);
        look_around(path, 4096);
    }
}

// Else each of many segments could have all functions of a large table.
TEST(HostileElf, AFunctionInSeveralSegmentsIsInTheFirst) {
    const TemporaryFolder folder;
    const std::string path = folder / "overlapping";
    output_of("strip -o " + path + " " + kFixture);
    std::string bytes = content_of(path);
    Elf64_Ehdr header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    std::memcpy(segments.data(), bytes.data() + header.e_phoff, segments.size() * sizeof(Elf64_Phdr));
    const Elf64_Phdr* code = nullptr;
    Elf64_Phdr* last = nullptr;
    for (Elf64_Phdr& segment : segments) {
        code = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 ? &segment : code;
        last = segment.p_type == PT_LOAD ? &segment : last;
    }
    ASSERT_TRUE(code != nullptr && last != code);
    const std::uint64_t main = functions_by_nm(kFixture).at("main");
    constexpr std::uint64_t kFar = 1U << 30;
    *last = *code;
    last->p_offset += kFar;
    std::memcpy(bytes.data() + header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr));
    write(path, bytes);
    Symbolizer symbolizer{nullptr, no_paths()};
    const ImageDefinition image = image_of(path);
    EXPECT_EQ(symbolizer.resolve(image, main + 1).function_offset, main);
    EXPECT_EQ(symbolizer.resolve(image, main + 1 + kFar).function_offset, std::nullopt);
}

TEST(HostileElf, PipeAndFolderAreNotWaitedFor) {
    const TemporaryFolder folder;
    const std::string pipe = folder / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(ElfFile::open(pipe).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(ElfFile::open(folder / "").error().code, ErrorCode::kInvalid);
    EXPECT_EQ(ElfFile::open(folder / "nothing").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace perfleet::symbolizer_test
