// Descriptors of targets as byte streams for ZMTP: an accepted socket or a serial line.
//
// One thread. No function blocks.
#pragma once

#include <string>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/wire/byte_stream.h"
#include "target-collector/wire/line_stream.h"

namespace perfleet {

// An accepted socket: a single connection. `socket` is borrowed.
class AcceptedStream final : public ByteStream {
public:
    explicit AcceptedStream(const FileDescriptor& socket) : socket_{socket.get()} {}

    [[nodiscard]] std::uint64_t connection() override { return is_open_ ? 1 : 0; }
    [[nodiscard]] std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) override;
    [[nodiscard]] std::size_t read(std::span<std::byte> into) override;
    [[nodiscard]] bool end_connection() override;

private:
    int socket_;
    bool is_open_ = true;
};

// A serial line, a pseudo terminal, or a socket in its place. `line` is borrowed.
class DescriptorPort final : public LinePort {
public:
    explicit DescriptorPort(const FileDescriptor& line) : line_{line.get()} {}

    [[nodiscard]] std::size_t write(std::span<const std::byte> bytes) override;
    [[nodiscard]] std::size_t read(std::span<std::byte> into) override;

    // The line was unplugged, or its other end was closed.
    [[nodiscard]] bool is_gone() const { return is_gone_; }

private:
    int line_;
    bool is_gone_ = false;
};

// Opens a terminal device (raw, 8 bits, no parity, at this speed) or connects to a Unix socket. Errors: kUsage
// (neither, or no such speed), and those of errno; all name the path.
[[nodiscard]] Result<FileDescriptor> open_line(const std::string& path, unsigned baud);

}  // namespace perfleet
