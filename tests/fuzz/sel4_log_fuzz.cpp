// seL4's log buffer and IPC buffer, as a collector or an importer gets them, and the description that is sent with
// them.
#include "schemas/sel4/log_description.h"
#include "schemas/vocabulary/assert.h"
#include "target-collector/source/sel4/log_buffer.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

using namespace sel4;

void read_entries(EntryLayout layout, bool has_short_clock, std::span<const std::byte> bytes) {
    KernelEntryReader reader{layout, has_short_clock, bytes};
    std::uint64_t count = 0;
    std::uint64_t last_start = 0;
    for (KernelEntry entry; reader.next(entry); ++count) {
        PERFLEET_ASSERT(entry.path_number < 8 && entry.detail <= kEntryDetailMask);
        // An unwrapped clock falls back by less than half its range.
        PERFLEET_ASSERT(!has_short_clock || entry.start_ticks + (1ULL << 31) >= last_start);
        last_start = entry.start_ticks;
    }
    PERFLEET_ASSERT(count == bytes.size() / entry_size_bytes(layout));
    PERFLEET_ASSERT(has_short_clock || reader.wrap_count() == 0);
}

// Every record is either given or counted.
void read_tracepoints(WordSize word, std::uint64_t id_count, std::span<const std::byte> bytes) {
    TracepointReader reader{word, id_count, bytes};
    std::uint64_t count = 0;
    for (TracepointRecord record; reader.next(record); ++count) {
        PERFLEET_ASSERT(record.id < id_count);
    }
    PERFLEET_ASSERT(count + reader.quarantined_count() == bytes.size() / tracepoint_size_bytes(word));
    PERFLEET_ASSERT(reader.quarantined_count() == 0 || reader.quarantined_id_max() >= id_count);
}

void expect_fill(const LogFill& fill, std::uint64_t index, std::uint64_t capacity) {
    PERFLEET_ASSERT(fill.record_count <= capacity && fill.record_count + fill.lost == index);
    PERFLEET_ASSERT(fill.is_saturated == (fill.record_count == capacity));
}

void read_description(std::string_view text) {
    if (const auto description = parse_description(text)) {
        const std::string again = format_description(*description);
        PERFLEET_ASSERT(format_description(*parse_description(again)) == again);
    }
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::uint8_t choice = input.byte();
    const EntryLayout layout = (choice & 1) != 0 ? EntryLayout::kIa32 : EntryLayout::k24Bytes;
    const WordSize word = (choice & 2) != 0 ? WordSize::k32 : WordSize::k64;
    const std::uint64_t index = input.integer();
    if (const auto fill = entry_log_fill(layout, index); fill.ok()) {
        expect_fill(*fill, index, entry_capacity(layout));
    } else {
        PERFLEET_ASSERT(index > entry_capacity(layout));
    }
    expect_fill(tracepoint_log_fill(word, index), index, tracepoint_capacity(word));
    const std::uint64_t id_count = input.integer(2);
    const auto bytes = input.rest();
    read_entries(layout, (choice & 4) != 0, bytes);
    read_tracepoints(word, id_count, bytes);
    PERFLEET_ASSERT(read_utilisation(bytes).ok() == (bytes.size() >= 104));
    read_description(input.rest_text());
    return 0;
}
