// --metrics: the command-line option for the address of a MetricsServer.
#pragma once

#include <string>

#include "daemon/option/program_options.h"

namespace perfleet {

// `port` is shown in the help as an example.
OptionRow metrics_row(std::string& address, const std::string& port);

}  // namespace perfleet
