#include "schemas/vocabulary/kinds.h"

namespace perfleet {

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
