// Spool files that an earlier collector left, or another program. Input: spool_parts.h. A readable file is delivered to
// a gateway that takes everything: it comes to its end, and the file stays readable on the way.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "schemas/vocabulary/assert.h"
#include "target-collector/spool/orphan_session.h"
#include "target-collector/wire/testing/gateway_frames.h"
#include "tests/fuzz/spool_parts.h"
#include "tests/fuzz/temporary_place.h"

namespace perfleet {
namespace {

constexpr SessionId kSession{1, 2};
constexpr int kStepsMax = 20'000;
constexpr std::uint64_t kEntriesMax = 3 * kStepsMax;  // of the journal
constexpr std::uint64_t kStepNs = 300'000'000;

// Sends Welcome, and acknowledges everything sent.
class WillingGateway final : public NetworkDriver {
public:
    explicit WillingGateway(Seq last) : last_{last} {}

    bool send(std::span<const std::byte> frame) override {
        PERFLEET_ASSERT(!frame.empty());
        [[maybe_unused]] static volatile std::byte sink;
        sink = frame.back();
        if (!is_welcome_) {
            is_welcome_ = true;
            replies_.push_back(make_welcome({kSession, 1, Seq{0}, Seq{~0ULL}}));
        } else {
            replies_.push_back(make_ack({kSession, 1, last_, Seq{~0ULL}, true}));
        }
        return true;
    }
    Checked<std::size_t> receive(std::span<std::byte> into) override {
        if (replies_.empty()) {
            return std::size_t{0};
        }
        const Frame reply = replies_.front();
        replies_.pop_front();
        std::copy(reply.begin(), reply.end(), into.begin());
        return reply.size();
    }
    bool reconnected() override { return false; }

private:
    Seq last_;
    bool is_welcome_ = false;
    std::deque<Frame> replies_;
};

class SpoolPath {
public:
    SpoolPath() {
        std::string pattern = (temporary_place() / "perfleet-fuzz-XXXXXX").string();
        PERFLEET_ASSERT(::mkdtemp(pattern.data()) != nullptr);
        folder_ = pattern;
    }
    SpoolPath(const SpoolPath&) = delete;
    SpoolPath& operator=(const SpoolPath&) = delete;
    ~SpoolPath() { std::filesystem::remove_all(folder_); }

    std::string write(std::span<const std::byte> bytes) const {
        std::string path = folder_ / "fuzzed.spool";
        const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        PERFLEET_ASSERT(fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
        ::close(fd);
        return path;
    }

private:
    std::filesystem::path folder_;
};

void check_reading(const SpoolReading& reading) {
    std::uint64_t behind = 0;
    for (const SpoolHole& hole : reading.holes) {
        PERFLEET_ASSERT(hole.size_bytes >= sizeof(SpooledBatch));
        PERFLEET_ASSERT(hole.offset + hole.size_bytes <= reading.head.records_size_bytes);
        behind += hole.size_bytes;
    }
    PERFLEET_ASSERT(behind <= reading.head.records_size_bytes);
    PERFLEET_ASSERT(reading.batch_count <= reading.head.records_size_bytes / sizeof(SpooledBatch));
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    // Unchanged: the head, too, is foreign.
    (void)read_spool(std::span{reinterpret_cast<const std::byte*>(data), size_bytes}).ok();
    const std::vector<std::byte> file = spool_file_of({data, size_bytes});
    const auto reading = read_spool(file);
    if (!reading.ok()) {
        return 0;
    }
    check_reading(**reading);
    // Numbers can run out within a delivery only if another program wrote one so near the end.
    if ((*reading)->entry.number > kJournalNumberMax - kEntriesMax) {
        return 0;
    }
    static const SpoolPath kSpoolPath;
    const std::string path = kSpoolPath.write(file);
    WillingGateway gateway{(*reading)->entry.last_sealed};
    const auto left = OrphanSession::open(path, gateway);
    PERFLEET_ASSERT(left.ok());
    Delivery& delivery = (*left)->delivery();
    std::uint64_t now_ns = kStepNs;
    for (int step = 0; step < kStepsMax && !delivery.status().finished; ++step) {
        if (step == kStepsMax / 2) {
            delivery.give_up();
        }
        (void)delivery.step(now_ns += kStepNs);
        PERFLEET_ASSERT(step > 8 || read_spool((*left)->file().bytes()).ok());
    }
    PERFLEET_ASSERT(delivery.status().finished || delivery.status().session_refused);
    return 0;
}
