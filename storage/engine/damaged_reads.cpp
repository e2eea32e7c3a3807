#include "storage/engine/damaged_reads.h"

#include <algorithm>

#include "storage/engine/file_name.h"
#include "storage/key/key_bytes.h"

namespace perfleet {
namespace {

// Longer than any key of a partition; longer keys next to damage are skipped with it.
constexpr std::size_t kSearchKeySizeBytes = 64;

// Most files that are left out because they are damaged in the same place.
constexpr std::size_t kFilesLeftOutMax = 16;

using Files = std::set<EngineFile>;
using Visitor = std::function<Visit(std::string_view key, std::string_view value)>;

bool is_readable(const Engine& engine, const Files& without, const std::string& begin, const std::string& end) {
    return begin >= end || engine.cursor({begin, end}, without)->next().ok();
}

// The first readable key after the damage at `begin`: a search over keys as numbers of kSearchKeySizeBytes digits. A
// failed probe reads a whole block, maybe an image of megabytes, so probes must be few: blocks end at short keys, so
// the digits are searched from the first one. Steps begin small at `begin` and grow, so that no readable stretch before
// the next damage is skipped.
std::string first_readable(const Engine& engine, const Files& without, const std::string& begin,
                           const std::string& end) {
    constexpr unsigned kDigits = 0x100;
    const auto is_good = [&](const std::string& key) { return is_readable(engine, without, key, end); };
    const auto filled = [](std::string key, char rest) {
        key.resize(kSearchKeySizeBytes, rest);
        return key;
    };
    std::string low = filled(begin, '\0');
    std::string high = end;
    std::size_t at = std::min(begin.size(), kSearchKeySizeBytes - 1);
    for (; at > 0; --at) {
        if (std::string last = filled(low.substr(0, at), '\xff'); is_good(last)) {
            high = std::move(last);
            break;
        }
    }
    // Digits before `at` equal those of `low`, unless the result is `high` already.
    for (bool is_between = true; is_between && at < kSearchKeySizeBytes; ++at) {
        unsigned below = static_cast<unsigned char>(low[at]);
        unsigned above = kDigits;
        for (unsigned step = 1; above - below > 1; step *= 2) {
            const unsigned digit = above == kDigits && below + step < kDigits ? below + step : (below + above) / 2;
            std::string key = filled(low.substr(0, at) + static_cast<char>(digit), '\0');
            if (is_good(key)) {
                above = digit;
                high = std::move(key);
            } else {
                below = digit;
                low = std::move(key);
            }
        }
        is_between = above == kDigits || is_good(filled(low.substr(0, at + 1), '\xff'));
    }
    return std::min(high, end);
}

}  // namespace

ReadableCursor::ReadableCursor(const Engine& engine, const KeyRange& range, InGaps in_gaps)
    : engine_{&engine}, in_gaps_{in_gaps} {
    const auto known = engine.damage();  // held: a refresh may replace it meanwhile
    for (auto lost = known->lost.rbegin(); lost != known->lost.rend(); ++lost) {
        const KeyRange both{std::max(range.begin, lost->keys.begin), std::min(range.end, lost->keys.end)};
        if (both.begin < both.end) {
            lost_.push_back({both, lost->error, lost->file, true});
        }
    }
    parts_.push_back({range, {}, engine.cursor(range, {})});
}

Result<CursorStep> ReadableCursor::next() {
    if (!lost_.empty()) {
        gap_ = std::move(lost_.back());
        lost_.pop_back();
        return CursorStep::kGap;
    }
    while (!parts_.empty()) {
        Part& part = parts_.back();
        if (part.cursor == nullptr) {
            part.cursor = engine_->cursor(part.rest, part.without);
        }
        const auto is_any = part.cursor->next();
        if (is_any.ok() && *is_any) {
            return CursorStep::kItem;
        }
        if (is_any.ok()) {
            parts_.pop_back();
        } else if (is_damage(is_any.error())) {
            pass_damage(is_any.error());
            return CursorStep::kGap;
        } else {
            return Error{is_any.error()};
        }
    }
    return CursorStep::kEnd;
}

Result<bool> ReadableCursor::next_item() {
    for (;;) {
        const auto step = PERFLEET_TRY(next());
        if (step != CursorStep::kGap) {
            return step == CursorStep::kItem;
        }
    }
}

void ReadableCursor::seek(std::string_view first) {
    std::erase_if(lost_, [&](const DamagedRange& lost) { return lost.keys.end <= first; });
    while (!parts_.empty() && parts_.back().rest.end <= first) {
        parts_.pop_back();
    }
    if (parts_.empty()) {
        return;
    }
    Part& part = parts_.back();
    if (part.rest.begin >= first || (part.cursor != nullptr && part.cursor->key() >= first)) {
        return;
    }
    part.rest.begin = first;
    if (part.cursor != nullptr) {
        part.cursor->seek(first);
    }
}

// Continues the part at the next readable key; first comes what other files hold of the gap.
void ReadableCursor::pass_damage(const Error& error) {
    Part& part = parts_.back();
    const std::string begin = part.cursor->key().empty() ? part.rest.begin : std::string{part.cursor->key()} + '\0';
    part.cursor.reset();
    part.rest.begin = first_readable(*engine_, part.without, begin, part.rest.end);
    gap_ = {{begin, part.rest.begin}, error, {}, false};
    Files more = part.without;
    if (part.rest.begin >= part.rest.end) {
        parts_.pop_back();
    }
    const std::optional<EngineFile> file = in_gaps_ == InGaps::kOtherFiles ? table_file_in(error) : std::nullopt;
    if (file && more.size() < kFilesLeftOutMax && more.insert(*file).second) {
        gap_.file = table_file_name(*file);
        parts_.push_back({gap_.keys, std::move(more), nullptr});
    }
}

std::shared_ptr<const KnownDamage> Engine::damage() const {
    static const auto kNone = std::make_shared<const KnownDamage>();
    return kNone;
}

Result<Done> Engine::visit(const KeyRange& range, const Visitor& visitor) const {
    const std::unique_ptr<EngineCursor> at = cursor(range, {});
    for (;;) {
        const auto is_any = PERFLEET_TRY(at->next());
        if (!is_any || visitor(at->key(), at->value()) == Visit::kStop) {
            return Done{};
        }
    }
}

bool is_damage(const Error& error) { return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kIo; }

Result<Done> visit_readable(const Engine& engine, const KeyRange& range, const Visitor& visitor,
                            const std::function<void(const DamagedRange&)>& on_damage) {
    ReadableCursor cursor{engine, range};
    for (;;) {
        const auto step = PERFLEET_TRY(cursor.next());
        if (step == CursorStep::kGap) {
            if (on_damage) {
                on_damage(cursor.gap());
            }
        } else if (step == CursorStep::kEnd || visitor(cursor.key(), cursor.value()) == Visit::kStop) {
            return Done{};
        }
    }
}

Result<std::optional<std::string>> get_readable(const Engine& engine, const std::string& key,
                                                const std::function<void(const DamagedRange&)>& on_damage) {
    auto found = engine.get(key);
    if (found.ok() || !is_damage(found.error())) {
        return found;
    }
    const KeyRange range{key, key + '\0'};
    if (on_damage) {
        on_damage({range, found.error(), {}, false});
    }
    ReadableCursor at{engine, range};
    const auto is_any = PERFLEET_TRY(at.next_item());
    return is_any ? std::optional{std::string{at.value()}} : std::nullopt;
}

bool begins_lost_file(const Engine& engine, std::string_view key) {
    const auto known = engine.damage();
    return std::any_of(known->lost.begin(), known->lost.end(),
                       [&](const DamagedRange& one) { return one.keys.begin == key; });
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
