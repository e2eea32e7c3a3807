#include "query-engine/wire/query_message.h"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>

#include "query-engine/limits/query_limits.h"
#include "query.capnp.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kNotKnown = ~std::uint64_t{0};  // Measure.samples

using namespace query_message;

constexpr std::uint16_t kVersion = 1;

capnp::Data::Reader data_of(const std::string& text) {
    return {reinterpret_cast<const capnp::byte*>(text.data()), text.size()};
}

std::string text_of(capnp::Data::Reader data) { return {reinterpret_cast<const char*>(data.begin()), data.size()}; }

unsigned count_of(std::size_t size) { return static_cast<unsigned>(size); }

class Encoder {
public:
    explicit Encoder(wire::QueryEnvelope::Builder envelope) : envelope_{envelope} {}

    void operator()(const Ask& ask) {
        auto builder = envelope_.initAsk();
        builder.setCommand(ask.command);
        builder.setChunkCount(ask.chunk_count);
        auto options = builder.initOptions(count_of(ask.options.size()));
        unsigned i = 0;
        for (const auto& [name, value] : ask.options) {
            auto option = options[i++];
            option.setName(name);
            if (const auto* flag = std::get_if<bool>(&value)) {
                option.setFlag(*flag);
            } else if (const auto* number = std::get_if<std::uint64_t>(&value)) {
                option.setNumber(*number);
            } else if (const auto* real = std::get_if<double>(&value)) {
                option.setReal(*real);
            } else {
                option.setText(data_of(std::get<std::string>(value)));
            }
        }
    }
    void operator()(const More& more) { envelope_.setMore(more.chunk_count); }
    void operator()(const Cancel&) { envelope_.setCancel(); }
    void operator()(const Working& working) {
        wire::Working::Builder builder = envelope_.initWorking();
        builder.setDone(working.done);
        builder.setTotal(working.total);
    }
    void operator()(const Columns& columns) {
        auto builder = envelope_.initColumns(count_of(columns.columns.size()));
        for (unsigned i = 0; i < builder.size(); ++i) {
            builder[i].setName(columns.columns[i].name);
            builder[i].setUnit(data_of(columns.columns[i].unit));
            builder[i].setIsOptional(columns.columns[i].is_optional);
        }
    }
    void operator()(const Rows& rows) {
        auto builder = envelope_.initRows(count_of(rows.rows.size()));
        for (unsigned i = 0; i < builder.size(); ++i) {
            auto values = builder[i].initValues(count_of(rows.rows[i].size()));
            for (unsigned column = 0; column < values.size(); ++column) {
                set(values[column], rows.rows[i][column]);
            }
        }
    }
    void operator()(const Bytes& bytes) {
        auto builder = envelope_.initBytes();
        builder.setOffset(bytes.offset);
        builder.setBytes(data_of(bytes.bytes));
    }
    void operator()(const QueryEnd& end) {
        auto builder = envelope_.initEnd();
        set(builder, end.ledger);
        auto parts = builder.initParts(count_of(end.parts.size()));
        for (unsigned part = 0; part < parts.size(); ++part) {
            parts[part].setName(end.parts[part].first);
            set(parts[part], end.parts[part].second);
        }
        auto warnings = builder.initWarnings(count_of(end.warnings.size()));
        for (unsigned warning = 0; warning < warnings.size(); ++warning) {
            warnings.set(warning, data_of(end.warnings[warning]));
        }
        builder.setHasModified(end.modified.has_value());
        builder.setModifiedUtcNs(end.modified.value_or(UtcNs{0}).value);
        builder.setSummary(data_of(end.summary));
        builder.setHasMeasure(end.measure.has_value());
        if (end.measure) {
            set(builder.initMeasure(), *end.measure);
        }
    }
    void operator()(const Error& error) {
        auto builder = envelope_.initFailure();
        builder.setCode(static_cast<std::uint8_t>(error.code));
        builder.setMessage(data_of(error.message));
    }

private:
    template <class Builder>
    static void set(Builder builder, const Ledger& ledger) {
        builder.setProduced(ledger.produced);
        builder.setStored(ledger.stored);
        builder.setExpired(ledger.expired);
        builder.setPending(ledger.pending);
        builder.setOfCutBatches(ledger.of_cut_batches);
        builder.setIsLowerBound(ledger.is_lower_bound);
        auto lost = builder.initLost(count_of(ledger.lost.size()));
        unsigned i = 0;
        for (const auto& [reason, rows] : ledger.lost) {
            lost[i].setReason(reason);
            lost[i++].setRows(rows);
        }
    }

    static void set(wire::Measure::Builder builder, const AnswerMeasure& measure) {
        builder.setEvent(data_of(measure.event));
        builder.setName(measure.name);
        builder.setUnit(data_of(measure.unit));
        builder.setTotal(measure.total);
        builder.setSamples(measure.samples.value_or(kNotKnown));
        auto others = builder.initOthers(count_of(measure.others.size()));
        for (unsigned i = 0; i < others.size(); ++i) {
            others.set(i, data_of(measure.others[i]));
        }
    }

    static void set(wire::AnswerValue::Builder builder, const AnswerValue& value) {
        if (const auto* text = std::get_if<std::string>(&value)) {
            builder.setText(data_of(*text));
        } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
            builder.setSigned(*integer);
        } else if (const auto* natural = std::get_if<std::uint64_t>(&value)) {
            builder.setUnsigned(*natural);
        } else if (const auto* real = std::get_if<double>(&value)) {
            builder.setReal(*real);
        } else {
            builder.setNull();
        }
    }

    wire::QueryEnvelope::Builder envelope_;
};

Error malformed(const std::string& what) { return Error{ErrorCode::kInvalid, "query message: " + what}; }

Result<Body> read_ask(wire::Ask::Reader reader) {
    if (reader.getOptions().size() > kQueryOptionsMax) {
        return malformed("more than " + std::to_string(kQueryOptionsMax) + " options");
    }
    Ask ask;
    ask.command = reader.getCommand();
    ask.chunk_count = reader.getChunkCount();
    for (const auto option : reader.getOptions()) {
        OptionValue& value = ask.options[option.getName()];
        switch (option.which()) {
            case wire::Option::FLAG: value = option.getFlag(); break;
            case wire::Option::NUMBER: value = std::uint64_t{option.getNumber()}; break;
            case wire::Option::REAL: value = option.getReal(); break;
            case wire::Option::TEXT: value = text_of(option.getText()); break;
            default: return malformed("an option of an unknown type");
        }
    }
    return Body{std::move(ask)};
}

AnswerValue read_value(wire::AnswerValue::Reader reader) {
    switch (reader.which()) {
        case wire::AnswerValue::TEXT: return text_of(reader.getText());
        case wire::AnswerValue::SIGNED: return std::int64_t{reader.getSigned()};
        case wire::AnswerValue::UNSIGNED: return std::uint64_t{reader.getUnsigned()};
        case wire::AnswerValue::REAL: return reader.getReal();
        default: return {};
    }
}

Result<Body> read_rows(capnp::List<wire::AnswerRow>::Reader reader) {
    if (reader.size() > limits::kQueryChunkRows) {
        return malformed("more than " + std::to_string(limits::kQueryChunkRows) + " rows");
    }
    Rows rows;
    for (const auto row : reader) {
        if (row.getValues().size() > limits::kQueryColumnsMax) {
            return malformed("more than " + std::to_string(limits::kQueryColumnsMax) + " values in a row");
        }
        std::vector<AnswerValue>& values = rows.rows.emplace_back();
        for (const auto value : row.getValues()) {
            values.push_back(read_value(value));
        }
    }
    return Body{std::move(rows)};
}

Result<Body> read_columns(capnp::List<wire::AnswerColumn>::Reader reader) {
    if (reader.size() > limits::kQueryColumnsMax) {
        return malformed("more than " + std::to_string(limits::kQueryColumnsMax) + " columns");
    }
    Columns columns;
    for (const auto column : reader) {
        columns.columns.push_back({column.getName(), text_of(column.getUnit()), column.getIsOptional()});
    }
    return Body{std::move(columns)};
}

template <class Reader>
Ledger read_ledger(Reader reader) {
    Ledger ledger;
    ledger.produced = reader.getProduced();
    ledger.stored = reader.getStored();
    ledger.expired = reader.getExpired();
    ledger.pending = reader.getPending();
    ledger.of_cut_batches = reader.getOfCutBatches();
    ledger.is_lower_bound = reader.getIsLowerBound();
    for (const auto lost : reader.getLost()) {
        ledger.lost[lost.getReason()] = lost.getRows();
    }
    return ledger;
}

QueryEnd read_end(wire::End::Reader reader) {
    QueryEnd end;
    end.ledger = read_ledger(reader);
    for (const auto part : reader.getParts()) {
        end.parts.emplace_back(part.getName(), read_ledger(part));
    }
    for (const auto warning : reader.getWarnings()) {
        end.warnings.push_back(text_of(warning));
    }
    if (reader.getHasModified()) {
        end.modified = UtcNs{reader.getModifiedUtcNs()};
    }
    end.summary = text_of(reader.getSummary());
    if (reader.getHasMeasure()) {
        const auto from = reader.getMeasure();
        AnswerMeasure& measure = end.measure.emplace(AnswerMeasure{
            text_of(from.getEvent()), from.getName(), text_of(from.getUnit()), from.getTotal(), from.getSamples(), {}});
        measure.samples = from.getSamples() == kNotKnown ? std::nullopt : measure.samples;
        for (const auto other : from.getOthers()) {
            measure.others.push_back(text_of(other));
        }
    }
    return end;
}

Error read_failure(wire::Failure::Reader reader) {
    const bool is_known = reader.getCode() >= static_cast<std::uint8_t>(ErrorCode::kInvalid) &&
                          reader.getCode() <= static_cast<std::uint8_t>(ErrorCode::kCancelled);
    return Error{is_known ? static_cast<ErrorCode>(reader.getCode()) : ErrorCode::kIo, text_of(reader.getMessage())};
}

Result<Body> read_body(wire::QueryEnvelope::Reader envelope) {
    switch (envelope.which()) {
        case wire::QueryEnvelope::ASK: return read_ask(envelope.getAsk());
        case wire::QueryEnvelope::MORE: return Body{More{envelope.getMore()}};
        case wire::QueryEnvelope::CANCEL: return Body{Cancel{}};
        case wire::QueryEnvelope::WORKING:
            return Body{Working{envelope.getWorking().getDone(), envelope.getWorking().getTotal()}};
        case wire::QueryEnvelope::COLUMNS: return read_columns(envelope.getColumns());
        case wire::QueryEnvelope::ROWS: return read_rows(envelope.getRows());
        case wire::QueryEnvelope::BYTES:
            return Body{Bytes{envelope.getBytes().getOffset(), text_of(envelope.getBytes().getBytes())}};
        case wire::QueryEnvelope::END: return Body{read_end(envelope.getEnd())};
        case wire::QueryEnvelope::FAILURE: return Body{read_failure(envelope.getFailure())};
    }
    return malformed("of an unknown kind");
}

}  // namespace

std::string encode_query_message(const QueryMessage& message) {
    capnp::MallocMessageBuilder builder;
    auto envelope = builder.initRoot<wire::QueryEnvelope>();
    envelope.setMagic(wire::QUERY_MAGIC);
    envelope.setVersion(kVersion);
    envelope.setQuery(message.query);
    std::visit(Encoder{envelope}, message.body);
    const kj::Array<capnp::word> words = capnp::messageToFlatArray(builder);
    const auto bytes = words.asBytes();
    return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

Result<QueryMessage> decode_query_message_untrusted(std::span<const std::byte> bytes_untrusted) {
    if (bytes_untrusted.size() > kQueryReplySizeBytesMax || bytes_untrusted.size() % sizeof(capnp::word) != 0 ||
        bytes_untrusted.empty()) {
        return malformed("of " + std::to_string(bytes_untrusted.size()) + " bytes");
    }
    // ZeroMQ gives small messages no alignment.
    auto words = kj::heapArray<capnp::word>(bytes_untrusted.size() / sizeof(capnp::word));
    std::memcpy(words.begin(), bytes_untrusted.data(), bytes_untrusted.size());
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 4 * words.size() + 1'024;
    options.nestingLimit = 8;
    try {
        capnp::FlatArrayMessageReader reader{words, options};
        const auto envelope = reader.getRoot<wire::QueryEnvelope>();
        if (envelope.getMagic() != wire::QUERY_MAGIC) {
            return malformed("without its magic number");
        }
        if (envelope.getVersion() != kVersion) {
            return Error{ErrorCode::kUnsupported, "query message: version " + std::to_string(envelope.getVersion()) +
                                                      ", this program speaks " + std::to_string(kVersion) +
                                                      "; use programs of one release"};
        }
        auto body = PERFLEET_TRY(read_body(envelope));
        return QueryMessage{envelope.getQuery(), std::move(body)};
    } catch (const kj::Exception& exception) {
        return malformed(exception.getDescription().cStr());
    }
}

}  // namespace perfleet
