// Files of frames, as `--output` writes them. Read once more by a few lines that implement the byte diagram: both must
// find the same frames.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "schemas/vocabulary/assert.h"
#include "target-collector/wire/frame_file.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

constexpr std::size_t kHeaderSizeBytes = 16;
constexpr std::size_t kFrameHeaderSizeBytes = 4;

// The whole frames in the file, however it ends.
std::vector<std::string> frames_of(std::string_view file) {
    std::vector<std::string> frames;
    file.remove_prefix(kHeaderSizeBytes);
    while (file.size() >= kFrameHeaderSizeBytes) {
        std::uint32_t size_bytes = 0;
        std::memcpy(&size_bytes, file.data(), sizeof size_bytes);
        file.remove_prefix(kFrameHeaderSizeBytes);
        if (size_bytes == 0 || size_bytes > file.size()) {
            break;
        }
        frames.emplace_back(file.substr(0, size_bytes));
        file.remove_prefix(size_bytes);
    }
    return frames;
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    static const int kFd = ::memfd_create("frames", 0);
    static const std::string kPath = "/proc/self/fd/" + std::to_string(kFd);
    FuzzInput input{data, size_bytes};
    const std::string_view bytes = input.rest_text();
    PERFLEET_ASSERT(::ftruncate(kFd, 0) == 0 && ::pwrite(kFd, bytes.data(), bytes.size(), 0) >= 0);
    const auto file = FrameFile::open(kPath);
    if (!file.ok()) {
        PERFLEET_ASSERT(file.error().message.find(kPath) != std::string::npos);
        return 0;
    }
    PERFLEET_ASSERT(bytes.size() >= kHeaderSizeBytes);
    const std::vector<std::string> expected = frames_of(bytes);
    std::size_t read_count = 0;
    auto frame = (*file)->next();
    for (; frame.ok() && !frame->empty(); frame = (*file)->next()) {
        PERFLEET_ASSERT(read_count < expected.size());
        const std::string& same = expected[read_count++];
        PERFLEET_ASSERT(frame->size() == same.size() && std::memcmp(frame->data(), same.data(), same.size()) == 0);
    }
    PERFLEET_ASSERT(read_count == expected.size());
    PERFLEET_ASSERT(frame.ok() || frame.error().message.find(kPath) != std::string::npos);
    return 0;
}
