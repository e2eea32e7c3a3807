#include "exporters/sink/testing/page_json.h"

#include <gtest/gtest.h>
#include <sodium.h>
#include <zlib.h>

#include <vector>

namespace perfleet {

std::string json_of_page(const std::string& page) {
    const std::string start = "<script type=\"text/plain\" id=\"data\">";
    const std::size_t begin = page.find(start) + start.size();
    const std::string packed = page.substr(begin, page.find("</script>", begin) - begin);
    std::vector<unsigned char> bytes(packed.size());
    std::size_t size_bytes = 0;
    EXPECT_EQ(::sodium_base642bin(bytes.data(), bytes.size(), packed.data(), packed.size(), nullptr, &size_bytes,
                                  nullptr, sodium_base64_VARIANT_ORIGINAL),
              0);
    constexpr std::size_t kJsonSizeBytesMax = 16U << 20U;
    std::string json(kJsonSizeBytesMax, '\0');
    uLongf json_size_bytes = json.size();
    EXPECT_EQ(::uncompress(reinterpret_cast<Bytef*>(json.data()), &json_size_bytes, bytes.data(), size_bytes), Z_OK);
    json.resize(json_size_bytes);
    return json;
}

}  // namespace perfleet
