// SPDX-License-Identifier: MIT OR Apache-2.0
// What every kernel begins with. A root shader includes it first, behind its REQUIRE_<NAME>.

#include "params.glsl"
#include "extensions.glsl"
#include "workarounds.glsl"
#include "place.glsl"
#include "address.glsl"
#include "push_constants.glsl"
