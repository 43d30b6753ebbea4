// Protocol 2: one request per line on stdin, one reply per line on stdout, both flat JSON objects. This is the part
// that knows nothing of a GPU; protocol_test.cpp tests it with any C++17 compiler.
//
// The reader is strict, because a request that is half understood gives a measurement of something else: every key of
// a request has to be there, once, and no other; numbers are unsigned decimal integers; strings have no escapes, since
// no name needs one.
#pragma once

#include "operators.hpp"
#include "problem.hpp"

#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace protocol {

constexpr int version = 2;

// More would be an error of whoever wrote it.
constexpr std::size_t line_bytes_max = 4096;
constexpr std::uint64_t calls_max = 10'000;
constexpr std::uint64_t samples_max = 10'000;
// 32-bit offsets with room for the last tile, whatever its size.
constexpr std::uint64_t n_max = std::uint64_t{1} << 31;

struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A request that is understood, and about what this program has not.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Request {
    enum class Do { load, verify, time, twin };

    Do what = Do::load;
    std::uint64_t n = 0;
    // load
    std::uint64_t seed = 0;
    problem::Problem problem;
    // verify, time, twin
    std::string subject;
    // time, twin
    bool cold = false;
    std::uint64_t calls = 0;
    // time
    std::uint64_t samples = 0;
};

// A flat object: values are strings or unsigned integers.
class Object {
public:
    explicit Object(const std::string& line) : line_(line) {
        expect('{');
        if (!next_is('}')) {
            do {
                member();
            } while (next_is(','));
            expect('}');
        }
        skip_blanks();
        if (at_ != line_.size()) {
            fail("something follows the object");
        }
    }

    std::uint64_t number(const char* key, std::uint64_t least, std::uint64_t most) {
        const Value value = take(key);
        if (value.is_string) {
            throw Malformed(std::string("`") + key + "` is not a number");
        }
        if (value.number < least || value.number > most) {
            throw Malformed(std::string("`") + key + "` is " + std::to_string(value.number) + ", not from "
                + std::to_string(least) + " to " + std::to_string(most));
        }
        return value.number;
    }

    std::string text(const char* key) {
        const Value value = take(key);
        if (!value.is_string) {
            throw Malformed(std::string("`") + key + "` is not a string");
        }
        return value.text;
    }

    // To be called when everything known has been taken.
    void end() const {
        if (!members_.empty()) {
            throw Malformed("unknown key `" + members_.begin()->first + "`");
        }
    }

private:
    struct Value {
        bool is_string = false;
        std::string text;
        std::uint64_t number = 0;
    };

    Value take(const char* key) {
        const auto found = members_.find(key);
        if (found == members_.end()) {
            throw Malformed(std::string("`") + key + "` is missing");
        }
        const Value value = found->second;
        members_.erase(found);
        return value;
    }

    void member() {
        skip_blanks();
        const std::string key = string();
        expect(':');
        skip_blanks();
        Value value;
        value.is_string = at_ < line_.size() && line_[at_] == '"';
        if (value.is_string) {
            value.text = string();
        } else {
            value.number = integer();
        }
        if (!members_.emplace(key, value).second) {
            throw Malformed("`" + key + "` is there twice");
        }
    }

    std::string string() {
        if (at_ == line_.size() || line_[at_] != '"') {
            fail("a string was expected");
        }
        const std::size_t begin = ++at_;
        while (at_ < line_.size() && line_[at_] != '"') {
            const char c = line_[at_];
            if (c < ' ' || c > '~' || c == '\\') {
                fail("only printable ASCII without escapes is understood in strings");
            }
            ++at_;
        }
        if (at_ == line_.size()) {
            fail("a string does not end");
        }
        return line_.substr(begin, at_++ - begin);
    }

    std::uint64_t integer() {
        const std::size_t begin = at_;
        std::uint64_t value = 0;
        while (at_ < line_.size() && line_[at_] >= '0' && line_[at_] <= '9') {
            const std::uint64_t digit = static_cast<std::uint64_t>(line_[at_] - '0');
            if (value > (UINT64_MAX - digit) / 10) {
                fail("a number has more than 64 bits");
            }
            value = value * 10 + digit;
            ++at_;
        }
        if (at_ == begin) {
            fail("a string or an unsigned integer was expected");
        }
        if (at_ - begin > 1 && line_[begin] == '0') {
            fail("a number begins with 0");
        }
        return value;
    }

    bool next_is(char c) {
        skip_blanks();
        if (at_ < line_.size() && line_[at_] == c) {
            ++at_;
            return true;
        }
        return false;
    }

    void expect(char c) {
        if (!next_is(c)) {
            fail((std::string("`") + c + "` was expected").c_str());
        }
    }

    void skip_blanks() {
        while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) {
            ++at_;
        }
    }

    [[noreturn]] void fail(const char* what) const {
        throw Malformed(std::string(what) + " at byte " + std::to_string(at_));
    }

    const std::string& line_;
    std::size_t at_ = 0;
    std::map<std::string, Value> members_;
};

// The place of a word in a table.
template <std::size_t count>
int place_of(const char* const (&words)[count], const std::string& word, const char* key) {
    for (std::size_t i = 0; i < count; ++i) {
        if (word == words[i]) {
            return static_cast<int>(i);
        }
    }
    throw Unsupported(std::string("`") + key + "` is `" + word + "`, which this program does not have");
}

// The problem of a load: the columns of the rows that it is measured for.
inline problem::Problem problem_of(Object& object) {
    using problem::Element;
    using problem::Mode;
    using problem::Operator;
    const std::string mode = object.text("mode");
    const std::string element = object.text("element");
    const std::string op = object.text("op");
    const std::string hash = object.text("operator_hash");
    // The hash tells more.
    object.text("operator_facts");
    const std::uint64_t init = object.number("init_bits", 0, UINT64_MAX);
    const std::string placement = object.text("placement");
    const std::string input = object.text("input");
    object.end();

    problem::Problem problem;
    problem.mode = static_cast<Mode>(place_of(problem::mode_words, mode, "mode"));
    problem.element = static_cast<Element>(place_of(problem::element_words, element, "element"));
    problem.op = static_cast<Operator>(place_of(problem::operator_words, op, "op"));
    problem.init = init;
    problem.in_place = place_of(problem::placement_words, placement, "placement") == 1;
    problem.real = place_of(problem::input_words, input, "input") == 1;
    const bool user = problem::is_user(problem.op);
    const bool bitwise = problem.op == Operator::bit_and || problem.op == Operator::bit_or
        || problem.op == Operator::bit_xor;
    if (user != !hash.empty() || (user && hash != operators::hash_of(problem.op))) {
        throw Unsupported("operator " + op + " of another file (`operator_hash` `" + hash + "`)");
    }
    const bool goes = user ? problem.element == operators::element_of(problem.op)
                           : problem.element < Element::struct4 && !(bitwise && problem::is_float(problem.element));
    if (!goes) {
        throw Unsupported("operator " + op + " of type " + element);
    }
    const bool begins = problem.mode == Mode::exclusive && !user;
    const bool fits = problem::bytes_of(problem.element) == 8 || init <= UINT32_MAX;
    if (!fits || (!begins && init != 0)) {
        throw Malformed("`init_bits` is " + std::to_string(init) + " for " + problem::title(problem));
    }
    if (problem.in_place && problem.mode == Mode::reduce) {
        throw Unsupported("a reduction in place");
    }
    if (problem.real && !(problem::is_float(problem.element) && problem.op == Operator::add)) {
        throw Unsupported("reals for " + problem::title(problem));
    }
    return problem;
}

inline Request parse(const std::string& line) {
    if (line.size() > line_bytes_max) {
        throw Malformed("a request of more than " + std::to_string(line_bytes_max) + " bytes");
    }
    Object object(line);
    Request request;
    const std::string what = object.text("do");
    request.n = object.number("n", 1, n_max);
    if (what == "load") {
        request.what = Request::Do::load;
        request.seed = object.number("seed", 0, UINT64_MAX);
        request.problem = problem_of(object);
    } else if (what == "verify") {
        request.what = Request::Do::verify;
        request.subject = object.text("subject");
    } else if (what == "time" || what == "twin") {
        request.what = what == "time" ? Request::Do::time : Request::Do::twin;
        request.subject = object.text("subject");
        const std::string cache = object.text("cache");
        if (cache != "hot" && cache != "cold") {
            throw Malformed("`cache` is neither hot nor cold");
        }
        request.cold = cache == "cold";
        request.calls = object.number("calls", 1, calls_max);
        if (request.what == Request::Do::time) {
            request.samples = object.number("samples", 1, samples_max);
        }
    } else {
        throw Malformed("`do` is none of load, verify, time, twin");
    }
    object.end();
    return request;
}

// A JSON string. Bytes that are no printable ASCII become escapes of one byte each: the reply stays valid JSON whatever
// came in.
inline std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c >= ' ' && c <= '~') {
            out += c;
        } else {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
            out += escape;
        }
    }
    return out + '"';
}

// Nanoseconds to a tenth.
inline std::string nanoseconds(double ns) {
    char text[64];
    std::snprintf(text, sizeof text, "%.1f", ns);
    return text;
}

// A share, such as an error.
inline std::string share(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

struct Comparison {
    // Elements.
    std::uint64_t compared = 0;
    std::uint64_t mismatches = 0;
    // Whether what follows is known of the first wrong element.
    bool has_first = false;
    std::uint64_t first_index = 0;
    // Its bits, and those of the second half of an element of 16 bytes.
    std::uint64_t first_expected[2] = {0, 0};
    std::uint64_t first_got[2] = {0, 0};
    double call_ns = 0;
    // Where results are rounded: the largest error of a right element, and what counts as right.
    double max_error = 0;
    double error_bound = 0;
};

inline std::string loaded() { return "{\"ok\":true}"; }

inline std::string verified(const Comparison& comparison) {
    std::string first = "null";
    if (comparison.has_first) {
        first = "{\"index\":" + std::to_string(comparison.first_index)
            + ",\"expected\":" + std::to_string(comparison.first_expected[0])
            + ",\"got\":" + std::to_string(comparison.first_got[0])
            + ",\"expected_rest\":" + std::to_string(comparison.first_expected[1])
            + ",\"got_rest\":" + std::to_string(comparison.first_got[1]) + "}";
    }
    std::string rounded;
    if (comparison.error_bound > 0) {
        rounded = ",\"max_error\":" + share(comparison.max_error)
            + ",\"error_bound\":" + share(comparison.error_bound);
    }
    return "{\"compared\":" + std::to_string(comparison.compared)
        + ",\"mismatches\":" + std::to_string(comparison.mismatches) + ",\"first\":" + first
        + ",\"call_ns\":" + nanoseconds(comparison.call_ns) + rounded + "}";
}

inline std::string timed(const std::vector<double>& samples_ns) {
    std::string out = "{\"samples_ns\":[";
    for (std::size_t i = 0; i < samples_ns.size(); ++i) {
        out += (i == 0 ? "" : ",") + nanoseconds(samples_ns[i]);
    }
    return out + "]}";
}

// `request` is the line that failed; empty where there was none. What is too long to be one is cut.
inline std::string error(const std::string& what, const std::string& request, bool unsupported = false) {
    std::string text = what;
    if (!request.empty()) {
        text += "; the request was " + request.substr(0, 200) + (request.size() > 200 ? " ..." : "");
    }
    return "{\"error\":" + quoted(text) + (unsupported ? ",\"status\":\"unsupported\"}" : "}");
}

}  // namespace protocol
