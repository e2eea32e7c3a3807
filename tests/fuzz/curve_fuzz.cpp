// The handshake of CurveZMQ and the traffic after it, with changes to any message on its way. Nothing that was changed
// is accepted; everything else arrives; a peer is the one of its key. Or, without a handshake, any bytes as any
// message.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "schemas/vocabulary/assert.h"
#include "schemas/zmtp/curve_server.h"
#include "schemas/zmtp/frame.h"
#include "schemas/zmtp/new_key.h"
#include "schemas/zmtp/testing/curve_client.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

struct Keys {
    zmtp::ServerKeys server;
    zmtp::CurveClient::Keys client;
};

const Keys& keys() {
    static const Keys kKeys = [] {
        const auto server = make_secret_key("server");
        const auto client = make_secret_key("client");
        PERFLEET_ASSERT(server.ok() && client.ok());
        Keys made;
        made.server = *zmtp::decode_server_keys(server->public_text, server->secret_text);
        made.client = *zmtp::CurveClient::decode({*client, *decode_public_key(server->public_text)});
        return made;
    }();
    return kKeys;
}

// A frame's body, changed as the input says.
class Message {
public:
    Message(const std::string& frame, FuzzInput& input) {
        const auto header = zmtp::read_frame_header(std::as_bytes(std::span{frame}));
        PERFLEET_ASSERT(header.has_value());
        body_ = frame.substr(header->header_size_bytes);
        PERFLEET_ASSERT(body_.size() == header->body_size_bytes);
        const std::string before = body_;
        const std::uint8_t what = input.byte();
        for (int i = 0; i < (what & 3); ++i) {
            body_[input.integer(2) % body_.size()] ^= static_cast<char>(input.byte());
        }
        if ((what & 4) != 0) {
            body_.resize(input.integer(2) % (body_.size() + 1));
        }
        if ((what & 8) != 0) {
            body_ += input.text(input.byte());
        }
        if ((what & 16) != 0) {
            body_ = input.text(input.integer(2) % 1'024);
        }
        is_changed_ = body_ != before;
    }
    [[nodiscard]] bool is_changed() const { return is_changed_; }
    [[nodiscard]] std::span<const std::byte> body() const { return std::as_bytes(std::span{body_}); }
    // Of the command by this name; nothing: it is another.
    [[nodiscard]] std::optional<std::span<const std::byte>> data(std::string_view name) const {
        const auto command = zmtp::read_command(body());
        return command.has_value() && command->name == name ? std::optional{command->data} : std::nullopt;
    }

private:
    std::string body_;
    bool is_changed_;
};

void feed_anything(FuzzInput& input) {
    zmtp::CurveServer server{keys().server};
    zmtp::CurveClient client{keys().client};
    std::string out;
    client.append_hello(out);
    PERFLEET_ASSERT(!client.take_welcome(input.rest(), "", out) && !client.take_ready(input.rest()).has_value());
    PERFLEET_ASSERT(!server.take_initiate(input.rest()).has_value());
    PERFLEET_ASSERT(!server.take_hello(input.rest(), out));
}

// False: it was changed, which ends a connection.
bool check_message(zmtp::CurveSession& from, zmtp::CurveSession& to, FuzzInput& input) {
    const std::uint8_t flags = input.byte();
    const std::string payload{input.text(input.byte())};
    std::string frame;
    from.append_message(frame, flags, std::as_bytes(std::span{payload}));
    const Message message{frame, input};
    std::string space(message.body().size(), '\0');
    const auto opened = to.open(message.body(), std::as_writable_bytes(std::span{space}));
    PERFLEET_ASSERT(opened.has_value() == !message.is_changed());
    if (opened.has_value()) {
        PERFLEET_ASSERT(opened->flags == flags &&
                        std::ranges::equal(opened->payload, std::as_bytes(std::span{payload})));
        // Once only.
        PERFLEET_ASSERT(!to.open(message.body(), std::as_writable_bytes(std::span{space})).has_value());
    }
    return opened.has_value();
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    if (input.byte() == 0xff) {
        feed_anything(input);
        return 0;
    }
    zmtp::CurveServer server{keys().server};
    zmtp::CurveClient client{keys().client};
    std::string out;
    client.append_hello(out);
    const Message hello{out, input};
    out.clear();
    const auto hello_data = hello.data("HELLO");
    if (!hello_data.has_value() || !server.take_hello(*hello_data, out)) {
        PERFLEET_ASSERT(hello.is_changed());
        return 0;
    }
    // Its padding belongs to nobody.
    const Message welcome{out, input};
    out.clear();
    const auto welcome_data = welcome.data("WELCOME");
    const std::string properties = zmtp::properties_of(input.text(input.byte() % 16));
    if (!welcome_data.has_value() || !client.take_welcome(*welcome_data, properties, out)) {
        PERFLEET_ASSERT(welcome.is_changed() || hello.is_changed());
        return 0;
    }
    const Message initiate{out, input};
    out.clear();
    const auto initiate_data = initiate.data("INITIATE");
    const auto peer = initiate_data.has_value() ? server.take_initiate(*initiate_data) : std::nullopt;
    PERFLEET_ASSERT(!peer.has_value() || !initiate.is_changed());
    if (!peer.has_value()) {
        // The top bit of a key has no meaning for the box, but for the vouch.
        PERFLEET_ASSERT(initiate.is_changed() || hello.is_changed());
        return 0;
    }
    PERFLEET_ASSERT(peer->key.bytes == keys().client.own_public && peer->properties == properties);
    server.append_ready(out);
    const Message ready{out, input};
    const auto ready_data = ready.data("READY");
    const auto server_properties = ready_data.has_value() ? client.take_ready(*ready_data) : std::nullopt;
    PERFLEET_ASSERT(server_properties.has_value() == !ready.is_changed());
    for (int i = 0; server_properties.has_value() && i < 16 && !input.empty(); ++i) {
        if (!(i % 2 == 0 ? check_message(client, server, input) : check_message(server, client, input))) {
            break;
        }
    }
    return 0;
}
