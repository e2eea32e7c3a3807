#include "schemas/pprof/sample_labels.h"

#include <array>
#include <cstring>

namespace perfleet {
namespace {

constexpr std::size_t kHeadSizeBytes = 24;

}  // namespace

std::string encode_labels(const std::vector<SampleLabel>& labels) {
    std::string bytes;
    for (const SampleLabel& label : labels) {
        const std::array<std::uint32_t, 4> sizes{static_cast<std::uint32_t>(label.key.size()),
                                                 static_cast<std::uint32_t>(label.text.size()),
                                                 static_cast<std::uint32_t>(label.unit.size()), 0};
        bytes.append(reinterpret_cast<const char*>(sizes.data()), sizeof(sizes));
        bytes.append(reinterpret_cast<const char*>(&label.number), sizeof(label.number));
        bytes.append(label.key).append(label.text).append(label.unit);
    }
    return bytes;
}

std::optional<std::vector<SampleLabel>> decode_labels(std::string_view bytes_untrusted) {
    std::vector<SampleLabel> labels;
    while (!bytes_untrusted.empty()) {
        std::array<std::uint32_t, 4> sizes{};
        SampleLabel label;
        if (bytes_untrusted.size() < kHeadSizeBytes) {
            return std::nullopt;
        }
        std::memcpy(sizes.data(), bytes_untrusted.data(), sizeof(sizes));
        std::memcpy(&label.number, bytes_untrusted.data() + sizeof(sizes), sizeof(label.number));
        bytes_untrusted.remove_prefix(kHeadSizeBytes);
        for (auto [part, size] : {std::pair{&label.key, sizes[0]}, {&label.text, sizes[1]}, {&label.unit, sizes[2]}}) {
            if (size > bytes_untrusted.size()) {
                return std::nullopt;
            }
            *part = bytes_untrusted.substr(0, size);
            bytes_untrusted.remove_prefix(size);
        }
        labels.push_back(label);
    }
    return labels;
}

}  // namespace perfleet
