# find_package(scanbox): scanbox::scanbox, the shared library; scanbox::static; scanbox_PORTABLE_PACK, a pack for any
# device. Needs the headers of Vulkan.

include(CMakeFindDependencyMacro)
find_dependency(Vulkan)
find_dependency(Threads)

get_filename_component(_scanbox_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(scanbox_PORTABLE_PACK "${_scanbox_prefix}/share/scanbox/portable.scanpack")

foreach(_scanbox_kind SHARED STATIC)
    if(_scanbox_kind STREQUAL SHARED)
        set(_scanbox_target scanbox::scanbox)
        set(_scanbox_file libscanbox_c.so)
        set(_scanbox_needs "")
    else()
        set(_scanbox_target scanbox::static)
        set(_scanbox_file libscanbox_c.a)
        # What the library of Rust needs of the system.
        set(_scanbox_needs Threads::Threads ${CMAKE_DL_LIBS} m)
    endif()
    if(NOT TARGET ${_scanbox_target})
        add_library(${_scanbox_target} ${_scanbox_kind} IMPORTED)
        set_target_properties(${_scanbox_target} PROPERTIES
            IMPORTED_LOCATION "${_scanbox_prefix}/lib/${_scanbox_file}"
            INTERFACE_INCLUDE_DIRECTORIES "${_scanbox_prefix}/include;${Vulkan_INCLUDE_DIRS}"
            INTERFACE_LINK_LIBRARIES "${_scanbox_needs}")
        if(_scanbox_kind STREQUAL SHARED)
            set_target_properties(${_scanbox_target} PROPERTIES IMPORTED_SONAME libscanbox_c.so.0)
        endif()
    endif()
endforeach()

unset(_scanbox_kind)
unset(_scanbox_target)
unset(_scanbox_file)
unset(_scanbox_needs)
unset(_scanbox_prefix)
