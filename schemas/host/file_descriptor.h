// An open file, socket or pipe that is closed with its owner. Hosts only.
//
// May be moved to another thread.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace perfleet {

class FileDescriptor {
public:
    // Owns the result of open(), socket() and the like; a negative number is none.
    explicit FileDescriptor(int number = -1) : number_{number} {}
    FileDescriptor(FileDescriptor&& other) noexcept : number_{other.release()} {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        reset(other.release());
        return *this;
    }
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    ~FileDescriptor() { reset(); }

    [[nodiscard]] int get() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

    // The caller closes it.
    [[nodiscard]] int release() { return std::exchange(number_, -1); }
    // Closes what it held; errno stays as it was.
    void reset(int number = -1) {
        const int held = std::exchange(number_, number);
        if (held >= 0) {
            const int error = errno;
            ::close(held);
            errno = error;
        }
    }

private:
    int number_;
};

}  // namespace perfleet
