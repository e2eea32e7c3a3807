// A network driver for targets whose rows are stored in a file: writes frames to a byte stream in the format of a file
// of frames (file_driver.h), receives nothing, and acknowledges what was written. `perfleet import --format frames`
// puts the file into a store.
//
// Freestanding; one thread; no function blocks. After a reconnect a new file begins with its head; frames that were
// being sent are lost with the old connection.
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

    void tick(std::uint64_t now_ns) override {
        stream_.tick(now_ns);
        move_bytes();
    }

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

    // Being sent: head_, then frame_.
    std::array<std::byte, frame_file::kHeaderSizeBytes> head_{};
    std::size_t head_size_bytes_ = 0;
    std::span<const std::byte> frame_;
    std::size_t written_bytes_ = 0;  // of both
};

}  // namespace perfleet
