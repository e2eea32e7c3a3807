#include "storage/engine/damaged_reads.h"

#include <algorithm>
#include <optional>
#include <set>

#include "storage/key/key.h"

namespace perfleet {
namespace {

// Longer than any key of a partition; what is left out of longer ones is passed over with the damage.
constexpr std::size_t kSearchKeySizeBytes = 64;

// How many files are left out at most where they are damaged in the same place.
constexpr std::size_t kFilesLeftOutMax = 16;

using Files = std::set<EngineFile>;
using Visitor = std::function<Visit(std::string_view key, std::string_view value)>;

Result<Done> visit_without(const Engine& engine, const Files& files, const KeyRange& range, const Visitor& visitor) {
    return files.empty() ? engine.visit(range, visitor) : engine.visit_without(files, range, visitor);
}

bool is_readable(const Engine& engine, const Files& without, const std::string& begin, const std::string& end) {
    return begin >= end || visit_without(engine, without, {begin, end}, [](std::string_view, std::string_view) {
                               return Visit::kStop;
                           }).ok();
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
std::string first_readable(const Engine& engine, const Files& without, const std::string& begin,
                           const std::string& end) {
    std::string low = begin;
    std::string high = end;
    low.resize(kSearchKeySizeBytes, '\0');
    high.resize(kSearchKeySizeBytes, '\0');
    for (;;) {
        std::string middle = middle_of(low, high);
        if (middle <= low || middle >= high) {
            return std::min(high, end);
        }
        (is_readable(engine, without, middle, end) ? high : low) = std::move(middle);
    }
}

class ReadableVisit {
public:
    ReadableVisit(const Engine& engine, const Visitor& visitor,
                  const std::function<void(const DamagedRange&)>& on_damage, bool reads_other_files)
        : engine_{engine}, visitor_{visitor}, on_damage_{on_damage}, reads_other_files_{reads_other_files} {}

    // kStop: the visitor has stopped it.
    [[nodiscard]] Result<Visit> run(const KeyRange& range, const Files& without) const {
        KeyRange rest = range;
        while (rest.begin < rest.end) {
            std::optional<std::string> last;
            Visit wanted = Visit::kContinue;
            auto visited = visit_without(engine_, without, rest, [&](std::string_view key, std::string_view value) {
                last = key;
                wanted = visitor_(key, value);
                return wanted;
            });
            if (visited.ok()) {
                return wanted;
            }
            if (!is_damage(visited.error())) {
                return visited.error();
            }
            const std::string begin = last ? *last + '\0' : rest.begin;
            rest.begin = first_readable(engine_, without, begin, rest.end);
            auto beside = run_beside({begin, rest.begin}, without, visited.error());
            if (!beside.ok() || *beside == Visit::kStop) {
                return beside;
            }
        }
        return Visit::kContinue;
    }

private:
    // What other files hold of a range that can't be read.
    [[nodiscard]] Result<Visit> run_beside(const KeyRange& range, const Files& without, const Error& error) const {
        const std::optional<EngineFile> file = reads_other_files_ ? engine_.file_of(error) : std::nullopt;
        if (!file || without.contains(*file) || without.size() == kFilesLeftOutMax) {
            on_damage_({range, error, {}, false});
            return Visit::kContinue;
        }
        on_damage_({range, error, engine_.name_of(*file), false});
        Files more = without;
        more.insert(*file);
        return run(range, more);
    }

    const Engine& engine_;
    const Visitor& visitor_;
    const std::function<void(const DamagedRange&)>& on_damage_;
    bool reads_other_files_;
};

void tell_lost(const Engine& engine, const KeyRange& range, const std::function<void(const DamagedRange&)>& on_damage) {
    const auto ranges = engine.lost();  // held: a refresh may put others in their place
    for (const DamagedRange& lost : *ranges) {
        const KeyRange both{std::max(range.begin, lost.keys.begin), std::min(range.end, lost.keys.end)};
        if (both.begin < both.end) {
            on_damage({both, lost.error, lost.file, true});
        }
    }
}

}  // namespace

bool is_damage(const Error& error) { return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kIo; }

Result<Done> visit_readable(const Engine& engine, const KeyRange& range, const Visitor& visitor,
                            const std::function<void(const DamagedRange&)>& on_damage) {
    tell_lost(engine, range, on_damage);
    auto visited = ReadableVisit{engine, visitor, on_damage, true}.run(range, {});
    return visited.ok() ? Result<Done>{Done{}} : visited.error();
}

Result<Done> visit_undamaged(const Engine& engine, const KeyRange& range, const Visitor& visitor,
                             const std::function<void(const DamagedRange&)>& on_damage) {
    tell_lost(engine, range, on_damage);
    auto visited = ReadableVisit{engine, visitor, on_damage, false}.run(range, {});
    return visited.ok() ? Result<Done>{Done{}} : visited.error();
}

Result<std::optional<std::string>> get_readable(const Engine& engine, const std::string& key,
                                                const std::function<void(const DamagedRange&)>& on_damage) {
    auto found = engine.get(key);
    if (found.ok() || !is_damage(found.error())) {
        return found;
    }
    const KeyRange range{key, key + '\0'};
    on_damage({range, found.error(), {}, false});
    std::optional<std::string> value;
    auto visited = visit_readable(
        engine, range,
        [&](std::string_view, std::string_view bytes) {
            value = bytes;
            return Visit::kStop;
        },
        [](const DamagedRange&) {});
    return visited.ok() ? Result<std::optional<std::string>>{std::move(value)} : visited.error();
}

bool begins_lost_file(const Engine& engine, std::string_view key) {
    const auto lost = engine.lost();
    return std::any_of(lost->begin(), lost->end(), [&](const DamagedRange& one) { return one.keys.begin == key; });
}

Error at_key(std::string_view key, const Error& error) {
    return Error{error.code, describe_key(key) + ": " + error.message};
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
