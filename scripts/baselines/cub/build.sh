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
case ${1-} in -h | --help) sed -n -e '2,/^[^#]/s/^# //p' -e '2,/^[^#]/s/^#$//p' "$0" && exit ;; esac
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

# The units of the program, a line each: name, source and macros. Each problem is a unit of its own with its neighbours,
# so that all cores have work.
units() {
    local element type group structure
    echo scan_baseline scan_baseline.cu
    for type in u32=std::uint32_t i32=std::int32_t f32=float u64=std::uint64_t i64=std::int64_t f64=double; do
        element=${type%=*}
        for group in SUMS EXTREMA BITS; do
            if [ "$group" != BITS ] || [ "${element#f}" = "$element" ]; then
                echo "$element-$group" cub_problems.cu "-DSCANBOX_ELEMENT=$element" "-DSCANBOX_TYPE=${type#*=}" \
                    "-DSCANBOX_$group"
            fi
        done
    done
    for structure in Affine AffineF32 Argmax Matrix2x2 SegmentedSum TextPosition; do
        echo "$structure" cub_problems.cu "-DSCANBOX_STRUCTURE=$structure"
    done
}

# Compiles all units into a folder, as many at a time as there are cores.
compile() {
    local folder=$1 name source macros cores
    shift
    cores=$(nproc)
    rm -rf "$folder"
    mkdir -p "$folder"
    while read -r name source macros; do
        while [ "$(jobs -rp | wc -l)" -ge "$cores" ]; do
            wait -n || true
        done
        # shellcheck disable=SC2086 # macros are several words
        "$NVCC" -O3 -std=c++17 -gencode "arch=compute_$arch,code=sm_$arch" $macros "$@" \
            -c -o "$folder/$name.o" "$source" >&2 &
    done < <(units)
    wait || true
    for name in $(units | cut -d ' ' -f 1); do
        if [ ! -e "$folder/$name.o" ]; then
            fail "$name does not compile"
        fi
    done
}

# The name has the version that was really compiled in, whichever headers the compiler found.
build() {
    local folder=build/objects new=build/scan-baseline-cub.new version
    compile "$folder" "$@"
    "$NVCC" -gencode "arch=compute_$arch,code=sm_$arch" -o "$new" "$folder"/*.o -lpthread >&2
    version=$("$new" --version)
    mv "$new" "build/scan-baseline-cub-$version"
    rm -rf "$folder"
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
