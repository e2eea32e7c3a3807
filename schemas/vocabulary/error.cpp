#include "schemas/vocabulary/error.h"

#include <cerrno>
#include <cstring>

namespace perfleet {
namespace {

ErrorCode code_of_errno(int errno_value) {
    switch (errno_value) {
        case EACCES:
        case EPERM: return ErrorCode::kPermission;
        case ENOENT:
        case ESRCH: return ErrorCode::kNotFound;
        case EBUSY:
        case EAGAIN: return ErrorCode::kBusy;
        case ENOSPC:
        case EDQUOT: return ErrorCode::kFull;
        default: return ErrorCode::kIo;
    }
}

const char* words_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalid: return "invalid";
        case ErrorCode::kTooLarge: return "too large";
        case ErrorCode::kTruncated: return "truncated";
        case ErrorCode::kCorrupt: return "checksum mismatch";
        case ErrorCode::kUnsupported: return "not supported";
        case ErrorCode::kNotFound: return "not found";
        case ErrorCode::kConflict: return "conflict";
        case ErrorCode::kPermission: return "not permitted";
        case ErrorCode::kBusy: return "busy";
        case ErrorCode::kUnavailable: return "unavailable";
        case ErrorCode::kIo: return "input/output error";
        case ErrorCode::kUsage: return "wrong usage";
        case ErrorCode::kFull: return "full";
        case ErrorCode::kCancelled: return "cancelled";
    }
    return "error";
}

}  // namespace

Error error_from_errno(int errno_value, std::string what) {
    what += ": ";
    what += std::strerror(errno_value);
    return Error{code_of_errno(errno_value), std::move(what)};
}

Error error_from_fault(const Fault& fault, std::string what) {
    what += ": ";
    what += words_of(fault.code);
    what += " at " + std::to_string(fault.where) + " (value " + std::to_string(fault.value) + ")";
    return Error{fault.code, std::move(what)};
}

}  // namespace perfleet
