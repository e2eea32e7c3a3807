// The kernel's ring and the records in it. Input: rounds of a size (2 bytes), by which the ring's head moves, and the
// bytes that a kernel would have written there, which may be fewer. No record is larger than the bytes that were
// written, borrowed parts lie in their record, and mappings stay ordered.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "schemas/vocabulary/assert.h"
#include "target-collector/process/mapping_list.h"
#include "target-collector/records/record_reader.h"
#include "target-collector/source/linux/opening/kernel_ring.h"
#include "target-collector/source/linux/source_sample.h"
#include "tests/fuzz/expect_within.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kPages = 2;
constexpr std::size_t kHeadOffset = 1'024;  // perf_event_mmap_page.data_head
constexpr int kRoundsMax = 32;

// A file in memory in the place of the kernel's.
class FakeKernel {
public:
    FakeKernel()
        : page_size_bytes_{static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))},
          size_bytes_{kPages * page_size_bytes_},
          fd_{::memfd_create("ring", 0)} {
        PERFLEET_ASSERT(::ftruncate(fd_, static_cast<off_t>(size_bytes_ + page_size_bytes_)) == 0);
        void* const mapping =
            ::mmap(nullptr, size_bytes_ + page_size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        PERFLEET_ASSERT(mapping != MAP_FAILED);
        head_ = reinterpret_cast<std::uint64_t*>(static_cast<char*>(mapping) + kHeadOffset);
        data_ = static_cast<char*>(mapping) + page_size_bytes_;
    }

    std::unique_ptr<KernelRing> map() {
        std::memset(data_, 0, size_bytes_);
        *head_ = 0;
        return KernelRing::map(FileDescriptor{::dup(fd_)}, kPages);
    }

    void write(std::string_view bytes, std::size_t head_moves_bytes) {
        const auto at = static_cast<std::size_t>(*head_ % size_bytes_);
        const std::string_view first = bytes.substr(0, size_bytes_ - at);
        std::memcpy(data_ + at, first.data(), first.size());
        const std::string_view second = bytes.substr(first.size()).substr(0, size_bytes_);
        std::memcpy(data_, second.data(), second.size());
        *head_ += head_moves_bytes;
    }

private:
    std::size_t page_size_bytes_;
    std::size_t size_bytes_;
    int fd_;
    std::uint64_t* head_ = nullptr;
    char* data_ = nullptr;
};

std::span<const char> letters(std::string_view text) { return {text.data(), text.size()}; }

std::uint64_t check_sample(SampleReader& reader, const RecordBytes& record, const RecordLayout& layout,
                           bool is_unwound) {
    const auto read = reader.read(record, layout);
    SourceSample sample;
    static_cast<SampleRecord&>(sample) = read.value_or(SampleRecord{});
    if (!read || (is_unwound && !take_unwound(sample, false))) {
        return 0;
    }
    expect_within(sample.callchain, record.bytes);
    expect_within(sample.raw, record.bytes);
    expect_within(sample.stack, record.bytes);
    expect_within(sample.user_chain, record.bytes);
    std::uint64_t sum = sample.period;
    for (const std::uint64_t frame : sample.callchain) {
        sum += frame;
    }
    for (const auto& [value, id] : sample.values) {
        sum += value;
    }
    return sum;
}

void check_mapping(const RecordBytes& record, MappingList& list) {
    const auto map = read_map(record, kCommonLayout);
    if (!map) {
        return;
    }
    expect_within(letters(map->path), record.bytes);
    if (map->address + map->size > map->address) {
        (void)list.add({map->address, map->address + map->size, map->file_offset, 0, map->protection, map->flags});
        const Mapping* const found = list.find(map->address);
        PERFLEET_ASSERT(found != nullptr && found->file_offset == map->file_offset);
    }
    const auto mappings = list.mappings();
    for (std::size_t i = 0; i < mappings.size(); ++i) {
        PERFLEET_ASSERT(mappings[i].start < mappings[i].end);
        PERFLEET_ASSERT(i == 0 || mappings[i - 1].end <= mappings[i].start);
    }
}

std::uint64_t check_record(SampleReader& reader, std::span<const std::byte> bytes, MappingList& list) {
    namespace type = perf::sample_type;
    const RecordBytes record = native_record(bytes);
    std::uint64_t sum = record_time(record, kCommonLayout).value_or(0);
    for (unsigned fields = 0; fields < 64; ++fields) {
        RecordLayout layout = kCommonLayout;
        layout.sample_type |= ((fields & 1) != 0 ? type::kPeriod : 0) | ((fields & 2) != 0 ? type::kCallchain : 0) |
                              ((fields & 4) != 0 ? type::kRaw : 0) | ((fields & 16) != 0 ? type::kRead : 0) |
                              ((fields & 8) != 0 ? type::kRegsUser | type::kStackUser | type::kCgroup : 0);
        layout.sample_regs_user = 7;
        layout.read_format = perf::read_format::kGroup | perf::read_format::kId;
        sum += check_sample(reader, record, layout, (fields & 32) != 0);
    }
    if (const auto comm = read_comm(record, kCommonLayout)) {
        expect_within(letters(comm->name), bytes);
    }
    sum += read_task(record, kCommonLayout).value_or(TaskRecord{}).pid;
    sum += read_switch(record, kCommonLayout).value_or(SwitchRecord{}).other_tid;
    sum += read_counts(record, kCommonLayout).value_or(ReadRecord{}).value;
    sum += read_namespaces(record, kCommonLayout).value_or(NamespacesRecord{}).words.size();
    sum += read_lost(record, kCommonLayout).value_or(LostRecord{}).record_count;
    sum += read_throttle_id(record, kCommonLayout).value_or(0);
    sum += read_trailer(record, kCommonLayout).value_or(RecordTrailer{}).time;
    check_mapping(record, list);
    return sum;
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    static FakeKernel kernel;
    [[maybe_unused]] static volatile std::uint64_t sink;
    FuzzInput input{data, size_bytes};
    const auto ring = kernel.map();
    PERFLEET_ASSERT(ring != nullptr);
    MappingList mappings;
    SampleReader reader;
    for (int round = 0; round < kRoundsMax && !input.empty(); ++round) {
        const auto head_moves_bytes = static_cast<std::size_t>(input.integer(2));
        kernel.write(input.text(head_moves_bytes), head_moves_bytes);
        ring->show();
        std::size_t unread_bytes = ring->unread_bytes();
        for (auto record = ring->front(); !record.empty(); record = ring->front()) {
            PERFLEET_ASSERT(record.size() <= unread_bytes && record.size() <= ring->size_bytes());
            // Its own block, so that reads beyond it are found.
            const std::vector<std::byte> copy{record.begin(), record.end()};
            sink = check_record(reader, copy, mappings);
            ring->pop();
            unread_bytes -= record.size();
            PERFLEET_ASSERT(ring->unread_bytes() == unread_bytes);
        }
        (void)ring->take_skipped();
        PERFLEET_ASSERT(ring->unread_bytes() == 0);
    }
    return 0;
}
