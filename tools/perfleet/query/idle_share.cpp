#include "tools/perfleet/query/idle_share.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace perfleet {

OptionValues busy_or_idle(OptionValues values) {
    values["by"] = "command";
    values["no-children"] = true;
    return values;
}

std::optional<double> idle_percent(const Result<Answer>& answer) {
    constexpr std::size_t kCommandColumn = 2;
    if (!answer.ok() || answer->rows.empty()) {
        return std::nullopt;
    }
    const auto share = std::ranges::find(answer->columns, "self_percent", &AnswerColumn::name);
    const auto idle = std::ranges::find(answer->rows, AnswerValue{std::string{"swapper"}},
                                        [](const auto& row) { return row[kCommandColumn]; });
    return idle == answer->rows.end()
               ? 0
               : std::get<double>((*idle)[static_cast<std::size_t>(share - answer->columns.begin())]);
}

}  // namespace perfleet
