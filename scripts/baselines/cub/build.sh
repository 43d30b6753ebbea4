#!/usr/bin/env bash
# Builds build/scan-baseline-cub-VERSION, once with the CUB that comes with the CUDA toolkit and once with a newer one.
#
#   build.sh [--arch 90] [--cccl DIR|WHEEL|none]
#
# --arch is the compute capability of the GPU without its dot. --cccl names the newer CCCL: a wheel of nvidia-cuda-cccl,
# a folder with such a wheel, unpacked or not, or the headers themselves. Without it pip downloads the wheel once, into
# build/wheels. NVCC names the compiler, where it is neither in PATH nor in /usr/local/cuda.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")"

# CCCL 3.5.0. The names of CUB's tuning change from release to release; subjects.cuh knows those of this one.
newer_cccl=nvidia-cuda-cccl==13.3.5.0.6

arch=90
cccl=

main() {
    parse "$@"
    find_nvcc
    mkdir -p build
    build
    if [ "$cccl" != none ]; then
        local include
        include=$(headers)
        build "-I$include"
    fi
}

parse() {
    while [ $# -gt 0 ]; do
        if [ $# -lt 2 ]; then
            fail "usage: build.sh [--arch 90] [--cccl DIR|WHEEL|none]"
        fi
        case $1 in
            --arch) arch=$2 ;;
            --cccl)
                cccl=$2
                if [ "$cccl" != none ]; then
                    # The working directory was another one when it was typed.
                    cccl=$(cd "$OLDPWD" && realpath -- "$cccl")
                fi
                ;;
            *) fail "unknown option $1; usage: build.sh [--arch 90] [--cccl DIR|WHEEL|none]" ;;
        esac
        shift 2
    done
}

find_nvcc() {
    if [ -z "${NVCC:-}" ]; then
        NVCC=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    fi
    if [ ! -x "$NVCC" ]; then
        fail "no nvcc in PATH and none in /usr/local/cuda; set NVCC"
    fi
}

# The name has the version that was really compiled in, whichever headers the compiler found.
build() {
    local new=build/scan-baseline-cub.new version
    "$NVCC" -O3 -std=c++17 -gencode "arch=compute_$arch,code=sm_$arch" "$@" -o "$new" scan_baseline.cu
    version=$("$new" --version)
    mv "$new" "build/scan-baseline-cub-$version"
    printf 'build/scan-baseline-cub-%s\n' "$version"
}

# The folder to include from: the one that has cub/ in it.
headers() {
    local source=$cccl found
    if [ -z "$source" ]; then
        source=$(downloaded)
    elif [ ! -e "$source" ]; then
        fail "--cccl: there is no $source"
    fi
    if [ -d "$source" ] && [ -z "$(version_header "$source")" ]; then
        found=$(find "$source" -name 'nvidia_cuda_cccl-*.whl' | sort -V | tail -n 1)
        source=${found:-$source}
    fi
    if [ -f "$source" ]; then
        rm -rf build/cccl
        python3 -m zipfile -e "$source" build/cccl
        source=build/cccl
    fi
    found=$(version_header "$source")
    if [ -z "$found" ]; then
        fail "no cub/version.cuh in $source; --cccl takes a wheel of nvidia-cuda-cccl or what is in one"
    fi
    dirname "$(dirname "$found")"
}

version_header() {
    find "$1" -path '*/cub/version.cuh' | head -n 1
}

# The folder with the wheel.
downloaded() {
    if [ -z "$(find build/wheels -name 'nvidia_cuda_cccl-*.whl' 2>/dev/null)" ]; then
        if ! python3 -m pip download --quiet --no-deps --only-binary :all: --dest build/wheels "$newer_cccl" >&2; then
            fail "pip cannot get $newer_cccl; give its wheel by --cccl, or build without by --cccl none"
        fi
    fi
    echo build/wheels
}

fail() {
    printf 'build.sh: %s\n' "$1" >&2
    exit 1
}

main "$@"
