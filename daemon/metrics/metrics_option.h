// --metrics: the address of a MetricsServer on a command line.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace perfleet {

// `port` is the one that the help proposes.
void add_metrics_option(CLI::App& app, std::string& address, const std::string& port);

}  // namespace perfleet
