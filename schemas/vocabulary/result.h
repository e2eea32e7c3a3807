// A value, or an error. There are two types of errors:
//   Fault  freestanding code: a code and two integers whose meaning the code gives;
//   Error  hosts: the same code and a message that names the place and the way out (vocabulary/error.h).
//
// Freestanding. A Result is never ignored; a bug is not a Result but an assertion.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

// One code for each case that callers handle separately.
enum class ErrorCode : std::uint8_t {
    kInvalid = 1,      // input that breaks its format or its contract
    kTooLarge = 2,     // past a named limit
    kTruncated = 3,    // ends before the length that it states
    kCorrupt = 4,      // a checksum doesn't match
    kUnsupported = 5,  // a version, codec or feature that this build or machine doesn't have
    kNotFound = 6,
    kConflict = 7,  // the same key with other content
    kPermission = 8,
    kBusy = 9,          // held by another process or thread
    kUnavailable = 10,  // a peer that doesn't answer
    kIo = 11,           // the operating system reported an error; errno is in the message
    kUsage = 12,        // wrong options of a command
    kFull = 13,         // no space now
    kCancelled = 14,
};

struct Fault {
    ErrorCode code{};
    std::uint64_t where = 0;  // offset, index or id
    std::uint64_t value = 0;  // the value found there
};

template <class T, class E>
class [[nodiscard]] BasicResult {
public:
    BasicResult(T value) : has_value_{true} {
        new (&value_) T(std::move(value));
    }  // NOLINT(google-explicit-constructor)
    BasicResult(E error) : has_value_{false} {
        new (&error_) E(std::move(error));
    }  // NOLINT(google-explicit-constructor)
    BasicResult(BasicResult&& other) noexcept : has_value_{other.has_value_} {
        if (has_value_) {
            new (&value_) T(std::move(other.value_));
        } else {
            new (&error_) E(std::move(other.error_));
        }
    }
    BasicResult& operator=(BasicResult&& other) noexcept {
        if (this != &other) {
            this->~BasicResult();
            new (this) BasicResult(std::move(other));
        }
        return *this;
    }
    BasicResult(const BasicResult&) = delete;
    BasicResult& operator=(const BasicResult&) = delete;
    ~BasicResult() {
        if (has_value_) {
            value_.~T();
        } else {
            error_.~E();
        }
    }

    [[nodiscard]] bool ok() const { return has_value_; }
    explicit operator bool() const { return has_value_; }

    // Precondition: ok().
    [[nodiscard]] T& value() & {
        PERFLEET_ASSERT(has_value_);
        return value_;
    }
    [[nodiscard]] const T& value() const& {
        PERFLEET_ASSERT(has_value_);
        return value_;
    }
    [[nodiscard]] T&& value() && {
        PERFLEET_ASSERT(has_value_);
        return std::move(value_);
    }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }

    // Precondition: not ok().
    [[nodiscard]] const E& error() const& {
        PERFLEET_ASSERT(!has_value_);
        return error_;
    }
    [[nodiscard]] E&& error() && {
        PERFLEET_ASSERT(!has_value_);
        return std::move(error_);
    }

private:
    union {
        T value_;
        E error_;
    };
    bool has_value_;
};

// The result of functions that return only success.
struct Done {};

// The value of a result; on error the calling function returns the error:
//
//   const auto text = PERFLEET_TRY(read_file(path));
//   PERFLEET_TRY(write_file(path, text));
//
// A statement expression of GCC and Clang; can't be used within the arguments of another one.
#define PERFLEET_TRY(...)                             \
    __extension__({                                   \
        auto perfleet_tried = (__VA_ARGS__);          \
        if (!perfleet_tried.ok()) {                   \
            return std::move(perfleet_tried).error(); \
        }                                             \
        std::move(perfleet_tried).value();            \
    })

// The result type of freestanding code.
template <class T>
using Checked = BasicResult<T, Fault>;

}  // namespace perfleet
