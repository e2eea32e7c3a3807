#include "target-collector/process/image_table.h"

#include <algorithm>
#include <utility>

namespace perfleet {
namespace {

void add_bytes(std::string& key, const void* bytes, std::size_t size_bytes) {
    key.append(static_cast<const char*>(bytes), size_bytes);
}

std::string key_of(const Image& image) {
    std::string key;
    key.reserve(image.name.size() + image.content.size_bytes + 25);
    add_bytes(key, &image.flags, sizeof(image.flags));
    add_bytes(key, &image.address, sizeof(image.address));
    add_bytes(key, &image.size, sizeof(image.size));
    add_bytes(key, &image.content.size_bytes, 1);
    add_bytes(key, image.content.bytes.data(), image.content.size_bytes);
    key += image.name;
    return key;
}

}  // namespace

ImageContentId ImageContentId::from(std::span<const std::byte> id, bool is_hash) {
    ImageContentId content;
    content.size_bytes = static_cast<std::uint8_t>(std::min(id.size(), content.bytes.size()));
    std::copy_n(id.begin(), content.size_bytes, content.bytes.begin());
    content.is_hash = is_hash;
    return content;
}

std::string_view name_in(std::string_view text) {
    return text.substr(0, std::min(text.find('\0'), limits::kStringSizeBytesMax));
}

std::optional<ImageIndex> ImageTable::intern(Image image) {
    image.name.resize(name_in(image.name).size());
    std::string key = key_of(image);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
        return found->second;
    }
    ImageIndex index = 0;
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
        images_[index] = std::move(image);
    } else if (images_.size() < limits::kImagesMax) {
        index = static_cast<ImageIndex>(images_.size());
        images_.push_back(std::move(image));
    } else {
        return std::nullopt;
    }
    by_key_.emplace(std::move(key), index);
    return index;
}

void ImageTable::sweep(const std::vector<bool>& is_used) {
    std::erase_if(by_key_, [&](const auto& entry) {
        const bool is_unused = entry.second >= is_used.size() || !is_used[entry.second];
        if (is_unused) {
            free_.push_back(entry.second);
        }
        return is_unused;
    });
}

}  // namespace perfleet
