// The ring's reader against a file in memory, in which anything may stand.
#include "target-collector/source/linux/opening/kernel_ring.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace perfleet {
namespace {

constexpr std::uint32_t kPages = 2;

class KernelRingTest : public testing::Test {
protected:
    KernelRingTest()
        : page_size_bytes_{static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))},
          fd_{::memfd_create("ring", MFD_CLOEXEC)} {
        const std::size_t whole = (kPages + 1) * page_size_bytes_;
        EXPECT_EQ(::ftruncate(fd_, static_cast<off_t>(whole)), 0);
        auto* const mapping = static_cast<char*>(::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
        control_ = reinterpret_cast<perf_event_mmap_page*>(mapping);
        data_ = mapping + page_size_bytes_;
        ring_ = KernelRing::map(FileDescriptor{::dup(fd_)}, kPages);
    }
    ~KernelRingTest() override {
        ::munmap(control_, (kPages + 1) * page_size_bytes_);
        ::close(fd_);
    }

    void write_record(std::size_t size_bytes) {
        const perf::RecordHeader header{9, 0, static_cast<std::uint16_t>(size_bytes)};
        std::memcpy(data_ + head_ % ring_->size_bytes(), &header, sizeof header);
        move_head(size_bytes);
    }
    void move_head(std::size_t size_bytes) {
        head_ += size_bytes;
        control_->data_head = head_;
        ring_->show();
    }
    // Sizes of the records that can be read now.
    std::vector<std::size_t> drain() {
        std::vector<std::size_t> sizes;
        for (auto record = ring_->front(); !record.empty(); record = ring_->front()) {
            sizes.push_back(record.size());
            ring_->pop();
        }
        return sizes;
    }

    std::size_t page_size_bytes_;
    int fd_;
    perf_event_mmap_page* control_ = nullptr;
    char* data_ = nullptr;
    std::uint64_t head_ = 0;
    std::unique_ptr<KernelRing> ring_;
};

TEST_F(KernelRingTest, GivesRecordsInOrderAlsoOverTheEnd) {
    const std::size_t most = ring_->size_bytes() - 16;
    write_record(most);
    EXPECT_EQ(drain(), std::vector{most});
    write_record(24);  // wraps
    write_record(8);
    EXPECT_EQ(drain(), (std::vector<std::size_t>{24, 8}));
    EXPECT_EQ(control_->data_tail, head_);
    EXPECT_FALSE(ring_->take_skipped());
}

TEST_F(KernelRingTest, SkipsARecordOfAnImpossibleSize) {
    for (const std::size_t size_bytes : {0UL, 4UL, 12UL, 4'096UL}) {
        const perf::RecordHeader header{9, 0, static_cast<std::uint16_t>(size_bytes)};
        std::memcpy(data_ + head_ % ring_->size_bytes(), &header, sizeof header);
        move_head(64);
        EXPECT_TRUE(drain().empty()) << size_bytes;
        EXPECT_TRUE(ring_->take_skipped());
        EXPECT_EQ(ring_->unread_bytes(), 0U);
    }
}

// Nothing beyond the ring is read, however far the head is said to be and however large a record.
TEST_F(KernelRingTest, SkipsWhatALyingHeadOffers) {
    write_record(60'000);
    EXPECT_TRUE(drain().empty());
    EXPECT_TRUE(ring_->take_skipped());
    write_record(64);
    EXPECT_EQ(drain(), std::vector<std::size_t>{64});
}

TEST_F(KernelRingTest, ReadsNothingBehindTheLastWholeWord) {
    write_record(16);
    move_head(5);
    EXPECT_EQ(drain(), std::vector<std::size_t>{16});
    EXPECT_EQ(ring_->unread_bytes(), 0U);
    EXPECT_FALSE(ring_->take_skipped());
}

}  // namespace
}  // namespace perfleet
