#include "target-collector/bare-metal/network_stream.h"

namespace perfleet::bare_metal {

NetworkStream open_network(VirtioNet& /*card*/, const VirtioPlace& /*place*/, const TcpStream::Options& /*options*/) {
    static constexpr std::string_view kNotBuilt = "no network: this image was built without lwIP (-DPERFLEET_LWIP)";
    return {nullptr, kNotBuilt};
}

}  // namespace perfleet::bare_metal
