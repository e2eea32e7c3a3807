#include "target-collector/source/linux/event/call_chain_choice.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace perfleet {
namespace {

CallChainWish wish_for(CallChainMode mode, std::vector<std::string> programs = {}) {
    CallChainWish wish;
    wish.mode = mode;
    wish.programs = std::move(programs);
    return wish;
}

TEST(CallChainChoice, WhatIsNamedIsTakenAsItIs) {
    auto none = choose_call_chains({});
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(none->has_chains);
    auto frame_pointers = choose_call_chains(wish_for(CallChainMode::kFramePointers));
    ASSERT_TRUE(frame_pointers.ok());
    EXPECT_TRUE(frame_pointers->has_chains);
    EXPECT_EQ(frame_pointers->user_stack_bytes, 0U);
    CallChainWish copies = wish_for(CallChainMode::kDwarf);
    copies.user_stack_bytes = 16'384;
    auto dwarf = choose_call_chains(copies);
    ASSERT_TRUE(dwarf.ok());
    EXPECT_EQ(dwarf->user_stack_bytes, 16'384U);
    EXPECT_EQ(dwarf->kernel_unwinder, nullptr);
    EXPECT_EQ(dwarf->reason, "");
}

// This program is compiled with frame pointers, Debian's aren't.
TEST(CallChainChoice, UnwindInformationTellsFramePointers) {
    DirectImageReader reader;
    EXPECT_EQ(keeps_frame_pointers("/proc/self/exe", reader), true);
    EXPECT_EQ(keeps_frame_pointers("/usr/bin/xz", reader), false);
    EXPECT_EQ(keeps_frame_pointers("/etc/passwd", reader), std::nullopt);
    EXPECT_EQ(keeps_frame_pointers("/nowhere", reader), std::nullopt);
}

// `check` in a process that is no root's.
bool holds_without_rights(bool (*check)()) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit((::geteuid() != 0 || ::setuid(65534) == 0) && check() ? 0 : 1);
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(CallChainChoice, WithoutRightsItSaysWhatIsMissing) {
    EXPECT_TRUE(holds_without_rights([] {
        const auto refused = choose_call_chains(wish_for(CallChainMode::kBpf));
        return !refused.ok() && (refused.error().message.find("CAP_BPF") != std::string::npos ||
                                 refused.error().code == ErrorCode::kUnsupported);
    }));
    EXPECT_TRUE(holds_without_rights([] {
        const auto copies = choose_call_chains(wish_for(CallChainMode::kAuto, {"/usr/bin/xz"}));
        return copies.ok() && copies->kernel_unwinder == nullptr && copies->user_stack_bytes == kUserStackBytes &&
               copies->reason.find("/usr/bin/xz has no frame pointers") != std::string::npos;
    }));
    EXPECT_TRUE(holds_without_rights([] {
        const auto kept = choose_call_chains(wish_for(CallChainMode::kAuto, {"/proc/self/exe"}));
        return kept.ok() && kept->has_chains && kept->user_stack_bytes == 0 &&
               kept->reason.find("(fp)") != std::string::npos;
    }));
}

}  // namespace
}  // namespace perfleet
