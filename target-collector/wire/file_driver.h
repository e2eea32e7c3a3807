// A network driver that writes frames to a file instead of a gateway, for `--output FILE`; frame_file.h reads it. It
// answers like a gateway: welcomes, acknowledges each batch once it is written, and requests every offered image.
//
//   byte 0    "PERFLEET"  magic
//   byte 8    u32 1       version of this format
//   byte 12   u32 0       reserved
//   byte 16   frames to the file's end, each: u32 size_bytes | size_bytes bytes: an Envelope as it would be sent
//             (the Hello first, batches in the order of seq, Image chunks in between, the Bye last)
//
// All integers little-endian. A file that ends within a frame was cut short. Offsets of magic and version must never
// change.
//
// One thread. A failed write leaves the file as it was before that frame; the frame isn't taken and can be sent again,
// and error() gives the reason. Frames are written without sync; the Bye syncs the file.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/message/capnp_reader.h"
#include "target-collector/wire/driver.h"
#include "target-collector/wire/sink_answers.h"

namespace perfleet {

class FileDriver final : public NetworkDriver {
public:
    // Creates `path` with access for its owner only. A file with content is replaced only if `is_forced`; otherwise
    // kUsage. Another user's link isn't followed: kPermission. Errors as of open(2), naming the path.
    [[nodiscard]] static Result<std::unique_ptr<FileDriver>> create(const std::string& path, bool is_forced);

    [[nodiscard]] bool send(std::span<const std::byte> frame) override;
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override;
    [[nodiscard]] bool reconnected() override;

    // Waits until `wake_fd` (-1: none) is readable or the time is over; returns at once while an answer is due.
    void wait(int wake_fd, std::uint64_t timeout_ns);

    // Why the last frame could not be written; nothing if it was.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

private:
    FileDriver(std::string path, FileDescriptor fd) : path_{std::move(path)}, fd_{std::move(fd)} {}

    [[nodiscard]] bool append(std::span<const std::byte> bytes);
    [[nodiscard]] bool append_frame(std::span<const std::byte> frame);
    [[nodiscard]] bool sync();
    void fail(int errno_value);
    [[nodiscard]] Checked<Done> answer(std::span<const std::byte> frame);
    [[nodiscard]] Checked<Done> ask_for_images(const CapnpReader& reader, const CapnpReader::ListView& offers,
                                               bool is_answer_expected);
    [[nodiscard]] Checked<Done> ask_for_rest(const CapnpReader& reader, const CapnpReader::StructView& image);
    void ask_for_next();

    std::string path_;
    FileDescriptor fd_;
    std::uint64_t size_bytes_ = 0;  // of whole frames
    bool is_first_ = true;
    SinkAnswers answers_;
    std::deque<std::vector<std::byte>> questions_;  // requests for images, sent after pending answers
    std::deque<std::vector<std::byte>> wanted_;     // build-ids of images to request
    bool is_image_awaited_ = false;
    std::optional<Error> error_;
};

}  // namespace perfleet
