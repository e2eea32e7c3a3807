#include "target-collector/source/linux/image/python_frames.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "target-collector/process/python_layout.h"
#include "target-collector/source/linux/bpf/unwind_layout.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kAsciiState = 1U << 2U | 1U << 5U | 1U << 6U;
constexpr std::uint32_t kNobody = 0xffff'fff0;  // no process has this number: nothing can be read from its memory

class PythonFramesTest : public testing::Test {
protected:
    PythonFramesTest() { process_.pid = kNobody; }

    static void set(unwind_text& text, std::string_view content) {
        text.state = kAsciiState;
        text.size = static_cast<std::uint32_t>(content.size());
        std::memcpy(text.content, content.data(), content.size());
    }

    // As the BPF program reads the code object of this number.
    void keep(std::uint64_t number) {
        unwind_code code{};
        code.address = address_of(number);
        code.pid = kNobody;
        code.check = 7;
        code.first_line = 1;
        set(code.name, "function_" + std::to_string(number));
        set(code.file_name, "/srv/app/" + std::to_string(number % 100) + ".py");
        code.lines_size = UNWIND_LINES_BYTES;
        for (std::size_t i = 0; i < UNWIND_LINES_BYTES; ++i) {
            code.lines[i] = i % 3 == 0 ? static_cast<char>(0x80U | 11U << 3U) : '\0';  // one line further each
        }
        frames_.keep(std::as_bytes(std::span{&code, 1}));
    }
    static std::uint64_t address_of(std::uint64_t number) { return 0x7f00'0000'0000 + number * 256; }

    [[nodiscard]] std::string name_of(std::uint64_t number) {
        const auto frame = frames_.find(process_, address_of(number), 7);
        return frame ? images_.at(frame->image).name : "";
    }

    ImageTable images_;
    RunTimeCode code_{images_};
    PythonFrames frames_{images_, code_, [](ImageIndex, std::uint32_t, const Mapping&) { return std::nullopt; }};
    Process process_;
};

// As of programs that run for a moment each: every one has code objects of its own.
TEST_F(PythonFramesTest, CodeObjectsAreBoundedAndTheNewestStay) {
    constexpr std::uint64_t kCount = 100'000;
    for (std::uint64_t number = 1; number <= kCount; ++number) {
        keep(number);
        ASSERT_LE(frames_.size_bytes(), PythonFrames::kCodesSizeBytesMax);
    }
    EXPECT_GT(frames_.size_bytes(), PythonFrames::kCodesSizeBytesMax / 2);
    EXPECT_EQ(name_of(kCount), "function_100000 (0.py:1)");
    EXPECT_EQ(name_of(kCount - 1'000), "function_99000 (0.py:1)");
    EXPECT_EQ(frames_.read_count(), 0U);
    EXPECT_EQ(name_of(1), "") << "was forgotten, and its process has ended";
    EXPECT_EQ(frames_.read_count(), 1U);
}

TEST_F(PythonFramesTest, ACodeObjectThatIsReadAgainTakesNoMore) {
    keep(1);
    const std::size_t size_bytes = frames_.size_bytes();
    keep(1);
    EXPECT_EQ(frames_.size_bytes(), size_bytes);
    EXPECT_EQ(name_of(1), "function_1 (1.py:1)");
}

}  // namespace
}  // namespace perfleet
