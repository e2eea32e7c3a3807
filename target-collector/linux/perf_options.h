// Options of `perf record` that scripts pass, and that are no options here: those that ask for what is done anyway are
// taken, all others are refused with what to use instead. None of them is shown by --help.
#pragma once

namespace CLI {
class App;
}

namespace perfleet {

// Only names that `app` doesn't have yet.
void add_perf_options(CLI::App& app);

}  // namespace perfleet
