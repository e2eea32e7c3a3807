#include "query-engine/statistic/testing/memory_peak.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocated_bytes{0};
std::atomic<std::size_t> peak_bytes{0};

void note_allocated(void* memory) {
    const std::size_t now = allocated_bytes += malloc_usable_size(memory);
    for (std::size_t peak = peak_bytes; now > peak && !peak_bytes.compare_exchange_weak(peak, now);) {
    }
}

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    void* const memory = std::malloc(size);
    if (memory != nullptr) {
        note_allocated(memory);
    }
    return memory;
}
void* operator new(std::size_t size) {
    void* const memory = operator new(size, std::nothrow);
    if (memory == nullptr) {
        throw std::bad_alloc{};
    }
    return memory;
}
void operator delete(void* memory) noexcept {
    allocated_bytes -= malloc_usable_size(memory);
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace perfleet {

MemoryPeak::MemoryPeak() : before_bytes_{allocated_bytes} { peak_bytes = before_bytes_; }
std::size_t MemoryPeak::taken_bytes() const { return peak_bytes - before_bytes_; }

}  // namespace perfleet
