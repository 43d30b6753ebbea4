// Protocol 1: one request per line on stdin, one reply per line on stdout, both flat JSON objects. This is the part
// that knows nothing of a GPU; protocol_test.cpp tests it with any C++17 compiler.
//
// The reader is strict, because a request that is half understood gives a measurement of something else: every key of
// a request has to be there, once, and no other; numbers are unsigned decimal integers; strings have no escapes, since
// no name needs one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace protocol {

constexpr int version = 1;

// More would be an error of whoever wrote it.
constexpr std::size_t line_bytes_max = 4096;
constexpr std::uint64_t calls_max = 10'000;
constexpr std::uint64_t samples_max = 10'000;
// 32-bit offsets with room for the last tile, whatever its size.
constexpr std::uint64_t n_max = std::uint64_t{1} << 31;

struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Request {
    enum class Do { load, verify, time, twin };

    Do what = Do::load;
    std::uint64_t n = 0;
    // load
    std::uint64_t seed = 0;
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

struct Comparison {
    std::uint64_t compared = 0;
    std::uint64_t mismatches = 0;
    // Whether what follows is known of the first wrong element.
    bool has_first = false;
    std::uint64_t first_index = 0;
    std::uint32_t first_expected = 0;
    std::uint32_t first_got = 0;
    double call_ns = 0;
};

inline std::string loaded() { return "{\"ok\":true}"; }

inline std::string verified(const Comparison& comparison) {
    std::string first = "null";
    if (comparison.has_first) {
        first = "{\"index\":" + std::to_string(comparison.first_index)
            + ",\"expected\":" + std::to_string(comparison.first_expected)
            + ",\"got\":" + std::to_string(comparison.first_got) + "}";
    }
    return "{\"compared\":" + std::to_string(comparison.compared)
        + ",\"mismatches\":" + std::to_string(comparison.mismatches) + ",\"first\":" + first
        + ",\"call_ns\":" + nanoseconds(comparison.call_ns) + "}";
}

inline std::string timed(const std::vector<double>& samples_ns) {
    std::string out = "{\"samples_ns\":[";
    for (std::size_t i = 0; i < samples_ns.size(); ++i) {
        out += (i == 0 ? "" : ",") + nanoseconds(samples_ns[i]);
    }
    return out + "]}";
}

// `request` is the line that failed; empty where there was none. What is too long to be one is cut.
inline std::string error(const std::string& what, const std::string& request) {
    std::string text = what;
    if (!request.empty()) {
        text += "; the request was " + request.substr(0, 200) + (request.size() > 200 ? " ..." : "");
    }
    return "{\"error\":" + quoted(text) + "}";
}

}  // namespace protocol
