// A ZMTP peer's input to the collector's own driver. First bytes: the sizes of its pieces, and what is sent meanwhile.
// Whole or in pieces it reports the same; the driver's output is ZMTP; it never keeps more than it states. The same
// bytes on a line without connections: what is received of each begins with a greeting.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/wire/line_stream.h"
#include "target-collector/wire/zmtp_driver.h"
#include "target-collector/wire/zmtp_layout.h"
#include "target-collector/wire/zmtp_reader.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

// One connection: gives the input in pieces, takes the output in pieces.
class SpeakingPeer final : public ByteStream {
public:
    SpeakingPeer(std::span<const std::byte> says, std::size_t piece_bytes) : says_{says}, piece_bytes_{piece_bytes} {}

    std::uint64_t connection() override { return has_ended ? 0 : 1; }
    std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) override {
        const std::size_t of_head = std::min(head.size(), piece_bytes_);
        const std::size_t of_body = std::min(body.size(), piece_bytes_ - of_head);
        heard.insert(heard.end(), head.begin(), head.begin() + static_cast<std::ptrdiff_t>(of_head));
        heard.insert(heard.end(), body.begin(), body.begin() + static_cast<std::ptrdiff_t>(of_body));
        return of_head + of_body;
    }
    std::size_t read(std::span<std::byte> into) override {
        const std::size_t size = std::min({into.size(), piece_bytes_, says_.size()});
        std::copy_n(says_.begin(), size, into.begin());
        says_ = says_.subspan(size);
        return size;
    }
    bool end_connection() override {
        has_ended = true;
        return true;
    }
    [[nodiscard]] bool has_said_all() const { return says_.empty(); }

    std::vector<std::byte> heard;
    bool has_ended = false;

private:
    std::span<const std::byte> says_;
    std::size_t piece_bytes_;
};

struct Heard {
    std::vector<std::string> messages;
    std::uint64_t skipped = 0;
    bool has_ended = false;
    bool operator==(const Heard&) const = default;
};

Heard converse(std::span<const std::byte> input, std::size_t piece_bytes, std::size_t frame_size_bytes) {
    SpeakingPeer peer{input, piece_bytes};
    ZmtpDriver driver{peer};
    Heard heard;
    std::vector<std::byte> buffer(limits::kReplySizeBytesMax);
    const std::vector<std::byte> frame(frame_size_bytes, std::byte{'f'});
    std::uint64_t sent = 0;
    const auto take = [&] {
        const auto size = driver.receive(buffer);
        if (size.ok() && *size > 0) {
            PERFLEET_ASSERT(*size <= limits::kReplySizeBytesMax);
            heard.messages.emplace_back(reinterpret_cast<const char*>(buffer.data()), *size);
        }
        heard.skipped += size.ok() ? 0 : 1;
        return !size.ok() || *size > 0;
    };
    while (!peer.has_ended && !peer.has_said_all()) {
        (void)driver.reconnected();
        sent += !frame.empty() && driver.send(frame) ? 1 : 0;
        (void)take();
        PERFLEET_ASSERT(driver.borrowed().empty() || driver.borrowed().data() == frame.data());
    }
    while (take()) {
    }
    heard.has_ended = peer.has_ended;
    // A peer of its own: reads the greeting, READY, and whole frames of ours.
    std::vector<std::byte> memory(frame.size() + 1);
    ZmtpReader reader{memory, memory.size()};
    reader.begin();
    std::uint64_t frames = 0;
    for (std::span<const std::byte> rest = peer.heard; !rest.empty();) {
        const auto step = reader.read(rest);
        PERFLEET_ASSERT(step.ok());
        PERFLEET_ASSERT(step->event != ZmtpReader::Event::kSkippedMessage);
        frames += step->event == ZmtpReader::Event::kMessage ? 1 : 0;
        PERFLEET_ASSERT(step->event != ZmtpReader::Event::kMessage ||
                        std::equal(frame.begin(), frame.end(), reader.message().begin(), reader.message().end()));
        rest = rest.subspan(step->taken_bytes);
    }
    PERFLEET_ASSERT(frames <= sent && sent <= frames + 1);
    return heard;
}

class Line final : public LinePort {
public:
    Line(std::span<const std::byte> says, std::size_t piece_bytes) : says_{says}, piece_bytes_{piece_bytes} {}

    std::size_t write(std::span<const std::byte> bytes) override { return bytes.size(); }
    std::size_t read(std::span<std::byte> into) override {
        const std::size_t size = std::min({into.size(), piece_bytes_, says_.size()});
        std::copy_n(says_.begin(), size, into.begin());
        says_ = says_.subspan(size);
        return size;
    }

private:
    std::span<const std::byte> says_;
    std::size_t piece_bytes_;
};

// Everything received on each connection.
std::vector<std::string> listen(std::span<const std::byte> input, LineStream::End end, std::size_t piece_bytes) {
    constexpr std::size_t kSignatureSizeBytes = 10;
    Line line{input, piece_bytes};
    LineStream stream{line, end};
    std::vector<std::string> connections;
    std::array<char, 64> buffer{};
    std::uint64_t number = 0;
    // At the end of a connection a read returns nothing, and the next one is reported a turn later.
    constexpr int kIdleTurns = 2;
    for (int idle = 0; idle < kIdleTurns;) {
        ++idle;
        if (const std::uint64_t now = stream.connection(); now != number) {
            number = now;
            connections.emplace_back();
            idle = 0;
        }
        if (const std::size_t size = stream.read(std::as_writable_bytes(std::span{buffer})); size > 0) {
            PERFLEET_ASSERT(!connections.empty());
            connections.back().append(buffer.data(), size);
            idle = 0;
        }
    }
    for (const std::string& heard : connections) {
        PERFLEET_ASSERT(heard.empty() || static_cast<std::uint8_t>(heard[0]) == zmtp_layout::kSignatureFirst);
        PERFLEET_ASSERT(heard.size() < kSignatureSizeBytes ||
                        static_cast<std::uint8_t>(heard[kSignatureSizeBytes - 1]) == zmtp_layout::kSignatureLast);
    }
    return connections;
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::size_t piece_bytes = 1 + input.byte();
    const std::size_t frame_size_bytes = static_cast<std::size_t>(input.byte()) * 4;
    const Heard in_pieces = converse(input.rest(), piece_bytes, frame_size_bytes);
    PERFLEET_ASSERT(in_pieces == converse(input.rest(), ~std::size_t{0}, 0));
    for (const auto end : {LineStream::End::kHost, LineStream::End::kTarget}) {
        PERFLEET_ASSERT(listen(input.rest(), end, piece_bytes) == listen(input.rest(), end, ~std::size_t{0}));
    }
    return 0;
}
