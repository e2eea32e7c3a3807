#include "gateway/ingest/symbol_order.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>

#include "gateway/ingest/image_check.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/file_descriptor.h"

namespace perfleet {
namespace {

std::optional<std::string> bytes_in_hex(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i + 2 <= text.size(); i += 2) {
        std::uint8_t byte = 0;
        const auto [end, status] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
        if (status != std::errc{} || end != text.data() + i + 2) {
            return std::nullopt;
        }
        bytes += static_cast<char>(byte);
    }
    return text.size() % 2 == 0 && !bytes.empty() ? std::optional{bytes} : std::nullopt;
}

Result<std::string> content_of(const std::string& path) {
    const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        return error_from_errno(errno, path);
    }
    if (!S_ISREG(status.st_mode)) {
        return Error{ErrorCode::kInvalid, path + ": is no regular file"};
    }
    if (status.st_size < 0 || static_cast<std::uint64_t>(status.st_size) > limits::kImageSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, path + ": is larger than symbols may be"};
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t size = ::pread(file.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
        if (size <= 0) {
            return size < 0 ? error_from_errno(errno, path) : Error{ErrorCode::kIo, path + ": was cut meanwhile"};
        }
        at += static_cast<std::size_t>(size);
    }
    return bytes;
}

}  // namespace

OperatorCommand order_of_symbols(std::string_view build_id, std::uint16_t type, const std::string& file) {
    OperatorCommand order;
    order.edit = SessionEdit::kKeepSymbols;
    order.value = type;
    for (const char byte : build_id) {
        order.event += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    order.event += " " + file;
    return order;
}

Result<OrderedSymbols> read_ordered_symbols(const OperatorCommand& order) {
    const std::size_t blank = order.event.find(' ');
    const auto build_id = bytes_in_hex(std::string_view{order.event}.substr(0, blank));
    if (!build_id || blank == std::string::npos || order.value > 0xffff) {
        return Error{ErrorCode::kInvalid, "symbols need a build-id, a type and a file"};
    }
    OrderedSymbols symbols{*build_id, {static_cast<std::uint16_t>(order.value), {}}};
    symbols.content.bytes = PERFLEET_TRY(content_of(order.event.substr(blank + 1)));
    if (const auto refusal = refusal_of_image(symbols.build_id, symbols.content)) {
        return Error{ErrorCode::kInvalid, "its symbols can't be stored: " + std::string{reason_name(*refusal)}};
    }
    return symbols;
}

}  // namespace perfleet
