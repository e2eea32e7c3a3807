#include "exporters/sink/packed_json.h"

#include <sodium.h>
#include <zlib.h>

#include <new>
#include <vector>

namespace perfleet {

std::string packed_json(std::string_view json) {
    uLongf size_bytes = ::compressBound(json.size());
    std::vector<unsigned char> bytes(size_bytes);
    if (::compress(bytes.data(), &size_bytes, reinterpret_cast<const Bytef*>(json.data()), json.size()) != Z_OK) {
        throw std::bad_alloc{};  // nothing else can fail
    }
    std::string text(sodium_base64_ENCODED_LEN(size_bytes, sodium_base64_VARIANT_ORIGINAL), '\0');
    ::sodium_bin2base64(text.data(), text.size(), bytes.data(), size_bytes, sodium_base64_VARIANT_ORIGINAL);
    text.pop_back();  // its NUL
    return text;
}

}  // namespace perfleet
