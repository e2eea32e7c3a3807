// The base of types with an identity, which are neither copied nor moved: they hold a thread, a lock or an address that
// others borrow.
//
// Freestanding.
#pragma once

namespace perfleet {

class NonCopyable {
public:
    NonCopyable(const NonCopyable&) = delete;
    NonCopyable& operator=(const NonCopyable&) = delete;

protected:
    NonCopyable() = default;
    ~NonCopyable() = default;
};

}  // namespace perfleet
