// The stand-ins of --anonymise for names that identify people and machines: `host-1` for a target, `folder-2` for each
// folder of a path that isn't of the system, and no arguments in command lines. A name has the same stand-in in all
// answers of a process. Names of functions, files, threads and labels stay, and so do the fields of tracepoints.
//
// Threads: any. At most kAnonymousNamesMax names are distinguished; further ones share a stand-in.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schemas/session/session_record.h"
#include "storage/dictionary/epoch_dictionary.h"

namespace perfleet {

inline constexpr std::size_t kAnonymousNamesMax = 65'536;

// Paths in a text: those that begin it, or follow a space, a bracket or `file://`.
[[nodiscard]] std::string anonymous_text(std::string_view text);

void anonymise(SessionRecord& session);
// The file of an image stays known, so that its symbols are found.
void anonymise(EpochDictionary& dictionary);

}  // namespace perfleet
