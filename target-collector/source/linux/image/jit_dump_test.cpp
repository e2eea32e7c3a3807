#include "target-collector/source/linux/image/jit_dump.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace perfleet {
namespace jit_dump_test {

template <class Number>
std::string bytes_of(Number number) {
    std::string bytes(sizeof(number), '\0');
    std::memcpy(bytes.data(), &number, sizeof(number));
    return bytes;
}

std::string record_of(std::uint32_t type, const std::string& body) {
    return bytes_of(type) + bytes_of(static_cast<std::uint32_t>(16 + body.size())) + bytes_of(std::uint64_t{7}) + body;
}

std::string load_of(std::uint64_t address, std::uint64_t size_bytes, const std::string& name) {
    return record_of(0, bytes_of(std::uint64_t{0}) + bytes_of(address) + bytes_of(address) + bytes_of(size_bytes) +
                            bytes_of(std::uint64_t{1}) + name + '\0' + std::string(size_bytes, '\x90'));
}

std::string move_of(std::uint64_t from, std::uint64_t to, std::uint64_t size_bytes) {
    return record_of(1, bytes_of(std::uint64_t{0}) + bytes_of(to) + bytes_of(from) + bytes_of(to) +
                            bytes_of(size_bytes) + bytes_of(std::uint64_t{1}));
}

// The dump of this very process; each test is a process of its own.
class JitDumpTest : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove(path_); }

    void append(const std::string& bytes) const {
        std::ofstream file{path_, std::ios::app | std::ios::binary};
        file << bytes;
    }
    std::string name_at(std::uint64_t address) const {
        const auto function = functions_.find(address);
        return function ? std::string{function->name} : "-";
    }

    const std::string header_ = bytes_of(std::uint32_t{0x4a69'5444}) + bytes_of(std::uint32_t{1}) +
                                bytes_of(std::uint32_t{40}) + std::string(28, '\0');
    const std::string path_ =
        std::filesystem::temp_directory_path().string() + "/jit-" + std::to_string(::getpid()) + ".dump";
    PerfMap functions_;
    JitDump dump_{static_cast<std::uint32_t>(::getpid()), path_};
};

TEST_F(JitDumpTest, IsReadAsItGrows) {
    EXPECT_FALSE(dump_.read(functions_)) << "there is none yet";
    append(header_ + load_of(0x1000, 0x20, "f"));
    EXPECT_TRUE(dump_.read(functions_));
    EXPECT_EQ(name_at(0x101f), "f");
    EXPECT_EQ(name_at(0x1020), "-");
    EXPECT_FALSE(dump_.read(functions_));
    // What isn't whole waits; what takes the place of code takes its name.
    const std::string next = load_of(0x1000, 0x10, "g") + load_of(0x2000, 0x10, "h");
    append(next.substr(0, 20));
    EXPECT_FALSE(dump_.read(functions_));
    append(next.substr(20));
    EXPECT_TRUE(dump_.read(functions_));
    EXPECT_EQ(name_at(0x1000), "g");
    EXPECT_EQ(name_at(0x2000), "h");
}

TEST_F(JitDumpTest, CodeThatMovesKeepsItsName) {
    append(header_ + load_of(0x1000, 0x20, "f") + record_of(4, std::string(100, 'x')) + move_of(0x1000, 0x5000, 0x20));
    EXPECT_TRUE(dump_.read(functions_));
    EXPECT_EQ(name_at(0x5001), "f");
}

TEST_F(JitDumpTest, PassesOverCodeHoweverLarge) {
    append(header_ + load_of(0x10'0000, 3U << 20U, "large") + load_of(0x1000, 0x20, "f"));
    while (dump_.read(functions_)) {
    }
    EXPECT_EQ(name_at(0x10'0000), "large");
    EXPECT_EQ(name_at(0x1000), "f");
}

TEST_F(JitDumpTest, WhatBreaksTheFormatEndsIt) {
    append(header_ + load_of(0x1000, 0x20, "f") + std::string(16, '\0') + load_of(0x2000, 0x20, "g"));
    (void)dump_.read(functions_);
    EXPECT_FALSE(dump_.read(functions_));
    EXPECT_EQ(name_at(0x1000), "f");
    EXPECT_EQ(name_at(0x2000), "-");
}

TEST(JitDump, IsKnownByItsName) {
    EXPECT_TRUE(is_jit_dump_path("/tmp/jit-12.dump"));
    EXPECT_TRUE(is_jit_dump_path("/root/.debug/jit/java-jit-20260101.XXabcd/jit-7.dump"));
    for (const char* const path : {"/tmp/jit-.dump", "/tmp/jit-1x.dump", "/tmp/jit-1.dump.so", "/tmp/perf-1.map", ""}) {
        EXPECT_FALSE(is_jit_dump_path(path)) << path;
    }
}

}  // namespace jit_dump_test
}  // namespace perfleet
