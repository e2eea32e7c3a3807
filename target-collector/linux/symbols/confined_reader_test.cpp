// A real process that reads real files: its rights, its answers, and that its end costs only one file.
#include "target-collector/linux/symbols/confined_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include "target-collector/process/unwind/table_bytes.h"
#include "target-collector/source/linux/event/probe_name.h"

namespace perfleet {
namespace {

constexpr const char* kProgram = PERFLEET_BIN_DIR "/perfleet-collector";

FileDescriptor no_debug_file(const SymbolPart& /*part*/) { return FileDescriptor{}; }

FileDescriptor opened(const char* path) { return FileDescriptor{::open(path, O_RDONLY | O_CLOEXEC)}; }

std::string line_of(pid_t pid, const std::string& file, const std::string& beginning) {
    std::ifstream lines{"/proc/" + std::to_string(pid) + "/" + file};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(beginning)) {
            return line;
        }
    }
    return "";
}

TEST(ConfinedReader, AnswersAsItIsReadHere) {
    ConfinedReader reader{kProgram};
    for (const char* path : {"/proc/self/exe", "/usr/bin/sort"}) {
        const FileDescriptor file = opened(path);
        std::string asked;
        std::string asked_here;
        const auto there = reader.symbols(file.get(), [&](const SymbolPart& part) {
            asked = part.debug_link;
            return FileDescriptor{};
        });
        const auto here = packed_symbols_of_file(file.get(), [&](const SymbolPart& part) {
            asked_here = part.debug_link;
            return FileDescriptor{};
        });
        ASSERT_TRUE(there.ok()) << there.error().message;
        ASSERT_TRUE(here.ok()) << here.error().message;
        EXPECT_FALSE(there->bytes.empty()) << path;
        EXPECT_EQ(there->bytes, here->bytes) << path;
        EXPECT_EQ(there->is_whole, here->is_whole) << path;
        EXPECT_EQ(asked, asked_here) << path;
    }
}

TEST(ConfinedReader, TakesSymbolsFromTheDebugFileThatIsOpenedHere) {
    ConfinedReader reader{kProgram};
    const FileDescriptor file = opened("/usr/bin/sort");
    int asked_count = 0;
    const auto symbols = reader.symbols(file.get(), [&](const SymbolPart& /*part*/) {
        ++asked_count;
        return opened("/proc/self/exe");
    });
    const auto without = reader.symbols(file.get(), no_debug_file);
    ASSERT_TRUE(symbols.ok()) << symbols.error().message;
    ASSERT_TRUE(without.ok()) << without.error().message;
    EXPECT_EQ(asked_count, 1);
    EXPECT_EQ(symbols->bytes, without->bytes) << "one of another build isn't used";
}

TEST(ConfinedReader, HasNoRightsAndLimits) {
    ConfinedReader reader{kProgram};
    const FileDescriptor file = opened("/usr/bin/sort");
    ASSERT_TRUE(reader.symbols(file.get(), no_debug_file).ok());
    const pid_t pid = reader.pid();
    EXPECT_EQ(line_of(pid, "status", "CapPrm:"), "CapPrm:\t0000000000000000");
    EXPECT_EQ(line_of(pid, "status", "CapEff:"), "CapEff:\t0000000000000000");
    EXPECT_EQ(line_of(pid, "status", "NoNewPrivs:"), "NoNewPrivs:\t1");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_EQ(line_of(pid, "status", "Seccomp:"), "Seccomp:\t2");
#endif
    if (::geteuid() == 0) {
        EXPECT_EQ(line_of(pid, "status", "Uid:"), "Uid:\t65534\t65534\t65534\t65534");
        EXPECT_EQ(line_of(pid, "status", "Groups:"), "Groups:\t ");
    }
    std::istringstream descriptors{line_of(pid, "limits", "Max open files")};
    std::string word;
    descriptors >> word >> word >> word >> word;
    EXPECT_EQ(word, std::to_string(ConfinedReader::kDescriptorsMax));
}

TEST(ConfinedReader, WhatIsNoElfFileIsSaid) {
    ConfinedReader reader{kProgram};
    const FileDescriptor file = opened("/etc/passwd");
    const auto symbols = reader.symbols(file.get(), no_debug_file);
    ASSERT_FALSE(symbols.ok());
    EXPECT_EQ(symbols.error().code, ErrorCode::kInvalid) << symbols.error().message;
}

TEST(ConfinedReader, ItsEndCostsOneFile) {
    ConfinedReader reader{kProgram};
    const FileDescriptor file = opened("/usr/bin/sort");
    const auto cut = reader.symbols(file.get(), [&](const SymbolPart& /*part*/) {
        ::kill(reader.pid(), SIGKILL);
        return FileDescriptor{};
    });
    ASSERT_FALSE(cut.ok());
    EXPECT_EQ(cut.error().code, ErrorCode::kTooLarge);
    EXPECT_EQ(reader.pid(), 0);
    EXPECT_TRUE(reader.symbols(file.get(), no_debug_file).ok());
    EXPECT_GT(reader.cpu_ns(), 0U);
}

TEST(ConfinedReader, OneThatAsksWithoutEndIsEnded) {
    const std::string program = testing::TempDir() + "endless_reader_" + std::to_string(::getpid());
    std::ofstream{program} << "#!/usr/bin/python3\n"
                              "import socket, struct\n"
                              "end = socket.socket(fileno=0)\n"
                              "while True:\n"
                              "    end.send(struct.pack('<4I', 5, 0, 0, 0) + bytes(1008))\n";
    ASSERT_EQ(::chmod(program.c_str(), 0700), 0);
    ConfinedReader reader{program};
    const FileDescriptor file = opened("/usr/bin/sort");
    unsigned asked_count = 0;
    const auto symbols = reader.symbols(file.get(), [&](const SymbolPart& /*part*/) {
        EXPECT_LE(++asked_count, ConfinedReader::kMessagesMax);
        return FileDescriptor{};
    });
    ::unlink(program.c_str());
    ASSERT_FALSE(symbols.ok());
    EXPECT_EQ(symbols.error().code, ErrorCode::kTooLarge);
    EXPECT_EQ(asked_count, ConfinedReader::kMessagesMax);
    EXPECT_EQ(reader.pid(), 0);
}

TEST(ConfinedReader, UnwindTablesAreThoseThatAreMadeHere) {
    ConfinedReader reader{kProgram};
    DirectImageReader here;
    for (const char* path : {"/proc/self/exe", "/usr/bin/sort", "/usr/bin/python3.11"}) {
        const FileDescriptor file = opened(path);
        const auto table = reader.unwind_table(file.get());
        const auto expected = here.unwind_table(file.get());
        ASSERT_TRUE(table.ok()) << table.error().message;
        ASSERT_TRUE(expected.ok()) << expected.error().message;
        EXPECT_GT(table->row_count(), 100U) << path;
        EXPECT_EQ(unwind_table_bytes(*table), unwind_table_bytes(*expected)) << path;
    }
    EXPECT_GT(reader.cpu_ns(), 0U) << "of a process that runs";
}

TEST(ConfinedReader, FindsPythonsSymbolsAsTheyAreFoundHere) {
    ConfinedReader reader{kProgram};
    DirectImageReader here;
    const FileDescriptor python = opened("/usr/bin/python3.11");
    const auto found = reader.python_symbols(python.get());
    const auto expected = here.python_symbols(python.get());
    ASSERT_TRUE(expected.has_value());
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->runtime, expected->runtime);
    EXPECT_EQ(found->code_offset, expected->code_offset);
    EXPECT_EQ(found->code_address, expected->code_address);
    EXPECT_FALSE(reader.python_symbols(opened("/usr/bin/sort").get()).has_value());
}

// Of this program itself.
PERFLEET_TRACE_NAME(7, "of-the-test");

TEST(ConfinedReader, FindsProbesAsTheyAreFoundHere) {
    ConfinedReader reader{kProgram};
    DirectImageReader here;
    const FileDescriptor own = opened("/proc/self/exe");
    const auto entries = reader.probe_entries(own.get());
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_STREQ(entries[0].name, "of-the-test");
    unsigned found_count = 0;
    for (std::uint64_t file_offset = 0; file_offset < 64U << 20U; file_offset += 4'096) {
        const auto expected = here.probe_door(own.get(), file_offset);
        if (expected) {
            const auto found = reader.probe_door(own.get(), file_offset);
            ASSERT_TRUE(found.has_value());
            EXPECT_EQ(found->distance, expected->distance);
            EXPECT_TRUE(found->has_names);
            ++found_count;
        }
    }
    EXPECT_GT(found_count, 0U);
    const FileDescriptor other = opened("/usr/bin/sort");
    EXPECT_TRUE(reader.probe_entries(other.get()).empty());
    EXPECT_FALSE(reader.probe_door(other.get(), 0x4000).has_value());
}

TEST(ConfinedReader, WhatHasNoTableIsSaid) {
    ConfinedReader reader{kProgram};
    const auto table = reader.unwind_table(opened("/etc/passwd").get());
    ASSERT_FALSE(table.ok());
    EXPECT_EQ(table.error().code, ErrorCode::kInvalid) << table.error().message;
    EXPECT_NE(reader.pid(), 0);
}

// The process may be under the control of a file.
TEST(ConfinedReader, ATableThatBreaksItsFormatIsRefused) {
    const std::string program = testing::TempDir() + "lying_reader_" + std::to_string(::getpid());
    std::ofstream{program} << "#!/usr/bin/python3\n"
                              "import os, socket, struct\n"
                              "end = socket.socket(fileno=0)\n"
                              "content = os.memfd_create('table')\n"
                              "os.write(content, bytes(range(256)) * 64)\n"
                              "while socket.recv_fds(end, 2000, 1)[0]:\n"
                              "    socket.send_fds(end, [struct.pack('<4I', 6, 0, 1, 0) + bytes(1008)], [content])\n";
    ASSERT_EQ(::chmod(program.c_str(), 0700), 0);
    ConfinedReader reader{program};
    const FileDescriptor file = opened("/usr/bin/python3.11");
    const auto table = reader.unwind_table(file.get());
    const auto symbols = reader.python_symbols(file.get());
    const auto entries = reader.probe_entries(file.get());
    const auto door = reader.probe_door(file.get(), 0);
    ::unlink(program.c_str());
    ASSERT_FALSE(table.ok());
    EXPECT_EQ(table.error().code, ErrorCode::kCorrupt) << table.error().message;
    EXPECT_FALSE(symbols.has_value());
    EXPECT_TRUE(probe_names_of(entries).empty());
    EXPECT_FALSE(door.has_value());
}

TEST(ConfinedReader, StartsAgainAfterAnEndUpToALimit) {
    ConfinedReader reader{kProgram};
    const FileDescriptor file = opened("/usr/bin/sort");
    for (unsigned start = 0; start < ConfinedReader::kStartsMax; ++start) {
        ASSERT_TRUE(reader.unwind_table(file.get()).ok()) << start;
        reader.end();
    }
    const auto table = reader.unwind_table(file.get());
    ASSERT_FALSE(table.ok());
    EXPECT_EQ(table.error().code, ErrorCode::kUnsupported) << table.error().message;
}

TEST(ConfinedReader, SaysWhyItCannotBeStarted) {
    ConfinedReader reader{"/nonexistent/program"};
    const FileDescriptor file = opened("/usr/bin/sort");
    const auto symbols = reader.symbols(file.get(), no_debug_file);
    ASSERT_FALSE(symbols.ok());
    EXPECT_EQ(symbols.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(symbols.error().message.find("No such file"), std::string::npos) << symbols.error().message;
}

}  // namespace
}  // namespace perfleet
