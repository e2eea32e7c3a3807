// --metrics: the address of a MetricsServer on a command line.
#pragma once

#include <string>

#include "daemon/option/program_options.h"

namespace perfleet {

// `port` is the one that the help proposes.
OptionRow metrics_row(std::string& address, const std::string& port);

}  // namespace perfleet
