// The network driver of targets whose telemetry is kept in a file beside them: frames go out over a byte stream as they
// stand in a file of frames (file_driver.h has the diagram), nothing comes in, and what was written counts as
// acknowledged. `perfleet import --format frames` puts the file into a store.
//
// Freestanding; one thread; nothing waits. A stream that was lost and made again gets a file of its own: its head comes
// first, and what was under way is lost with the one before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/wire/byte_stream.h"
#include "target-collector/wire/driver.h"
#include "target-collector/wire/frame_file_layout.h"
#include "target-collector/wire/sink_answers.h"

namespace perfleet {

class FrameStreamDriver final : public NetworkDriver {
public:
    // `stream` is borrowed.
    explicit FrameStreamDriver(ByteStream& stream) : stream_{stream} {}

    void tick(std::uint64_t /*now_ns*/) override { move_bytes(); }

    [[nodiscard]] bool send(std::span<const std::byte> frame) override;
    [[nodiscard]] std::span<const std::byte> borrowed() const override { return frame_; }
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override;
    [[nodiscard]] bool reconnected() override;

private:
    void move_bytes();
    void follow_connection();
    [[nodiscard]] bool is_writing() const { return written_bytes_ < head_size_bytes_ + frame_.size(); }

    ByteStream& stream_;
    SinkAnswers answers_;
    std::uint64_t connection_ = 0;
    bool was_made_ = false;  // since reconnected() was asked

    // On its way out: head_, then frame_.
    std::array<std::byte, frame_file::kHeaderSizeBytes> head_{};
    std::size_t head_size_bytes_ = 0;
    std::span<const std::byte> frame_;
    std::size_t written_bytes_ = 0;  // of both
};

}  // namespace perfleet
