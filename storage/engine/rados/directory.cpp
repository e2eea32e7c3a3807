#include "storage/engine/rados/directory.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr std::string_view kSegment = "segment ";
constexpr std::string_view kUnused = "unused ";
constexpr std::string_view kSealed = " sealed";
constexpr int kReadsMax = 8;  // reads of a directory that is being changed

// "00075300.01.000f" for a partition: sorts as its keys do.
std::string domain_text(const Domain& domain) {
    const Partition& partition = domain.partition;
    switch (domain.type) {
        case Domain::Type::kStore:
        case Domain::Type::kImage: break;  // not in a directory
        case Domain::Type::kShard: return "sessions";
        case Domain::Type::kPartition: break;
    }
    return fmt::format("partition.{:08x}.{:02x}.{:04x}", partition.bucket.value, partition.retention_class,
                       partition.shard);
}

// The inverse of segment_key() and encode_segment().
std::optional<std::pair<Domain, Segment>> decode_segment(std::string_view key, std::string_view value,
                                                         std::size_t directory) {
    std::string_view name = take_part(key, ' ');
    Domain domain;
    if (name == "sessions") {
        domain = shard_domain(static_cast<std::uint16_t>(directory));
    } else if (name.starts_with("partition.")) {
        name.remove_prefix(std::string_view{"partition."}.size());
        domain.type = Domain::Type::kPartition;
        if (!take_number(name, domain.partition.bucket.value, '.', 16) ||
            !take_number(name, domain.partition.retention_class, '.', 16) ||
            !take_number(name, domain.partition.shard, '.', 16)) {
            return std::nullopt;
        }
    } else {
        return std::nullopt;
    }
    Segment segment;
    if (!take_number(key, segment.order, ' ', 16) || !take_number(key, segment.part, ' ', 16)) {
        return std::nullopt;
    }
    segment.is_sealed = value.ends_with(kSealed);
    segment.object = value.substr(0, value.size() - (segment.is_sealed ? kSealed.size() : 0));
    return std::pair{domain, std::move(segment)};
}

}  // namespace

std::string directory_object(std::size_t directory) { return fmt::format("directory.{:02x}", directory); }

std::string segment_key(const Domain& domain, const Segment& segment) {
    return fmt::format("{}{} {:08x} {:04x}", kSegment, domain_text(domain), segment.order, segment.part);
}

std::string encode_segment(const Segment& segment) {
    return segment.object + (segment.is_sealed ? std::string{kSealed} : "");
}

std::string unused_key(const std::string& object) { return std::string{kUnused} + object; }

Result<std::optional<Directory>> read_directory(RadosPool& pool, std::size_t directory) {
    const std::string object = directory_object(directory);
    for (int reads = 1;; ++reads) {
        Directory found;
        std::string unknown;
        auto read = pool.read_index(object, [&](std::string_view key, std::string_view value) {
            if (key.starts_with(kSegment)) {
                if (auto segment = decode_segment(key.substr(kSegment.size()), value, directory)) {
                    found.domains[segment->first].push_back(
                        std::make_shared<const Segment>(std::move(segment->second)));
                    return;
                }
            } else if (key.starts_with(kUnused)) {
                std::uint64_t since_s = 0;
                (void)std::from_chars(value.data(), value.data() + value.size(), since_s);
                found.unused.emplace(key.substr(kUnused.size()), since_s);
                return;
            }
            unknown = key;
        });
        if (!read.ok() || !read->has_value()) {
            return read.ok() ? Result<std::optional<Directory>>{std::optional<Directory>{}} : read.error();
        }
        const auto head = decode_head_untrusted((*read)->head);
        if (!unknown.empty() || !head) {
            return Error{ErrorCode::kUnsupported, pool.where() + ": " + object + " has " +
                                                      (head ? "the entry " + unknown : "a head") +
                                                      " that this build doesn't know"};
        }
        found.head = *head;
        found.head_bytes = (*read)->head;
        if ((*read)->is_one_moment || reads == kReadsMax) {
            return std::optional{std::move(found)};
        }
    }
}

}  // namespace perfleet
