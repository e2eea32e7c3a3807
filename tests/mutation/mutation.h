// Included first by each source that holds mutants: which of them runs, and which were reached.
#pragma once
#pragma GCC system_header

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

namespace mutation {

inline constexpr unsigned kReachedSize = 1U << 16;

inline const unsigned kActive = [] {
    const char* const number = std::getenv("MUTANT");
    return number == nullptr ? 0U : static_cast<unsigned>(std::atoi(number));
}();

// A file that outlives a program that is killed, and is shared with its children; nothing without MUTANTS_REACHED.
inline unsigned char* const kReached = []() -> unsigned char* {
    const char* const path = std::getenv("MUTANTS_REACHED");
    if (path == nullptr) {
        return nullptr;
    }
    const int file = open(path, O_RDWR | O_CLOEXEC);
    void* const map = mmap(nullptr, kReachedSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return map == MAP_FAILED ? nullptr : static_cast<unsigned char*>(map);
}();

template <unsigned kNumber>
constexpr bool is_on() noexcept {
    if (std::is_constant_evaluated()) {
        return false;
    }
    if (kReached != nullptr) {
        kReached[kNumber] = 1;
    }
    return kActive == kNumber;
}

// The mutant makes no sense with these types.
template <unsigned kNumber>
constexpr void is_none() noexcept {
    if (!std::is_constant_evaluated() && kReached != nullptr) {
        kReached[kNumber] = 2;
    }
}

template <unsigned kNumber, int kOld, int kNew>
constexpr int number() noexcept {
    return is_on<kNumber>() ? kNew : kOld;
}

// Between braces, where an int would narrow.
template <int kOld, int kNew>
struct BraceNumber {
    bool is_new;
    template <typename T>
    requires std::is_arithmetic_v<T>
    constexpr operator T() const noexcept { return is_new ? T{kNew} : T{kOld}; }
};
template <unsigned kNumber, int kOld, int kNew>
constexpr BraceNumber<kOld, kNew> brace_number() noexcept {
    return {is_on<kNumber>()};
}

// `a < Less<7>{} < b` is `a < b`, or `a <= b` as mutant 7: of the same precedence, in any context.
#define MUTATION_OPERATOR(NAME, OLD, NEW)                                                                      \
    template <unsigned kNumber>                                                                                \
    struct NAME {};                                                                                            \
    template <unsigned kNumber, typename A>                                                                    \
    struct NAME##Left {                                                                                        \
        const A& a;                                                                                            \
    };                                                                                                         \
    template <unsigned kNumber, typename A>                                                                    \
    constexpr NAME##Left<kNumber, A> operator OLD(const A& a, NAME<kNumber>) noexcept {                        \
        return {a};                                                                                            \
    }                                                                                                          \
    template <unsigned kNumber, typename A, typename B>                                                        \
    constexpr auto operator OLD(NAME##Left<kNumber, A> left, const B& b) {                                     \
        if constexpr (requires { requires std::is_same_v<decltype(left.a OLD b), decltype(left.a NEW b)>; }) { \
            if (is_on<kNumber>()) {                                                                            \
                return left.a NEW b;                                                                           \
            }                                                                                                  \
        } else {                                                                                               \
            is_none<kNumber>();                                                                                \
        }                                                                                                      \
        return left.a OLD b;                                                                                   \
    }
MUTATION_OPERATOR(Less, <, <=)
MUTATION_OPERATOR(LessOrEqual, <=, <)
MUTATION_OPERATOR(Greater, >, >=)
MUTATION_OPERATOR(GreaterOrEqual, >=, >)
MUTATION_OPERATOR(Equal, ==, !=)
MUTATION_OPERATOR(Unequal, !=, ==)
MUTATION_OPERATOR(Plus, +, -)
MUTATION_OPERATOR(Minus, -, +)
#undef MUTATION_OPERATOR

}  // namespace mutation
