// Memory for an object that is constructed once its parts are known: there is no heap, and stacks are small.
#pragma once

#include <cstddef>
#include <new>

namespace perfleet::sel4 {

template <class T>
struct Place {
    alignas(T) std::byte bytes[sizeof(T)];

    template <class... Arguments>
    T& make(Arguments&&... arguments) {
        return *new (bytes) T{static_cast<Arguments&&>(arguments)...};
    }
};

}  // namespace perfleet::sel4
