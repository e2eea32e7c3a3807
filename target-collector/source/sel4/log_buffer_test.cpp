#include "target-collector/source/sel4/log_buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace perfleet::sel4::log_buffer_test {
namespace {

using Bytes = std::vector<std::byte>;

// Hexadecimal digits; spaces are left out.
Bytes bytes_of(std::string_view text) {
    Bytes bytes;
    unsigned value = 0;
    bool is_half = false;
    for (const char c : text) {
        if (c == ' ') {
            continue;
        }
        value = value * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
        if (is_half) {
            bytes.push_back(static_cast<std::byte>(value));
            value = 0;
        }
        is_half = !is_half;
    }
    return bytes;
}

std::vector<KernelEntry> entries_of(EntryLayout layout, const Bytes& bytes, bool has_short_clock = false) {
    std::vector<KernelEntry> entries;
    KernelEntryReader reader{layout, has_short_clock, bytes};
    for (KernelEntry entry; reader.next(entry);) {
        entries.push_back(entry);
    }
    return entries;
}

// A start of 0x1122334455667788 and a duration of 0x99aabbcc.
constexpr std::string_view kTimes = "8877665544332211 ccbbaa99";

TEST(KernelLog, ADetailOfOnesIsASyscallWithEveryFieldFull) {
    // As compiled from libsel4's own header for x86-64 and AArch64.
    const auto entries =
        entries_of(EntryLayout::k24Bytes, bytes_of("000000000000000000000000 06 ffffff1f 00000000000000"));
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entry_path(PathNumbering::kSince14, entries[0].path_number), EntryPath::kSyscall);
    EXPECT_EQ(syscall_detail(entries[0].detail), (SyscallDetail{15, 31, true, 524'287}));
    EXPECT_EQ(word_detail(entries[0].detail), (WordDetail{7, (1U << 26) - 1}));
}

TEST(KernelLog, EachFieldOfASyscallStandsWhereTheKernelPutsIt) {
    // number 3, capability type 4, fastpath, tag 2: 3 + 4·2^4 + 2^9 + 2·2^10 = 0x0a43.
    for (const auto& [layout, padding] :
         {std::pair{EntryLayout::k24Bytes, "00000000000000"}, std::pair{EntryLayout::kIa32, "000000"}}) {
        const auto entries = entries_of(layout, bytes_of(std::string{kTimes} + "fe 430a0000" + padding));
        ASSERT_EQ(entries.size(), 1U);
        EXPECT_EQ(entries[0].start_ticks, 0x1122334455667788U);
        EXPECT_EQ(entries[0].duration_ticks, 0x99aabbccU);
        EXPECT_EQ(entries[0].path_number, 6U) << "the other bits of its byte are padding";
        EXPECT_EQ(syscall_detail(entries[0].detail), (SyscallDetail{3, 4, true, 2}));
    }
}

TEST(KernelLog, AnInterruptHasACoreAndANumber) {
    // core 2, interrupt 79: 2 + 79·2^3 = 0x27a. Bits above the 29th are padding.
    const auto entries =
        entries_of(EntryLayout::k24Bytes, bytes_of(std::string{kTimes} + "01 7a0200e0 ffffffffffffff"));
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entry_path(PathNumbering::kSince14, entries[0].path_number), EntryPath::kInterrupt);
    EXPECT_EQ(word_detail(entries[0].detail), (WordDetail{2, 79}));
}

TEST(KernelLog, PathsWereNumberedOtherwiseBeforeVersion14) {
    using enum EntryPath;
    constexpr std::array kBefore{kInterrupt, kUnknownSyscall, kUserLevelFault,      kDebugFault,
                                 kVmFault,   kSyscall,        kUnimplementedDevice, kVirtualMachine};
    constexpr std::array kSince{kUnknown,    kInterrupt, kUnknownSyscall, kUserLevelFault,
                                kDebugFault, kVmFault,   kSyscall,        kVirtualMachine};
    for (std::uint8_t number = 0; number < 8; ++number) {
        EXPECT_EQ(entry_path(PathNumbering::kBefore14, number), kBefore[number]);
        EXPECT_EQ(entry_path(PathNumbering::kSince14, number), kSince[number]);
    }
    EXPECT_EQ(entry_path(PathNumbering::kSince14, 8), kUnknown);
}

TEST(KernelLog, EntriesFollowEachOtherAtTheSizeOfTheirLayout) {
    Bytes bytes;
    for (int i = 0; i < 3; ++i) {
        const Bytes one = bytes_of(std::string{kTimes} + "01 00000000 00000000000000");
        bytes.insert(bytes.end(), one.begin(), one.end());
        bytes[static_cast<std::size_t>(i) * 24] = static_cast<std::byte>(i);
    }
    bytes.resize(bytes.size() + 23);  // no whole entry
    const auto entries = entries_of(EntryLayout::k24Bytes, bytes);
    ASSERT_EQ(entries.size(), 3U);
    EXPECT_EQ(entries[2].start_ticks, 0x1122334455667702U);
    EXPECT_EQ(entries_of(EntryLayout::kIa32, Bytes(19)).size(), 0U);
    EXPECT_EQ(entries_of(EntryLayout::kIa32, Bytes(60)).size(), 3U);
}

TEST(KernelLog, AnEntryThatStartedAtZeroIsAnEntry) {
    // The kernel's own utility stops at the first of them.
    EXPECT_EQ(entries_of(EntryLayout::k24Bytes, Bytes(48)).size(), 2U);
}

TEST(KernelLog, AClockOf32BitsIsUnwrapped) {
    // The last but one is a little behind, as another core's may be: no wrap.
    Bytes bytes;
    for (const std::string_view start : {"f0ffffff", "10000000", "00000080", "00f0ffff", "00e0ffff", "05000000"}) {
        const Bytes one = bytes_of(std::string{start} + "00000000 01000000 01 00000000 00000000000000");
        bytes.insert(bytes.end(), one.begin(), one.end());
    }
    KernelEntryReader reader{EntryLayout::k24Bytes, true, bytes};
    std::vector<std::uint64_t> starts;
    for (KernelEntry entry; reader.next(entry);) {
        starts.push_back(entry.start_ticks);
    }
    EXPECT_EQ(starts, (std::vector<std::uint64_t>{0xffff'fff0, 0x1'0000'0010, 0x1'8000'0000, 0x1'ffff'f000,
                                                  0x1'ffff'e000, 0x2'0000'0005}));
    EXPECT_EQ(reader.wrap_count(), 2U);
    EXPECT_EQ(entries_of(EntryLayout::k24Bytes, bytes)[1].start_ticks, 0x10U) << "a clock of 64 bits is left alone";
}

TEST(KernelLog, AFullLogOfEntriesHasLostNobodyKnowsHowMany) {
    const auto full = entry_log_fill(EntryLayout::k24Bytes, 43'690);
    ASSERT_TRUE(full.ok());
    EXPECT_EQ(*full, (LogFill{43'690, 0, true, false}));
    EXPECT_EQ(*entry_log_fill(EntryLayout::k24Bytes, 43'689), (LogFill{43'689, 0, false, true}));
    EXPECT_EQ(*entry_log_fill(EntryLayout::kIa32, 52'428), (LogFill{52'428, 0, true, false}));
    const auto beyond = entry_log_fill(EntryLayout::k24Bytes, 43'691);
    ASSERT_FALSE(beyond.ok());
    EXPECT_EQ(beyond.error().code, ErrorCode::kTooLarge);
    EXPECT_EQ(beyond.error().value, 43'690U);
}

TEST(KernelLog, TheIndexOfTracepointsCountsWhatIsLost) {
    EXPECT_EQ(tracepoint_log_fill(WordSize::k64, 70'000), (LogFill{65'536, 4'464, true, true}));
    EXPECT_EQ(tracepoint_log_fill(WordSize::k64, 65'535), (LogFill{65'535, 0, false, true}));
    EXPECT_EQ(tracepoint_log_fill(WordSize::k32, 131'072), (LogFill{131'072, 0, true, true}));
    EXPECT_EQ(tracepoint_log_fill(WordSize::k32, 131'073), (LogFill{131'072, 1, true, true}));
}

TEST(KernelLog, TracepointsHaveAKeyAndADuration) {
    const TracepointRecord expected{3, 208};
    TracepointRecord record;
    const Bytes wide = bytes_of("0300000000000000 d000000000000000");
    TracepointReader of_64{WordSize::k64, 4, wide};
    ASSERT_TRUE(of_64.next(record));
    EXPECT_EQ(record, expected);
    EXPECT_FALSE(of_64.next(record));
    const Bytes narrow = bytes_of("03000000 d0000000");
    TracepointReader of_32{WordSize::k32, 4, narrow};
    ASSERT_TRUE(of_32.next(record));
    EXPECT_EQ(record, expected);
    EXPECT_FALSE(of_32.next(record));
}

TEST(KernelLog, IdsThatTheKernelCannotHaveAreCountedAndPassedOver) {
    const Bytes bytes = bytes_of("00000000 01000000 04000000 02000000 03000000 03000000 ffffffff 04000000");
    TracepointReader reader{WordSize::k32, 4, bytes};
    std::vector<TracepointRecord> records;
    for (TracepointRecord record; reader.next(record);) {
        records.push_back(record);
    }
    EXPECT_EQ(records, (std::vector<TracepointRecord>{{0, 1}, {3, 3}}));
    EXPECT_EQ(reader.quarantined_count(), 2U);
    EXPECT_EQ(reader.quarantined_id_max(), 0xffff'ffffU);
}

TEST(KernelLog, UtilisationIsDecodedByTheKernelsIndices) {
    Bytes message;
    for (std::uint64_t i = 0; i < 13; ++i) {
        message.push_back(static_cast<std::byte>(100 + i));
        message.resize(message.size() + 6);
        message.push_back(std::byte{1});
    }
    const auto value = [](std::uint64_t index) { return (1ULL << 56) + 100 + index; };
    const auto utilisation = read_utilisation(message);
    ASSERT_TRUE(utilisation.ok());
    EXPECT_EQ(utilisation->thread, (UtilisationFigures{value(0), value(1), value(2), value(3)}));
    EXPECT_EQ(utilisation->idle, (UtilisationFigures{value(4), value(6), value(7), value(8)}));
    EXPECT_EQ(utilisation->idle_cycles_of_thread_core, value(5));
    EXPECT_EQ(utilisation->total, (UtilisationFigures{value(9), value(10), value(11), value(12)}));
    message.pop_back();
    ASSERT_FALSE(read_utilisation(message).ok());
    EXPECT_EQ(read_utilisation(message).error().code, ErrorCode::kTruncated);
}

TEST(KernelLog, ErrorsOfItsCallsHaveNames) {
    EXPECT_TRUE(check_log_call(LogCall::kSetLogBuffer, 0).ok());
    const auto no_large_frame = check_log_call(LogCall::kSetLogBuffer, kIllegalOperation);
    ASSERT_FALSE(no_large_frame.ok());
    EXPECT_EQ(no_large_frame.error().code, ErrorCode::kInvalid);
    const auto no_buffer = check_log_call(LogCall::kResetLog, kIllegalOperation);
    ASSERT_FALSE(no_buffer.ok());
    EXPECT_EQ(no_buffer.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(check_log_call(LogCall::kResetLog, 9).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace perfleet::sel4::log_buffer_test
