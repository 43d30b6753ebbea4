// SPDX-License-Identifier: MIT OR Apache-2.0
// The extensions of GLSL that kernels are written in.

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_vote : require

#if defined(INT64) && INT64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif
#if defined(ELEMENT) && (ELEMENT == ELEMENT_U64 || ELEMENT == ELEMENT_I64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#endif
