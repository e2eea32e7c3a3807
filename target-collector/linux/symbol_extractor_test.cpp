// A real process that reads real files: what it may, what it answers, and that its end costs one file alone.
#include "target-collector/linux/symbol_extractor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

namespace perfleet {
namespace {

constexpr const char* kProgram = PERFLEET_BIN_DIR "/perfleet-collector";

int no_debug_file(const SymbolPart& /*part*/) { return -1; }

class OpenedFile {
public:
    explicit OpenedFile(const char* path) : fd_{::open(path, O_RDONLY | O_CLOEXEC)} {}
    OpenedFile(const OpenedFile&) = delete;
    OpenedFile& operator=(const OpenedFile&) = delete;
    ~OpenedFile() { ::close(fd_); }
    [[nodiscard]] int fd() const { return fd_; }

private:
    int fd_;
};

std::string line_of(pid_t pid, const std::string& file, const std::string& beginning) {
    std::ifstream lines{"/proc/" + std::to_string(pid) + "/" + file};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(beginning)) {
            return line;
        }
    }
    return "";
}

TEST(SymbolExtractor, AnswersAsItIsReadHere) {
    SymbolExtractor extractor{kProgram};
    for (const char* path : {"/proc/self/exe", "/usr/bin/sort"}) {
        const OpenedFile file{path};
        std::string asked;
        std::string asked_here;
        const auto there = extractor.extract(file.fd(), [&](const SymbolPart& part) {
            asked = part.debug_link;
            return -1;
        });
        const auto here = packed_symbols_of_file(file.fd(), [&](const SymbolPart& part) {
            asked_here = part.debug_link;
            return -1;
        });
        ASSERT_TRUE(there.ok()) << there.error().message;
        ASSERT_TRUE(here.ok()) << here.error().message;
        EXPECT_FALSE(there->bytes.empty()) << path;
        EXPECT_EQ(there->bytes, here->bytes) << path;
        EXPECT_EQ(there->is_whole, here->is_whole) << path;
        EXPECT_EQ(asked, asked_here) << path;
    }
}

TEST(SymbolExtractor, TakesSymbolsFromTheDebugFileThatIsOpenedHere) {
    SymbolExtractor extractor{kProgram};
    const OpenedFile file{"/usr/bin/sort"};
    int asked_count = 0;
    const auto symbols = extractor.extract(file.fd(), [&](const SymbolPart& /*part*/) {
        ++asked_count;
        return ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    });
    const auto without = extractor.extract(file.fd(), no_debug_file);
    ASSERT_TRUE(symbols.ok()) << symbols.error().message;
    ASSERT_TRUE(without.ok()) << without.error().message;
    EXPECT_EQ(asked_count, 1);
    EXPECT_EQ(symbols->bytes, without->bytes) << "one of another build isn't used";
}

TEST(SymbolExtractor, HasNoRightsAndLimits) {
    SymbolExtractor extractor{kProgram};
    const OpenedFile file{"/usr/bin/sort"};
    ASSERT_TRUE(extractor.extract(file.fd(), no_debug_file).ok());
    const pid_t pid = extractor.pid();
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
    EXPECT_EQ(word, std::to_string(SymbolExtractor::kDescriptorsMax));
}

TEST(SymbolExtractor, WhatIsNoElfFileIsSaid) {
    SymbolExtractor extractor{kProgram};
    const OpenedFile file{"/etc/passwd"};
    const auto symbols = extractor.extract(file.fd(), no_debug_file);
    ASSERT_FALSE(symbols.ok());
    EXPECT_EQ(symbols.error().code, ErrorCode::kInvalid) << symbols.error().message;
}

TEST(SymbolExtractor, ItsEndCostsOneFile) {
    SymbolExtractor extractor{kProgram};
    const OpenedFile file{"/usr/bin/sort"};
    const auto cut = extractor.extract(file.fd(), [&](const SymbolPart& /*part*/) {
        ::kill(extractor.pid(), SIGKILL);
        return -1;
    });
    ASSERT_FALSE(cut.ok());
    EXPECT_EQ(cut.error().code, ErrorCode::kTooLarge);
    EXPECT_EQ(extractor.pid(), 0);
    EXPECT_TRUE(extractor.extract(file.fd(), no_debug_file).ok());
    EXPECT_GT(extractor.cpu_ns(), 0U);
}

TEST(SymbolExtractor, OneThatAsksWithoutEndIsEnded) {
    const std::string program = testing::TempDir() + "endless_extractor_" + std::to_string(::getpid());
    std::ofstream{program} << "#!/usr/bin/python3\n"
                              "import socket, struct\n"
                              "end = socket.socket(fileno=0)\n"
                              "while True:\n"
                              "    end.send(struct.pack('<4I', 1, 0, 0, 0) + bytes(1008))\n";
    ASSERT_EQ(::chmod(program.c_str(), 0700), 0);
    SymbolExtractor extractor{program};
    const OpenedFile file{"/usr/bin/sort"};
    unsigned asked_count = 0;
    const auto symbols = extractor.extract(file.fd(), [&](const SymbolPart& /*part*/) {
        EXPECT_LE(++asked_count, SymbolExtractor::kMessagesMax);
        return -1;
    });
    ::unlink(program.c_str());
    ASSERT_FALSE(symbols.ok());
    EXPECT_EQ(symbols.error().code, ErrorCode::kTooLarge);
    EXPECT_EQ(asked_count, SymbolExtractor::kMessagesMax);
    EXPECT_EQ(extractor.pid(), 0);
}

TEST(SymbolExtractor, SaysWhyItCannotBeStarted) {
    SymbolExtractor extractor{"/nonexistent/program"};
    const OpenedFile file{"/usr/bin/sort"};
    const auto symbols = extractor.extract(file.fd(), no_debug_file);
    ASSERT_FALSE(symbols.ok());
    EXPECT_EQ(symbols.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(symbols.error().message.find("No such file"), std::string::npos) << symbols.error().message;
}

}  // namespace
}  // namespace perfleet
