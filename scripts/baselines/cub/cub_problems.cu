// CUB as it comes for some problems: build.sh compiles this file once for each group of them, side by side.
//
//   -DSCANBOX_ELEMENT=u32 -DSCANBOX_TYPE=std::uint32_t, and one of -DSCANBOX_SUMS, -DSCANBOX_EXTREMA, -DSCANBOX_BITS
//   -DSCANBOX_STRUCTURE=Affine: a user's operator
#include "entries.hpp"
#include "operators.hpp"
#include "problem.hpp"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <cuda/functional>
#include <cuda/std/functional>

#include <cstdint>
#include <cstring>

namespace {

using problem::Element;
using problem::Mode;
using problem::Operator;
using subjects::Call;

template <typename T>
T initial(const Call& call) {
    T value;
    std::memcpy(&value, call.init, sizeof value);
    return value;
}

template <typename T, typename Act>
cudaError_t inclusive(const Call& call) {
    return subjects::with_storage(call, [&](void* memory, std::size_t& bytes) {
        return cub::DeviceScan::InclusiveScan(memory, bytes, static_cast<const T*>(call.input),
            static_cast<T*>(call.output), Act{}, call.n, call.stream);
    });
}

template <typename T, typename Act>
cudaError_t exclusive(const Call& call) {
    return subjects::with_storage(call, [&](void* memory, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveScan(memory, bytes, static_cast<const T*>(call.input),
            static_cast<T*>(call.output), Act{}, initial<T>(call), call.n, call.stream);
    });
}

template <typename T, typename Act>
cudaError_t reduce(const Call& call) {
    return subjects::with_storage(call, [&](void* memory, std::size_t& bytes) {
        return cub::DeviceReduce::Reduce(memory, bytes, static_cast<const T*>(call.input),
            static_cast<T*>(call.output), call.n, Act{}, initial<T>(call), call.stream);
    });
}

template <typename T, typename Act, bool commutes>
void add(Element element, Operator op) {
    auto& entries = subjects::entries();
    entries.push_back({Mode::inclusive, element, op, inclusive<T, Act>});
    entries.push_back({Mode::exclusive, element, op, exclusive<T, Act>});
    // CUB reduces by operators alone that commute.
    if constexpr (commutes) {
        entries.push_back({Mode::reduce, element, op, reduce<T, Act>});
    }
}

const bool added = [] {
#if defined(SCANBOX_STRUCTURE)
    using Structure = operators::SCANBOX_STRUCTURE;
    add<Structure, operators::Combine<Structure>, Structure::commutes>(
        operators::element_of(Structure::op), Structure::op);
#else
    constexpr Element element = Element::SCANBOX_ELEMENT;
    using T = SCANBOX_TYPE;
    static_assert(sizeof(T) == problem::bytes_of(element));
#if defined(SCANBOX_SUMS)
    add<T, cuda::std::plus<>, true>(element, Operator::add);
    add<T, cuda::std::multiplies<>, true>(element, Operator::mul);
#elif defined(SCANBOX_EXTREMA)
    add<T, cuda::minimum<>, true>(element, Operator::min);
    add<T, cuda::maximum<>, true>(element, Operator::max);
#elif defined(SCANBOX_BITS)
    add<T, cuda::std::bit_and<>, true>(element, Operator::bit_and);
    add<T, cuda::std::bit_or<>, true>(element, Operator::bit_or);
    add<T, cuda::std::bit_xor<>, true>(element, Operator::bit_xor);
#endif
#endif
    return true;
}();

}  // namespace
