#include "storage/store/damaged_reads.h"

#include <algorithm>
#include <optional>

namespace perfleet {
namespace {

// Longer than any key of a partition; what is left out of longer ones is passed over with the damage.
constexpr std::size_t kSearchKeySizeBytes = 64;

bool is_readable(const Engine& engine, const std::string& begin, const std::string& end) {
    return begin >= end ||
           engine.visit({begin, end}, [](std::string_view, std::string_view) { return Visit::kStop; }).ok();
}

// Between `low` and `high`, by bytes as digits.
std::string middle_of(const std::string& low, const std::string& high) {
    std::string middle(low.size(), '\0');
    unsigned carry = 0;
    std::string sum(low.size(), '\0');
    for (std::size_t i = low.size(); i-- > 0;) {
        const unsigned digit =
            static_cast<unsigned char>(low[i]) + static_cast<unsigned>(static_cast<unsigned char>(high[i])) + carry;
        sum[i] = static_cast<char>(digit & 0xff);
        carry = digit >> 8;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const unsigned digit = carry << 8 | static_cast<unsigned char>(sum[i]);
        middle[i] = static_cast<char>(digit >> 1);
        carry = digit & 1;
    }
    return middle;
}

// The first key behind `begin`, which can't be read, from which on something can.
std::string first_readable(const Engine& engine, const std::string& begin, const std::string& end) {
    std::string low = begin;
    std::string high = end;
    low.resize(kSearchKeySizeBytes, '\0');
    high.resize(kSearchKeySizeBytes, '\0');
    for (;;) {
        std::string middle = middle_of(low, high);
        if (middle <= low || middle >= high) {
            return std::min(high, end);
        }
        (is_readable(engine, middle, end) ? high : low) = std::move(middle);
    }
}

}  // namespace

bool is_damage(const Error& error) { return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kIo; }

Result<Done> visit_readable(const Engine& engine, const KeyRange& range,
                            const std::function<Visit(std::string_view key, std::string_view value)>& visitor,
                            const std::function<void(const DamagedRange&)>& on_damage) {
    KeyRange rest = range;
    while (rest.begin < rest.end) {
        std::optional<std::string> last;
        auto visited = engine.visit(rest, [&](std::string_view key, std::string_view value) {
            last = key;
            return visitor(key, value);
        });
        if (visited.ok() || !is_damage(visited.error())) {
            return visited;
        }
        const std::string begin = last ? *last + '\0' : rest.begin;
        const std::string next = first_readable(engine, begin, rest.end);
        on_damage({{begin, next}, visited.error()});
        rest.begin = next;
    }
    return Done{};
}

void DamageNotes::add(const std::string& text) {
    const std::lock_guard lock{mutex_};
    if (notes_.size() < kMax) {
        notes_.insert(text);
    }
}

void DamageNotes::clear() {
    const std::lock_guard lock{mutex_};
    notes_.clear();
}

std::vector<std::string> DamageNotes::read() const {
    const std::lock_guard lock{mutex_};
    return {notes_.begin(), notes_.end()};
}

}  // namespace perfleet
