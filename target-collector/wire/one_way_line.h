// A byte stream over a line without answers: one connection that never ends. For a file of frames
// (frame_stream_driver.h) that the line's other end writes.
//
// Freestanding; one thread.
#pragma once

#include "target-collector/wire/line_stream.h"

namespace perfleet {

class OneWayLine final : public ByteStream {
public:
    // `port` is borrowed.
    explicit OneWayLine(LinePort& port) : port_{port} {}

    [[nodiscard]] std::uint64_t connection() override { return 1; }
    [[nodiscard]] std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) override {
        const std::size_t taken = head.empty() ? 0 : port_.write(head);
        return taken < head.size() || body.empty() ? taken : taken + port_.write(body);
    }
    [[nodiscard]] std::size_t read(std::span<std::byte> /*into*/) override { return 0; }
    [[nodiscard]] bool end_connection() override { return false; }

private:
    LinePort& port_;
};

}  // namespace perfleet
