#include "target-collector/wire/frame_stream_driver.h"

#include <utility>

#include "schemas/vocabulary/assert.h"
#include "target-collector/message/little_endian.h"

namespace perfleet {

bool FrameStreamDriver::send(std::span<const std::byte> frame) {
    move_bytes();
    if (connection_ == 0 || was_made_ || is_writing() || frame.empty()) {
        return false;
    }
    store_little_endian(head_.data(), static_cast<std::uint32_t>(frame.size()));
    head_size_bytes_ = frame_file::kFrameHeaderSizeBytes;
    frame_ = frame;
    written_bytes_ = 0;
    move_bytes();
    return true;
}

Checked<std::size_t> FrameStreamDriver::receive(std::span<std::byte> into) {
    move_bytes();
    return answers_.write_next(into, UtcNs{0});
}

bool FrameStreamDriver::reconnected() {
    move_bytes();
    return std::exchange(was_made_, false);
}

void FrameStreamDriver::follow_connection() {
    const std::uint64_t connection = stream_.connection();
    if (connection == connection_) {
        return;
    }
    connection_ = connection;
    frame_ = {};
    written_bytes_ = 0;
    head_size_bytes_ = 0;
    was_made_ = connection != 0;
    if (was_made_) {
        head_ = frame_file::header();
        head_size_bytes_ = head_.size();
    }
}

void FrameStreamDriver::move_bytes() {
    follow_connection();
    while (connection_ != 0 && is_writing()) {
        const std::size_t head_written = written_bytes_ < head_size_bytes_ ? written_bytes_ : head_size_bytes_;
        const std::size_t taken =
            stream_.write(std::span<const std::byte>{head_}.subspan(head_written, head_size_bytes_ - head_written),
                          frame_.subspan(written_bytes_ - head_written));
        if (taken == 0) {
            return;
        }
        written_bytes_ += taken;
    }
    if (!frame_.empty() && !is_writing()) {
        const auto tag = answers_.take(frame_);
        PERFLEET_ASSERT(tag.ok());
        if (*tag == wire_layout::MessageTag::kBye) {
            answers_.finish();
        }
        frame_ = {};
        head_size_bytes_ = 0;
        written_bytes_ = 0;
    }
}

}  // namespace perfleet
