#include "schemas/vocabulary/kinds.h"

namespace perfleet {

// The time column is the first one of all kinds of rows with a time.
static_assert(std::ranges::all_of(kKindTable, [](const KindTraits& kind) {
    const bool is_first = !kind.columns.empty() && kind.columns.front().id == ColumnId::kTime;
    return is_first != (kind.is_definition || kind.columns.empty());
}));

const ColumnRule* column_rule(Kind kind, ColumnId id) {
    const auto rules = columns_of(kind);
    const auto found = std::find_if(rules.begin(), rules.end(), [&](const ColumnRule& rule) { return rule.id == id; });
    return found == rules.end() ? nullptr : &*found;
}

std::string_view column_name(ColumnId id) {
    const auto found = std::find_if(kColumnTable.begin(), kColumnTable.end(),
                                    [&](const ColumnTraits& column) { return column.rule.id == id; });
    return found == kColumnTable.end() ? "unknown" : found->name;
}

}  // namespace perfleet
