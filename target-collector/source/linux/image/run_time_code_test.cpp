#include "target-collector/source/linux/image/run_time_code.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

// The code of this very process, as the collector would see it; each test is a process of its own.
class RunTimeCodeTest : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove(path_); }

    void write_map(const std::string& text) const {
        std::ofstream file{path_, std::ios::app};
        file << text;
    }

    // What a frame at `address` of memory that begins at 0x1000 becomes: "name+offset".
    std::string named(Process& process, std::uint64_t address) {
        stack_->frame_count = 1;
        stack_->frames[0] = {memory_, address - 0x1000};
        code_.name_frames(process, *stack_, now_);
        now_ += 2 * kSecondNs;  // long enough to look at the file again
        const ResolvedFrame& frame = stack_->frames[0];
        return images_.at(frame.image).name + "+" + std::to_string(frame.offset);
    }

    Process process(std::uint32_t pid) const {
        Process made;
        made.pid = pid;
        return made;
    }

    const std::uint32_t pid_ = static_cast<std::uint32_t>(::getpid());
    std::string path_ = "/tmp/perf-" + std::to_string(pid_) + ".map";
    ImageTable images_;
    ImageIndex memory_ = images_.intern({"//anon", image_flags::kAnonymous, 0x1000, 0, {}}).value();
    RunTimeCode code_{images_};
    std::unique_ptr<ResolvedStack> stack_ = std::make_unique<ResolvedStack>();
    std::uint64_t now_ = kSecondNs;
};

TEST_F(RunTimeCodeTest, FramesBecomeThoseOfFunctions) {
    Process self = process(pid_);
    EXPECT_EQ(named(self, 0x1010), "//anon+16");
    write_map("1000 20 f\n1020 20 g\n");
    EXPECT_EQ(named(self, 0x1010), "f+16");
    EXPECT_EQ(named(self, 0x1021), "g+1");
    EXPECT_EQ(named(self, 0x1040), "//anon+64");
    const Image& g = images_.at(images_.intern({"g", image_flags::kAnonymous, 0x1020, 0x20, {}}).value());
    EXPECT_EQ(g.address, 0x1020U);
    EXPECT_EQ(images_.image_count(), 3U) << "//anon, f and g";
}

TEST_F(RunTimeCodeTest, NamesEndAtTheirFirstNul) {
    Process self = process(pid_);
    using std::string_literals::operator""s;
    write_map("1000 20 f\0rest\n1020 20 \0\n1040 20 h\n"s);
    EXPECT_EQ(named(self, 0x1010), "f+16");
    EXPECT_EQ(named(self, 0x1021), "//anon+33");
    EXPECT_EQ(named(self, 0x1041), "h+1");
}

TEST_F(RunTimeCodeTest, TheMeaningOfAChainChangesWithTheNames) {
    Process self = process(pid_);
    write_map("1000 20 f\n");
    EXPECT_EQ(named(self, 0x1010), "f+16");
    const std::uint64_t before = self.code->generation();
    code_.refresh(now_);
    EXPECT_EQ(self.code->generation(), before) << "nothing was told";
    write_map("1000 20 g\n");
    now_ += 2 * kSecondNs;
    code_.refresh(now_);
    EXPECT_NE(self.code->generation(), before);
    EXPECT_EQ(named(self, 0x1010), "g+16");
}

TEST_F(RunTimeCodeTest, AForkedProcessHasItsParentsCode) {
    Process parent = process(pid_);
    write_map("1000 20 f\n");
    EXPECT_EQ(named(parent, 0x1010), "f+16");
    Process child = process(0xffff'fff0);
    child.parent_code = parent.code;
    EXPECT_EQ(named(child, 0x1010), "f+16");
    EXPECT_NE(child.code->generation(), parent.code->generation());
    const std::uint64_t before = child.code->generation();
    write_map("1000 20 g\n");
    now_ += 2 * kSecondNs;
    code_.refresh(now_);
    EXPECT_NE(child.code->generation(), before);
    EXPECT_EQ(named(child, 0x1010), "g+16");
}

TEST_F(RunTimeCodeTest, FramesOfFilesStayAsTheyAre) {
    Process self = process(pid_);
    write_map("1000 20 f\n");
    const ImageIndex file = images_.intern({"/bin/x", image_flags::kFileOffset, 0, 0, {}}).value();
    stack_->frame_count = 1;
    stack_->frames[0] = {file, 0x1010};
    code_.name_frames(self, *stack_, now_);
    EXPECT_EQ(stack_->frames[0].image, file);
    EXPECT_EQ(self.code, nullptr) << "nobody needs its names";
}

TEST_F(RunTimeCodeTest, FunctionsAreBounded) {
    Process self = process(pid_);
    std::string text;
    for (std::size_t i = 0; i < RunTimeCode::kFunctionImagesMax + 1; ++i) {
        char line[64];
        std::snprintf(line, sizeof line, "%zx 10 f%zu\n", 0x1000 + i * 0x10, i);
        text += line;
    }
    write_map(text);
    for (std::size_t i = 0; i < RunTimeCode::kFunctionImagesMax; ++i) {
        ASSERT_EQ(named(self, 0x1000 + i * 0x10), "f" + std::to_string(i) + "+0");
    }
    EXPECT_TRUE(code_.is_full());
    const std::uint64_t last = 0x1000 + RunTimeCode::kFunctionImagesMax * 0x10;
    EXPECT_EQ(named(self, last), "//anon+" + std::to_string(last - 0x1000));
    std::vector<bool> is_used(images_.place_count());
    is_used[memory_] = true;
    images_.sweep(is_used);
    code_.forget_images();
    EXPECT_EQ(named(self, last), "f" + std::to_string(RunTimeCode::kFunctionImagesMax) + "+0");
}

}  // namespace
}  // namespace perfleet
