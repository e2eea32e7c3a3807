// The input of a ZMTP peer with a mechanism to the collector's own driver. First byte: the sizes of its pieces. The
// mechanism here only frames, so that the input passes the handshake; then the same bytes to CURVE itself, which
// accepts none of them.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/curve/curve_client.h"
#include "target-collector/wire/zmtp_reader.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

// A frame's body: flags, then the payload.
class Framing final : public ZmtpMechanism {
public:
    [[nodiscard]] std::string_view name() const override { return "CURVE"; }
    [[nodiscard]] std::span<const std::byte> hello() override { return {}; }
    [[nodiscard]] bool take_welcome(std::span<std::byte> data) override {
        return data.empty() || data[0] != std::byte{0xff};
    }
    [[nodiscard]] std::span<const std::byte> initiate(std::span<const std::byte> /*properties*/) override { return {}; }
    [[nodiscard]] std::optional<std::span<const std::byte>> take_ready(std::span<std::byte> data) override {
        return data;
    }
    [[nodiscard]] std::size_t seal(std::uint8_t /*flags*/, std::span<const std::byte> /*payload*/,
                                   std::span<std::byte> /*into*/) override {
        return 0;
    }
    [[nodiscard]] std::optional<Opened> open(std::span<std::byte> body) override {
        return body.empty() ? std::optional<Opened>{}
                            : Opened{std::to_integer<std::uint8_t>(body[0]), std::span{body}.subspan(1)};
    }
    [[nodiscard]] std::span<std::byte> memory() override { return {}; }
};

constexpr std::size_t kMemorySizeBytes = 300;

// Everything received: one line for each event, and how it ends.
std::vector<std::string> listen(std::span<const std::byte> input, std::size_t piece_bytes, ZmtpMechanism& mechanism) {
    std::array<std::byte, kMemorySizeBytes> memory{};
    ZmtpReader reader{memory, 1'000, &mechanism};
    reader.begin();
    std::vector<std::string> heard;
    while (!input.empty()) {
        const auto step = reader.read(input.first(std::min(piece_bytes, input.size())));
        if (!step.ok()) {
            heard.push_back("fault " + std::to_string(static_cast<int>(step.error().code)));
            break;
        }
        input = input.subspan(step->taken_bytes);
        if (step->event == ZmtpReader::Event::kNone) {
            continue;
        }
        heard.push_back(std::to_string(static_cast<int>(step->event)));
        if (step->event == ZmtpReader::Event::kMessage) {
            PERFLEET_ASSERT(!reader.message().empty() && reader.message().size() < kMemorySizeBytes);
            heard.back().append(reinterpret_cast<const char*>(reader.message().data()), reader.message().size());
        }
        if (step->event == ZmtpReader::Event::kPing) {
            heard.back().append(std::to_string(reader.ping_context().size()));
        }
    }
    return heard;
}

CurveClient& curve_client() {
    static std::array<std::byte, kMemorySizeBytes> memory;
    static const curve::Key own{std::byte{1}, std::byte{2}};
    static CurveClient client{{curve::public_key_of(own), own}, own, memory};
    return client;
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::size_t piece_bytes = 1 + input.byte();
    Framing framing;
    PERFLEET_ASSERT(listen(input.rest(), piece_bytes, framing) == listen(input.rest(), ~std::size_t{0}, framing));
    (void)curve_client().hello();
    const auto heard = listen(input.rest(), piece_bytes, curve_client());
    PERFLEET_ASSERT(heard.size() <= 2);  // the greeting, and a fault
    return 0;
}
