// Names are those of the real perf: a hand-made perf.data asks it for many addresses of one image.
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/kernel_symbols.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/perf/perf_event.h"

namespace perfleet::perf_agreement_test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBase = 0x7f0000000000;
constexpr std::uint64_t kSampleType = perf::sample_type::kIp | perf::sample_type::kTid | perf::sample_type::kTime;

class Bytes {
public:
    template <class T>
    Bytes& put(T value) {
        text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
        return *this;
    }
    Bytes& put_text(std::string_view text, std::size_t multiple) {
        text_ += text;
        do {
            text_ += '\0';
        } while (text_.size() % multiple != 0);
        return *this;
    }
    Bytes& pad(std::size_t size) {
        text_.resize(size);
        return *this;
    }
    std::string text_;
};

std::string record(perf::RecordType type, std::uint16_t misc, const Bytes& body) {
    Bytes out;
    out.put(static_cast<std::uint32_t>(type)).put(misc).put(static_cast<std::uint16_t>(body.text_.size() + 8));
    return out.text_ + body.text_;
}

// One process, one image mapped at kBase (the kernel: at its own address), one sample for each address.
std::string perf_data(const std::string& image, std::string_view build_id,
                      const std::vector<std::uint64_t>& addresses) {
    const bool kernel = image.starts_with("[kernel");
    std::string data;
    data += record(perf::RecordType::kComm, 0, Bytes{}.put(7).put(7).put_text("fixture", 8));
    Bytes mapping;
    if (kernel) {
        mapping.put(-1)
            .put(0)
            .put(addresses.front() & ~0xfffULL)
            .put(~0ULL - addresses.front())
            .put(addresses.front() & ~0xfffULL);
    } else {
        mapping.put(7).put(7).put(kBase).put(std::uint64_t{1} << 32).put(std::uint64_t{0});
    }
    mapping.put(static_cast<std::uint32_t>(build_id.size()));
    std::string padded{build_id};
    padded.resize(20);
    mapping.text_ += padded;
    mapping.put(5U).put(2U).put_text(image, 8);
    const std::uint16_t mode = kernel ? perf::misc::kKernel : perf::misc::kUser;
    data += record(perf::RecordType::kMmap2,
                   static_cast<std::uint16_t>(mode | (build_id.empty() ? 0 : perf::misc::kMmapBuildId)), mapping);
    std::uint64_t time = 1;
    for (const std::uint64_t address : addresses) {
        data += record(perf::RecordType::kSample, mode,
                       Bytes{}.put(kernel ? address : kBase + address).put(7).put(7).put(time++));
    }
    Bytes attr;
    attr.put(perf::kTypeSoftware).put(112U).put(std::uint64_t{0}).put(std::uint64_t{1}).put(kSampleType);
    attr.pad(112).put(std::uint64_t{0}).put(std::uint64_t{0});
    Bytes file;
    file.text_ = "PERFILE2";
    file.put(std::uint64_t{104}).put(std::uint64_t{128}).put(std::uint64_t{104}).put(std::uint64_t{128});
    file.put(std::uint64_t{232}).put(static_cast<std::uint64_t>(data.size())).pad(104);
    return file.text_ + attr.text_ + data;
}

bool perf_is_here() { return std::system("perf --version >/dev/null 2>&1") == 0; }

std::vector<std::string> names_by_perf(const std::string& image, std::string_view build_id,
                                       const std::vector<std::uint64_t>& addresses) {
    std::string folder = (fs::temp_directory_path() / "perfleet-agreement-XXXXXX").string();
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    std::ofstream{folder + "/perf.data", std::ios::binary} << perf_data(image, build_id, addresses);
    const std::string command =
        "cd " + folder + " && HOME=" + folder + " perf script -f -i perf.data -F ip,sym --no-inline 2>errors";
    std::vector<std::string> names;
    FILE* pipe = popen(command.c_str(), "r");
    char* line = nullptr;
    std::size_t capacity = 0;
    while (getline(&line, &capacity, pipe) > 0) {
        std::string text{line};
        text.erase(0, text.find_first_not_of(' '));
        text.erase(0, text.find(' ') + 1);
        text.erase(text.find_last_not_of(" \n") + 1);
        names.push_back(std::move(text));
    }
    std::free(line);
    EXPECT_EQ(pclose(pipe), 0);
    fs::remove_all(folder);
    return names;
}

// Borders of the program's own sections and symbols, and addresses in between.
std::vector<std::uint64_t> addresses_in(const ElfFile& file) {
    std::set<std::uint64_t> addresses;
    std::mt19937_64 random{7};
    for (std::size_t index = 0; index < file.sections().size(); ++index) {
        const ElfSection& section = file.sections()[index];
        if ((section.flags & SHF_EXECINSTR) != 0 && section.size_bytes > 0) {
            addresses.insert({section.file_offset, section.file_offset + section.size_bytes - 1});
            const std::uint64_t step = section.name.starts_with(".plt") ? 8 : 1 + section.size_bytes / 4'000;
            for (std::uint64_t at = 0; at < section.size_bytes; at += step + random() % step) {
                addresses.insert(section.file_offset + at);
            }
        }
        const ElfFile::Symbols symbols{file, index};
        for (std::size_t number = 0; number < std::min<std::size_t>(symbols.size(), 4'000); ++number) {
            const ElfSymbol symbol = symbols[number];
            for (const ElfSegment& segment : file.segments()) {
                if (symbol.named && symbol.value > segment.address &&
                    symbol.value - segment.address < segment.size_bytes) {
                    const std::uint64_t offset = symbol.value - segment.address + segment.file_offset;
                    addresses.insert({offset - 1, offset, offset + symbol.size_bytes});
                }
            }
        }
    }
    return {addresses.begin(), addresses.end()};
}

void expect_agreement(const std::string& path) {
    const auto file = ElfFile::open(path);
    ASSERT_TRUE(file.ok()) << path;
    const std::vector<std::uint64_t> addresses = addresses_in(**file);
    const std::vector<std::string> by_perf = names_by_perf(path, (*file)->build_id(), addresses);
    ASSERT_EQ(by_perf.size(), addresses.size());
    SymbolPaths paths;
    paths.build_id_cache.clear();
    Symbolizer symbolizer{nullptr, paths};
    ImageDefinition image;
    image.flags = image_flags::kFileOffset;
    image.name = path;
    image.build_id = (*file)->build_id();
    std::size_t named = 0;
    for (std::size_t index = 0; index < addresses.size(); ++index) {
        const Symbol symbol = symbolizer.resolve(image, addresses[index]);
        if (by_perf[index] != "[unknown]") {
            ++named;
            EXPECT_EQ(symbol.name, by_perf[index]) << std::hex << addresses[index];
        } else {
            // Where perf has no name, only the PLT has one here.
            EXPECT_TRUE(!symbol.resolved || symbol.name.ends_with("@plt")) << symbol.name;
        }
    }
    EXPECT_GT(named, addresses.size() / 2);
}

TEST(PerfAgreement, OnOwnCppProgram) {
    ASSERT_TRUE(perf_is_here()) << "perf is not installed: tools/setup does it";
    expect_agreement(PERFLEET_SYMBOL_FIXTURE);
}

// Libraries of the system: the C library stripped or with its debug file, a large C++ one with .dynsym alone.
std::string loaded_library(std::string_view name) {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        if (const std::size_t slash = line.find('/');
            slash != std::string::npos && line.find(name, slash) != std::string::npos) {
            return line.substr(slash);
        }
    }
    return {};
}

TEST(PerfAgreement, OnSystemLibraries) {
    ASSERT_TRUE(perf_is_here()) << "perf is not installed: tools/setup does it";
    for (const char* name : {"/libc.so", "/libstdc++.so"}) {
        const std::string path = loaded_library(name);
        ASSERT_FALSE(path.empty()) << name;
        expect_agreement(path);
    }
}

TEST(PerfAgreement, OnKernelSymbols) {
    std::ifstream file{"/proc/kallsyms"};
    std::vector<std::pair<std::uint64_t, std::string>> lines;
    std::uint64_t text_start = 0;
    std::uint64_t text_end = 0;
    for (std::string line; std::getline(file, line);) {
        std::size_t used = 0;
        const std::uint64_t address = std::stoull(line, &used, 16);
        lines.emplace_back(address, line.substr(used));
        text_start = line.ends_with(" _stext") ? address : text_start;
        text_end = line.ends_with(" _etext") ? address : text_end;
    }
    ASSERT_TRUE(perf_is_here()) << "perf is not installed: tools/setup does it";
    if (text_start == 0) {
        GTEST_SKIP() << "kernel.kptr_restrict hides the kernel's addresses from this user";
    }
    std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::ostringstream text;
    std::vector<std::uint64_t> addresses{text_start};
    for (const auto& [address, rest] : lines) {
        if (address < text_start) {
            continue;
        }
        text << std::hex << address - text_start << rest << "\n";
        if (address > addresses.back() && address < text_end && addresses.size() < 40'000) {
            addresses.push_back(address);
            addresses.push_back(address + 1);
        }
    }
    std::ifstream notes_file{"/sys/kernel/notes", std::ios::binary};
    const std::string notes{std::istreambuf_iterator<char>{notes_file}, {}};
    const std::size_t name = notes.find(std::string_view{"\x03\0\0\0GNU\0", 8});
    ASSERT_NE(name, std::string::npos);
    const std::vector<std::string> by_perf =
        names_by_perf("[kernel.kallsyms]_stext", notes.substr(name + 8, 20), addresses);
    ASSERT_EQ(by_perf.size(), addresses.size());
    std::uint64_t bad_lines = 0;
    const auto table = symbols_of_kernel(text.str(), bad_lines);
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(bad_lines, 0U);
    for (std::size_t index = 0; index < addresses.size(); ++index) {
        SymbolTable::Hit hit;
        ASSERT_TRUE(table->find(addresses[index] - text_start, hit));
        EXPECT_EQ(hit.name, by_perf[index]) << std::hex << addresses[index];
    }
}

}  // namespace
}  // namespace perfleet::perf_agreement_test
