#include "exporters/html/page_data.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "exporters/html/page_text.h"
#include "exporters/report/report.h"
#include "exporters/sink/packed_json.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

using Json = nlohmann::ordered_json;

// Writes a JSON array of integers as one text: there may be millions.
template <class Items, class ValueOf>
std::string numbers_of(const Items& items, const ValueOf& value_of) {
    std::string text{"["};
    for (const auto& item : items) {
        text += std::to_string(value_of(item));
        text += ',';
    }
    if (text.back() == ',') {
        text.pop_back();
    }
    return text + ']';
}

Json json_of(const TimeSlices& slices) {
    return Json{{"start_ns", std::to_string(slices.start_ns)},
                {"width_ns", std::to_string(slices.width_ns)},
                {"count", slices.count}};
}

Json json_of(const std::vector<PageSession>& sessions) {
    Json array = Json::array();
    for (const PageSession& session : sessions) {
        array.push_back(Json{{"id", session.id},
                             {"name", printable(session.name)},
                             {"target", printable(session.target)},
                             {"architecture", printable(session.architecture)},
                             {"command", printable(session.command)}});
    }
    return array;
}

class Strings {
public:
    std::uint32_t number_of(const std::string& text) {
        const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
        if (is_new) {
            texts_.push_back(text);
        }
        return entry->second;
    }
    [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

private:
    std::map<std::string, std::uint32_t> numbers_;
    std::vector<std::string> texts_;
};

std::string json_of_before(const PageData& data) {
    if (!data.has_before) {
        return "null";
    }
    Json texts = Json::array();
    for (const PageVerdict& verdict : data.verdicts) {
        texts.push_back(printable(verdict.text));
    }
    return "{\"name\":" + Json(data.before_name).dump() + ",\"slices\":" + json_of(data.before.slices).dump() +
           ",\"sessions\":" + json_of(data.before.sessions).dump() +
           ",\"session_count\":" + std::to_string(data.before.session_count) + ",\"verdicts\":{\"function\":" +
           numbers_of(data.verdicts, [](const PageVerdict& verdict) { return verdict.function; }) + ",\"self\":" +
           numbers_of(data.verdicts, [](const PageVerdict& verdict) { return verdict.is_self ? 1 : 0; }) +
           ",\"change\":" + numbers_of(data.verdicts, [](const PageVerdict& verdict) { return verdict.change; }) +
           ",\"text\":" + texts.dump() + "}}";
}

}  // namespace

std::string page_json(const PageData& data) {
    const FlameGraph& graph = data.graph;
    Strings strings;
    std::vector<std::uint32_t> names;
    std::vector<std::int64_t> images;
    for (const FlameFunction& function : graph.functions) {
        names.push_back(strings.number_of(function.name));
        images.push_back(function.image.empty() ? -1 : std::int64_t{strings.number_of(function.image)});
    }
    Json ledgers = Json::array();
    for (const auto& [name, ledger] : data.ledgers) {
        ledgers.push_back(Json{
            {"name", name}, {"text", printable(ledger_line(ledger))}, {"is_whole", ledger.produced == ledger.stored}});
    }
    Json warnings = Json::array();
    for (const std::string& warning : data.warnings) {
        warnings.push_back(printable(warning));
    }
    const auto same = [](const auto& value) { return value; };
    std::uint32_t last_frame = 0;
    std::string json =
        "{\"format\":1,\"title\":" + Json(printable(data.title)).dump() +
        ",\"event\":" + Json(printable(data.event)).dump() + ",\"unit\":" + Json(printable(data.unit)).dump() +
        ",\"weight_of_one\":" + Json(data.weight_of_one).dump() +
        ",\"sampled\":" + (data.is_sampled ? "true" : "false") +
        ",\"independent\":" + (data.is_independent ? "true" : "false") +
        ",\"sessions\":" + json_of(data.side.sessions).dump() +
        ",\"session_count\":" + std::to_string(data.side.session_count) +
        ",\"strings\":" + Json(strings.texts()).dump() + ",\n\"functions\":{\"name\":" + numbers_of(names, same) +
        ",\"image\":" + numbers_of(images, same) +
        "},\n\"frames\":{\"depth\":" + numbers_of(graph.frames, [](const FlameFrame& frame) { return frame.depth; }) +
        ",\"function\":" + numbers_of(graph.frames, [](const FlameFrame& frame) { return frame.function; }) + "},\n";
    json += "\"cells\":{\"frame\":" +
            numbers_of(graph.cells,
                       [&](const FlameCell& cell) { return cell.frame - std::exchange(last_frame, cell.frame); }) +
            ",\"slice\":" + numbers_of(graph.cells, [](const FlameCell& cell) { return cell.slice; }) +
            ",\"value\":" + numbers_of(graph.cells, [](const FlameCell& cell) { return cell.value; }) + "},\n";
    json += "\"slices\":" + json_of(data.side.slices).dump() + ",\"before\":" + json_of_before(data) +
            ",\"cut\":{\"frames\":" + std::to_string(graph.frames_cut) +
            ",\"value\":" + std::to_string(graph.value_cut) + "},\"ledgers\":" + ledgers.dump() +
            ",\"warnings\":" + warnings.dump() + "}";
    return json;
}

std::string html_page(const PageData& data) {
    const std::string json = packed_json(page_json(data));
    std::string page;
    page.reserve(kPageBeforeData.size() + json.size() + kPageBehindData.size());
    page += kPageBeforeData;
    page += json;
    page += kPageBehindData;
    return page;
}

}  // namespace perfleet
