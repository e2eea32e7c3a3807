#include "target-collector/source/linux/probe_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <random>

#include "target-collector/probe/perfleet/bench.h"
#include "target-collector/source/linux/event/event_parser.h"
#include "target-collector/source/linux/event/probe_name.h"
#include "target-collector/source/linux/testing/recording_sink.h"

namespace perfleet {
namespace probe_reader_test {

constexpr Series kWork{Kind::kTracepoint, EventNumber{0}};
constexpr Series kQueue{Kind::kTracepoint, EventNumber{1}};
constexpr Series kOther{Kind::kTracepoint, EventNumber{2}};

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000) + static_cast<std::uint64_t>(time.tv_nsec);
}

perfleet_probe_name name_of(std::uint8_t id, const char* name, bool is_value = false) {
    perfleet_probe_name entry{};
    entry.id = id;
    entry.is_value = is_value ? 1 : 0;
    entry.version = 1;
    std::strncpy(entry.unit, is_value ? "items" : "ns", sizeof(entry.unit));
    std::strncpy(entry.name, name, sizeof(entry.name));
    return entry;
}

class ProbeReaderTest : public testing::Test {
protected:
    ProbeReaderTest()
        : area_{std::move(*ProbeArea::create())},
          reader_{*area_,
                  {{"work", false, kWork}, {"queue", true, kQueue}, {"other", false, kOther}},
                  [this](std::string_view text) { logged_ += std::string{text} + "\n"; }} {}

    // As the library of a thread of this process does it.
    perfleet_probe_slot& begin(std::size_t index = 0) {
        perfleet_probe_slot& slot = area_->slot(index);
        slot.names[0] = name_of(3, "work");
        slot.names[1] = name_of(4, "queue", true);
        slot.name_count = 2;
        area_->head().owners[index] =
            (static_cast<std::uint64_t>(::getpid()) << 32U) | static_cast<std::uint64_t>(::syscall(SYS_gettid));
        return slot;
    }
    static void put(perfleet_probe_slot& slot, std::uint64_t time_ns, std::uint64_t value, std::uint64_t info) {
        slot.records[slot.head % PERFLEET_PROBE_RING_RECORDS] = {time_ns, value, info};
        ++slot.head;
    }
    void drain() { reader_.drain(~0ULL, now_ns(), sink_); }
    [[nodiscard]] std::uint64_t count(Series series, CountName name) { return sink_.counts[{series, name}]; }

    std::unique_ptr<ProbeArea> area_;
    std::string logged_;
    ProbeReader reader_;
    RecordingSink sink_;
};

TEST_F(ProbeReaderTest, MakesRowsInTheOrderOfTimeOverAllThreads) {
    perfleet_probe_slot& first = begin(0);
    perfleet_probe_slot& second = begin(1);
    const std::uint64_t time = now_ns();
    put(first, time + 10, 5, 3 | (7ULL << 32U));
    put(first, time + 30, 6, 4 | PERFLEET_PROBE_INFO_VALUE);
    put(second, time + 20, 7, 9);
    while (now_ns() < time + 30) {
    }
    drain();
    ASSERT_EQ(sink_.rows.size(), 3U);
    EXPECT_EQ(sink_.rows[0].series, kWork);
    EXPECT_EQ(sink_.rows[0][ColumnId::kValue], 5U);
    EXPECT_EQ(sink_.rows[0][ColumnId::kCpu], 7U);
    EXPECT_EQ(sink_.rows[0][ColumnId::kPid], static_cast<std::uint64_t>(::getpid()));
    EXPECT_EQ(sink_.rows[1].series, kOther);
    EXPECT_EQ(sink_.rows[2].series, kQueue);
    EXPECT_EQ(first.tail, 2U);
    EXPECT_NE(logged_.find("probe '9' is recorded as perfleet:other"), std::string::npos) << logged_;
}

TEST_F(ProbeReaderTest, LeavesWhatIsYoungerThanTheLimit) {
    perfleet_probe_slot& slot = begin();
    const std::uint64_t time = now_ns();
    put(slot, time, 0, 3);
    put(slot, time + 100, 0, 3);
    while (now_ns() < time + 200) {
    }
    reader_.drain(time + 50, now_ns(), sink_);
    EXPECT_EQ(sink_.rows.size(), 1U);
    drain();
    EXPECT_EQ(sink_.rows.size(), 2U);
}

TEST_F(ProbeReaderTest, CountsWhatCanNotBeARow) {
    perfleet_probe_slot& slot = begin();
    const std::uint64_t time = now_ns();
    put(slot, time, 0, 3);
    put(slot, time + 3'600'000'000'000, 0, 3);          // not yet
    put(slot, 1, 0, 3);                                 // before the session
    put(slot, time, ~0ULL, 3);                          // began before the session
    put(slot, time, 0, 64);                             // no id
    put(slot, time, 0, 3 | (1ULL << 10U));              // no kind
    put(slot, time, 0, 3 | PERFLEET_PROBE_INFO_VALUE);  // a value of what has durations
    put(slot, time, 0, 4);                              // a duration of what has values
    drain();
    EXPECT_EQ(sink_.rows.size(), 1U);
    EXPECT_EQ(count(kOther, CountName::kLostMalformed), 5U);
    EXPECT_EQ(count(kWork, CountName::kLostMalformed), 1U);
    EXPECT_EQ(count(kQueue, CountName::kLostMalformed), 1U);
}

TEST_F(ProbeReaderTest, CountsWhatFoundTheRingFullUnlessNoProgramCouldHave) {
    perfleet_probe_slot& slot = begin();
    put(slot, now_ns(), 0, 3);
    drain();
    slot.lost[3] = 5;
    slot.lost[9] = 2;
    slot.lost_sum = 7;
    drain();
    EXPECT_EQ(count(kWork, CountName::kLostSaturated), 5U);
    EXPECT_EQ(count(kOther, CountName::kLostSaturated), 2U);
    slot.lost[3] = ~0ULL;
    slot.lost_sum = 8;
    drain();
    EXPECT_EQ(count(kWork, CountName::kLostSaturated), 5U);
    EXPECT_EQ(count(kOther, CountName::kLostMalformed), 1U);
    area_->head().without_slot = 4;
    drain();
    EXPECT_EQ(count(kOther, CountName::kLostSaturated), 6U);
    EXPECT_NE(logged_.find("more than 256 threads"), std::string::npos) << logged_;
}

TEST_F(ProbeReaderTest, GivesUpARingWhoseHeadCanNotBe) {
    perfleet_probe_slot& slot = begin();
    put(slot, now_ns(), 0, 3);
    drain();
    slot.head = 1ULL << 40U;
    drain();
    EXPECT_EQ(sink_.rows.size(), 1U);
    area_->head().ended[0] = 1;
    drain();
    EXPECT_NE(logged_.find("damaged its ring of probes"), std::string::npos) << logged_;
    EXPECT_EQ(area_->head().owners[0], 0U);
    put(begin(), now_ns(), 0, 3);
    drain();
    EXPECT_EQ(sink_.rows.size(), 2U) << "the next thread has a good one";
}

TEST_F(ProbeReaderTest, FreesTheRingOfAThreadThatHasEndedWhenItIsEmpty) {
    perfleet_probe_slot& slot = begin();
    const std::uint64_t time = now_ns();
    put(slot, time, 0, 3);
    area_->head().ended[0] = 1;
    reader_.drain(time - 1, now_ns(), sink_);
    EXPECT_NE(area_->head().owners[0], 0U);
    drain();
    EXPECT_EQ(area_->head().owners[0], 0U);
    EXPECT_EQ(slot.head, 0U);
    EXPECT_EQ(reader_.used_count(), 0U);
    // A killed collector leaves no mark: no process has this id.
    begin();
    area_->head().owners[0] = (0x7fff'fff0ULL << 32U) | 0x7fff'fff0ULL;
    reader_.drain(~0ULL, now_ns() + 1'000'000'000, sink_);
    EXPECT_EQ(area_->head().owners[0], 0U);
}

TEST_F(ProbeReaderTest, ThrowsAwayWhatComesWhileItIsStopped) {
    perfleet_probe_slot& slot = begin();
    reader_.record(false);
    put(slot, now_ns(), 0, 3);
    drain();
    reader_.record(true);
    put(slot, now_ns(), 0, 3);
    drain();
    EXPECT_EQ(sink_.rows.size(), 1U);
    EXPECT_EQ(slot.tail, 2U);
}

TEST_F(ProbeReaderTest, AccumulatedLatenciesHaveTheirTestSizeGroupAndTest) {
    constexpr Series kCircle{Kind::kLatency, EventNumber{0}};
    ProbeReader reader{*area_, {{"work", false, kCircle}}, [](std::string_view) {}};
    perfleet_probe_slot& slot = begin();
    const std::uint64_t info = 3 | PERFLEET_PROBE_INFO_ACCUMULATED | 30ULL << 16U | 2ULL << 36U | 7ULL << 48U;
    put(slot, now_ns(), 11, info);
    put(slot, now_ns(), 11, 3);
    put(slot, now_ns(), 11, info | 1ULL << 12U);
    reader.drain(~0ULL, now_ns(), sink_);
    ASSERT_EQ(sink_.rows.size(), 1U);
    EXPECT_EQ(sink_.rows[0].series, kCircle);
    EXPECT_EQ(sink_.rows[0][ColumnId::kTestSize], 30U);
    EXPECT_EQ(sink_.rows[0][ColumnId::kGroup], 2U);
    EXPECT_EQ(sink_.rows[0][ColumnId::kTest], 7U);
    EXPECT_EQ(sink_.rows[0][ColumnId::kValue], 11U);
    EXPECT_EQ(count(kCircle, CountName::kLostMalformed), 2U);
}

TEST(ProbeArea, CanNotBeShortened) {
    const auto area = std::move(*ProbeArea::create());
    const std::string variable = area->variable();
    EXPECT_NE(::truncate(variable.substr(variable.find('=') + 1).c_str(), 0), 0);
    EXPECT_TRUE(variable.starts_with("PERFLEET_PROBES=/proc/")) << variable;
}

// Of this program itself.
PERFLEET_TRACE_NAME(7, "of-the-test");
PERFLEET_TRACE_VALUE_NAME(8, "depth", "items");

TEST(ProbeName, IsFoundInTheProgramsFile) {
    DirectImageReader reader;
    const auto names = probe_names_of_file("/proc/self/exe", reader);
    ASSERT_EQ(names.size(), 2U);
    EXPECT_EQ(names[0].name, "of-the-test");
    EXPECT_EQ(names[0].unit, "ns");
    EXPECT_EQ(names[1].name, "depth");
    EXPECT_EQ(names[1].unit, "items");
    EXPECT_TRUE(names[1].is_value);
    EXPECT_TRUE(probe_names_of_file("/bin/sh", reader).empty());
    EXPECT_TRUE(probe_names_of_file("/no/such/file", reader).empty());
    EXPECT_TRUE(probe_names_of_file("/dev/zero", reader).empty());
}

TEST(ProbeName, OfAPatternAreThoseThatAreKnownAndOneForTheOthers) {
    EventPlaces places;
    places.probes = {{"parse", "ns", false}, {"print", "ns", false}, {"queue", "items", true}};
    const auto names = [&](const std::string& list) {
        std::string text;
        const auto events = parse_events({list}, places);
        EXPECT_TRUE(events.ok()) << events.error().message;
        for (const EventSpec& event : events.ok() ? *events : std::vector<EventSpec>{}) {
            EXPECT_TRUE(event.is_probe);
            EXPECT_EQ(event.row_kind(), Kind::kTracepoint);
            text += event.name + "(" + event.unit + ") ";
        }
        return text;
    };
    EXPECT_EQ(names("perfleet:p*"), "perfleet:parse(ns) perfleet:print(ns) perfleet:other(ns) ");
    EXPECT_EQ(names("perfleet:queue,perfleet:new"), "perfleet:queue(items) perfleet:new(ns) ");
    EXPECT_EQ(names("perfleet:parse,perfleet:*"),
              "perfleet:parse(ns) perfleet:print(ns) perfleet:queue(items) perfleet:other(ns) ");
}

}  // namespace probe_reader_test
}  // namespace perfleet
