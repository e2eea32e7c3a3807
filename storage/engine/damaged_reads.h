// Reads that skip damage.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine/engine.h"
#include "storage/model/visit.h"

namespace perfleet {

// As EngineCursor, but skips damaged places of the range. Outside of them it reads everything; inside them it reads
// what files other than the damaged one hold, which may be older or deleted since. Each place is reported as a gap
// before what is read in it; ranges of lost files come first. If damaged places of one file are close together, intact
// keys of the file between them may be skipped; they are in the gap. After a gap it reads the present state, not that
// at opening. Errors: all except damage.
class ReadableCursor {
public:
    enum class InGaps : std::uint8_t {
        kOtherFiles,
        kNothing
    };  // kNothing: so that old values aren't taken for current ones
    ReadableCursor(const Engine& engine, const KeyRange& range, InGaps in_gaps = InGaps::kOtherFiles);

    [[nodiscard]] Result<CursorStep> next();
    // Skips gaps; false at the end.
    [[nodiscard]] Result<bool> next_item();
    // As EngineCursor's; does nothing if the cursor is behind `first` already. Damage before `first` is no gap.
    void seek(std::string_view first);
    [[nodiscard]] std::string_view key() const { return parts_.back().cursor->key(); }      // after kItem
    [[nodiscard]] std::string_view value() const { return parts_.back().cursor->value(); }  // likewise
    [[nodiscard]] const DamagedRange& gap() const { return gap_; }                          // after kGap

private:
    // A range that is still to be read, without some files. Later parts in the list are read first.
    struct Part {
        KeyRange rest;
        std::set<EngineFile> without;
        std::unique_ptr<EngineCursor> cursor;
    };
    void pass_damage(const Error& error);

    const Engine* engine_;
    InGaps in_gaps_;
    std::vector<Part> parts_;
    std::vector<DamagedRange> lost_;  // still to be reported; the first one is at the end
    DamagedRange gap_;
};

// Visits all keys and values of a ReadableCursor, until the visitor stops it. Without `on_damage` gaps are skipped.
[[nodiscard]] Result<Done> visit_readable(
    const Engine& engine, const KeyRange& range,
    const std::function<Visit(std::string_view key, std::string_view value)>& visitor,
    const std::function<void(const DamagedRange&)>& on_damage = {});

// As Engine::get; if the value can't be read, the value of another file, which may be older, or nothing. Then
// `on_damage` is called. Errors: all except damage.
[[nodiscard]] Result<std::optional<std::string>> get_readable(
    const Engine& engine, const std::string& key, const std::function<void(const DamagedRange&)>& on_damage = {});

// Whether `key` is the first key of a lost file.
[[nodiscard]] bool begins_lost_file(const Engine& engine, std::string_view key);

// Whether the error is about damaged or missing bytes: then other keys can still be read.
[[nodiscard]] bool is_damage(const Error& error);

// The value; nothing if it is damaged. Errors: all except damage.
template <class T>
[[nodiscard]] Result<std::optional<T>> unless_damaged(Result<T> result) {
    if (result.ok()) {
        return std::optional<T>{std::in_place, std::move(result).value()};
    }
    return is_damage(result.error()) ? Result<std::optional<T>>{std::nullopt} : std::move(result).error();
}
// The error, with the key in words in front.
[[nodiscard]] Error at_key(std::string_view key, const Error& error);

// Collects sentences about damage, each once, at most kMax. Threads: any.
class DamageNotes {
public:
    void add(const std::string& text);
    void clear();
    [[nodiscard]] std::vector<std::string> read() const;

private:
    static constexpr std::size_t kMax = 64;

    mutable std::mutex mutex_;
    std::set<std::string> notes_;
};

}  // namespace perfleet
