// The jitdump file of a process: read in bounded steps, with the same functions whether it was there at once or came in
// two pieces.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "schemas/vocabulary/assert.h"
#include "target-collector/source/linux/image/jit_dump.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/temporary_place.h"

namespace perfleet {
namespace {

// The file of this process.
class DumpFile {
public:
    explicit DumpFile(const std::string& name)
        : path_{temporary_place().string() + "/" + name + "-" + std::to_string(::getpid())} {}
    ~DumpFile() { std::filesystem::remove(path_); }
    DumpFile(const DumpFile&) = delete;
    DumpFile& operator=(const DumpFile&) = delete;

    void write(std::string_view bytes, bool at_end) const {
        std::ofstream{path_, std::ios::binary | (at_end ? std::ios::app : std::ios::trunc)} << bytes;
    }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

void read_all(JitDump& dump, PerfMap& functions, std::size_t size_bytes) {
    std::size_t count = 0;
    while (dump.read(functions)) {
        PERFLEET_ASSERT(++count <= size_bytes);
    }
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    static const DumpFile file{"fuzzed-jit"};
    FuzzInput input{data, size_bytes};
    const std::size_t cut = static_cast<std::size_t>(input.integer(2));
    const std::string_view bytes = input.rest_text();
    const auto pid = static_cast<std::uint32_t>(::getpid());

    PerfMap in_pieces;
    JitDump dump_in_pieces{pid, file.path()};
    file.write(bytes.substr(0, cut), false);
    read_all(dump_in_pieces, in_pieces, size_bytes);
    file.write(bytes.substr(std::min(cut, bytes.size())), true);
    read_all(dump_in_pieces, in_pieces, size_bytes);

    PerfMap at_once;
    JitDump dump{pid, file.path()};
    read_all(dump, at_once, size_bytes);
    PERFLEET_ASSERT(at_once.function_count() == in_pieces.function_count());
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t address = 0;
        std::memcpy(&address, bytes.data() + at, sizeof(address));
        const auto one = at_once.find(address);
        const auto other = in_pieces.find(address);
        PERFLEET_ASSERT(one.has_value() == other.has_value());
        PERFLEET_ASSERT(!one || (one->start == other->start && one->size_bytes == other->size_bytes &&
                                 one->name == other->name && one->name.size() <= PerfMap::kNameSizeBytesMax));
    }
    return 0;
}
