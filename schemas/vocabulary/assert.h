// For bugs only: no input, however hostile, may reach a failing assertion. It stops the program in every build.
#pragma once

// Platform hook: reports and stops; never returns. Each platform supplies one.
extern "C" [[noreturn]] void perfleet_panic(const char* file, int line, const char* condition);

#ifdef PERFLEET_ASSERT_BY_LINE
// For builds without assertion texts, where space is scarce: reports the line and the caller's address; addr2line finds
// the place.
extern "C" [[noreturn, gnu::cold]] void perfleet_panic_at(int line);
#define PERFLEET_ASSERT(condition) (static_cast<bool>(condition) ? static_cast<void>(0) : perfleet_panic_at(__LINE__))
#else
#define PERFLEET_ASSERT(condition) \
    (static_cast<bool>(condition) ? static_cast<void>(0) : perfleet_panic(__FILE__, __LINE__, #condition))
#endif
