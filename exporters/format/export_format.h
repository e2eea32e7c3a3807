// The export formats, for the command line and the query process alike; a new format is a folder and a line in
// export_format.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "query-engine/service/export_format.h"

namespace perfleet {

[[nodiscard]] std::span<const ExportFormat> export_formats();

// nullptr if no format has this name.
[[nodiscard]] const ExportFormat* find_export_format(std::string_view name);

// The format that a file name's suffix chooses; nullptr for any other name.
[[nodiscard]] const ExportFormat* format_of_file(std::string_view file);
// "*.speedscope.json for speedscope, *.json, *.json.gz for firefox, …"
[[nodiscard]] std::string file_names_text();
// A file's name for the format, such as "profile.pb.gz".
[[nodiscard]] std::string file_name_for(const ExportFormat& format);

// Sets the options that follow from the file's name. Errors: kUsage: the format doesn't support what the name requests.
[[nodiscard]] Result<Done> follow_file_name(const ExportFormat& format, const std::string& file, OptionValues& values);

}  // namespace perfleet
