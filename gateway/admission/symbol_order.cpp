#include "gateway/admission/symbol_order.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "gateway/admission/image_check.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "schemas/text/hex.h"
#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {
namespace {

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
    if (read_all_at(file.get(), 0, std::as_writable_bytes(std::span{bytes})) != bytes.size()) {
        return errno != 0 ? error_from_errno(errno, path) : Error{ErrorCode::kIo, path + ": was cut meanwhile"};
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
    const auto build_id = bytes_of_hex(std::string_view{order.event}.substr(0, blank));
    if (!build_id || build_id->empty() || blank == std::string::npos || order.value > 0xffff) {
        return Error{ErrorCode::kInvalid, "symbols need a build-id, a type and a file"};
    }
    OrderedSymbols symbols{*build_id, {static_cast<std::uint16_t>(order.value), {}}};
    symbols.content.bytes = PERFLEET_TRY(content_of(order.event.substr(blank + 1)));
    if (const auto refusal = check_image(symbols.build_id, symbols.content).refusal) {
        return Error{ErrorCode::kInvalid, "its symbols can't be stored: " + std::string{reason_name(*refusal)}};
    }
    return symbols;
}

}  // namespace perfleet
