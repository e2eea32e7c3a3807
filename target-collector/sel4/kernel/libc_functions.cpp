// Functions of a libc that libsel4's headers need, beside the compiler's four.
#include <cstddef>

extern "C" {

std::size_t strlen(const char* text) {
    std::size_t size = 0;
    while (text[size] != 0) {
        ++size;
    }
    return size;
}

char* strcpy(char* to, const char* from) {
    char* at = to;
    while ((*at++ = *from++) != 0) {
    }
    return to;
}

}  // extern "C"
