// SPDX-License-Identifier: MIT OR Apache-2.0
// What kernels do only because some driver goes wrong otherwise: a switch each, which is the id of its entry in
// configs/known_issues.toml with other letters (a test compares the two). Each entry says what was seen, and where. A
// switch of 0 takes the way that the driver fails on, to see whether it still does.

// Loops over shared memory that are not unrolled make a kernel that stores nothing.
#ifndef LAVAPIPE_SHARED_LOOPS
#define LAVAPIPE_SHARED_LOOPS 1
#endif
#if LAVAPIPE_SHARED_LOOPS
#define UNROLLED_FOR_LAVAPIPE [[unroll]]
#else
#define UNROLLED_FOR_LAVAPIPE
#endif

// Shuffles of a user's elements are wrong where the subgroups of a persistent workgroup combine their totals.
#ifndef LAVAPIPE_SHUFFLES_AT_RENDEZVOUS
#define LAVAPIPE_SHUFFLES_AT_RENDEZVOUS 1
#endif

// In some loops that shuffle too, what reduces a subgroup to one number is wrong.
#ifndef NVIDIA_REDUCTIONS_BESIDE_SHUFFLES
#define NVIDIA_REDUCTIONS_BESIDE_SHUFFLES 1
#endif

// Polled words that stand side by side may be loaded as one vector, which stops changing.
#ifndef NVIDIA_VECTOR_LOADS
#define NVIDIA_VECTOR_LOADS 1
#endif

// Branches around reads, of which a workgroup of many subgroups has dozens, keep the compiler busy for ever.
#ifndef SWIFTSHADER_BRANCHES_AROUND_READS
#define SWIFTSHADER_BRANCHES_AROUND_READS 1
#endif

// A reference to memory that is cast to another kind of reference makes the driver end.
#ifndef SWIFTSHADER_REFERENCE_CASTS
#define SWIFTSHADER_REFERENCE_CASTS 1
#endif
