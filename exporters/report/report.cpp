#include "exporters/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "exporters/report/report_parts.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const AnswerValue& value) {
    struct Visitor {
        Json operator()(std::monostate) const { return nullptr; }
        Json operator()(const std::string& text) const { return valid_utf8(text); }
        Json operator()(std::int64_t number) const { return number; }
        Json operator()(std::uint64_t number) const { return number; }
        Json operator()(double number) const { return number; }
    };
    return std::visit(Visitor{}, value);
}

Json json_of(const Ledger& ledger) {
    Json lost = Json::object();
    for (const auto& [reason, row_count] : ledger.lost) {
        lost[reason] = row_count;
    }
    Json object{{"produced", ledger.produced},
                {"stored", ledger.stored},
                {"expired", ledger.expired},
                {"lost", std::move(lost)}};
    if (ledger.pending != 0) {
        object["pending"] = ledger.pending;
    }
    if (ledger.of_cut_batches != 0) {
        object["of_cut_batches"] = ledger.of_cut_batches;
    }
    if (ledger.is_lower_bound) {
        object["at_least"] = true;
    }
    return object;
}

Json json_of(const AnswerMeasure& measure) {
    Json others = Json::array();
    for (const std::string& other : measure.others) {
        others.push_back(valid_utf8(other));
    }
    return Json{{"event", valid_utf8(measure.event)},
                {"name", measure.name},
                {"unit", valid_utf8(measure.unit)},
                {"total", measure.total},
                {"samples", measure.samples ? Json(*measure.samples) : Json()},
                {"others", std::move(others)}};
}

std::string json_report(const Answer& answer) {
    Json columns = Json::array();
    for (const AnswerColumn& column : answer.columns) {
        columns.push_back(Json{{"name", column.name}, {"unit", valid_utf8(column.unit)}});
    }
    Json ledger = json_of(answer.ledger);
    for (const auto& [name, part] : answer.parts) {
        ledger["parts"][name] = json_of(part);
    }
    Json warnings = Json::array();
    for (const std::string& warning : answer.warnings) {
        warnings.push_back(valid_utf8(warning));
    }
    // Row by row: as Json all of them would take several times the memory of their text.
    std::string report = R"({"columns":)" + printable_json(columns.dump()) + R"(,"rows":[)";
    for (const std::vector<AnswerValue>& row : answer.rows) {
        Json values = Json::array();
        for (const AnswerValue& value : row) {
            values.push_back(json_of(value));
        }
        report += (&row == answer.rows.data() ? "" : ",") + printable_json(values.dump());
    }
    report += ']';
    if (answer.measure) {
        report += R"(,"measure":)" + printable_json(json_of(*answer.measure).dump());
    }
    report +=
        R"(,"ledger":)" + printable_json(ledger.dump()) + R"(,"warnings":)" + printable_json(warnings.dump()) + "}\n";
    return report;
}

bool is_number(const std::string& text) {
    const std::size_t digits = text.find_first_of("0123456789");
    char* end = nullptr;
    return digits != std::string::npos && (std::strtod(text.c_str(), &end), *end == '\0');
}

// Spreadsheets read text with such a beginning as a formula, even in quotation marks: OWASP advises an apostrophe ("CSV
// injection"). Tabs and carriage returns are escaped before.
std::string without_formula(const std::string& text) {
    const bool is_formula = !text.empty() && std::string_view{"=+-@"}.find(text[0]) != std::string_view::npos;
    return is_formula && !is_number(text) ? "'" + text : text;
}

std::string csv_field(const std::string& text_untrusted) {
    const std::string text = without_formula(printable(text_untrusted));
    if (text.find_first_of(",\"") == std::string::npos) {
        return text;
    }
    std::string field = "\"";
    for (const char c : text) {
        field += c;
        if (c == '"') {
            field += '"';
        }
    }
    return field + "\"";
}

std::string markdown_report(const Answer& answer) {
    const auto cell = [](std::string text) {
        for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
            text.insert(at, 1, '\\');
        }
        return " " + text + " |";
    };
    std::string head = "|";
    std::string rule = "|";
    for (std::size_t i = 0; i < answer.columns.size(); ++i) {
        const bool is_text = std::ranges::all_of(answer.rows, [&](const auto& row) { return row[i].index() <= 1; });
        head += cell(printable(text_heading(answer.columns[i])));
        rule += is_text ? ":---|" : "---:|";
    }
    std::string report = head + "\n" + rule + "\n";
    for (const std::vector<AnswerValue>& row : answer.rows) {
        report += "|";
        for (std::size_t i = 0; i < row.size(); ++i) {
            report += cell(text_cell(answer.columns[i], row[i]));
        }
        report += "\n";
    }
    return report;
}

std::string csv_report(const Answer& answer) {
    std::string report;
    for (std::size_t i = 0; i < answer.columns.size(); ++i) {
        report += (i == 0 ? "" : ",") + csv_field(answer.columns[i].name);
    }
    // Columns in the measure's unit have no unit in their names.
    const std::string unit = answer.measure ? "," + csv_field(answer.measure->unit) : "";
    report += std::string{answer.measure ? ",unit" : ""} + "\r\n";
    for (const std::vector<AnswerValue>& row : answer.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            report += i == 0 ? "" : ",";
            if (const auto* text = std::get_if<std::string>(&row[i])) {
                report += csv_field(*text);
            } else if (!std::holds_alternative<std::monostate>(row[i])) {
                report += json_of(row[i]).dump();
            }
        }
        report += unit + "\r\n";
    }
    return report;
}

std::string padded(const std::string& text, std::size_t width, bool is_left = false) {
    const std::string padding(std::max(width, text_width(text)) - text_width(text), ' ');
    return is_left ? text + padding : padding + text;
}

}  // namespace

std::string aligned(const std::vector<std::vector<std::string>>& lines, const std::set<std::size_t>& left,
                    const Screen& screen) {
    std::vector<std::size_t> widths;
    for (const auto& line : lines) {
        widths.resize(std::max(widths.size(), line.size()));
        for (std::size_t i = 0; i < line.size(); ++i) {
            widths[i] = std::max(widths[i], text_width(line[i]));
        }
    }
    std::string text;
    for (const auto& line : lines) {
        std::string one;
        for (std::size_t i = 0; i < line.size(); ++i) {
            one += "  " + padded(line[i], widths[i], left.contains(i));
        }
        one.erase(one.find_last_not_of(' ') + 1);
        text += (text.empty() ? bold(one, screen) : one) + "\n";
    }
    return text;
}

std::string probability(const std::optional<double>& p_value) {
    return !p_value ? "" : *p_value < 0.0001 ? "<0.0001" : fmt::format("{:.4f}", *p_value);
}

std::string duration_text(double value_ns, double greatest_ns) {
    const auto [worth, unit] = greatest_ns >= 1e9   ? std::pair{1e9, "s"}
                               : greatest_ns >= 1e6 ? std::pair{1e6, "ms"}
                               : greatest_ns >= 1e3 ? std::pair{1e3, "us"}
                                                    : std::pair{1.0, "ns"};
    return fmt::format("{:.3f} {}", value_ns / worth, unit);
}

std::string ledger_line(const Ledger& ledger) {
    std::string line = (ledger.is_lower_bound ? "at least " : "") + std::to_string(ledger.produced) + " produced";
    const auto add = [&](std::uint64_t row_count, const std::string& what) {
        line += row_count == 0 ? "" : " + " + std::to_string(row_count) + " " + what;
    };
    std::uint64_t lost_sum = 0;
    std::string reasons;
    for (const auto& [reason, row_count] : ledger.lost) {
        lost_sum += row_count;
        reasons += (reasons.empty() ? "" : ", ") + std::to_string(row_count) + " " + reason;
    }
    if (ledger.stored == ledger.produced && ledger.expired + lost_sum + ledger.pending == 0) {
        line += ledger.produced == 0 ? "" : ", all stored";
    } else {
        line += " = " + std::to_string(ledger.stored) + " stored";
        add(ledger.expired, "expired");
        add(lost_sum, "lost" + (reasons.empty() ? "" : " (" + reasons + ")"));
        add(ledger.pending, "on the way");
    }
    if (ledger.of_cut_batches != 0) {
        line += "; of the stored up to " + std::to_string(ledger.of_cut_batches) +
                " lie outside the time range, in batches that it cuts";
    }
    return line;
}

std::string ledger_note(const Answer& answer) {
    const auto is_all_there = [](const Ledger& ledger) {
        return ledger.stored == ledger.produced && ledger.of_cut_batches == 0;
    };
    if (answer.parts.empty()) {
        return is_all_there(answer.ledger) ? "" : "rows: " + ledger_line(answer.ledger) + "\n";
    }
    std::string text;
    for (const auto& [name, part] : answer.parts) {
        text += is_all_there(part) ? "" : "rows " + name + ": " + ledger_line(part) + "\n";
    }
    return text;
}

std::string ledger_text(const Answer& answer, const Screen& screen) {
    std::string text;
    for (const auto& [name, part] : answer.parts) {
        text += "rows " + name + ": " + ledger_line(part) + "\n";
    }
    if (answer.parts.empty()) {
        text = "rows: " + ledger_line(answer.ledger) + "\n";
    }
    return wrapped(grouped_for(text, screen), screen.width_columns, "  ");
}

std::string format_table(const Answer& answer, const Screen& screen) {
    const TextTable table = text_table(answer, screen, spared_columns());
    return table.has_fit ? table.text + left_out_line(table.left_out, screen) : text_figures(answer, screen);
}

std::string format_report(const Answer& answer, ReportFormat format, const Screen& screen) {
    switch (format) {
        case ReportFormat::kJson: return json_report(answer);
        case ReportFormat::kCsv: return csv_report(answer);
        case ReportFormat::kMarkdown: return markdown_report(answer);
        case ReportFormat::kText: break;
    }
    const TextTable table = text_table(answer, screen, spared_columns());
    if (!table.is_whole && has_rows_by_session(answer)) {
        return format_sessions(answer, {screen, {}, spared_columns()});
    }
    return format_table(answer, screen) + "\n" + ledger_text(answer, screen);
}

}  // namespace perfleet
