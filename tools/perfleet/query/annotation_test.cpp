// This test annotates itself.
#include "tools/perfleet/query/annotation.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"

namespace perfleet::annotation_test {
namespace {

std::string output_of(const std::string& command) {
    std::string text;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    char buffer[4096];
    for (std::size_t size = 0; (size = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
        text.append(buffer, size);
    }
    EXPECT_EQ(::pclose(pipe), 0) << command;
    return text;
}

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

// `main` of this program, with so many samples of its first and of its second instruction, and one between them.
struct OwnMain {
    AnnotatedFunction function;
    std::vector<std::string> addresses;     // of its instructions, by objdump
    std::vector<std::string> instructions;  // "push   %rbp"

    OwnMain() {
        std::istringstream code{output_of("objdump -d --no-show-raw-insn --disassemble=main '" + own_path() + "'")};
        for (std::string line; std::getline(code, line);) {
            if (const std::size_t colon = line.find(":\t"); colon != std::string::npos) {
                addresses.push_back(line.substr(line.find_first_not_of(' '), colon - line.find_first_not_of(' ')));
                instructions.push_back(line.substr(colon + 2));
            }
        }
        function.image = own_path();
        const auto file = ElfFile::open(own_path());
        function.build_id = hex_of((*file)->build_id());
        function.symbol = "main";
        function.is_file_offset = true;
        function.start = offset(0);
        function.first = offset(0);
        function.last = offset(addresses.size() - 1);
        function.samples = {{offset(0), {3'000, 3}}, {offset(1), {5'000, 4}}};
        if (offset(1) - offset(0) > 1) {
            function.samples[offset(0) + 1] = {-1'000, 1};
        }
        for (const auto& [place, sum] : function.samples) {
            function.total += sum;
        }
    }

    [[nodiscard]] std::uint64_t offset(std::size_t instruction) const {
        const std::uint64_t address = std::stoull(addresses.at(instruction), nullptr, 16);
        const auto file = ElfFile::open(own_path());
        for (const ElfSegment& segment : (*file)->segments()) {
            if (address >= segment.address && address - segment.address < segment.size_bytes) {
                return address - segment.address + segment.file_offset;
            }
        }
        return address;
    }
};

AnnotateTools without_source() {
    AnnotateTools tools;
    tools.paths.build_id_cache.clear();
    tools.has_source = false;
    return tools;
}

TEST(Annotation, CountsTheSamplesOfEachInstruction) {
    const OwnMain own;
    std::vector<std::string> warnings;
    const auto lines = annotate(own.function, without_source(), warnings);
    ASSERT_TRUE(lines.ok()) << lines.error().message;
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    ASSERT_EQ(lines->size(), own.addresses.size());
    Sum sum;
    for (std::size_t i = 0; i < lines->size(); ++i) {
        EXPECT_EQ((*lines)[i].address, own.addresses[i]);
        sum += (*lines)[i].self;
    }
    EXPECT_TRUE((*lines)[1].self == (Sum{5'000, 4}));
    EXPECT_TRUE(sum == own.function.total) << "what lies within an instruction is the instruction's";
    EXPECT_DOUBLE_EQ((*lines)[1].percent, 500'000.0 / static_cast<double>(own.function.total.amount));
    EXPECT_EQ((*lines)[0].text.substr(0, 4), own.instructions[0].substr(0, 4));
}

// Nothing is disassembled if it isn't the recorded build.
void expect_addresses_alone(const AnnotatedFunction& function, const std::string& reason) {
    std::vector<std::string> warnings;
    const auto lines = annotate(function, without_source(), warnings);
    ASSERT_TRUE(lines.ok()) << lines.error().message;
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find(reason), std::string::npos) << warnings[0];
    ASSERT_EQ(lines->size(), function.samples.size());
    auto place = function.samples.begin();
    for (const AnnotatedLine& line : *lines) {
        EXPECT_EQ(std::stoull(line.address, nullptr, 16), place->first);
        EXPECT_TRUE(line.self == place->second);
        std::ostringstream text;
        text << function.symbol << "+0x" << std::hex << place->first - function.start;
        EXPECT_EQ(line.text, place->first == function.start ? function.symbol + "+0x0" : text.str());
        ++place;
    }
}

TEST(Annotation, NeverDisassemblesAnotherBuild) {
    OwnMain own;
    own.function.build_id = std::string(40, 'a');
    expect_addresses_alone(own.function, "is another build");
}

TEST(Annotation, WithoutTheFileShowsAddresses) {
    OwnMain own;
    own.function.image = "/nowhere/program";
    expect_addresses_alone(own.function, "--symfs");
    own.function.image = "[kernel.kallsyms]";
    own.function.symbol = "read_zero";
    expect_addresses_alone(own.function, "isn't a file");
}

TEST(Annotation, WithoutARecordedBuildIdSaysThatTheFileMayBeAnother) {
    OwnMain own;
    own.function.build_id.clear();
    std::vector<std::string> warnings;
    const auto lines = annotate(own.function, without_source(), warnings);
    ASSERT_TRUE(lines.ok());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("may be another build"), std::string::npos);
    EXPECT_EQ(lines->size(), own.addresses.size());
}

TEST(Annotation, ObjdumpThatIsNotThereIsAnErrorWithTheWayOut) {
    AnnotateTools tools = without_source();
    tools.objdump = "/nowhere/objdump";
    std::vector<std::string> warnings;
    const auto lines = annotate(OwnMain{}.function, tools, warnings);
    ASSERT_FALSE(lines.ok());
    EXPECT_NE(lines.error().message.find("--objdump"), std::string::npos);
}

// Rows of the query: image, build-id, symbol, first, last, offset, self, whether it is a file's offset, start, samples.
std::vector<AnswerValue> row(const std::string& build_id, const std::string& symbol, std::uint64_t offset,
                             std::uint64_t samples) {
    return {AnswerValue{"/bin/a"},        AnswerValue{build_id},         AnswerValue{symbol},
            AnswerValue{offset & ~15ULL}, AnswerValue{offset | 15ULL},   AnswerValue{offset},
            AnswerValue{samples},         AnswerValue{std::uint64_t{1}}, AnswerValue{std::uint64_t{0x100}},
            AnswerValue{samples}};
}

TEST(Annotation, FunctionsOfEachBuildStandApartTheGreatestFirst) {
    Answer answer;
    answer.rows = {row("aa", "f", 0x104, 2), row("aa", "f", 0x118, 3), row("aa", "g", 0x204, 1),
                   row("bb", "f", 0x104, 9)};
    const auto functions = functions_of(answer);
    ASSERT_EQ(functions.size(), 3U);
    EXPECT_EQ(functions[0].build_id, "bb");
    EXPECT_EQ(functions[0].total.amount, 9);
    EXPECT_EQ(functions[1].total.rows, 5U);
    EXPECT_EQ(functions[1].first, 0x100U);
    EXPECT_EQ(functions[1].last, 0x11fU);
    EXPECT_EQ(functions[1].start, 0x100U);
    EXPECT_TRUE((functions[1].samples == std::map<std::uint64_t, Sum>{{0x104, {2, 2}}, {0x118, {3, 3}}}));
    EXPECT_EQ(functions[2].symbol, "g");
}

}  // namespace
}  // namespace perfleet::annotation_test
